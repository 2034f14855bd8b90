package clock

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/effect"
)

// sleepers are the sleeps under way: one timer for all of them, however many,
// so that each costs a few words and those that end together end in the order
// in which they began.
type sleepers struct {
	mu    sync.Mutex
	turn  sync.Mutex // one at a time calls what has ended
	queue sleepQueue
	last  uint64
	timer *time.Timer
}

// sleeper is one sleep. It ends at `at`, nanoseconds after the clock's start.
type sleeper struct {
	at     int64
	number uint64
	index  int // in the queue; -1 when it has left it
	done   func(effect.Result, error)
}

// Start begins a sleep; other requests it leaves to Perform.
func (c *Clock) Start(_ context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	s, ok := r.(*effect.Sleep)
	if !ok {
		return nil, false
	}
	at := int64(time.Since(c.start))
	if ms := min(s.Milliseconds, maxSleep); ms > 0 {
		at = max(at, at+ms*int64(time.Millisecond)) // without overflow
	}
	x := &sleeper{at: at, done: done}
	c.sleeping.add(c, x)
	return func() { c.sleeping.stop(x) }, true
}

func (q *sleepers) add(c *Clock, x *sleeper) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	x.number = q.last
	heap.Push(&q.queue, x)
	if q.queue[0] == x {
		q.wake(c)
	}
}

// wake sets the timer to the first end.
func (q *sleepers) wake(c *Clock) {
	d := time.Duration(q.queue[0].at) - time.Since(c.start)
	if q.timer == nil {
		q.timer = time.AfterFunc(d, func() { q.ring(c) })
	} else {
		q.timer.Reset(d)
	}
}

// ring ends the sleeps whose time is over, in their order.
func (q *sleepers) ring(c *Clock) {
	q.turn.Lock()
	defer q.turn.Unlock()
	for {
		q.mu.Lock()
		if len(q.queue) == 0 {
			q.mu.Unlock()
			return
		}
		if q.queue[0].at > int64(time.Since(c.start)) {
			q.wake(c)
			q.mu.Unlock()
			return
		}
		x := heap.Pop(&q.queue).(*sleeper)
		q.mu.Unlock()
		x.done(nil, nil)
	}
}

// stop ends a sleep early.
func (q *sleepers) stop(x *sleeper) {
	q.mu.Lock()
	there := x.index >= 0
	if there {
		heap.Remove(&q.queue, x.index)
	}
	if len(q.queue) == 0 && q.timer != nil {
		q.timer.Stop()
	}
	q.mu.Unlock()
	if there {
		x.done(nil, context.Canceled)
	}
}

// sleepQueue is a heap: the first to end first, those that end together in the
// order in which they began.
type sleepQueue []*sleeper

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

// Push adds a *sleeper, for package heap.
func (q *sleepQueue) Push(x any) {
	s := x.(*sleeper)
	s.index = len(*q)
	*q = append(*q, s)
}

// Pop takes the last one, for package heap.
func (q *sleepQueue) Pop() any {
	old := *q
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	s.index = -1
	return s
}
