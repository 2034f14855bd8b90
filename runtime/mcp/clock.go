package mcp

import (
	"sync"
	"time"
)

// clock bounds the time of a call. It stands still while the server waits for an
// answer of the program, which a person may have to give.
type clock struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration // from since on
	since time.Time
	held  int // how many ask the program
}

// newClock makes a running clock that calls expire at its end.
func newClock(d time.Duration, expire func()) *clock {
	return &clock{timer: time.AfterFunc(d, expire), left: d, since: time.Now()}
}

// hold stops the clock until as many calls of release.
func (c *clock) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held++; c.held == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

func (c *clock) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held--; c.held == 0 {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// stop ends the clock: it does not expire any more.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++ // whoever asks has no answer to come
	c.timer.Stop()
}
