package clock

import (
	"context"
	"sync"
	"time"
)

// PausableClock is the clock of a run. The run's times, sleeps and time limits depend on it. It can
// be paused, for example by a debugger, and then continues from the same time, so a pause extends
// all waits. A nil PausableClock follows the system's clock and cannot be paused. A PausableClock
// is safe for concurrent use.
type PausableClock struct {
	mu     sync.Mutex
	lost   time.Duration // total duration of the pauses
	since  time.Time     // start of the current pause; zero while the clock runs
	timers map[*paused]struct{}
}

// NewPausableClock returns a running PausableClock.
func NewPausableClock() *PausableClock { return &PausableClock{timers: map[*paused]struct{}{}} }

// Now returns the current time of the clock.
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

// Resume ends one call of Pause. The clock runs again when all pauses have ended.
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

// Within returns a context that ends with the given cause when d has passed. If the PausableClock
// is not nil, the context has no deadline, because its end depends on pauses.
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

// Sleep waits until d has passed. If ctx ends first, it returns ctx's cause.
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

// Timer calls a function once, like a time.Timer created by time.AfterFunc.
type Timer struct {
	timer *time.Timer // set for a nil PausableClock, instead of a paused timer
	own   *paused
}

// paused is a timer that waits while its PausableClock is paused.
type paused struct {
	clock *PausableClock
	ends  time.Time // end in the time of the PausableClock
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

// startTimer starts the timer, unless the clock is paused: in that case the timer starts when the
// clock resumes. The caller must hold the clock's lock.
func (p *paused) startTimer() {
	p.clock.timers[p] = struct{}{}
	if !p.clock.since.IsZero() {
		p.timer.Stop()
	}
}

// rings reports whether the timer has expired. It may not have, because the clock may have been
// paused in the meantime.
func (p *paused) rings() bool {
	p.clock.mu.Lock()
	defer p.clock.mu.Unlock()
	if _, waits := p.clock.timers[p]; !waits || !p.clock.since.IsZero() {
		return false
	}
	delete(p.clock.timers, p)
	return true
}

// Stop cancels the timer. It returns false if the timer has expired or was already stopped. The
// zero Timer never expires.
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
