package vm

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// heldRequest is a request for the messages of a host that is pending and has not begun. If the
// program waits for nothing else, the run's goroutine performs the request itself, because waking
// another goroutine takes longer than handling a message. Otherwise, and while the program
// computes, another goroutine performs it.
type heldRequest struct {
	seq     int // number of the pending request; 0 if no request is held
	request effect.Request
	put     func(effect.Result, error) // delivers the result
}

// idleWait is the state of a run's goroutine that performs a request while the program waits.
type idleWait struct {
	ctx    context.Context // ends when the goroutine must handle something else; nil before the first wait
	cancel context.CancelFunc
	ended  chan empty // closed at the end of the run; nil before the first wait
}

// canHold reports whether a request may be held. A run without a journal needs no held requests,
// because its goroutine performs all requests during which nothing else can happen.
func (q *requests) canHold(r effect.Request, c *Config) bool {
	return r.Kind() == effect.KindExchangeNext && c.Journal != nil && c.Application.Debugger == nil && q.held.seq == 0
}

// hold holds a request.
func (q *requests) hold(h heldRequest) {
	q.held = h
	q.pending[h.seq].end = func() {
		if q.held.seq == h.seq {
			q.held = heldRequest{}
			h.put(nil, context.Canceled)
		}
	}
}

// beginHeld begins the held request, if there is one, on another goroutine.
func (q *requests) beginHeld(by effect.Performer) {
	if h := q.held; h.seq != 0 {
		q.held = heldRequest{}
		ctx, cancel := context.WithCancel(q.ctx)
		f := q.pending[h.seq]
		f.end, f.release = cancel, cancel
		q.performApart(ctx, by, h.request, h.put)
	}
}

// performApart performs a request on another goroutine.
func (q *requests) performApart(ctx context.Context, by effect.Performer, r effect.Request, put func(effect.Result, error)) {
	q.goroutes.Go(func() { put(by.Perform(ctx, r)) })
}

// performHeld performs the held request if nothing else is pending. It reports whether the request
// has returned. If something else must be handled first, the request begins on another goroutine.
func (q *requests) performHeld(c *Config) bool {
	h := q.held
	if h.seq == 0 {
		return false
	}
	if len(q.pending) > 1 || !q.beginIdle(c.Suspend) {
		q.beginHeld(c.Performer)
		return false
	}
	idle := q.idle.ctx
	result, err := c.Performer.Perform(idle, h.request)
	q.inbox.onPut(nil)
	if err != nil && idle.Err() != nil {
		q.beginHeld(c.Performer)
		return false
	}
	q.held = heldRequest{}
	h.put(result, err)
	return true
}

// beginIdle prepares a wait of the run's goroutine that ends when a completion arrives, the run's
// context ends, or suspend is closed. It returns false if one of these has happened.
func (q *requests) beginIdle(suspend <-chan empty) bool {
	w := &q.idle
	if w.ended == nil {
		w.ended = make(chan empty)
		if suspend != nil {
			go q.inbox.interruptAfter(suspend, w.ended)
		}
	}
	if w.ctx == nil || w.ctx.Err() != nil {
		w.ctx, w.cancel = context.WithCancel(q.ctx)
	}
	if !q.inbox.onPut(w.cancel) || w.ctx.Err() != nil {
		return false
	}
	select {
	case <-suspend:
		return false
	default:
		return true
	}
}

// end releases what the waits of the run's goroutine have used.
func (w *idleWait) end() {
	if w.ended != nil {
		close(w.ended)
		w.cancel()
	}
	*w = idleWait{}
}

// onPut sets the function that is called when a completion arrives. It returns false if one has
// already arrived.
func (b *inbox) onPut(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interrupt = f
	return len(b.list) == 0
}

// interruptAfter interrupts a wait when suspend is closed.
func (b *inbox) interruptAfter(suspend, ended <-chan empty) {
	select {
	case <-suspend:
	case <-ended:
		return
	}
	b.mu.Lock()
	interrupt := b.interrupt
	b.mu.Unlock()
	if interrupt != nil {
		interrupt()
	}
}
