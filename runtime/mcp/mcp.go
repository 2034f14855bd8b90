// Package mcp calls the tools of MCP servers and reads their resources and prompts
// (spec/10-tools-mcp.md). It connects to a server at the first call, and again at the next call
// after the connection has ended. The connection uses the standard streams of a subprocess, or
// streamable HTTP. After connecting, the package compares the declarations of the program with the
// server's tools.
//
// Invariants: every call has a goroutine, which ends with the call. Close ends every subprocess.
package mcp

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

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

func init() { mcpport.Register(protocol{}) }

// protocol implements mcpport.Driver.
type protocol struct{}

func (protocol) New(o mcpport.Options) mcpport.Servers { return newServers(o) }

func (protocol) ServeHTTP(ctx context.Context, name, version string, offers mcpport.Offers, l mcpport.Listen, ready func(url string)) error {
	return serveHTTP(ctx, name, version, offers, l, ready)
}

func (protocol) ServeStreams(ctx context.Context, name, version string, offers mcpport.Offers, in io.ReadCloser, out io.WriteCloser) error {
	return serveStreams(ctx, name, version, offers, in, out)
}

// newServers returns Servers. It connects to no server.
func newServers(o mcpport.Options) *Servers {
	s := &Servers{servers: map[string]*server{}, calls: map[int64]*call{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	for _, c := range o.Configs {
		s.servers[c.Name] = &server{config: c, options: o}
	}
	return s
}

// Perform begins a call, returns the next event of a call, answers a question of a call, or checks
// whether a list of tools has changed.
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
	case *effect.MCPChanged:
		x := s.servers[r.Server]
		return &effect.MCPChange{Changed: x != nil && !x.listed.Load()}, nil
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
