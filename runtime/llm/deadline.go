package llm

import (
	"context"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// deadlines end the calls of a client whose time is over. One timer serves them all and
// is set for the call that is due first. Calls end long before they are due, and to set a
// timer that comes before all others wakes a thread, which takes longer than the rest of this.
// So it also says when nobody has called for keepIdle, and connections need not be kept.
type deadlines struct {
	idle func() // nobody calls any more
	// hand has each call have a timer of its own when it is not nil: while it stands, no time goes by.
	hand *clock.Hand

	mu    sync.Mutex
	calls map[*deadline]struct{}
	last  time.Time   // when a call ended
	timer *time.Timer // nil before the first call
	next  time.Time   // when the timer comes; zero when it does not
}

// keepIdle is how long connections are kept that nobody uses, at least; twice as long at
// most.
const keepIdle = 90 * time.Second

// deadline is the context of a call whose time is bounded.
type deadline struct {
	context.Context
	due time.Time // zero where a hand may stand before
	end context.CancelCauseFunc
}

// Deadline is when the call's time is over.
func (c *deadline) Deadline() (time.Time, bool) {
	if t, ok := c.Context.Deadline(); c.due.IsZero() || ok && t.Before(c.due) {
		return t, ok
	}
	return c.due, true
}

// Err is as that of context.WithTimeout.
func (c *deadline) Err() error {
	err := c.Context.Err()
	if err != nil && context.Cause(c.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

// within is context.WithTimeout.
func (d *deadlines) within(ctx context.Context, bound time.Duration) (_ context.Context, leave func()) {
	if d.hand != nil {
		c := &deadline{}
		c.Context, leave = d.hand.Within(ctx, bound, context.DeadlineExceeded)
		return c, leave
	}
	now := time.Now()
	c := &deadline{due: now.Add(bound)}
	c.Context, c.end = context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls == nil {
		d.calls = map[*deadline]struct{}{}
	}
	d.calls[c] = struct{}{}
	switch {
	case d.next.IsZero():
		d.set(earlier(c.due, now.Add(keepIdle)))
	case c.due.Before(d.next):
		d.set(c.due)
	}
	return c, func() {
		d.mu.Lock()
		delete(d.calls, c)
		d.last = time.Now()
		d.mu.Unlock()
		c.end(nil)
	}
}

func (d *deadlines) set(next time.Time) {
	d.next = next
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(next), d.look)
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

// look ends the calls that are due, and sets the timer anew while there is something
// to look for.
func (d *deadlines) look() {
	d.mu.Lock()
	var due []*deadline
	now := time.Now()
	next := now.Add(keepIdle)
	for c := range d.calls {
		if c.due.After(now) {
			next = earlier(next, c.due)
			continue
		}
		due = append(due, c)
		delete(d.calls, c)
		d.last = now
	}
	unused := len(d.calls) == 0
	if unused {
		next = d.last.Add(keepIdle)
	}
	if unused = unused && !next.After(now); unused {
		d.next = time.Time{}
	} else {
		d.set(next)
	}
	d.mu.Unlock()
	for _, c := range due {
		c.end(context.DeadlineExceeded)
	}
	if unused && d.idle != nil {
		d.idle()
	}
}

// close stops the timer: no call goes on.
func (d *deadlines) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
}
