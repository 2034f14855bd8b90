package clock

import (
	"context"
	"sync"
	"time"
)

// PausableClock is the clock of a run: for its clocks, sleeps and time limits. It can be paused, as
// under a debugger, and continues from the same time: waits are extended by the pause. A nil
// PausableClock follows the system's clock and cannot be paused. It is safe for concurrent use.
type PausableClock struct {
	mu     sync.Mutex
	lost   time.Duration // total duration of the pauses
	since  time.Time     // start of the current pause; zero while it runs
	timers map[*paused]struct{}
}

// NewPausableClock returns a running PausableClock.
func NewPausableClock() *PausableClock { return &PausableClock{timers: map[*paused]struct{}{}} }

// Now returns its current time.
func (h *PausableClock) Now() time.Time {
	if h == nil {
		return time.Now()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lockedNow()
}

func (h *PausableClock) lockedNow() time.Time {
	if !h.since.IsZero() {
		return h.since.Add(-h.lost)
	}
	return time.Now().Add(-h.lost)
}

// Pause pauses the clock. Each call must be paired with one call of Resume.
func (h *PausableClock) Pause() {
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

// Resume resumes the clock.
func (h *PausableClock) Resume() {
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
		p.timer.Reset(p.ends.Sub(h.lockedNow()))
	}
}

// Within returns a context that ends when d has passed; cause is then its cause. With a non-nil
// PausableClock it has no deadline, because that depends on pauses.
func (h *PausableClock) Within(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
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

// Sleep waits until d has passed. If ctx ends first, the error is its cause.
func (h *PausableClock) Sleep(ctx context.Context, d time.Duration) error {
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

// Timer calls a function once, like a time.Timer of time.AfterFunc.
type Timer struct {
	timer *time.Timer // for a nil PausableClock
	own   *paused
}

// paused is a timer of a PausableClock that can be paused.
type paused struct {
	clock *PausableClock
	ends  time.Time // in the time of the PausableClock
	timer *time.Timer
}

// AfterFunc calls f in a new goroutine when d has passed.
func (h *PausableClock) AfterFunc(d time.Duration, f func()) Timer {
	if h == nil {
		return Timer{timer: time.AfterFunc(d, f)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &paused{clock: h, ends: h.lockedNow().Add(d)}
	p.timer = time.AfterFunc(d, func() {
		if p.rings() {
			f()
		}
	})
	p.startTimer()
	return Timer{own: p}
}

// startTimer makes the timer wait for a paused PausableClock to resume. The clock must be
// locked.
func (p *paused) startTimer() {
	p.clock.timers[p] = struct{}{}
	if !p.clock.since.IsZero() {
		p.timer.Stop()
	}
}

// rings reports whether the timer has expired: its PausableClock may just have been paused.
func (p *paused) rings() bool {
	p.clock.mu.Lock()
	defer p.clock.mu.Unlock()
	if _, waits := p.clock.timers[p]; !waits || !p.clock.since.IsZero() {
		return false
	}
	delete(p.clock.timers, p)
	return true
}

// Stop cancels the timer. It returns false if the timer has expired or was stopped. The zero Timer
// never expires.
func (t Timer) Stop() bool {
	switch {
	case t.own != nil:
		h := t.own.clock
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

// Reset makes the timer expire when d has passed.
func (t Timer) Reset(d time.Duration) {
	if t.own == nil {
		t.timer.Reset(d)
		return
	}
	h := t.own.clock
	h.mu.Lock()
	defer h.mu.Unlock()
	t.own.ends = h.lockedNow().Add(d)
	t.own.timer.Reset(d)
	t.own.startTimer()
}
