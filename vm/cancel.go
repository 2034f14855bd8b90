package vm

import (
	"context"
	"errors"
	"slices"
)

// Cancellation. A cancelled task detects the cancellation where it waits, or after it has computed
// for a while. It then unwinds its whole stack, and no catch region stops that. If only a handler
// that the task runs was cancelled, the task unwinds the handler's part of the stack. The task's
// pending request is cancelled first, so that no work that the task started only for itself
// outlives it.

// mustEnd reports whether all tasks must end.
func (m *VM) mustEnd() bool { return m.ending.fatal != nil || m.ending.panicked != nil || m.ctxOver() }

// cancelled reports whether the task, or a handler that it runs, has been cancelled. If so, it sets
// t.raised.
func (t *task) cancelled() bool {
	if t.state.stop || t.m.mustEnd() || t.served.isCancelled() {
		t.recordCut(t.pc())
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

// recordCut records the place of the task at instruction pc if the run's context has ended and no
// other task has recorded its place yet.
func (t *task) recordCut(pc int) {
	if t.m.ending.cutAt == nil && t.m.ctxOver() {
		t.m.ending.cutAt = t.stoppedAt(pc, context.Cause(t.m.requests.ctx))
	}
}

// CutAt returns the place and the calls of the task that was running when the context ended the
// run, or nil if the context has not ended it.
func (m *VM) CutAt() *Stopped { return m.ending.cutAt }

// Locate returns the error of a run with the place of e, the result of CutAt, if the end of the
// context is its reason.
func (e *Stopped) Locate(err error) error {
	if e != nil && errors.Is(err, e.Err) {
		return e
	}
	return err
}

// cancelTask cancels a task. The task ends when it is next scheduled.
func cancelTask(t *task) {
	if t.state.ended || t.state.stop {
		return
	}
	t.state.stop = true
	t.interrupt()
}

// cancelAll cancels all tasks, the oldest first.
func (s *sched) cancelAll() {
	for t := s.oldest; t != nil; {
		next := t.birth.newer
		cancelTask(t)
		t = next
	}
}

// interruptRun interrupts the task if it, or a handler that it runs, was cancelled.
func (t *task) interruptRun() {
	if t.state.stop {
		t.interrupt()
		return
	}
	for _, s := range t.scopes {
		if s.run != nil && s.run.cause != nil {
			t.interrupt()
			return
		}
	}
}

// interrupt cancels what a parked task waits for, except the closing of an exchange. If t is
// starting a task that has not waited yet, interrupt cancels that task too, because only t can wait
// for it.
func (t *task) interrupt() {
	if t.state.starting {
		cancelTask(t.parts.wait.task)
	}
	w := t.wait
	if w == nil || w.off {
		return
	}
	switch w.kind {
	case waitTask:
		if !w.task.state.ended && !w.task.release(watch{t: t}) {
			w.off = true
			t.m.sched.ready.push(t)
		}
	case waitGroup:
		w.group.cancel()
	case waitMessages:
		w.scope.next.cancel()
	case waitClose, waitQuiet, waitUnwind:
	default:
		if w.stream != nil {
			w.stream.next.cancel()
		}
		w.flight.cancel()
	}
}

// release removes the waiter w from the task. If no other waiter remains, it cancels the task and
// returns true; w is still notified of the task's end.
func (t *task) release(w watch) bool {
	if len(t.watch) == 1 && t.member.group == nil {
		cancelTask(t)
		return true
	}
	t.watch = slices.DeleteFunc(t.watch, func(x watch) bool { return x == w })
	return false
}
