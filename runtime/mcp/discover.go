package mcp

import (
	"context"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// discoverTime is how long the client waits for an answer to `server/discover`. A server of an
// older protocol version should refuse this request, but some servers do not answer at all.
// Afterwards the client sends the older `initialize`.
const discoverTime = 2 * time.Second

// slowDiscoverTime is how long the client waits in a second attempt. The first one fails for a
// server that starts slowly and then answers both requests: it refuses the late `initialize`,
// because `server/discover` has initialized the connection.
const slowDiscoverTime = 20 * time.Second

var errSilent = errors.New("no response to server/discover")

// patience returns a middleware that limits the wait for an answer to `server/discover`. It sets
// silent if the server has not answered in time.
func patience(clock *clock.PausableClock, bound time.Duration, silent *bool) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method != "server/discover" {
				return next(ctx, method, req)
			}
			limited, cancel := clock.Within(ctx, bound, errSilent)
			defer cancel()
			result, err := next(limited, method, req)
			if err != nil && ctx.Err() == nil && context.Cause(limited) == errSilent {
				*silent = true
				return nil, errSilent
			}
			return result, err
		}
	}
}
