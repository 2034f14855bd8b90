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

// canHold reports whether launch may hold a request. A run without a journal needs no held
// requests, because its goroutine performs all requests during which nothing else can happen.
func (m *VM) canHold(r effect.Request) bool {
	return r.Kind() == effect.KindExchangeNext && m.config.Journal != nil && m.config.Application.Debugger == nil && m.requests.held.seq == 0
}

// hold holds a request.
func (m *VM) hold(h heldRequest) {
	m.requests.held = h
	m.requests.pending[h.seq].end = func() {
		if m.requests.held.seq == h.seq {
			m.requests.held = heldRequest{}
			h.put(nil, context.Canceled)
		}
	}
}

// beginHeld begins the held request, if there is one, on another goroutine.
func (m *VM) beginHeld() {
	if h := m.requests.held; h.seq != 0 {
		m.requests.held = heldRequest{}
		ctx, cancel := context.WithCancel(m.requests.ctx)
		f := m.requests.pending[h.seq]
		f.end, f.release = cancel, cancel
		m.performApart(ctx, h.request, h.put)
	}
}

// performApart performs a request on another goroutine. That goroutine accesses no field of m.
func (m *VM) performApart(ctx context.Context, r effect.Request, put func(effect.Result, error)) {
	performer := m.config.Performer
	m.requests.goroutes.Go(func() { put(performer.Perform(ctx, r)) })
}

// performHeld performs the held request if nothing else is pending. It reports whether the request
// has returned. If something else must be handled first, the request begins on another goroutine.
func (m *VM) performHeld() bool {
	h := m.requests.held
	if h.seq == 0 {
		return false
	}
	if len(m.requests.pending) > 1 || !m.beginIdle() {
		m.beginHeld()
		return false
	}
	idle := m.requests.idle.ctx
	result, err := m.config.Performer.Perform(idle, h.request)
	m.requests.inbox.onPut(nil)
	if err != nil && idle.Err() != nil {
		m.beginHeld()
		return false
	}
	m.requests.held = heldRequest{}
	h.put(result, err)
	return true
}

// beginIdle prepares a wait of the run's goroutine that ends when a completion arrives, the run's
// context ends, or the run must be suspended. It returns false if one of these has happened.
func (m *VM) beginIdle() bool {
	w := &m.requests.idle
	if w.ended == nil {
		w.ended = make(chan empty)
		if m.config.Suspend != nil {
			go m.requests.inbox.interruptAfter(m.config.Suspend, w.ended)
		}
	}
	if w.ctx == nil || w.ctx.Err() != nil {
		w.ctx, w.cancel = context.WithCancel(m.requests.ctx)
	}
	return w.ctx.Err() == nil && m.requests.inbox.onPut(w.cancel) && !m.suspended()
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
