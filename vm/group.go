package vm

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// group is the set of tasks that run concurrently for one expression: the elements of `await (…)`
// and `race (…)`, the rounds of `parallel for`. The task of the expression waits for all members.
// The first error, or the first value of a race, decides the result of the expression and cancels
// the other members.
type group struct {
	t      *task // the task that executes the expression and waits for the members
	kind   ir.Op
	d      uint8        // register for the result of the expression
	values []value.Slot // the results of the members
	tasks  []*task      // the running members; nil for members that do not run
	open   int          // number of members that have not ended, including those that have not begun

	// For a `parallel for`: next is the index of the first round that has not begun.
	body  value.Slot
	items *value.Array
	next  int
	free  int // number of further rounds that may run concurrently now; -1 if there is no limit

	bound *bounding // time bound of a race; nil if it has none
	ask   *ask      // the message that the race handles; nil if none

	decided bool
	winner  int        // index of the member that won a race
	failed  *raised    // error of the member that failed first; nil if none has
	left    value.Slot // a tuple (site, error) if ReturnLeft ended a body; otherwise nil
	lost    bool       // a member's task was cancelled through its handle
}

// opGroup starts the elements of JoinAll or Race from left to right. In a race, elements to the
// right of an element that already has its value never start.
func opGroup(t *task, in *ins) status {
	if t.cancelled() {
		return raising
	}
	n := int(in.c)
	g := &group{t: t, kind: ir.Op(in.op), d: in.a, values: make([]value.Slot, n), tasks: make([]*task, n), open: n, free: -1}
	elems := t.window(in.b, in.c)
	bodies := 0
	for _, x := range elems {
		if f, _ := bodyOf(x); f != nil {
			if f.Params != 0 {
				return t.badOperand(in)
			}
			bodies++
		}
		y := taskOf(x)
		if y != nil && !y.state.ended && t.m.debug.isStopped(y) {
			return t.fault(taskIsStopped)
		}
		if y != nil && !y.state.ended && t.waitsFor(y) {
			return t.fault("awaiting this task would never end: it waits, directly or indirectly, for the task that awaits it")
		}
	}
	if st := t.checkMaxTasks(bodies); st != running {
		return st
	}
	var begin []*task
	for i, x := range elems {
		if b, ok := boundOf(x); ok && g.kind == ir.OpRace {
			g.bind(b, i)
			continue
		}
		if g.decided {
			g.skipMember(x)
			continue
		}
		if f, closure := bodyOf(x); f != nil {
			begin = append(begin, g.addMember(i, t.child(f, closure)))
			continue
		}
		y := taskOf(x)
		switch {
		case y != nil && !y.state.ended:
			g.tasks[i] = y
			y.watch = append(y.watch, watch{g: g, i: i})
			y.recheckExchanges()
			continue
		case y == nil:
			y = &task{result: x, state: taskState{ended: true}}
		}
		if g.kind != ir.OpRace {
			g.memberEnded(i, y)
			continue
		}
		// y can win the race only after the members before it have started
		begin = append(begin, g.addEndedMember(i, y))
		g.open -= n - 1 - i
		for _, x := range elems[i+1:] {
			g.cancelUnused(x)
		}
		break
	}
	return g.begin(begin)
}

// skipMember counts a member that does not start because the result is already decided.
func (g *group) skipMember(x value.Slot) {
	g.open--
	g.cancelUnused(x)
}

// cancelUnused cancels an element that did not become a member, if it is a Task that no other task
// awaits.
func (g *group) cancelUnused(x value.Slot) {
	if y := taskOf(x); y != nil && len(y.watch) == 0 {
		cancelTask(y)
	}
}

// addMember makes y the task of member i.
func (g *group) addMember(i int, y *task) *task {
	y.member.group, y.member.index, g.tasks[i] = g, int32(i), y
	return y
}

// addEndedMember adds a member for the ended task y. The member has the outcome of y and executes
// no code.
func (g *group) addEndedMember(i int, y *task) *task {
	y.state.seen = true
	x := g.addMember(i, g.t.child(g.t.fn, nil))
	x.copies = y
	return x
}

// begin starts the members and parks the group's task.
func (g *group) begin(members []*task) status {
	if g.open == 0 {
		return g.finishExpression()
	}
	m := g.t.m
	st := g.t.park(&wait{kind: waitGroup, group: g})
	m.sched.ready.front(members...)
	return st
}

// opParallelFor starts the rounds of a loop, at most as many as may run concurrently.
func opParallelFor(t *task, in *ins) status {
	if t.cancelled() {
		return raising
	}
	items, body, limit := t.slot(in.b).Array(), *t.slot(in.b + 1), *t.slot(in.b + 2)
	f, _ := bodyOf(body)
	if items == nil || f == nil || f.Params != 1 {
		return t.badOperand(in)
	}
	if st := t.reserveMemory(items.Len * int(slotSize)); st != running {
		return st
	}
	g := &group{t: t, kind: ir.OpParallelFor, d: in.a, values: make([]value.Slot, items.Len), tasks: make([]*task, items.Len),
		open: items.Len, body: body, items: items, free: -1}
	if !limit.IsNil() {
		n := limit.AsInt()
		if n < 1 {
			return t.fault("@limit(%d): the limit must be at least 1", n)
		}
		g.free = int(min(n, int64(items.Len)))
	}
	if most := t.m.sched.most; most > 0 {
		room := max(most-(t.m.sched.alive-1), 1)
		if g.free < 0 || g.free > room {
			g.free = min(room, items.Len)
		}
	}
	var begin []*task
	for g.next < items.Len && g.free != 0 {
		begin = append(begin, g.newRound())
	}
	return g.begin(begin)
}

// newRound creates the task of the next round.
func (g *group) newRound() *task {
	f, closure := bodyOf(g.body)
	x := g.items.At(g.next)
	value.Share(x)
	y := g.addMember(g.next, g.t.child(f, closure, x))
	g.next++
	if g.free > 0 {
		g.free--
	}
	return y
}

// memberEnded handles the end of member i. y is the task whose result the member has.
func (g *group) memberEnded(i int, y *task) {
	g.open--
	g.tasks[i] = nil
	y.state.seen = true
	if g.free >= 0 {
		g.free++
	}
	if !g.decided {
		switch {
		case y.raised != nil && y.raised.cancelled:
			g.decided, g.lost = true, true
		case y.raised != nil:
			g.decided, g.failed = true, y.raised
		case y.state.left:
			g.decided, g.left = true, y.result
		default:
			value.Share(y.result)
			g.values[i] = y.result
			g.decided, g.winner = g.kind == ir.OpRace, i
		}
		if g.decided {
			g.cancel()
		} else if g.kind == ir.OpParallelFor && g.next < g.items.Len {
			g.t.m.sched.ready.push(g.newRound())
		}
	}
	g.end()
}

// end resumes the group's task after every member has ended.
func (g *group) end() {
	if w := g.t.wait; g.open == 0 && w != nil && w.group == g && !w.off {
		g.endBound()
		w.off = true
		g.t.m.sched.ready.push(g.t)
	}
}

// cancel cancels the running members. Members that have not started never start.
func (g *group) cancel() {
	g.decided = true
	if g.items != nil {
		g.open -= g.items.Len - g.next
		g.next = g.items.Len
	}
	for i, y := range g.tasks {
		switch {
		case y == nil:
		case y.member.group == g:
			cancelTask(y)
		case !y.release(watch{g: g, i: i}):
			g.tasks[i] = nil
			g.open--
		}
	}
	g.end()
}

// finishExpression completes the expression with its value, or raises the error that decided it.
func (g *group) finishExpression() status {
	t := g.t
	d := t.slot(g.d)
	switch {
	case g.lost:
		return t.fault("the awaited task was cancelled")
	case g.failed != nil:
		t.raised = t.m.image.reraise(g.failed, t.pc())
		return raising
	case !g.left.IsNil():
		*d = value.Err(g.left)
	case g.kind == ir.OpRace:
		*d = value.Ok(g.values[g.winner])
	case g.kind == ir.OpJoinAll:
		*d = value.Ok(value.Tuple(g.values...))
	default:
		*d = value.Ok(value.ArrayOf(g.values...))
	}
	return running
}

// members returns the tasks that the group waits for.
func (g *group) members() []*task {
	var all []*task
	for _, y := range g.tasks {
		if y != nil {
			all = append(all, y)
		}
	}
	return all
}

// opReturnLeft ends a body with an error that the expression of the group then raises.
func opReturnLeft(t *task, in *ins) status {
	if t.member.group == nil || t.depth() != 0 {
		return t.badOperand(in)
	}
	e := *t.slot(in.a)
	value.Share(e)
	t.state.left, t.result = true, value.Tuple(value.Int(int64(in.imm)), e)
	return finished
}
