package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Reasons for closing a client's stream.
var (
	errReplaced = errors.New("the client has another connection")
	errSlow     = errors.New("the client does not read its messages")
)

// stream sends the client the messages after number after by calling write. It returns nil when the
// server has stopped, and an error when ctx is cancelled or write fails. It first ends the client's
// previous stream.
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

// slowness detects that a client does not read: a single write takes too long, and the client's
// outbox is full.
type slowness struct {
	c      *client
	writes atomic.Int64 // odd during a write
	cut    atomic.Bool

	mu    sync.Mutex
	timer *time.Timer
	seen  int64 // value of writes at the last check
}

// watch starts periodic checks, which continue until stop is called.
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

// during calls write, which writes one message. It returns errSlow if a check has failed.
func (x *slowness) during(write func() error) error {
	x.writes.Add(1)
	err := write()
	x.writes.Add(1)
	if err == nil && x.cut.Load() {
		err = errSlow
	}
	return err
}

// Default values of Config.Grace and Config.Slow.
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
