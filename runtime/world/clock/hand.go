package clock

import (
	"context"
	"sync"
	"time"
)

// Hand is what a run's time goes by: its clocks, sleeps and time limits. It can stand still, as under a debugger, and goes on
// from where it stood: what waits has then waited for nothing in between. A nil Hand goes by the system's clock and
// never stands. Safe for concurrent use.
type Hand struct {
	mu     sync.Mutex
	lost   time.Duration // how long it has stood
	since  time.Time     // when it began to stand; zero while it goes
	timers map[*paused]struct{}
}

// NewHand makes a Hand that goes.
func NewHand() *Hand { return &Hand{timers: map[*paused]struct{}{}} }

// Now is the time that it shows.
func (h *Hand) Now() time.Time {
	if h == nil {
		return time.Now()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now()
}

func (h *Hand) now() time.Time {
	if !h.since.IsZero() {
		return h.since.Add(-h.lost)
	}
	return time.Now().Add(-h.lost)
}

// Stand has it stand still. Who calls it twice has to call Go once.
func (h *Hand) Stand() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.since.IsZero() {
		return
	}
	h.since = time.Now()
	for p := range h.timers {
		p.timer.Stop()
	}
}

// Go has it go on.
func (h *Hand) Go() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return
	}
	h.lost += time.Since(h.since)
	h.since = time.Time{}
	for p := range h.timers {
		p.timer.Reset(p.ends.Sub(h.now()))
	}
}

// Within is ctx until d has passed, and cause is why it ends then. With a Hand that can stand it has no deadline, for
// nobody knows when that is.
func (h *Hand) Within(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if h == nil {
		return context.WithTimeoutCause(ctx, d, cause)
	}
	bounded, end := context.WithCancelCause(ctx)
	t := h.AfterFunc(d, func() { end(cause) })
	return bounded, func() {
		t.Stop()
		end(context.Canceled)
	}
}

// Sleep waits until d has passed. When ctx ends before, the error is its cause.
func (h *Hand) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	over := make(chan struct{})
	t := h.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Timer calls a function once, like a time.Timer that AfterFunc made.
type Timer struct {
	timer *time.Timer // of a nil Hand
	own   *paused
}

// paused is a timer of a Hand that can stand.
type paused struct {
	hand  *Hand
	ends  time.Time // as the Hand shows it
	timer *time.Timer
}

// AfterFunc calls f in a goroutine of its own when d has passed.
func (h *Hand) AfterFunc(d time.Duration, f func()) Timer {
	if h == nil {
		return Timer{timer: time.AfterFunc(d, f)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &paused{hand: h, ends: h.now().Add(d)}
	p.timer = time.AfterFunc(d, func() {
		if p.rings() {
			f()
		}
	})
	p.wait()
	return Timer{own: p}
}

// wait has it wait, until its Hand goes when that stands. Its Hand is locked.
func (p *paused) wait() {
	p.hand.timers[p] = struct{}{}
	if !p.hand.since.IsZero() {
		p.timer.Stop()
	}
}

// rings says whether its time is over: its Hand may have begun to stand just before.
func (p *paused) rings() bool {
	p.hand.mu.Lock()
	defer p.hand.mu.Unlock()
	if _, waits := p.hand.timers[p]; !waits || !p.hand.since.IsZero() {
		return false
	}
	delete(p.hand.timers, p)
	return true
}

// Stop has it never ring; false when it has rung, or was stopped. The zero Timer never rings.
func (t Timer) Stop() bool {
	switch {
	case t.own != nil:
		h := t.own.hand
		h.mu.Lock()
		defer h.mu.Unlock()
		_, waits := h.timers[t.own]
		delete(h.timers, t.own)
		t.own.timer.Stop()
		return waits
	case t.timer != nil:
		return t.timer.Stop()
	}
	return false
}

// Reset has it ring when d has passed.
func (t Timer) Reset(d time.Duration) {
	if t.own == nil {
		t.timer.Reset(d)
		return
	}
	h := t.own.hand
	h.mu.Lock()
	defer h.mu.Unlock()
	t.own.ends = h.now().Add(d)
	t.own.timer.Reset(d)
	t.own.wait()
}
