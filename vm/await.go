package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Tasks as values: started, awaited, asked and cancelled by the program.

// watch is one who waits for a task: another task, or a group for its member i.
type watch struct {
	t *task
	g *group
	i int
}

// waiter is the task behind it.
func (w watch) waiter() *task {
	if w.g != nil {
		return w.g.t
	}
	return w.t
}

// maxNested bounds the chain of tasks of which each has started the next and
// waits until that one comes to its first wait. A task that starts itself again
// would lengthen the chain without end.
const maxNested = 50_000

// taskOf gives the task that a value stands for, nil for any other value.
func taskOf(v value.Slot) *task {
	if h := v.Handle(); h != nil {
		t, _ := h.Object.(*task)
		return t
	}
	return nil
}

// opSpawn makes a task and lets it run before its maker goes on.
func opSpawn(t *task, in *ins) status {
	if st := t.room(1); st != running {
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

// room faults when n more tasks would be more than [limits] max_tasks allows.
func (t *task) room(n int) status {
	if limit := t.m.sched.most; limit > 0 && t.m.sched.alive-1+n > limit {
		return t.fault("more than %s at once: [limits] max_tasks allows no more", count(limit, "task"))
	}
	return t.takeMemory(n * taskSize)
}

// taskSize is about what a task takes that waits, in bytes.
const taskSize = 800

func opAwait(t *task, in *ins) status {
	y := taskOf(*t.slot(in.b))
	if y == nil {
		*t.slot(in.a) = *t.slot(in.b)
		return running
	}
	if y.state.ended {
		return t.given(in.a, y)
	}
	if t.cancelled() {
		return raising
	}
	if t.m.debug.isStopped(y) {
		return t.fault(taskIsStopped)
	}
	if t.waitsFor(y) {
		return t.fault("awaiting this task would never end: it waits, itself or through others, for the one that awaits it")
	}
	if y.watch == nil {
		y.watch = y.parts.watch[:0]
	}
	y.watch = append(y.watch, watch{t: t})
	y.nowAwaited()
	t.parts.wait = wait{kind: waitTask, window: in.a, task: y}
	return t.park(&t.parts.wait)
}

// given puts into register d what an ended task gave, or raises its error.
func (t *task) given(d uint8, y *task) status {
	y.state.seen = true
	switch {
	case y.raised == nil:
		value.Share(y.result)
		*t.slot(d) = y.result
		return running
	case y.raised.cancelled:
		return t.fault("the awaited task was cancelled")
	}
	t.raised = t.m.image.again(y.raised, t.pc())
	return raising
}

// ended hears that a task has finished: it tells those who wait for it.
func (m *VM) ended(t *task) {
	t.state.ended = true
	if t.stack != nil && t.raised == nil && !t.state.left {
		t.result = boxed(t.stack[0], t.fn.info.Result)
	}
	for _, s := range t.scopes { // only after a broken invariant are there any
		s.next.quit()
	}
	if t.stack != nil {
		t.freeStack()
	}
	t.parked.slots, t.scopes, t.caught, t.wait = nil, nil, nil, nil
	t.parts.wait.task = nil
	m.sched.unlink(t)
	delete(m.telling, t)
	t.tellEnd()
	if r := t.raised; r != nil {
		m.closeHoldings(t)
		m.failed(t, r)
	} else if t.member.group != nil {
		m.holdings.pass(t, t.member.group.t)
	}
	if isErr(t.result) && (t == m.sched.main || len(t.watch) == 0) {
		way := m.left.way(m.left.next, t.result.Ref)
		t.way = &way
	}
	if t == m.sched.main && (t.raised != nil || isErr(t.result)) {
		m.sched.cancelAll()
	} else if t == m.sched.main {
		m.noteUnfinished()
	}
	t.served.rootEnded(t)
	if t.member.group != nil {
		t.member.group.over(int(t.member.index), t)
		t.member.group = nil
	}
	for _, w := range t.watch {
		if w.g != nil {
			w.g.over(w.i, t)
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
	t.served.ended()
}

// failed sees to what an error means to the whole run.
func (m *VM) failed(t *task, r *raised) {
	if m.debug.evaluating != nil {
		return
	}
	if r.panicked && m.ending.panicked == nil {
		m.ending.panicked = r
		m.sched.cancelAll()
	}
	if r.cancelled && m.ctxOver() {
		m.ending.cut = true
	}
	if r.cancelled && t.served.over() {
		t.served.cut = true
	}
}

// waitsFor says whether y, which t is about to wait for, waits for t itself, so
// that neither could ever go on. It searches from both ends in turn: from y to
// the tasks that y waits for, and from t to the tasks that wait for t. The
// search ends when the shorter of the two does.
func (t *task) waitsFor(y *task) bool {
	if y == t {
		return true
	}
	if t.member.group == nil && len(t.watch) == 0 {
		return false // nobody waits for t
	}
	down, up := search{at: []*task{y}}, search{at: []*task{t}}
	for len(down.at) > 0 && len(up.at) > 0 {
		if down.step(t, (*task).awaits) || up.step(y, (*task).awaiting) {
			return true
		}
	}
	return false
}

// search is one end of the search for a circle.
type search struct {
	at   []*task // to be looked at
	seen map[*task]bool
}

// step looks at one task's neighbours; true when goal is among them.
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

// awaits lists the tasks that t waits for.
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

// awaiting lists the tasks that wait for t.
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

// bodyOf gives the function of a closure that is the body of a concurrent
// expression.
func bodyOf(v value.Slot) (f *function, closure unsafe.Pointer) {
	if v.Kind() != value.KindClosure {
		return nil, nil
	}
	if f = functionOf(v); !f.info.Body {
		return nil, nil
	}
	return f, v.Ref
}
