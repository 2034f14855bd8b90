// Package mcp calls the tools of MCP servers and reads their resources and prompts
// (spec/10-tools-mcp.md). Its API promises nothing. It connects to a server at the first call, and
// again at the next call after the connection has ended. The connection uses the standard streams
// of a subprocess, or streamable HTTP. After connecting, the package compares the declarations of
// the program with the server's tools.
//
// Invariants: every call has a goroutine, which ends with the call. Close ends every subprocess.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// Config describes a server. Fields with a JSON name are keys of [mcp.X]. Timeout limits one call,
// in seconds, including connecting. It does not include the time in which the program answers the
// server's questions. 0 means DefaultTimeout.
type Config struct {
	Name       string            `json:"-"`
	Transport  string            `json:"transport"` // "stdio" or "http"
	Command    string            `json:"command"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`
	Dir        string            `json:"-"` // working directory of a stdio server
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`     // sent with each HTTP request
	HeadersEnv map[string]string `json:"headers_env"` // headers with values from environment variables
	Timeout    float64           `json:"timeout"`
	PassEnv    []string          `json:"pass_env"` // additional variables of the run's environment
	// variables that contain other services' keys: a variable is passed on only by its full name
	Keys map[string]bool `json:"-"`
}

// ParseConfig parses a server in the form of the IR, a JSON object with the keys of the server's
// section. If the object contains no transport, the URL or the command determines it.
func ParseConfig(name string, config json.RawMessage, dir string) (Config, error) {
	c := Config{Name: name, Dir: dir}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &c); err != nil {
			return c, fmt.Errorf("could not read MCP server %s: %w", name, err)
		}
	}
	if dir != "" {
		at, err := filepath.Abs(dir)
		if err != nil {
			return c, fmt.Errorf("could not read MCP server %s: %w", name, err)
		}
		for i, arg := range c.Args {
			c.Args[i] = strings.ReplaceAll(arg, "${manifest_dir}", at)
		}
		for name, value := range c.Env {
			c.Env[name] = strings.ReplaceAll(value, "${manifest_dir}", at)
		}
	}
	switch {
	case c.Transport != "":
	case c.URL != "":
		c.Transport = "http"
	default:
		c.Transport = "stdio"
	}
	return c, nil
}

// DefaultTimeout is the default time limit of a call.
const DefaultTimeout = 60 * time.Second

func (c *Config) timeout() time.Duration {
	if c.Timeout <= 0 {
		return DefaultTimeout
	}
	return time.Duration(c.Timeout * float64(time.Second))
}

// Options configures Servers. Log receives the lines of the servers' standard error.
type Options struct {
	Configs []Config
	Environ []string
	Run     *procgroup.Run // run that the servers' processes belong to, or nil
	Log     func(server, line string)
	// Clock measures the time limits of calls; nil means the system's clock.
	Clock *clock.PausableClock
	// Remark logs a message about a server with a level; nil drops the messages.
	Remark func(level, line string)
	// Played means that all models are replayed. In that case a server that cannot be reached
	// causes no error and offers no tools to models.
	Played bool
	// Refused returns the reason why a redirect to an address must not be followed, or ""; nil
	// permits all redirects.
	Refused func(address string) string

	dial func() sdk.Transport // creates the transport in tests; nil otherwise
}

// Servers performs the effects of internal/data/effect/mcp.go. It is safe for concurrent use.
type Servers struct {
	servers map[string]*server

	mu    sync.Mutex
	calls map[int64]*call
	last  int64
	group sync.WaitGroup
	stop  context.CancelFunc
	ctx   context.Context
}

// New returns Servers. It connects to no server.
func New(o Options) *Servers {
	s := &Servers{servers: map[string]*server{}, calls: map[int64]*call{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	for _, c := range o.Configs {
		s.servers[c.Name] = &server{config: c, options: o}
	}
	return s
}

// Perform begins a call, returns the next event of a call, or answers a question of a call.
func (s *Servers) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.MCPOpen:
		return s.openCall(ctx, r)
	case *effect.MCPNext:
		return s.nextEvent(ctx, r.ID)
	case *effect.MCPReply:
		if c := s.findCall(r.ID); c != nil {
			c.answerRequest(r.Answer)
		}
		return nil, nil
	}
	return nil, &effect.UnperformedError{Who: "the MCP client", Kind: r.Kind()}
}

func (s *Servers) openCall(from context.Context, r *effect.MCPOpen) (effect.Result, error) {
	server := s.servers[r.Server]
	if server == nil {
		return nil, fmt.Errorf("unknown MCP server %s", r.Server)
	}
	s.mu.Lock()
	s.last++
	c, ctx := newCall(effect.WithTraceOf(s.ctx, from), s.last, server, r)
	c.key = effect.KeyOf(from)
	s.calls[c.id] = c
	s.mu.Unlock()
	s.group.Go(func() {
		defer c.cancel(nil)
		c.performCall(ctx)
	})
	return &effect.MCPOpened{ID: c.id}, nil
}

func (s *Servers) findCall(id int64) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

func (s *Servers) nextEvent(ctx context.Context, id int64) (effect.Result, error) {
	c := s.findCall(id)
	if c == nil {
		return nil, fmt.Errorf("there is no call %d of an MCP server", id)
	}
	e, err := c.nextEvent(ctx)
	if err != nil || e.Kind == "result" {
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
		c.cancel(nil)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Close ends the calls and the servers. When ctx ends, it kills the processes that are still
// running.
func (s *Servers) Close(ctx context.Context) {
	s.stop()
	s.group.Wait()
	for _, x := range s.servers {
		x.closePermanently(ctx)
	}
}
