package mock

import (
	"context"
	"math"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// clock is the clock of a test, in milliseconds. It does not advance while the program runs. When
// all tasks wait, it advances to the next event.
type clock struct {
	unix      int64 // milliseconds since 1970
	monotonic int64 // milliseconds since the beginning of the test
	wakes     map[effect.Request]int64
	asked     map[int64]int // number of open requests of each exchange with a real host, by exchange ID
}

// epoch is the time at which tests begin: 2025-01-01T00:00:00Z.
const epoch = 1_735_689_600_000

func newClock() clock {
	return clock{unix: epoch, wakes: map[effect.Request]int64{}, asked: map[int64]int{}}
}

func (w *World) sleep(ctx context.Context, r *effect.Sleep, next effect.Performer) (effect.Result, error) {
	if w.options.Live {
		return next.Perform(ctx, r)
	}
	return nil, nil // Choose has already advanced the clock
}

// Now returns the time of the test's clock.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.UnixMilli(w.clock.unix)
}

// waitForItem performs the wait for an item of a queue. Like a sleep, it ends when the clock has
// advanced; a change of the queue ends it earlier.
func (w *World) waitForItem(ctx context.Context, r *effect.QueueWait, next effect.Performer) (effect.Result, error) {
	if w.options.Live {
		return next.Perform(ctx, r)
	}
	return nil, context.Cause(ctx)
}

func (w *World) readClock(ctx context.Context, r *effect.Clock, next effect.Performer) (effect.Result, error) {
	if w.options.Live {
		return next.Perform(ctx, r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return &effect.Time{Unix: w.clock.unix, Monotonic: w.clock.monotonic}, nil
}

// Choose returns the index of the waiting request that is performed next. Requests without a delay
// come first, in order, then the next message of a host. Otherwise Choose selects the request with
// the earliest time and advances the clock to it. Choose is used as Config.Choose of the VM.
func (w *World) Choose(waiting []effect.Request) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	best, bestWake, bestRank := 0, int64(math.MaxInt64), math.MaxInt
	for i, r := range waiting {
		wake, rank := w.wakesAt(r)
		if wake < bestWake || wake == bestWake && rank < bestRank {
			best, bestWake, bestRank = i, wake, rank
		}
	}
	if d := bestWake - w.clock.monotonic; d > 0 && bestWake < math.MaxInt64 {
		w.clock.monotonic += d
		w.clock.unix += d
	}
	delete(w.clock.wakes, waiting[best])
	return best
}

// Order of requests with the same time.
const (
	rankPlain = iota
	rankMessage
	rankLate // a process becomes free when its exchange times out
)

// wakesAt returns the time at which a waiting request can be performed, and its rank among requests
// with the same time.
func (w *World) wakesAt(r effect.Request) (due int64, rank int) {
	switch r := r.(type) {
	case *effect.ExchangeNext:
		x := w.exchanges[r.ID]
		switch {
		case x == nil && w.clock.asked[r.ID] > 0:
			return math.MaxInt64, rankMessage
		case x == nil:
			return w.clock.monotonic, rankMessage
		}
		return w.timeAfter(r, x.nextDelay()), rankMessage
	case *effect.ExchangeOpen:
		if h := w.hosts[r.Host]; h != nil {
			if free := h.free(); free > 0 {
				return max(free, w.clock.monotonic), rankLate
			}
		}
	case *effect.Sleep:
		return w.timeAfter(r, r.Milliseconds), rankPlain
	case *effect.QueueWait:
		return w.timeAfter(r, r.Until-w.clock.unix), rankPlain
	case *effect.HTTP:
		return w.timeAfter(r, w.web.outcomeDelay(r, r.Timeout)), rankPlain
	case *effect.Command:
		return w.timeAfter(r, w.shell.outcomeDelay(r, r.Timeout)), rankPlain
	case *effect.StreamNext:
		if s := w.streams[r.ID]; s != nil && !s.begun {
			wake, rank := w.wakesAt(s.call)
			delete(w.clock.wakes, s.call)
			return w.timeAfter(r, wake-w.clock.monotonic), rank
		}
	case *effect.AgentCall:
		if a := w.agents[r.Agent]; a != nil {
			if t := a.answerTo(r); t != nil {
				return w.timeAfter(r, t.delayMS), rankPlain
			}
		}
	}
	return w.clock.monotonic, rankPlain
}

// timeAfter returns the time ms milliseconds after the request was first seen.
func (w *World) timeAfter(r effect.Request, ms int64) int64 {
	wake, ok := w.clock.wakes[r]
	if !ok {
		wake = w.clock.monotonic + min(max(ms, 0), math.MaxInt64/2)
		w.clock.wakes[r] = wake
	}
	return max(wake, w.clock.monotonic)
}

// nextDelay returns the delay of the host before its next message, in milliseconds. The timeout of
// the host limits the delay.
func (x *exchange) nextDelay() int64 {
	s := x.peekStep()
	if s == nil || s.waitMS == 0 {
		return 0
	}
	return min(s.waitMS, max(x.deadline()-x.w.clock.monotonic, 0))
}
