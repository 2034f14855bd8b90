package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

var errTimeout = errors.New("timed out")

const (
	// farewell is how long a server may take to exit after its input was closed. Some servers do
	// not exit when their input is closed.
	farewell = time.Second
	// grace is the time between SIGTERM and SIGKILL.
	grace = 2 * time.Second
)

// server is one MCP server with its current connection.
type server struct {
	config  mcpport.Config
	options mcpport.Options
	dial    func() sdk.Transport // creates the transport in tests; nil otherwise

	warnOnce sync.Once // limits the message about variables that are not passed on

	// listed means that the program has received the tools over the current connection, and the
	// server has announced no change since.
	listed atomic.Bool

	mu   sync.Mutex // held while connecting
	link *link

	active   sync.Mutex
	progress map[string]*call // running calls, by progress token
	order    []*call          // running calls, oldest first
	visits   map[string]*call // running calls that asked a person to open an address, by its id
}

// link is a connection to a server, together with the server's process.
type link struct {
	session *sdk.ClientSession
	process *procgroup.Process // nil for a server over HTTP
	first   *capturedOutput    // beginning of the process's standard output
	names   map[string]string  // names of the tools at the server, by the names in the declaration
	// members that a tool requires and that may be null, by the tool's name at the server
	nulls map[string][]string
	// tools that may be called twice, by their names at the server
	repeatable map[string]bool
	// slow means that the server has not answered server/discover in time, and then refused
	// initialize
	slow bool
}

// capturedOutput is a standard output whose first bytes are stored.
type capturedOutput struct {
	io.Reader

	mu   sync.Mutex
	text []byte
}

func (h *capturedOutput) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, b[:min(n, stderrLimit-len(h.text))]...)
	return n, err
}

const stderrLimit = 200

// noise returns the first line of the output if it is no message, and "" otherwise.
func (h *capturedOutput) noise() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := strings.TrimSpace(string(h.text))
	if text == "" || text[0] == '{' || text[0] == '[' {
		return ""
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(strings.TrimSpace(line), "?")
}

// ownName returns the server's name for a declared tool.
func (l *link) ownName(name string) string {
	if n := l.names[name]; n != "" {
		return n
	}
	return name
}

// ensureLink returns the current connection. If there is none, it connects and checks the
// declarations.
func (s *server) ensureLink(ctx context.Context, declared []effect.MCPTool) (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		return s.link, nil
	}
	l, err := s.connectAndCompare(ctx, declared, discoverTime)
	if err != nil && l != nil && l.slow && ctx.Err() == nil {
		l.endLink(nil)
		l, err = s.connectAndCompare(ctx, declared, slowDiscoverTime)
	}
	if err != nil {
		if l != nil {
			l.endLink(nil)
		}
		return nil, err
	}
	s.link = l
	go func() {
		_ = l.session.Wait() // the next call reports the reason
		s.dropLink(l)
	}()
	return l, nil
}

// dropLink removes a connection, so that the next call reconnects.
func (s *server) dropLink(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l {
		s.link = nil
		s.listed.Store(false)
		l.endLink(nil)
	}
}

// endLink ends the server's process, if there is one. As the protocol requires, it first closes the
// input, then sends SIGTERM, and then SIGKILL. After stop is closed, it does not wait between these
// steps.
func (l *link) endLink(stop <-chan struct{}) {
	p := l.process
	if p == nil {
		return
	}
	_ = p.Stdin.Close() // fails if the process has already exited
	t := time.NewTimer(farewell)
	defer t.Stop()
	select {
	case <-p.GroupDone():
	case <-t.C:
	case <-stop:
	}
	p.End(grace, stop)
}

// killIfBlocked kills a process that does not read the request of a call, because nothing else
// would end the write. It does so when ctx has ended while done is still open. ended reports
// whether it killed the process.
func (l *link) killIfBlocked(ctx context.Context, done <-chan struct{}) (ended bool) {
	if l.process == nil {
		return false
	}
	select {
	case <-done:
		return false
	case <-ctx.Done():
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-done:
		return false
	case <-t.C:
		l.process.Kill()
		return true
	}
}

// connectionError returns the reason why a call failed, and drops the connection if it has ended.
// again means that the connection had ended before the call, so that the server did not receive the
// call.
func (s *server) connectionError(ctx context.Context, c *call, l *link, err error) (why error, again bool) {
	var answered *jsonrpc.Error
	var own *effect.Error
	if ctx.Err() != nil || errors.As(err, &answered) || errors.As(err, &own) || !isClosedError(err) {
		return err, false
	}
	s.dropLink(l)
	again = errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing) && c.unseen.Load()
	if l.process != nil {
		return exited(l.process, "the server exited"), again
	}
	return fmt.Errorf("the connection was closed: %w", err), again
}

// isClosedError reports whether err means that the connection can no longer be used.
func isClosedError(err error) bool {
	for _, e := range []error{sdk.ErrConnectionClosed, sdk.ErrSessionMissing, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// exited returns an error that describes the exit of a process and contains the end of its standard
// error.
func exited(p *procgroup.Process, what string) error {
	<-p.GroupDone()
	e := p.Exit()
	switch {
	case e.Signal != "":
		what += " (" + e.Signal + ")"
	case e.Code != 0:
		what += fmt.Sprintf(" (exit code %d)", e.Code)
	}
	if tail := strings.TrimSpace(e.Stderr); tail != "" {
		what += "; it wrote: " + tail
	}
	return errors.New(what)
}

// connectAndCompare connects to the server and compares the declarations of the program with the
// server's tools. Even if it fails, the link may have a process, which the caller must end. The
// caller must hold s.mu. discover is the time to wait for an answer to `server/discover`.
func (s *server) connectAndCompare(ctx context.Context, declared []effect.MCPTool, discover time.Duration) (*link, error) {
	l := &link{}
	transport, err := s.transport(ctx, l)
	if err != nil {
		return nil, s.unreachable(err)
	}
	options := &sdk.ClientOptions{ElicitationHandler: s.elicit, Capabilities: &sdk.ClientCapabilities{
		Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}}}
	if s.config.Lists {
		options.ToolListChangedHandler = ignoreChange
	}
	if s.config.Transport != "http" { // over HTTP, the exchange handles them
		transport = progressTransport{transport, s}
	}
	connecting := context.WithValue(ctx, callKey{}, nil) // without the call, because other calls will use the connection too
	silent := false
	client := sdk.NewClient(&sdk.Implementation{Name: "concerto", Version: "1"}, options)
	client.AddSendingMiddleware(patience(s.options.Clock, discover, &silent), uncached)
	l.session, err = client.Connect(connecting, transport, nil)
	if err == nil {
		if err = s.check(ctx, l, declared); err != nil {
			_ = l.session.Close() // the connection cannot be used
		}
		return l, err
	}
	var refused *jsonrpc.Error
	l.slow = silent && errors.As(err, &refused)
	return l, s.unreachable(l.why(ctx, s.config.Command, err))
}

// why returns the reason why connecting failed.
func (l *link) why(ctx context.Context, command string, err error) error {
	var own *effect.Error
	var status *statusError
	var failed *url.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &status):
		return status
	case errors.As(err, &failed):
		return failed
	case l.process == nil || ctx.Err() != nil:
		return err
	}
	if text := l.first.noise(); text != "" {
		return fmt.Errorf("its command '%s' wrote `%s` to standard output, which is reserved for the protocol: write logs to standard error", command, text)
	}
	if !isClosedError(err) {
		return fmt.Errorf("its command '%s' violates the protocol: %w", command, err)
	}
	l.endLink(nil)
	return exited(l.process, "its command '"+command+"' exited before it answered")
}

func (s *server) unreachable(err error) error {
	if own, ok := errors.AsType[*effect.Error](err); ok {
		return own // about a login
	}
	return effect.Errorf("ToolError", "mcp server '%s' cannot be reached: %s (check [mcp.%s] of Concerto.toml)", s.config.Name, err, s.config.Name).
		With("tool", s.config.Name)
}

// transport returns the transport for the link. It starts the server's process and stores it in l,
// or uses the server's address.
func (s *server) transport(ctx context.Context, l *link) (sdk.Transport, error) {
	c := &s.config
	if s.dial != nil {
		return s.dial(), nil
	}
	if c.Transport == "http" {
		login, err := s.newAccess()
		if err != nil {
			return nil, err
		}
		client, err := s.httpClient(login)
		if err != nil {
			return nil, err
		}
		t := &sdk.StreamableClientTransport{Endpoint: c.URL, HTTPClient: client}
		if login != nil {
			t.OAuthHandler = login
		}
		return t, nil
	}
	path, err := procgroup.Find(c.Command, c.Dir, s.options.Environ)
	if err != nil {
		return nil, fmt.Errorf("command '%s' %w", c.Command, err)
	}
	env, withheld := procgroup.Inherit{Pass: c.PassEnv, Keys: c.Keys}.Of(s.options.Environ)
	if s.options.Log != nil && len(withheld) > 0 {
		s.warnOnce.Do(func() {
			s.options.Log("debug", fmt.Sprintf("MCP server '%s' does not receive %s: to pass a variable on, list it in pass_env of [mcp.%s]", c.Name, strings.Join(withheld, ", "), c.Name))
		})
	}
	for name, v := range c.Env {
		env = append(env, name+"="+v)
	}
	stderr := func(line []byte) {
		if s.options.Stderr != nil {
			s.options.Stderr(c.Name, string(line))
		}
	}
	p, err := s.options.Run.Start(procgroup.Command{Name: c.Name, Path: path, Args: c.Args, Env: effect.TraceEnviron(env, effect.TraceHeaders(ctx)), Dir: c.Dir, Stderr: stderr})
	if err != nil {
		return nil, err
	}
	l.process = p
	l.first = &capturedOutput{Reader: p.Stdout}
	return &sdk.IOTransport{Reader: exactLines(io.NopCloser(l.first)), Writer: exactWriter{p.Stdin}}, nil
}

// closePermanently closes the connection and prevents further ones.
func (s *server) closePermanently(ctx context.Context) {
	s.mu.Lock()
	l := s.link
	s.link = nil
	s.mu.Unlock()
	if l == nil {
		return
	}
	_ = l.session.Close() // ending the process also closes what remains open
	l.endLink(ctx.Done())
}
