package server

import (
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// bucket is a token bucket. It refills at rate tokens per second up to burst tokens.
type bucket struct {
	rate, burst float64
	left        float64
	at          time.Time
}

// take takes a token. If there is none, it returns the time until the next one.
func (b *bucket) take(now time.Time) (wait time.Duration) {
	if b.at.IsZero() {
		b.left = b.burst
	} else if passed := now.Sub(b.at); passed > 0 {
		b.left = min(b.burst, b.left+passed.Seconds()*b.rate)
	}
	b.at = now
	if b.left < 1 {
		return max(time.Duration((1-b.left)/b.rate*float64(time.Second)), time.Millisecond)
	}
	b.left--
	return 0
}

// isFull reports whether the bucket has all its tokens again.
func (b *bucket) isFull(now time.Time) bool {
	return b.left+now.Sub(b.at).Seconds()*b.rate >= b.burst
}

// readLimiter limits the rate at which events of a machine are read. The limit does not apply to
// the backlog of a reconnecting machine.
type readLimiter struct {
	bucket
	backlog map[string]int64 // last sequence number that the machine announced, by run
	overdue int64            // number of backlog events still exempt from the limit
}

func newIntake() readLimiter {
	return readLimiter{bucket: bucket{rate: protocol.MachineEventRate, burst: protocol.MachineBurst}}
}

// setBacklog records how many of the machine's announced events are not stored yet.
func (i *readLimiter) setBacklog(has []protocol.RunAt, stored map[string]int64) {
	i.backlog, i.overdue = map[string]int64{}, 0
	for _, r := range has {
		i.backlog[r.RunID] = r.LastSeq
		i.overdue = min(i.overdue+max(r.LastSeq-stored[r.RunID], 0), protocol.Backlog)
	}
}

// take accepts an event. If the machine exceeds its rate, it returns how long to wait.
func (i *readLimiter) take(e *protocol.Envelope, now time.Time) (wait time.Duration) {
	if i.overdue > 0 && e.Seq <= i.backlog[e.RunID] {
		i.overdue--
		return 0
	}
	return i.bucket.take(now)
}

// rates limits the commands of each session.
type rates struct {
	clock Clock
	mu    sync.Mutex
	of    map[string]*bucket
}

func newRates(c Clock) *rates { return &rates{clock: c, of: map[string]*bucket{}} }

// allow returns nil if a session may send a command now, and otherwise a Failure with the time to
// wait.
func (r *rates) allow(session string) *Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.of[session]
	if b == nil {
		b = &bucket{rate: protocol.CommandRate, burst: protocol.CommandBurst}
		r.of[session] = b
	}
	if wait := b.take(r.clock.Now()); wait > 0 {
		return &Failure{Code: protocol.RateLimited, Why: "too many commands: try again later", After: wait}
	}
	return nil
}

func (r *rates) sweep(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, b := range r.of {
		if b.isFull(now) {
			delete(r.of, id)
		}
	}
}
