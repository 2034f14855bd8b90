package vm

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// deferredRequest is a request for the messages of a host that is pending and has not begun. If the
// program waits for nothing else, the run's goroutine performs the request itself, because waking
// another goroutine takes longer than handling a message. Otherwise, and while the program
// computes, another goroutine performs it.
type deferredRequest struct {
	seq     int // number of the pending request; 0 if no request is deferred
	request effect.Request
	put     func(effect.Result, error) // delivers the result
}

// idleWait is the state of a run's goroutine that performs a request while the program waits.
type idleWait struct {
	ctx    context.Context // ends when the goroutine must handle something else; nil before the first wait
	cancel context.CancelFunc
	ended  chan empty // closed at the end of the run; nil before the first wait
}

// canDefer reports whether a request may be deferred. A run without a journal defers no requests,
// because its goroutine performs all requests during which nothing else can happen.
func (q *requests) canDefer(r effect.Request, m *VM) bool {
	return r.Kind() == effect.KindExchangeNext && m.journaled.journal != nil && m.observed.debugger == nil && q.deferred.seq == 0
}

// deferUntilIdle defers a request.
func (q *requests) deferUntilIdle(h deferredRequest) {
	q.deferred = h
	q.pending[h.seq].end = func() {
		if q.deferred.seq == h.seq {
			q.deferred = deferredRequest{}
			h.put(nil, context.Canceled)
		}
	}
}

// beginDeferred begins the deferred request, if there is one, on another goroutine.
func (q *requests) beginDeferred(by effect.Performer) {
	if h := q.deferred; h.seq != 0 {
		q.deferred = deferredRequest{}
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

// performDeferred performs the deferred request if nothing else is pending. It reports whether the
// request has returned. If something else must be handled first, the request begins on another
// goroutine.
func (q *requests) performDeferred(m *VM) bool {
	h := q.deferred
	if h.seq == 0 {
		return false
	}
	if len(q.pending) > 1 || !q.beginIdle(m.journaled.suspend) {
		q.beginDeferred(m.config.Performer)
		return false
	}
	idle := q.idle.ctx
	result, err := m.config.Performer.Perform(idle, h.request)
	q.inbox.onPut(nil)
	if err != nil && idle.Err() != nil {
		q.beginDeferred(m.config.Performer)
		return false
	}
	q.deferred = deferredRequest{}
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
