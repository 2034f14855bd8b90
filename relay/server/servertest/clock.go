package servertest

import (
	"slices"
	"sync"
	"time"
)

// Clock is a clock that only advances when Advance is called.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

type timer struct {
	at time.Time
	do func()
}

// NewClock returns a stopped clock.
func NewClock() *Clock { return &Clock{now: time.UnixMilli(1_750_000_000_000).UTC()} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After calls do when the clock has advanced by d. stop cancels the timer and reports whether it
// was pending.
func (c *Clock) After(d time.Duration, do func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), do}
	if d <= 0 {
		go do()
		return func() bool { return false }
	}
	c.timers = append(c.timers, t)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.timers, t)
		if i >= 0 {
			c.timers = slices.Delete(c.timers, i, i+1)
		}
		return i >= 0
	}
}

// Advance advances the clock by d. It calls the function of each due timer with the clock at that
// timer's time, and returns after the last call.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	for {
		var next *timer
		for _, t := range c.timers {
			if !t.at.After(end) && (next == nil || t.at.Before(next.at)) {
				next = t
			}
		}
		if next == nil {
			break
		}
		c.timers = slices.DeleteFunc(c.timers, func(t *timer) bool { return t == next })
		c.now = next.at
		c.mu.Unlock()
		next.do()
		c.mu.Lock()
	}
	c.now = end
	c.mu.Unlock()
}

// Timers returns the number of pending timers.
func (c *Clock) Timers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}
