package mcp

import (
	"sync"
	"time"

	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// callClock bounds the time of a call. It stands still while the server waits for an
// answer of the program, which a person may have to give.
type callClock struct {
	mu    sync.Mutex
	hand  *clock.Hand
	timer clock.Timer
	left  time.Duration // from since on
	since time.Time
	held  int // how many ask the program
}

// newClock makes a running clock that calls expire at its end.
func newClock(hand *clock.Hand, d time.Duration, expire func()) *callClock {
	return &callClock{hand: hand, timer: hand.AfterFunc(d, expire), left: d, since: hand.Now()}
}

// hold stops the clock until as many calls of release.
func (c *callClock) hold() {
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

// stop ends the clock: it does not expire any more.
func (c *callClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++ // whoever asks has no answer to come
	c.timer.Stop()
}
