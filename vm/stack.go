package vm

import "github.com/concerto-lang/concerto/internal/value"

// A task needs a whole stack only while it runs. A parked one keeps its slots in
// use in a parked stack of just that size, so that very many can wait; free stacks are
// used again by those that go on.

// keptSlots is up to how many slots a task that has not run keeps for its first
// wait.
const keptSlots = 16

// keptStacks is how many free stacks are kept.
const keptStacks = 64

// keepSlots takes the slots in use off the stack and gives the stack back, unless
// most of it is in use: then only what lies above is dropped. Registers of calls
// that are over would keep values alive.
func (t *task) keepSlots() {
	depth := t.depth()
	used := min(depth+t.m.blockAt(t.pc()).fn.registers, len(t.stack))
	if used > firstStack && len(t.stack) <= 4*used {
		clear(t.stack[used:])
		return
	}
	if cap(t.parkedStack) < used {
		t.parkedStack = make([]value.Slot, used)
	}
	t.parkedStack = t.parkedStack[:used]
	copy(t.parkedStack, t.stack)
	t.parkedDepth = int32(depth)
	t.freeStack()
}

// settle is keepSlots for a task that waits without being parked: it gives back
// the room of a recursion that is over.
func (t *task) settle() {
	if len(t.stack) > 16*firstStack {
		t.keepSlots()
		t.unpark()
	}
}

// freeStack gives the stack back, uncleared: the next task to run takes it, and
// clearing took a fifth of the time of tasks that hand on to one another.
func (t *task) freeStack() {
	if len(t.stack) == firstStack && len(t.m.stacks) < keptStacks {
		t.m.stacks = append(t.m.stacks, t.stack)
	}
	t.stack, t.fp = nil, nil
}

// clearStacks lets go of what free stacks still refer to, before the run waits.
func (m *VM) clearStacks() {
	for _, s := range m.stacks[m.cleared:] {
		clear(s)
	}
	m.cleared = len(m.stacks)
}

// unpark gives the task a stack with what was in its parked stack.
func (t *task) unpark() {
	if t.stack != nil {
		return
	}
	var s []value.Slot
	n := len(t.m.stacks)
	switch room := len(t.parkedStack) + headroom; {
	case room > firstStack:
		s = make([]value.Slot, 2*room)
	case n > 0:
		s = t.m.stacks[n-1]
		t.m.stacks = t.m.stacks[:n-1]
		t.m.cleared = min(t.m.cleared, n-1)
	default:
		s = make([]value.Slot, firstStack)
	}
	copy(s, t.parkedStack)
	clear(t.parkedStack)
	t.setStack(s)
	t.setDepth(int(t.parkedDepth))
}
