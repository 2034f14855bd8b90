package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/internal/procgroup"
)

var errTimeout = errors.New("timed out")

// grace is how long a server may take to end after its input has.
const grace = 2 * time.Second

// server is one server with its connection, when there is one.
type server struct {
	config  Config
	options Options

	mu      sync.Mutex // held while connecting
	session *sdk.ClientSession
	process *procgroup.Process
	names   map[string]string // the tools' own names, by how they are declared

	active   sync.Mutex
	progress map[string]*call // by progress token
	order    []*call          // the calls under way, the oldest first
}

// run makes the call. Its last event is the result, or the failure.
func (c *call) run(ctx context.Context) {
	s := c.server
	session, tool, err := s.reach(ctx, c.request)
	if err != nil {
		c.fail(ctx, err)
		return
	}
	s.begin(c)
	defer s.end(c)
	params := &sdk.CallToolParams{Name: tool, Arguments: c.request.Args}
	params.SetProgressToken(c.token())
	result, err := session.CallTool(ctx, params)
	if s.lost(ctx, session, err) { // it had ended before: nothing has been asked
		if session, _, err = s.reach(ctx, c.request); err == nil {
			result, err = session.CallTool(ctx, params)
			s.lost(ctx, session, err)
		}
	}
	if err != nil {
		c.fail(ctx, err)
		return
	}
	text := textOf(result.Content)
	if result.IsError {
		c.add(nil, c.problem("%s", text))
		return
	}
	e := &effect.MCPEvent{Kind: "result", Text: text}
	if result.StructuredContent != nil {
		e.Data, err = json.Marshal(result.StructuredContent)
		if err != nil {
			c.fail(ctx, err)
			return
		}
	}
	c.add(e, nil)
}

func (c *call) token() string { return fmt.Sprintf("call-%d", c.id) }

// fail ends the call by what went wrong on the way.
func (c *call) fail(ctx context.Context, err error) {
	var e *effect.Error
	switch {
	case context.Cause(ctx) == errTimeout:
		c.add(nil, c.problem("no result within %g seconds (`timeout` of [mcp.%s])", c.server.config.timeout().Seconds(), c.server.config.Name))
	case errors.As(err, &e):
		c.add(nil, e)
	default:
		c.add(nil, c.problem("%s", err))
	}
}

func (c *call) problem(format string, args ...any) *effect.Error {
	return effect.Errorf("ToolError", "mcp server '%s', tool %s: %s", c.server.config.Name, c.request.Tool, fmt.Sprintf(format, args...)).
		With("tool", c.server.config.Name+"."+c.request.Tool)
}

func (s *server) begin(c *call) {
	s.active.Lock()
	defer s.active.Unlock()
	if s.progress == nil {
		s.progress = map[string]*call{}
	}
	s.progress[c.token()] = c
	s.order = append(s.order, c)
}

func (s *server) end(c *call) {
	s.active.Lock()
	defer s.active.Unlock()
	delete(s.progress, c.token())
	for i, x := range s.order {
		if x == c {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			break
		}
	}
}

// reach gives the session, and the server's own name for the tool.
func (s *server) reach(ctx context.Context, r *effect.MCPOpen) (*sdk.ClientSession, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, err := s.connect(ctx, r.Declared)
	if own := s.names[r.Tool]; own != "" {
		return session, own, err
	}
	return session, r.Tool, err
}

// lost forgets a session that a call has found at its end, and says whether the
// call was not made at all.
func (s *server) lost(ctx context.Context, session *sdk.ClientSession, err error) bool {
	var answered *jsonrpc.Error
	if err == nil || ctx.Err() != nil || errors.As(err, &answered) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		s.session = nil
		s.endProcess()
	}
	return errors.Is(err, sdk.ErrConnectionClosed)
}

// connect gives the session, made and checked when there is none. s.mu is held.
func (s *server) connect(ctx context.Context, declared []effect.MCPTool) (*sdk.ClientSession, error) {
	if s.session != nil {
		return s.session, nil
	}
	transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	options := &sdk.ClientOptions{ElicitationHandler: s.elicited}
	if s.config.Transport == "http" {
		options.ProgressNotificationHandler = func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.progressed(r.Params) }
	} else {
		transport = tapped{transport, s}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "concerto", Version: "1"}, options)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		p := s.process
		s.endProcess()
		return nil, s.unreachable(withStderr(err, p))
	}
	if err := s.check(ctx, session, declared); err != nil {
		_ = session.Close() // it is of no use
		s.endProcess()
		return nil, err
	}
	s.session = session
	go func() {
		_ = session.Wait() // why it ended is the next call's matter
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.session == session {
			s.session = nil
			s.endProcess()
		}
	}()
	return session, nil
}

func (s *server) unreachable(err error) error {
	return effect.Errorf("ToolError", "mcp server '%s' cannot be reached: %s (check [mcp.%s] of Concerto.toml)", s.config.Name, err, s.config.Name)
}

// withStderr adds what a process that has ended wrote to its standard error.
func withStderr(err error, p *procgroup.Process) error {
	if p == nil {
		return err
	}
	<-p.Gone()
	if tail := strings.TrimSpace(p.Exit().Stderr); tail != "" {
		return fmt.Errorf("%w; it wrote: %s", err, tail)
	}
	return err
}

// transport starts the server's process, or says where its address is.
func (s *server) transport() (sdk.Transport, error) {
	c := &s.config
	if c.Transport == "http" {
		client, err := s.httpClient()
		if err != nil {
			return nil, err
		}
		return &sdk.StreamableClientTransport{Endpoint: c.URL, HTTPClient: client}, nil
	}
	path, err := procgroup.Find(c.Command, c.Dir, s.options.Environ)
	if err != nil {
		return nil, s.unreachable(fmt.Errorf("command '%s' %w", c.Command, err))
	}
	env := append([]string(nil), s.options.Environ...)
	for name, v := range c.Env {
		env = append(env, name+"="+v)
	}
	stderr := func(line string) {
		if s.options.Log != nil {
			s.options.Log(c.Name, line)
		}
	}
	p, err := procgroup.Start(procgroup.Command{Path: path, Args: c.Args, Env: env, Dir: c.Dir, Stderr: stderr})
	if err != nil {
		return nil, s.unreachable(err)
	}
	s.process = p
	return &sdk.IOTransport{Reader: io.NopCloser(p.Stdout), Writer: p.Stdin}, nil
}

// httpClient adds the manifest's headers to each request.
func (s *server) httpClient() (*http.Client, error) {
	headers := http.Header{}
	for name, v := range s.config.Headers {
		headers.Set(name, v)
	}
	for name, variable := range s.config.HeadersEnv {
		v, ok := procgroup.LookupEnv(s.options.Environ, variable)
		if !ok {
			return nil, s.unreachable(fmt.Errorf("the environment variable %s, which holds the header %s, is not set", variable, name))
		}
		headers.Set(name, v)
	}
	return &http.Client{Transport: withHeaders{headers}}, nil
}

type withHeaders struct{ headers http.Header }

func (t withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, v := range t.headers {
		r.Header[name] = v
	}
	return http.DefaultTransport.RoundTrip(r)
}

// endProcess ends the subprocess, if there is one. s.mu is held.
func (s *server) endProcess() {
	if s.process != nil {
		_ = s.process.Stdin.Close() // closed already when it has ended by itself
		s.process.End(grace, nil)
		s.process = nil
	}
}

func (s *server) close(ctx context.Context) {
	s.mu.Lock()
	session, process := s.session, s.process
	s.session, s.process = nil, nil
	s.mu.Unlock()
	if session != nil {
		_ = session.Close() // what it leaves undone, the end of the process does
	}
	if process != nil {
		_ = process.Stdin.Close()
		process.End(grace, ctx.Done())
		<-process.Gone()
	}
}

// textOf is a result's text; of what is no text it says what it is.
func textOf(content []sdk.Content) string {
	var parts []string
	for _, c := range content {
		switch c := c.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
		case *sdk.ImageContent:
			parts = append(parts, fmt.Sprintf("[image, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *sdk.AudioContent:
			parts = append(parts, fmt.Sprintf("[audio, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *sdk.ResourceLink:
			parts = append(parts, "[resource "+c.URI+"]")
		case *sdk.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				parts = append(parts, c.Resource.Text)
			} else if c.Resource != nil {
				parts = append(parts, "[resource "+c.Resource.URI+"]")
			}
		}
	}
	return strings.Join(parts, "\n")
}
