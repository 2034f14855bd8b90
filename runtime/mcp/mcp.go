// Package mcp performs the calls of MCP servers' tools (spec/10-tools-mcp.md).
// A server is reached when it is first called, by a subprocess's standard
// streams or by streamable HTTP, and again when the connection has ended. What
// the program declares of it is checked then.
//
// Invariants: every call has a goroutine that ends with it; every subprocess is
// ended by Close.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/effect"
)

// Config is a server, as the manifest describes it. Timeout, in seconds, bounds
// one call and connecting; 0 means DefaultTimeout.
type Config struct {
	Name       string
	Transport  string // "stdio" or "http"
	Command    string
	Args       []string
	Env        map[string]string
	Dir        string // where a stdio server runs
	URL        string
	Headers    map[string]string // sent with each HTTP request
	HeadersEnv map[string]string // headers whose values are in environment variables
	Timeout    float64
}

// DefaultTimeout is how long a call may take when the manifest does not say.
const DefaultTimeout = 60 * time.Second

func (c *Config) timeout() time.Duration {
	if c.Timeout <= 0 {
		return DefaultTimeout
	}
	return time.Duration(c.Timeout * float64(time.Second))
}

// Options are the servers and the world around them. Log gets what servers write
// to their standard error.
type Options struct {
	Configs []Config
	Environ []string
	Log     func(server, line string)
}

// Servers performs the effects of package effect's mcp.go. Safe for concurrent
// use.
type Servers struct {
	servers map[string]*server

	mu    sync.Mutex
	calls map[int64]*call
	last  int64
	group sync.WaitGroup
	stop  context.CancelFunc
	ctx   context.Context
}

// New makes Servers; nothing is started.
func New(o Options) *Servers {
	s := &Servers{servers: map[string]*server{}, calls: map[int64]*call{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	for _, c := range o.Configs {
		s.servers[c.Name] = &server{config: c, options: o}
	}
	return s
}

// Perform begins a call, or gives its next event, or answers what it asks.
func (s *Servers) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.MCPOpen:
		return s.open(r)
	case *effect.MCPNext:
		return s.next(ctx, r.ID)
	case *effect.MCPReply:
		if c := s.call(r.ID); c != nil {
			c.answer(r.Answer)
		}
		return nil, nil
	}
	return nil, fmt.Errorf("the MCP client cannot perform %s", r.Kind())
}

func (s *Servers) open(r *effect.MCPOpen) (effect.Result, error) {
	server := s.servers[r.Server]
	if server == nil {
		return nil, fmt.Errorf("there is no MCP server %s", r.Server)
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, server.config.timeout(), errTimeout)
	s.mu.Lock()
	s.last++
	c := newCall(s.last, server, r, cancel)
	s.calls[c.id] = c
	s.mu.Unlock()
	s.group.Go(func() {
		defer cancel()
		c.run(ctx)
	})
	return &effect.MCPOpened{ID: c.id}, nil
}

func (s *Servers) call(id int64) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

func (s *Servers) next(ctx context.Context, id int64) (effect.Result, error) {
	c := s.call(id)
	if c == nil {
		return nil, fmt.Errorf("there is no call %d of an MCP server", id)
	}
	e, err := c.next(ctx)
	if err != nil || e.Kind == "result" {
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
		c.cancel()
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Close ends calls and servers. When ctx ends first, what still runs is killed.
func (s *Servers) Close(ctx context.Context) {
	s.stop()
	s.group.Wait()
	for _, x := range s.servers {
		x.close(ctx)
	}
}

// call is a call under way: what has happened and has not been taken yet.
type call struct {
	id      int64
	server  *server
	request *effect.MCPOpen
	cancel  context.CancelFunc

	mu      sync.Mutex
	events  []*effect.MCPEvent
	failed  error
	more    chan struct{}        // something has been added
	answers chan json.RawMessage // to the elicitation under way
}

func newCall(id int64, s *server, r *effect.MCPOpen, cancel context.CancelFunc) *call {
	return &call{id: id, server: s, request: r, cancel: cancel, more: make(chan struct{}, 1), answers: make(chan json.RawMessage, 1)}
}

func (c *call) add(e *effect.MCPEvent, err error) {
	c.mu.Lock()
	if e != nil {
		c.events = append(c.events, e)
	} else {
		c.failed = err
	}
	c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (c *call) take() (*effect.MCPEvent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.events) > 0 {
		e := c.events[0]
		c.events = c.events[1:]
		return e, nil
	}
	return nil, c.failed
}

func (c *call) next(ctx context.Context) (*effect.MCPEvent, error) {
	for {
		if e, err := c.take(); e != nil || err != nil {
			return e, err
		}
		select {
		case <-c.more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *call) answer(a json.RawMessage) {
	select {
	case c.answers <- a:
	default: // nobody asks any more
	}
}
