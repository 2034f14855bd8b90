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
	hand  *clock.PausableClock
	timer clock.Timer
	left  time.Duration // remaining at since
	since time.Time
	held  int // number of open questions
}

// newClock returns a running clock that calls expire at its end.
func newClock(hand *clock.PausableClock, d time.Duration, expire func()) *callClock {
	return &callClock{hand: hand, timer: hand.AfterFunc(d, expire), left: d, since: hand.Now()}
}

// pause pauses the clock until release was called as often.
func (c *callClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held++; c.held == 1 && c.timer.Stop() {
		c.left -= c.hand.Now().Sub(c.since)
	}
}

func (c *callClock) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held--; c.held == 0 {
		c.since = c.hand.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// stop stops the clock: expire is not called any more.
func (c *callClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++ // open questions receive no answer
	c.timer.Stop()
}
