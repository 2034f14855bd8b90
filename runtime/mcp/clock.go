package mcp

import (
	"sync"
	"time"

	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// callClock limits the time of a call. It is paused while the server waits for an answer of the
// program, which a person may have to give.
type callClock struct {
	mu    sync.Mutex
	clock *clock.PausableClock
	timer clock.Timer
	left  time.Duration // remaining at since
	since time.Time
	held  int // number of open questions
}

// newClock returns a running clock that calls expire at its end.
func newClock(clock *clock.PausableClock, d time.Duration, expire func()) *callClock {
	return &callClock{clock: clock, timer: clock.AfterFunc(d, expire), left: d, since: clock.Now()}
}

// pauseClock pauses the clock until release was called as often.
func (c *callClock) pauseClock() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held++; c.held == 1 && c.timer.Stop() {
		c.left -= c.clock.Now().Sub(c.since)
	}
}

func (c *callClock) resumeClock() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held--; c.held == 0 {
		c.since = c.clock.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// stopClock stops the clock: expire is not called any more.
func (c *callClock) stopClock() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++ // open questions receive no answer
	c.timer.Stop()
}
