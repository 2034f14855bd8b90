package llm

import (
	"context"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// deadlines cancels the calls of a client at their deadlines. One timer, set to the earliest
// deadline, serves all calls. Most calls end long before their deadline, and a separate timer for
// each would be expensive, because setting a timer that is earlier than all others wakes a thread.
// The timer also calls idle when no call was made for minIdle, so that idle connections are closed.
type deadlines struct {
	idle func() // called when no call was made for minIdle
	// clock, if not nil, creates a timer for each call, because this clock can be paused.
	clock *clock.PausableClock

	mu    sync.Mutex
	calls map[*deadline]struct{}
	last  time.Time   // time at which the last call ended
	timer *time.Timer // nil before the first call
	next  time.Time   // time at which the timer fires; zero if it is not set
}

// minIdle is the minimum time for which unused network connections stay open. The maximum is twice
// as long.
const minIdle = 90 * time.Second

// deadline is the context of a call with a time limit.
type deadline struct {
	context.Context
	expires time.Time // time at which the call is cancelled; zero if the clock can be paused
	end     context.CancelCauseFunc
}

// Deadline returns the call's deadline.
func (c *deadline) Deadline() (time.Time, bool) {
	if t, ok := c.Context.Deadline(); c.expires.IsZero() || ok && t.Before(c.expires) {
		return t, ok
	}
	return c.expires, true
}

// Err implements context.Context. Its results are those of context.WithTimeout.
func (c *deadline) Err() error {
	err := c.Context.Err()
	if err != nil && context.Cause(c.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

// withTimeout is like context.WithTimeout.
func (d *deadlines) withTimeout(ctx context.Context, bound time.Duration) (_ context.Context, leave func()) {
	if d.clock != nil {
		c := &deadline{}
		c.Context, leave = d.clock.Within(ctx, bound, context.DeadlineExceeded)
		return c, leave
	}
	now := time.Now()
	c := &deadline{expires: now.Add(bound)}
	c.Context, c.end = context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls == nil {
		d.calls = map[*deadline]struct{}{}
	}
	d.calls[c] = struct{}{}
	switch {
	case d.next.IsZero():
		d.setTimer(earlier(c.expires, now.Add(minIdle)))
	case c.expires.Before(d.next):
		d.setTimer(c.expires)
	}
	return c, func() {
		d.mu.Lock()
		delete(d.calls, c)
		d.last = time.Now()
		d.mu.Unlock()
		c.end(nil)
	}
}

func (d *deadlines) setTimer(next time.Time) {
	d.next = next
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(next), d.cancelExpired)
	} else {
		d.timer.Reset(time.Until(next))
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// cancelExpired cancels the calls whose deadline has passed. If calls remain, it sets the timer
// again.
func (d *deadlines) cancelExpired() {
	d.mu.Lock()
	var expired []*deadline
	now := time.Now()
	next := now.Add(minIdle)
	for c := range d.calls {
		if c.expires.After(now) {
			next = earlier(next, c.expires)
			continue
		}
		expired = append(expired, c)
		delete(d.calls, c)
		d.last = now
	}
	unused := len(d.calls) == 0
	if unused {
		next = d.last.Add(minIdle)
	}
	if unused = unused && !next.After(now); unused {
		d.next = time.Time{}
	} else {
		d.setTimer(next)
	}
	d.mu.Unlock()
	for _, c := range expired {
		c.end(context.DeadlineExceeded)
	}
	if unused && d.idle != nil {
		d.idle()
	}
}

// stopTimer stops the timer. It must not be called while a call is running.
func (d *deadlines) stopTimer() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
}
