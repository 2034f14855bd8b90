package vm

import (
	"context"
	"slices"
)

// Cancelling. When a task, or a handler that the task runs, is cancelled, the
// task learns of it where it waits or after it has computed for a while. It
// unwinds its whole stack, or the handler's part, and no catch region stops
// that. What the task waits for is ended first, so that nothing that it started
// for itself outlives it.

// over says that every task is to end.
func (m *VM) over() bool { return m.ending.fatal != nil || m.ending.panicked != nil || m.ctxOver() }

// cancelled says whether the task, or a handler that it runs, has been
// cancelled, and then sets t.raised.
func (t *task) cancelled() bool {
	if t.state.stop || t.m.over() || t.served.over() {
		t.noteCut(t.pc())
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

// noteCut keeps the place of the first task that learns of the end of the run's
// context, at instruction pc.
func (t *task) noteCut(pc int) {
	if t.m.ending.cutAt == nil && t.m.ctxOver() {
		t.m.ending.cutAt = t.stoppedAt(pc, context.Cause(t.m.requests.ctx))
	}
}

// CutAt says where the run was when its context ended it, and through which
// calls it had come there; nil when the context has not ended it.
func (m *VM) CutAt() *Stopped { return m.ending.cutAt }

// cancelTask ends a task, soon.
func cancelTask(t *task) {
	if t.state.ended || t.state.stop {
		return
	}
	t.state.stop = true
	t.interrupt()
}

// cancelAll ends all tasks, the oldest first.
func (s *sched) cancelAll() {
	for t := s.oldest; t != nil; {
		next := t.birth.newer
		cancelTask(t)
		t = next
	}
}

// interruptRun interrupts the task when it, or a handler that it runs, was
// cancelled.
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

// interrupt ends what a parked task waits for, except the closing of an
// exchange. While t starts a task, nobody but t can wait for that one, so it is
// cancelled too.
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
		w.scope.next.quit()
	case waitClose, waitQuiet, waitUnwind:
	default:
		if w.stream != nil {
			w.stream.next.quit()
		}
		w.flight.quit()
	}
}

// release says that w no longer needs the task. When nobody else waits for the
// task it is cancelled; w is still told of its end, and release gives true.
func (t *task) release(w watch) bool {
	if len(t.watch) == 1 && t.member.group == nil {
		cancelTask(t)
		return true
	}
	t.watch = slices.DeleteFunc(t.watch, func(x watch) bool { return x == w })
	return false
}
