package mcp

import (
	"sync"
	"time"

	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// callClock limits the time of a call. It is paused while the server waits for an answer of the
// program, because a user may have to give the answer.
type callClock struct {
	mu    sync.Mutex
	clock *clock.PausableClock
	timer clock.Timer
	left  time.Duration // remaining time at the time since
	since time.Time
	held  int // number of unanswered questions
}

// newClock returns a running clock, which calls expire when d has passed.
func newClock(clock *clock.PausableClock, d time.Duration, expire func()) *callClock {
	return &callClock{clock: clock, timer: clock.AfterFunc(d, expire), left: d, since: clock.Now()}
}

// pauseClock pauses the clock. It continues when the release functions of all pauses were called.
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

// stopClock stops the clock, so that it does not call expire any more.
func (c *callClock) stopClock() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++ // prevents the answers to open questions from restarting the clock
	c.timer.Stop()
}
