package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Tasks as values: the program starts, awaits, queries and cancels them.

// watch is a waiter for the end of a task: another task, or a group for its member i.
type watch struct {
	t *task
	g *group
	i int
}

// waiter returns the task that waits.
func (w watch) waiter() *task {
	if w.g != nil {
		return w.g.t
	}
	return w.t
}

// maxNested is the maximum length of a chain of tasks in which each task has started the next one
// and is suspended until that task first waits. Without this limit, a task that starts itself
// recursively would extend the chain until the memory is exhausted.
const maxNested = 50_000

// taskOf returns the task that a value represents, or nil for any other value.
func taskOf(v value.Slot) *task {
	if h := v.Handle(); h != nil {
		t, _ := h.Object.(*task)
		return t
	}
	return nil
}

// opSpawn creates a task and lets it run before the current task continues.
func opSpawn(t *task, in *ins) status {
	if st := t.checkMaxTasks(1); st != running {
		return st
	}
	if t.m.sched.nested++; t.m.sched.nested > maxNested {
		t.m.sched.nested--
		return t.tooDeep()
	}
	f := &t.m.image.functions[in.imm]
	x := t.child(f, nil, t.window(in.b, in.c)...)
	t.state.starting, t.parts.wait.task = true, x
	*t.slot(in.a) = x.parts.handle.Init("Task", f.Name, x)
	t.m.sched.ready.front(x, t)
	return parked
}

// checkMaxTasks faults if n more tasks would exceed [limits] max_tasks.
func (t *task) checkMaxTasks(n int) status {
	if limit := t.m.sched.most; limit > 0 && t.m.sched.alive-1+n > limit {
		return t.fault("more than %s at a time: [limits] max_tasks does not allow more", count(limit, "task"))
	}
	return t.reserveMemory(n * taskSize)
}

// taskSize is the approximate memory of a waiting task, in bytes.
const taskSize = 800

func opAwait(t *task, in *ins) status {
	y := taskOf(*t.slot(in.b))
	if y == nil {
		*t.slot(in.a) = *t.slot(in.b)
		return running
	}
	if y.state.ended {
		return t.consumeResult(in.a, y)
	}
	if t.cancelled() {
		return raising
	}
	if t.m.debug.isStopped(y) {
		return t.fault(taskIsStopped)
	}
	if t.waitsFor(y) {
		return t.fault("awaiting this task would never end: it waits, directly or indirectly, for the task that awaits it")
	}
	if y.watch == nil {
		y.watch = y.parts.watch[:0]
	}
	y.watch = append(y.watch, watch{t: t})
	y.recheckExchanges()
	t.parts.wait = wait{kind: waitTask, window: in.a, task: y}
	return t.park(&t.parts.wait)
}

// consumeResult stores the result of an ended task in register d, or raises its error.
func (t *task) consumeResult(d uint8, y *task) status {
	y.state.seen = true
	switch {
	case y.raised == nil:
		value.Share(y.result)
		*t.slot(d) = y.result
		return running
	case y.raised.cancelled:
		return t.fault("the awaited task was cancelled")
	}
	t.raised = t.m.image.reraise(y.raised, t.pc())
	return raising
}

// taskEnded handles the end of a task: it notifies the waiters.
func (m *VM) taskEnded(t *task) {
	t.state.ended = true
	if t.stack != nil && t.raised == nil && !t.state.left {
		t.result = boxed(t.stack[0], t.fn.info.Result)
	}
	for _, s := range t.scopes { // scopes remain only after a violated invariant
		s.next.cancel()
	}
	if t.stack != nil {
		t.freeStack()
	}
	t.parked.slots, t.scopes, t.caught, t.wait = nil, nil, nil, nil
	t.parts.wait.task = nil
	m.sched.unlink(t)
	delete(m.taskDecisions, t)
	t.m.uses.end(t)
	t.reportEnd()
	if r := t.raised; r != nil {
		m.closeResources(t)
		m.taskFailed(t, r)
	} else if t.member.group != nil {
		m.openResources.transfer(t, t.member.group.t)
	}
	if isErr(t.result) && (t == m.sched.main || len(t.watch) == 0) {
		way := m.left.path(m.left.next, t.result.Ref)
		t.way = &way
	}
	if t == m.sched.main && (t.raised != nil || isErr(t.result)) {
		m.sched.cancelAll()
	} else if t == m.sched.main {
		m.noteUnfinished()
	}
	t.served.rootEnded(t)
	if t.member.group != nil {
		t.member.group.memberEnded(int(t.member.index), t)
		t.member.group = nil
	}
	for _, w := range t.watch {
		if w.g != nil {
			w.g.memberEnded(w.i, t)
		} else {
			m.sched.ready.push(w.t)
		}
	}
	if len(t.watch) == 0 && t.valued() && !t.state.stop && (t.raised != nil && !t.raised.cancelled || isErr(t.result)) {
		if t.served != nil {
			t.served.lost = append(t.served.lost, t)
		} else {
			m.ending.lost = append(m.ending.lost, t)
		}
	}
	t.watch, t.parts.watch = nil, [1]watch{}
	t.served.taskEnded()
}

// taskFailed applies the effect of an error on the whole run.
func (m *VM) taskFailed(t *task, r *raised) {
	if m.debug.evaluating != nil {
		return
	}
	if r.panicked && m.ending.panicked == nil {
		m.ending.panicked, m.ending.panicIn = r, t.id
		m.sched.cancelAll()
	}
	if r.cancelled && m.ctxOver() {
		m.ending.cut = true
	}
	if r.cancelled && t.served.isCancelled() {
		t.served.cut = true
	}
}

// waitsFor reports whether y, which t is about to await, itself waits for t, so that neither could
// ever continue. It searches in both directions in turn: from y to the tasks that y waits for, and
// from t to the tasks that wait for t. It stops when one direction has no more tasks to visit.
func (t *task) waitsFor(y *task) bool {
	if y == t {
		return true
	}
	if t.member.group == nil && len(t.watch) == 0 {
		return false // no task waits for t
	}
	down, up := search{at: []*task{y}}, search{at: []*task{t}}
	for len(down.at) > 0 && len(up.at) > 0 {
		if down.step(t, (*task).awaits) || up.step(y, (*task).awaiting) {
			return true
		}
	}
	return false
}

// search is one of the two directions in which waitsFor searches.
type search struct {
	at   []*task // the tasks to visit next
	seen map[*task]bool
}

// step takes a task from the list and adds its neighbours. It returns true if goal is one of the
// neighbours.
func (s *search) step(goal *task, neighbours func(*task) []*task) bool {
	x := s.at[len(s.at)-1]
	s.at = s.at[:len(s.at)-1]
	for _, n := range neighbours(x) {
		if n == goal {
			return true
		}
		if s.seen == nil {
			s.seen = map[*task]bool{}
		}
		if !s.seen[n] {
			s.seen[n] = true
			s.at = append(s.at, n)
		}
	}
	return false
}

// awaits returns the tasks that t waits for.
func (t *task) awaits() []*task {
	if t.wait == nil {
		return nil
	}
	switch t.wait.kind {
	case waitTask:
		return []*task{t.wait.task}
	case waitGroup:
		return t.wait.group.members()
	}
	return nil
}

// awaiting returns the tasks that wait for t.
func (t *task) awaiting() []*task {
	var all []*task
	if t.member.group != nil {
		all = append(all, t.member.group.t)
	}
	for _, w := range t.watch {
		all = append(all, w.waiter())
	}
	return all
}

// bodyOf returns the function and the closure of v if v is the body of a concurrent expression.
func bodyOf(v value.Slot) (f *function, closure unsafe.Pointer) {
	if v.Kind() != value.KindClosure {
		return nil, nil
	}
	if f = functionOf(v); !f.info.Body {
		return nil, nil
	}
	return f, v.Ref
}
