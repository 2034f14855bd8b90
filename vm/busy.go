package vm

import (
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

// A handler that asks the very host whose exchange it serves would wait for
// itself, once all processes of that host are in such exchanges: its own would
// queue behind them, and they wait for its answer. It is told so at once,
// instead of when the exchanges time out.

// waitsForItself says that all processes of s's host are in exchanges whose
// handlers wait for s: those of its task, and of the tasks that await it.
func (s *scope) waitsForItself() bool {
	return s.heldBy(s.t, map[*task]bool{}) >= max(s.decl.Instances, 1)
}

// heldBy counts the exchanges with s's host that t holds, or one who awaits t.
func (s *scope) heldBy(t *task, seen map[*task]bool) int {
	if seen[t] {
		return 0
	}
	seen[t] = true
	n := 0
	for _, o := range t.scopes {
		if o.decl == s.decl {
			n++
		}
	}
	if t.group != nil {
		n += s.heldBy(t.group.t, seen)
	}
	for _, w := range t.watch {
		n += s.heldBy(w.waiter(), seen)
	}
	return n
}

func (s *scope) busy() value.Slot {
	return value.Err(programError(effect.Errorf("HostError",
		"host '%s' is busy with the exchange whose handler asks it; ask another host, or allow more processes: instances = %d in [hosts.%s]",
		s.decl.Name, max(s.decl.Instances, 1)+1, s.decl.Connector).With("host", s.decl.Name)))
}

// nowAwaited looks at the exchanges that t, or what it waits for, has asked for
// before anybody awaited it. Where none is being opened it need not look: tasks
// that each await the one before would all be gone through for each of them.
func (t *task) nowAwaited() {
	w := t.wait
	if w == nil || t.m.opening == 0 {
		return
	}
	switch w.kind {
	case waitTask:
		w.task.nowAwaited()
	case waitGroup:
		for _, y := range w.group.members() {
			y.nowAwaited()
		}
	case waitOpen:
		if !w.refused && w.end != nil && w.scope.waitsForItself() {
			w.refused = true
			w.end()
		}
	}
}
