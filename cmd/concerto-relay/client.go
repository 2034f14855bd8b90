package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// reach says where runs are seen: at this machine's hostd, or at a server.
type reach struct{ socket, server, tokenFile string }

const reachHelp = `

It asks this machine's hostd over its unix socket, or, with --server URL --token-file FILE,
a server, for the runs of all machines.`

func (a *app) reachFlags(c *cobra.Command, r *reach, remote bool) {
	f := c.Flags()
	f.StringVar(&r.socket, "socket", "", "hostd's unix socket, a `PATH` (default $RELAY_HOSTD_SOCK, else where hostd listens)")
	fromEnv(f, "socket", "LOCAL_UNIX_SOCKET")
	if remote {
		f.StringVar(&r.server, "server", "", "ask the server at this `URL`, instead of hostd")
		f.StringVar(&r.tokenFile, "token-file", "", "the `FILE` with an access token, for --server")
	}
}

// again are the flags that reach the same end, as they are written behind a command.
func (r *reach) again() string {
	var flags strings.Builder
	for _, f := range [][2]string{{"socket", r.socket}, {"server", r.server}, {"token-file", r.tokenFile}} {
		if f[1] != "" {
			fmt.Fprintf(&flags, " --%s %s", f[0], shellWord(f[1]))
		}
	}
	return flags.String()
}

// end is the other end: hostd, or a server.
type end struct {
	http  *http.Client
	base  string
	token string // of a server
	name  string // as it is told
}

// reachEnd is the other end that the flags name.
func (a *app) reachEnd(r *reach) (*end, error) {
	if r.server == "" && r.tokenFile != "" {
		return nil, a.wrong("token-file", "add --server URL", "it is for a server, and none is named")
	}
	if r.server != "" {
		u, err := url.Parse(r.server)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, a.wrong("server", "https://relay.example.com, for one", "it is no URL of a server")
		}
		if r.tokenFile == "" {
			return nil, a.wrong("server", "add --token-file FILE, with an access token in it", "a server wants credentials")
		}
		token, err := os.ReadFile(a.abs(r.tokenFile))
		if err != nil {
			return nil, a.wrong("token-file", "", "%v", err)
		}
		return &end{http: http.DefaultClient, base: strings.TrimSuffix(r.server, "/"), token: strings.TrimSpace(string(token)), name: r.server}, nil
	}
	socket := r.socket
	if socket == "" {
		socket = a.env("RELAY_HOSTD_SOCK")
	}
	if socket == "" {
		socket = a.hostdSocket()
	}
	socket = a.abs(socket)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &end{http: &http.Client{Transport: &http.Transport{DialContext: dial}}, base: "http://localhost", name: socket}, nil
}

// remote says whether the other end is a server.
func (e *end) remote() bool { return e.token != "" }

// saidError is what the other end says of a request that it refuses.
type saidError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *saidError) Error() string { return e.Message + " (" + e.Code + ")" }

// open asks, and gives the answer's body.
func (e *end) open(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(b)
	}
	q, err := http.NewRequestWithContext(ctx, method, e.base+path, text)
	if err != nil {
		return nil, err
	}
	if e.token != "" {
		q.Header.Set("Authorization", "Bearer "+e.token)
	}
	w, err := e.http.Do(q)
	var none *net.OpError
	switch {
	case errors.As(err, &none) && none.Op == "dial" && !e.remote():
		return nil, usage("`concerto-relay hostd` starts it; --socket says where it listens", "no hostd serves %s", e.name)
	case err != nil:
		return nil, fmt.Errorf("ask %s: %w", e.name, errors.Unwrap(err))
	case w.StatusCode < 300:
		return w.Body, nil
	}
	defer w.Body.Close()
	var said struct {
		Error saidError `json:"error"`
	}
	if json.NewDecoder(io.LimitReader(w.Body, 1<<20)).Decode(&said) != nil || said.Error.Code == "" {
		return nil, fmt.Errorf("%s answers %s", e.name, w.Status)
	}
	return nil, &said.Error
}

// call asks and reads the answer.
func (e *end) call(ctx context.Context, method, path string, body, into any) error {
	r, err := e.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil || into == nil || len(bytes.TrimSpace(text)) == 0 {
		return err
	}
	return json.Unmarshal(text, into)
}

// follow gives the envelopes of a run until its end, or until give fails.
func (e *end) follow(ctx context.Context, run, off string, give func(protocol.Envelope) error) error {
	if e.remote() {
		return e.poll(ctx, run, give)
	}
	r, err := e.open(ctx, http.MethodGet, "/runs/"+url.PathEscape(run)+"/stream?off="+off, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, protocol.MaxFrame)
	for lines.Scan() {
		env, refused := protocol.Parse(lines.Bytes())
		if refused != nil {
			return fmt.Errorf("%s says what is no envelope: %w", e.name, refused)
		}
		if err := give(env); err != nil || env.Type == protocol.RunExited {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("hostd has gone away; the run goes on, and `concerto-relay attach %s` comes back once hostd is there", run)
}

// poll follows a run at a server, by its cursor.
func (e *end) poll(ctx context.Context, run string, give func(protocol.Envelope) error) error {
	if err := e.call(ctx, http.MethodGet, "/runs/"+url.PathEscape(run), nil, nil); err != nil {
		return err
	}
	for cursor := run + ":0"; ; {
		var page struct {
			Events []json.RawMessage `json:"events"`
		}
		if err := e.call(ctx, http.MethodGet, "/events?rest=none&wait=25&limit=500&cursor="+url.QueryEscape(cursor), nil, &page); err != nil {
			return err
		}
		for _, text := range page.Events {
			env, refused := protocol.Parse(text)
			if refused != nil {
				return fmt.Errorf("%s says what is no envelope: %w", e.name, refused)
			}
			cursor = fmt.Sprintf("%s:%d", run, env.Seq)
			if err := give(env); err != nil || env.Type == protocol.RunExited {
				return err
			}
		}
	}
}
