//go:build !js

package world

import "context"

// yielding returns ctx, because other systems have threads.
func yielding(ctx context.Context) context.Context { return ctx }
