package vm

import (
	"context"
	"slices"
)

// Cancelling. A task that is cancelled, or is in a handler that is, learns of it
// where it waits or computes for long, and unwinds past every catch: of its
// whole stack, or of the handler. What it waits for is ended first, so that
// nothing which it started for itself outlives it.

// over says that every task is to end.
func (m *VM) over() bool { return m.fatal != nil || m.panicked != nil || m.ctx.Err() != nil }

// cancelled sets t.raised when the task, or a handler that it is in, has been
// cancelled.
func (t *task) cancelled() bool {
	if t.stop || t.m.over() || t.served.over() {
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

// noteCut keeps where the first task stands that learns of the end of the run's
// context, at instruction pc.
func (t *task) noteCut(pc int) {
	if t.m.cutAt == nil && t.m.ctx.Err() != nil {
		t.m.cutAt = t.stoppedAt(pc, context.Cause(t.m.ctx))
	}
}

// CutAt says where a run was when its context ended it, and by which calls; nil when
// nothing has.
func (m *VM) CutAt() *Stopped { return m.cutAt }

// cancel ends a task, soon.
func (m *VM) cancel(t *task) {
	if t.ended || t.stop {
		return
	}
	t.stop = true
	t.interrupt()
}

// cancelAll ends all tasks, the oldest first.
func (m *VM) cancelAll() {
	for t := m.oldest; t != nil; {
		next := t.birth.newer
		m.cancel(t)
		t = next
	}
}

// interruptRun interrupts the task when it, or a handler that it is in, was
// cancelled.
func (t *task) interruptRun() {
	if t.stop {
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

// interrupt ends what a parked task waits for. Closing an exchange goes on. A task
// that is being started has nobody yet who could wait for it besides t.
func (t *task) interrupt() {
	if t.starting {
		t.m.cancel(t.parts.wait.task)
	}
	w := t.wait
	if w == nil || w.off {
		return
	}
	switch w.kind {
	case waitTask:
		if !w.task.ended && !w.task.release(watch{t: t}) {
			w.off = true
			t.m.ready.push(t)
		}
	case waitGroup:
		w.group.cancel()
	case waitMessages:
		if w.scope.endNext != nil {
			w.scope.endNext()
		}
	case waitClose, waitQuiet, waitUnwind:
	default:
		if w.end != nil {
			w.end()
		}
	}
}

// release says that w needs the task no more. When nobody else waits for it, it
// is cancelled, w hears of its end all the same, and release gives true.
func (t *task) release(w watch) bool {
	if len(t.watch) == 1 && t.group == nil {
		t.m.cancel(t)
		return true
	}
	t.watch = slices.DeleteFunc(t.watch, func(x watch) bool { return x == w })
	return false
}
