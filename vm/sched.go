package vm

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/value"
)

// The scheduler runs one task at a time. A task gives way only at an effect
// that waits; such a request is performed on a goroutine of its own, which the
// run waits for. Completions are taken one at a time, in one order.

// flight is a request on its way: who is to hear of it.
type flight struct {
	t     *task
	scope *scope      // of an exchange's next, or of a handler's timer
	run   *handlerRun // of a timer
	wait  *wait       // of what the task is parked on
	end   func()      // releases its context
}

type empty = struct{}

// loop runs main until it has finished and every request has come back.
func (m *VM) loop(main *task) {
	m.ready = append(m.ready, main)
	over := false
	for {
		for len(m.ready) > 0 {
			t := m.ready[0]
			m.ready = m.ready[1:]
			if m.guarded(t) == finished && t == main {
				over = true
				t.cancel(nil)
			}
		}
		if over && len(m.flights) == 0 {
			break
		}
		if !over && len(m.flights) == 0 {
			m.fatal = errors.New("the run waits for nothing: a task is parked without a request")
			break
		}
		if m.config.Choose != nil {
			m.take(m.performChosen())
			continue
		}
		m.take(<-m.done)
	}
	m.goroutes.Wait()
}

// guarded resumes t. A *value.Fault that a native or an accessor panicked with
// becomes a fault of the program; any other panic ends the run as our bug.
func (m *VM) guarded(t *task) (st status) {
	for again := true; again; {
		st, again = m.attempt(t)
	}
	return st
}

func (m *VM) attempt(t *task) (st status, again bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if f, ok := p.(*value.Fault); ok {
			t.fault("%s", f.Message) // ip and fp were saved before the call that panicked
			again = true
			return
		}
		m.fatal = fmt.Errorf("broken invariant in the VM: %v\n%s", p, debug.Stack())
		st = finished
	}()
	if t.wait != nil {
		w := t.wait
		t.wait = nil
		if st := t.resume(w); st != running && st != raising {
			return st, false
		}
	}
	return t.run(), false
}

// take hears of one completion.
func (m *VM) take(c completion) {
	f := m.flights[c.seq]
	delete(m.flights, c.seq)
	f.end()
	switch {
	case f.run != nil:
		f.run.expire(c.err)
	case f.wait != nil:
		f.wait.result, f.wait.err = c.result, c.err
		m.ready = append(m.ready, f.t)
	case f.scope != nil:
		f.scope.arrived(c)
		if w := f.t.wait; w != nil && w.kind == waitMessages && w.scope == f.scope {
			m.ready = append(m.ready, f.t)
		}
	}
}

// poll takes the completions that are there, without waiting.
func (m *VM) poll() {
	for {
		select {
		case c := <-m.done:
			m.take(c)
		default:
			return
		}
	}
}

// start performs r on a goroutine, after `after` is closed when it is not nil.
func (m *VM) start(ctx context.Context, r effect.Request, f flight, after <-chan empty) (over <-chan empty) {
	m.requests++
	m.stats.Requests++
	seq := m.requests
	ended := make(chan empty)
	m.flights[seq] = f
	if m.config.Choose != nil {
		m.waiting = append(m.waiting, waiting{seq, ctx, r, ended})
		return ended
	}
	m.goroutes.Go(func() {
		if after != nil {
			<-after
		}
		result, err := m.config.Performer.Perform(ctx, r)
		close(ended)
		m.done <- completion{seq: seq, result: result, err: err}
	})
	return ended
}

// request performs r for the task, which goes on as w says: at once when the
// kind never waits, else parked.
func (t *task) request(r effect.Request, w *wait) status {
	if effect.Inline(r.Kind()) {
		t.m.stats.Requests++
		w.result, w.err = t.m.config.Performer.Perform(t.ctx, r)
		return t.complete(w)
	}
	ctx, cancel := context.WithCancel(t.context())
	t.wait = w
	t.m.start(ctx, r, flight{t: t, wait: w, end: cancel}, nil)
	t.park()
	return parked
}

// park readies the task for waiting: handlers it is in must hear of withdrawals,
// and old registers must keep nothing alive.
func (t *task) park() {
	t.hear()
	t.settle()
}

// hear keeps a request for messages on its way for every listen whose handler
// runs, so that withdrawals are heard of.
func (t *task) hear() {
	for _, s := range t.scopes {
		if s.run != nil {
			s.fetch()
		}
	}
}

// resume goes on after a completion.
func (t *task) resume(w *wait) status {
	if w.kind != waitUnwind && t.cancelled() {
		if w.kind == waitOpen && w.err == nil {
			t.hold(w) // opened all the same: it is closed on the way out
		}
		return raising
	}
	st := t.complete(w)
	if st == raising {
		return t.unwind()
	}
	return st
}

// complete hands a result to the operation that asked for it.
func (t *task) complete(w *wait) status {
	if w.err != nil {
		var e *effect.Error
		if !errors.As(w.err, &e) && w.kind != waitUnwind {
			if t.cancelled() {
				return raising
			}
			return t.broken(w.err)
		}
	}
	switch w.kind {
	case waitPerform:
		return t.performed(w)
	case waitAnswer:
		return t.answered(w)
	case waitOpen:
		return t.opened(w)
	case waitMessages:
		return t.pump(w.scope)
	case waitClose:
		return t.closed(w)
	}
	w.scope.open = false // waitUnwind: the exchange is closed, the error goes on
	return t.unwind()
}

// broken ends the run with an error that no program may catch.
func (t *task) broken(err error) status {
	if t.m.fatal == nil {
		t.m.fatal = t.stopped(err)
	}
	t.raised = &raised{cancelled: true}
	return raising
}

// cancelled sets t.raised when the task, or a handler that it is in, has been
// cancelled.
func (t *task) cancelled() bool {
	if t.m.fatal != nil || t.ctx.Err() != nil {
		t.raised = &raised{cancelled: true}
		return true
	}
	for _, s := range t.scopes {
		if s.run != nil && s.run.cause != nil {
			t.raised = &raised{cancelled: true, until: s}
			return true
		}
	}
	return false
}

// context is what requests of the task run under: that of the innermost
// handler it is in.
func (t *task) context() context.Context {
	for i := len(t.scopes) - 1; i >= 0; i-- {
		if r := t.scopes[i].run; r != nil {
			return r.context(t.scopes[i].ctx)
		}
	}
	return t.ctx
}

// programError gives the value of an error that the program may catch.
func programError(e *effect.Error) value.Slot {
	err := value.Error{Kind: e.Kind, Message: e.Message}
	for name, v := range e.Fields {
		switch v := v.(type) {
		case string:
			err.With(name, value.String(v))
		case bool:
			err.With(name, value.Bool(v))
		case int64:
			err.With(name, value.Int(v))
		case int:
			err.With(name, value.Int(int64(v)))
		case float64:
			err.With(name, value.Float(v))
		}
	}
	if value.ErrorType(err.Kind) == nil {
		err.Kind = "RuntimeError"
	}
	return err.Slot()
}
