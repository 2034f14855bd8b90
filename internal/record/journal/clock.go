package journal

import (
	"sync/atomic"
	"time"
)

// clock returns the time of a shared store, from answers of the store and from what the monotonic
// clock of this machine has measured since: the wall clock of the machine may be wrong, and may
// change at any moment. A clock is safe for concurrent use.
type clock struct{ last atomic.Pointer[reading] }

// reading is an answer of the store. here is when it was given, on this machine's clock, and may
// be wrong by at most off.
type reading struct {
	store, here time.Time
	off         time.Duration
}

func (r *reading) now() time.Time { return r.store.Add(time.Since(r.here)) }

// set sets the time to the answer to a request, which was sent at a result of time.Now. The store
// has given the answer at an unknown moment since then. So an answer that takes longer than the
// last one does not replace it, unless the two contradict each other.
func (c *clock) set(sent, store time.Time) {
	off := time.Since(sent) / 2
	r := &reading{store, sent.Add(off), off}
	last := c.last.Load()
	if last == nil || off <= last.off || r.now().Sub(last.now()).Abs() > off+last.off {
		c.last.Store(r)
	}
}

// now returns the time in Unix milliseconds. Before set, it is the time of this machine.
func (c *clock) now() int64 {
	if r := c.last.Load(); r != nil {
		return r.now().UnixMilli()
	}
	return time.Now().UnixMilli()
}
