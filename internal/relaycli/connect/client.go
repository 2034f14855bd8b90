// Package connect connects the commands of concerto-relay to hostd on this machine or to a server.
package connect

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
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Target holds the flags that select where runs are: this machine's hostd or a server.
type Target struct{ Socket, server, tokenFile string }

// ReachHelp is the end of the help of commands that accept the flags of TargetFlags.
const ReachHelp = `

The command asks hostd on this machine. With --server URL --token-file FILE it asks a server, which
knows the runs of all machines.`

// TargetFlags defines the flags that select an endpoint. remote reports whether it may be a server.
func TargetFlags(a *console.Console, c *cobra.Command, r *Target, remote bool) {
	f := c.Flags()
	f.StringVar(&r.Socket, "socket", "", "connect to hostd at `PATH` (or $RELAY_HOSTD_SOCK)")
	console.FromEnv(f, "socket", "LOCAL_UNIX_SOCKET")
	if remote {
		f.StringVar(&r.server, "server", "", "ask the server at `URL` instead of hostd")
		f.StringVar(&r.tokenFile, "token-file", "", "read the access token for --server from `FILE`")
	}
}

// flags returns the command-line flags that select this target, for printed commands.
func (r *Target) flags() string {
	socket := r.Socket
	if r.server != "" {
		socket = ""
	}
	var flags strings.Builder
	for _, f := range [][2]string{{"socket", socket}, {"server", r.server}, {"token-file", r.tokenFile}} {
		if f[1] != "" {
			fmt.Fprintf(&flags, " --%s %s", f[0], console.ShellWord(f[1]))
		}
	}
	return flags.String()
}

// Endpoint is the hostd or server to which the command sends requests.
type Endpoint struct {
	http  *http.Client
	base  string
	token string // access token for a server; "" for hostd
	agent string // how the command describes itself to a server
	Name  string // name of the endpoint in messages: the socket's path or the server's URL
	Flags string // command-line flags that select this endpoint, for printed commands
}

// EndpointOf returns the hostd or server that the flags select.
func EndpointOf(a *console.Console, r *Target) (*Endpoint, error) {
	if r.server != "" || r.tokenFile != "" {
		e, err := ServerEnd(a, r.server, r.tokenFile)
		if e != nil {
			e.Flags = r.flags()
		}
		return e, err
	}
	socket := r.Socket
	if socket == "" {
		socket = a.Env("RELAY_HOSTD_SOCK")
	}
	if socket == "" {
		socket = HostdSocket(a)
	}
	socket = a.Abs(socket)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Endpoint{http: &http.Client{Transport: &http.Transport{DialContext: dial}}, base: "http://localhost", Name: socket, Flags: r.flags()}, nil
}

// schemes maps the scheme of a server's URL to the scheme of HTTP requests to the server.
var schemes = map[string]string{"http": "http", "https": "https", "ws": "http", "wss": "https"}

// ServerEnd returns the endpoint of the server with the given URL. tokenFile contains its access
// token.
func ServerEnd(a *console.Console, server, tokenFile string) (*Endpoint, error) {
	if server == "" {
		return nil, a.InvalidSetting("token-file", "add --server URL", "it requires --server")
	}
	u, err := url.Parse(server)
	if err != nil || schemes[u.Scheme] == "" || u.Host == "" {
		return nil, a.InvalidSetting("server", "for example https://relay.example", "%q is not the URL of a server", server)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, a.InvalidSetting("server", "pass an access token with --token-file", "it must have no user, query or fragment")
	}
	if tokenFile == "" {
		return nil, a.InvalidSetting("server", "add --token-file FILE, with an access token in it; `concerto-relay token create` creates one", "a server requires an access token")
	}
	text, err := userfile.ReadStream(a.Abs(tokenFile), userfile.MaxSecret)
	if err != nil {
		return nil, a.InvalidSetting("token-file", "create one with `concerto-relay token create > token`", "%v", err)
	}
	token, _, _ := strings.Cut(string(text), "\n")
	if token = strings.TrimSpace(token); token == "" {
		return nil, a.InvalidSetting("token-file", "create one with `concerto-relay token create`", "the first line of %s must be an access token, and is empty", tokenFile)
	}
	if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, a.InvalidSetting("token-file", "create one with `concerto-relay token create`", "the first line of %s is not an access token", tokenFile)
	}
	u.Scheme = schemes[u.Scheme]
	return &Endpoint{http: http.DefaultClient, base: strings.TrimSuffix(u.String(), "/"), token: token, agent: "concerto-relay-cli/" + a.Release, Name: server}, nil
}

// API returns a client for the accounts at the server.
func (e *Endpoint) API() *machineapi.Client {
	return &machineapi.Client{Base: e.base, Token: e.token, HTTP: e.http}
}

// IsRemote reports whether the endpoint is a server.
func (e *Endpoint) IsRemote() bool { return e.token != "" }

// ResponseError is the endpoint's reason for refusing a request.
type ResponseError = machineapi.Error

// NextSteps maps error codes to hints, which are printed after the error.
var NextSteps = map[protocol.Code]string{
	protocol.UnknownRun:     "`concerto-relay runs` lists the runs; over --server, those that the token is for",
	protocol.UnknownRequest: "`concerto-relay runs` shows what runs ask, with the command that answers",
	protocol.AlreadyDecided: "the first decision counts; `concerto-relay runs` shows what is still asked",
	protocol.ArgsChanged:    "the request has changed since it was shown: review it with `concerto-relay runs --format ndjson`",
	protocol.InvalidAnswer:  "`concerto-relay runs` shows the form of the answer; pass it as JSON with --answer",
	protocol.Unauthorized:   "the access token is wrong, has expired or was revoked; `concerto-relay token create` creates one",
	protocol.Forbidden:      "the role of the token does not allow it, or the machine refuses it for every role",
	protocol.Internal:       "the server's log has the details; try again later",
}

// Send sends a request and returns the response's body.
func (e *Endpoint) Send(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
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
	case errors.As(err, &none) && none.Op == "dial" && !e.IsRemote():
		return nil, console.Usage("start hostd with `concerto-relay hostd`, or name its socket with --socket", "no hostd serves %s", e.Name)
	case errors.As(err, &none) && none.Op == "dial":
		return nil, fmt.Errorf("no server answers at %s: %w", e.Name, none.Err)
	case err != nil:
		return nil, fmt.Errorf("send a request to %s: %w", e.Name, errors.Unwrap(err))
	case w.StatusCode < 300:
		return w.Body, nil
	}
	defer w.Body.Close()
	var failure struct {
		Error ResponseError `json:"error"`
	}
	if json.NewDecoder(io.LimitReader(w.Body, 1<<20)).Decode(&failure) != nil || failure.Error.Code == "" {
		return nil, fmt.Errorf("%s answered %s", e.Name, w.Status)
	}
	return nil, &failure.Error
}

// Call sends a request and decodes the response.
func (e *Endpoint) Call(ctx context.Context, method, path string, body, into any) error {
	r, err := e.Send(ctx, method, path, body)
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

// Socket returns a WebSocket connection to the server, which is not open yet. begin is called after
// the welcome of each new connection, and lost each time a connection is lost.
func (e *Endpoint) Socket(begin func(context.Context) error, lost func(error)) *ServerLink {
	return newLink(linkOptions{Server: e.base, Token: e.token, Agent: e.agent, HTTP: e.http, Begin: begin, Lost: lost})
}

// HostdSocket returns the default path of hostd's socket.
func HostdSocket(a *console.Console) string {
	if dir := a.Env("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "concerto", "hostd.sock")
	}
	return filepath.Join(a.XDGDir("XDG_STATE_HOME", ".local", "state"), "concerto", "hostd.sock")
}

// WebURL parses the URL of a server, which consists of a scheme and a host. The result is false for
// any other text.
func WebURL(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	return u, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
}
