package llm

import (
	"context"
	"sync"
	"time"
)

// deadlines end the calls of a client whose time is over. One timer serves them all and
// is set for the call that is due first. Calls end long before they are due, and to set a
// timer that comes before all others wakes a thread, which takes longer than the rest of this.
type deadlines struct {
	mu    sync.Mutex
	calls map[*deadline]struct{}
	timer *time.Timer // nil before the first call
	next  time.Time   // when the timer comes; zero when it does not
}

// deadline is the context of a call whose time is bounded.
type deadline struct {
	context.Context
	due time.Time
	end context.CancelCauseFunc
}

// Deadline is when the call's time is over.
func (c *deadline) Deadline() (time.Time, bool) {
	if t, ok := c.Context.Deadline(); ok && t.Before(c.due) {
		return t, true
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
	c := &deadline{due: time.Now().Add(bound)}
	c.Context, c.end = context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls == nil {
		d.calls = map[*deadline]struct{}{}
	}
	d.calls[c] = struct{}{}
	if d.next.IsZero() || c.due.Before(d.next) {
		d.set(c.due)
	}
	return c, func() {
		d.mu.Lock()
		delete(d.calls, c)
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

// look ends the calls that are due.
func (d *deadlines) look() {
	d.mu.Lock()
	var due []*deadline
	var next time.Time
	now := time.Now()
	for c := range d.calls {
		switch {
		case !c.due.After(now):
			due = append(due, c)
			delete(d.calls, c)
		case next.IsZero() || c.due.Before(next):
			next = c.due
		}
	}
	if d.next = next; !next.IsZero() {
		d.set(next)
	}
	d.mu.Unlock()
	for _, c := range due {
		c.end(context.DeadlineExceeded)
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
