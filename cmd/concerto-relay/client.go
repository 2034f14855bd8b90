package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// reach is the place of the runs: this machine's hostd, or a server.
type reach struct{ socket, server, tokenFile string }

const reachHelp = `

The command asks hostd on this machine, or with --server URL --token-file FILE a server, which knows
the runs of all machines.`

func (a *app) reachFlags(c *cobra.Command, r *reach, remote bool) {
	f := c.Flags()
	f.StringVar(&r.socket, "socket", "", "connect to hostd at `PATH` (or $RELAY_HOSTD_SOCK)")
	fromEnv(f, "socket", "LOCAL_UNIX_SOCKET")
	if remote {
		f.StringVar(&r.server, "server", "", "ask the server at `URL` instead of hostd")
		f.StringVar(&r.tokenFile, "token-file", "", "read the access token for --server from `FILE`")
	}
}

// again returns the flags that reach the same place, for a command line.
func (r *reach) again() string {
	socket := r.socket
	if r.server != "" {
		socket = ""
	}
	var flags strings.Builder
	for _, f := range [][2]string{{"socket", socket}, {"server", r.server}, {"token-file", r.tokenFile}} {
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
	name  string // its name in messages
	again string // the flags that reach it, for a command line
}

// reachEnd is the other end that the flags name.
func (a *app) reachEnd(r *reach) (*end, error) {
	if r.server != "" || r.tokenFile != "" {
		e, err := a.serverEnd(r.server, r.tokenFile)
		if e != nil {
			e.again = r.again()
		}
		return e, err
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
	return &end{http: &http.Client{Transport: &http.Transport{DialContext: dial}}, base: "http://localhost", name: socket, again: r.again()}, nil
}

// schemes are those of a server's URL, and how it is asked over HTTP.
var schemes = map[string]string{"http": "http", "https": "https", "ws": "http", "wss": "https"}

// serverEnd is a server, by what --server and --token-file say.
func (a *app) serverEnd(server, tokenFile string) (*end, error) {
	if server == "" {
		return nil, a.wrong("token-file", "add --server URL", "it is for a server, and none is named")
	}
	u, err := url.Parse(server)
	if err != nil || schemes[u.Scheme] == "" || u.Host == "" {
		return nil, a.wrong("server", "https://relay.example, for one", "%q is no URL of a server", server)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, a.wrong("server", "an access token has a file of its own: --token-file", "it must have no user, query or fragment")
	}
	if tokenFile == "" {
		return nil, a.wrong("server", "add --token-file FILE, with an access token in it; `concerto-relay token create` makes one", "a server wants credentials")
	}
	text, err := userfile.ReadStream(a.abs(tokenFile), userfile.MaxSecret)
	if err != nil {
		return nil, a.wrong("token-file", "`concerto-relay token create > token` makes one", "%v", err)
	}
	token, _, _ := strings.Cut(string(text), "\n")
	if token = strings.TrimSpace(token); token == "" {
		return nil, a.wrong("token-file", "`concerto-relay token create` makes one", "the first line of %s is empty: an access token belongs there", tokenFile)
	}
	if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, a.wrong("token-file", "`concerto-relay token create` makes one", "the first line of %s is no access token", tokenFile)
	}
	u.Scheme = schemes[u.Scheme]
	return &end{http: http.DefaultClient, base: strings.TrimSuffix(u.String(), "/"), token: token, name: server}, nil
}

// remote reports whether the other end is a server.
func (e *end) remote() bool { return e.token != "" }

// saidError is the other end's reason for refusing a request.
type saidError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *saidError) Error() string { return e.Message + " (" + e.Code + ")" }

// nextSteps are the remedies for a refusal, by its code.
var nextSteps = map[protocol.Code]string{
	protocol.UnknownRun:     "`concerto-relay runs` lists the runs; over --server, those that the token is for",
	protocol.UnknownRequest: "`concerto-relay runs` shows what runs ask, with the command that answers",
	protocol.AlreadyDecided: "the first decision counts; `concerto-relay runs` shows what is still asked",
	protocol.ArgsChanged:    "what would be done is not what was seen: look at it again by `concerto-relay runs --format ndjson`",
	protocol.InvalidAnswer:  "`concerto-relay runs` shows the form of the answer, and --answer gives it as JSON",
	protocol.Unauthorized:   "the access token is wrong, has ended or was revoked; `concerto-relay token create` makes one",
	protocol.Forbidden:      "the role of the token does not allow it, or the host never does",
	protocol.Internal:       "the server's log says more; try again later",
}

// open asks, and returns the answer's body.
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
	case errors.As(err, &none) && none.Op == "dial":
		return nil, fmt.Errorf("no server answers at %s: %w", e.name, none.Err)
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

// socket is a server's WebSocket. begin is called on each connection that has greeted, lost when
// one is lost.
func (e *end) socket(begin func(context.Context) error, lost func(error)) *serverLink {
	return newLink(linkOptions{Server: e.base, Token: e.token, Agent: "concerto-relay-cli/" + release, HTTP: e.http, Begin: begin, Lost: lost})
}
