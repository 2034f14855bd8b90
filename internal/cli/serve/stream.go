package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// The reasons for closing a stream to a client.
var (
	errReplaced = errors.New("the client has another connection")
	errSlow     = errors.New("the client does not read its messages")
)

// stream sends the client the messages after a number by calling write, until the server has
// stopped, ctx is cancelled or write fails. It returns nil if the server has stopped. The client's
// previous stream ends first.
func (c *client) stream(ctx context.Context, after int64, write func(ctx context.Context, number int64, m []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	defer close(done)
	defer cancel(nil)
	c.arrive()
	defer c.leave(c.srv.config.grace())
	c.mu.Lock()
	before := c.hangUp
	c.hangUp = func() {
		cancel(errReplaced)
		<-done
	}
	c.mu.Unlock()
	if before != nil {
		before()
	}
	from, lost := c.out.attach(after)
	defer c.out.detach()
	c.resendQuestions()
	if lost > 0 {
		if err := write(ctx, lost, notification("session/event", gap("", from, lost))); err != nil {
			return err
		}
	}
	x := &slowness{c: c}
	defer x.watch()()
	return c.deliver(ctx, func(number int64, batch []outgoing) error {
		for i, m := range batch {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := x.during(func() error { return write(ctx, number+int64(i), m.text) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// slowness detects that a client does not read: a message was not sent for a while, and no more can
// be stored.
type slowness struct {
	c      *client
	writes atomic.Int64 // odd during a write
	cut    atomic.Bool

	mu    sync.Mutex
	timer *time.Timer
	seen  int64 // value of writes at the last check
}

// watch checks periodically until stop is called.
func (x *slowness) watch() (stop func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.timer = time.AfterFunc(x.c.srv.config.slow(), x.check)
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.timer.Stop()
		x.timer = nil
	}
}

func (x *slowness) check() {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.writes.Load()
	if n%2 == 1 && n == x.seen && x.c.out.Full() {
		x.c.srv.log("warn", fmt.Sprintf("%s: %v; closing its connection", x.c.owner(), errSlow))
		x.cut.Store(true)
		return
	}
	x.seen = n
	if x.timer != nil {
		x.timer.Reset(x.c.srv.config.slow())
	}
}

// during calls write for one message.
func (x *slowness) during(write func() error) error {
	x.writes.Add(1)
	err := write()
	x.writes.Add(1)
	if err == nil && x.cut.Load() {
		err = errSlow
	}
	return err
}

// The defaults of Grace and Slow.
const (
	usualGrace = 10 * time.Second
	usualSlow  = 5 * time.Second
)

func (c *Config) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return usualGrace
}

func (c *Config) slow() time.Duration {
	if c.Slow > 0 {
		return c.Slow
	}
	return usualSlow
}
