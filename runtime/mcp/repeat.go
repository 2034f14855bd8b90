package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Repeatable says whether a call does no harm when it is made a second time: its tool says that it
// only reads (readOnlyHint), or that a second call with the same arguments changes nothing more
// (idempotentHint). Without connect nothing is waited for: of a server that is not connected
// nothing is known.
func (s *Servers) Repeatable(ctx context.Context, r *effect.MCPOpen, connect bool) bool {
	server := s.servers[r.Server]
	if server == nil {
		return false
	}
	if !connect {
		if !server.mu.TryLock() {
			return false // it is being connected to
		}
		defer server.mu.Unlock()
		return server.link != nil && server.link.repeatable[server.link.own(r.Tool)]
	}
	ctx, cancel := server.options.Hand.Within(ctx, server.config.timeout(), errTimeout)
	defer cancel()
	l, err := server.reach(ctx, r.Declared)
	if err != nil {
		return false // the call will say why
	}
	return l.repeatable[l.own(r.Tool)]
}

// Within is how long a call of a server may take.
func (s *Servers) Within(name string) time.Duration {
	if server := s.servers[name]; server != nil {
		return server.config.timeout()
	}
	return 0
}

// hint notes what a tool says of itself.
func (l *link) hint(tool *sdk.Tool) {
	if a := tool.Annotations; a != nil && (a.ReadOnlyHint || a.IdempotentHint) {
		l.repeatable[tool.Name] = true
	}
}
