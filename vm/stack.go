package vm

import "github.com/concerto-lang/concerto/internal/value"

// A task needs a whole stack only while it runs. A parked one keeps its slots in
// use on a shelf of just that size, so that very many can wait; free stacks are
// used again by those that go on.

// keptShelf is up to how many slots a task that has not run keeps for its first
// wait.
const keptShelf = 16

// keptStacks is how many free stacks are kept.
const keptStacks = 64

// shelve takes the slots in use off the stack and gives the stack back, unless
// most of it is in use: then only what lies above is dropped. Registers of calls
// that are over would keep values alive.
func (t *task) shelve() {
	depth := t.depth()
	used := min(depth+t.m.blockAt(t.pc()).fn.registers, len(t.stack))
	if used > firstStack && len(t.stack) <= 4*used {
		clear(t.stack[used:])
		return
	}
	if cap(t.shelf) < used {
		t.shelf = make([]value.Slot, used)
	}
	t.shelf = t.shelf[:used]
	copy(t.shelf, t.stack)
	t.shelfDepth = int32(depth)
	t.freeStack()
}

// settle is shelve for a task that waits without being parked: it gives back
// the room of a recursion that is over.
func (t *task) settle() {
	if len(t.stack) > 16*firstStack {
		t.shelve()
		t.unshelve()
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

// unshelve gives the task a stack with what was on its shelf.
func (t *task) unshelve() {
	if t.stack != nil {
		return
	}
	var s []value.Slot
	n := len(t.m.stacks)
	switch room := len(t.shelf) + headroom; {
	case room > firstStack:
		s = make([]value.Slot, 2*room)
	case n > 0:
		s = t.m.stacks[n-1]
		t.m.stacks = t.m.stacks[:n-1]
		t.m.cleared = min(t.m.cleared, n-1)
	default:
		s = make([]value.Slot, firstStack)
	}
	copy(s, t.shelf)
	clear(t.shelf)
	t.setStack(s)
	t.setDepth(int(t.shelfDepth))
}
