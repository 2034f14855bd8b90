package world

import (
	"context"
	"time"
)

// slice is how long a program computes before the worker handles messages and timers.
const slice = 50 * time.Millisecond

// yielding returns a context that returns to the event loop of the worker when the VM checks it
// and a slice has passed. Without that, neither output nor timers would make progress while a
// program computes, because WebAssembly has one thread.
func yielding(ctx context.Context) context.Context { return &yieldingContext{ctx, time.Now()} }

type yieldingContext struct {
	context.Context
	last time.Time
}

// Err returns the error of the context.
func (c *yieldingContext) Err() error {
	if time.Since(c.last) > slice {
		time.Sleep(time.Millisecond)
		c.last = time.Now()
	}
	return c.Context.Err()
}
