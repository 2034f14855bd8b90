package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// listTools returns the tools of the server, and before them an element which means that it
// announces changes, if it does.
func (c *call) listTools(ctx context.Context, l *link, announces bool) (*effect.MCPEvent, error) {
	var first []any
	if announces {
		first = []any{map[string]any{effect.MCPChanges: true}}
	}
	c.server.listed.Store(true) // before the request, so that a change during it is noticed
	e, err := listAll(l.session.Tools(ctx, nil), toolObject, first...)
	if err != nil {
		c.server.listed.Store(false)
	}
	return e, err
}

// ignoreChange handles a change of the list of tools, so that the SDK subscribes to changes. They
// are noticed when they are read, because the SDK calls its handlers in other goroutines.
func ignoreChange(context.Context, *sdk.ToolListChangedRequest) {}

// uncached is a middleware after which the SDK does not cache lists of tools: its cache may be
// older than a change that was read.
func uncached(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, req)
		if r, ok := result.(*sdk.ListToolsResult); ok && r != nil {
			r.TTLMs = 0
		}
		return result, err
	}
}
