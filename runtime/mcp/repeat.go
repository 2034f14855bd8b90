package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Repeatable reports whether repeating a call is harmless, because its tool is read-only
// (readOnlyHint), or because a second call with the same arguments has no further effect
// (idempotentHint). If connect is false, it does not wait, and returns false for a server that is
// not connected.
func (s *Servers) Repeatable(ctx context.Context, r *effect.MCPOpen, connect bool) bool {
	server := s.servers[r.Server]
	if server == nil {
		return false
	}
	if !connect {
		if !server.mu.TryLock() {
			return false // another goroutine is connecting
		}
		defer server.mu.Unlock()
		return server.link != nil && server.link.repeatable[server.link.ownName(r.Tool)]
	}
	ctx, cancel := server.options.Clock.Within(ctx, server.config.Limit(), errTimeout)
	defer cancel()
	l, err := server.ensureLink(ctx, r.Declared)
	if err != nil {
		return false // the call itself returns the error
	}
	return l.repeatable[l.ownName(r.Tool)]
}

// Within returns the time limit for calls of a server.
func (s *Servers) Within(name string) time.Duration {
	if server := s.servers[name]; server != nil {
		return server.config.Limit()
	}
	return 0
}

// recordHints records the hints of a tool that Repeatable needs.
func (l *link) recordHints(tool *sdk.Tool) {
	if a := tool.Annotations; a != nil && (a.ReadOnlyHint || a.IdempotentHint) {
		l.repeatable[tool.Name] = true
	}
}
