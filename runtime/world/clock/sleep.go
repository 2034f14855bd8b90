package clock

import (
	"container/heap"
	"context"
	"math"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Sleeper performs effect.Sleep. All pending sleeps share one timer, so that each needs little
// memory. Sleeps that end at the same time end in the order in which they began. A Sleeper is safe
// for concurrent use.
type Sleeper struct {
	clock *PausableClock
	start time.Time
	mu    sync.Mutex
	turn  sync.Mutex // held while the callbacks of ended sleeps run
	queue sleepQueue
	last  uint64
	timer Timer
}

// NewSleeper returns a Sleeper that follows clock, which may be nil.
func NewSleeper(clock *PausableClock) *Sleeper { return &Sleeper{clock: clock, start: clock.Now()} }

// elapsed returns the time since the Sleeper was created.
func (q *Sleeper) elapsed() time.Duration { return q.clock.Now().Sub(q.start) }

// asleep is a pending sleep. It ends at nanoseconds after the Sleeper was created.
type asleep struct {
	at     int64
	number uint64
	index  int // index in the queue; -1 when the sleep is no longer in the queue
	done   func(effect.Result, error)
}

// Perform waits until the sleep has ended. If ctx ends first, it returns ctx's cause.
func (q *Sleeper) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	s, ok := r.(*effect.Sleep)
	if !ok {
		return nil, &effect.UnperformedError{Who: "a sleeper", Kind: r.Kind()}
	}
	return nil, q.clock.Sleep(ctx, milliseconds(s.Milliseconds))
}

// Start begins a sleep.
func (q *Sleeper) Start(_ context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	s, ok := r.(*effect.Sleep)
	if !ok {
		return nil, false
	}
	at := int64(q.elapsed())
	if ms := min(s.Milliseconds, maxSleep); ms > 0 {
		if at += ms * int64(time.Millisecond); at < 0 { // the sum overflows int64
			at = math.MaxInt64
		}
	}
	x := &asleep{at: at, done: done}
	q.addSleep(x)
	return func() { q.stopSleep(x) }, true
}

func (q *Sleeper) addSleep(x *asleep) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	x.number = q.last
	heap.Push(&q.queue, x)
	if q.queue[0] == x {
		q.wake()
	}
}

// wake sets the timer to the end of the first sleep.
func (q *Sleeper) wake() {
	d := time.Duration(q.queue[0].at) - q.elapsed()
	if q.timer == (Timer{}) {
		q.timer = q.clock.AfterFunc(d, func() { q.ring() })
	} else {
		q.timer.Reset(d)
	}
}

// ring ends the expired sleeps in their order.
func (q *Sleeper) ring() {
	q.turn.Lock()
	defer q.turn.Unlock()
	for {
		q.mu.Lock()
		if len(q.queue) == 0 {
			q.mu.Unlock()
			return
		}
		if q.queue[0].at > int64(q.elapsed()) {
			q.wake()
			q.mu.Unlock()
			return
		}
		x := heap.Pop(&q.queue).(*asleep)
		q.mu.Unlock()
		x.done(nil, nil)
	}
}

// stopSleep ends a sleep before its time.
func (q *Sleeper) stopSleep(x *asleep) {
	q.mu.Lock()
	there := x.index >= 0
	if there {
		heap.Remove(&q.queue, x.index)
	}
	if len(q.queue) == 0 {
		q.timer.Stop()
	}
	q.mu.Unlock()
	if there {
		x.done(nil, context.Canceled)
	}
}

// sleepQueue is a heap ordered by end time. Sleeps with the same end are ordered by their
// beginning.
type sleepQueue []*asleep

func (q sleepQueue) Len() int { return len(q) }

func (q sleepQueue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].number < q[j].number
}

func (q sleepQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface; x is an *asleep.
func (q *sleepQueue) Push(x any) {
	s := x.(*asleep)
	s.index = len(*q)
	*q = append(*q, s)
}

// Pop implements heap.Interface.
func (q *sleepQueue) Pop() any {
	old := *q
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	s.index = -1
	return s
}
