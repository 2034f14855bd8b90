package vm

import "github.com/concerto-lang/concerto/internal/data/value"

// A task needs a stack only while it runs. A parked task stores its used slots in a slice of
// exactly their number, so that many tasks can wait at the same time. Tasks that continue reuse
// free stacks.

// parkedStack contains the used slots of a task that does not run.
type parkedStack struct {
	slots []value.Slot
	depth int32 // index of the task's innermost frame in slots
}

// reservedSlots is the maximum number of slots that a new task reserves for its first wait.
const reservedSlots = 16

// maxFreeStacks is the number of free stacks that are retained.
const maxFreeStacks = 64

// parkSlots moves the used slots off the stack and releases the stack. If most of a large stack is
// in use, it only clears the slots above the used ones, because the values in the slots of returned
// calls would otherwise stay alive.
func (t *task) parkSlots() {
	depth := t.depth()
	used := min(depth+t.m.image.blockAt(t.pc()).fn.registers, len(t.stack))
	if used > firstStack && len(t.stack) <= 4*used {
		clear(t.stack[used:])
		return
	}
	if cap(t.parked.slots) < used {
		t.parked.slots = make([]value.Slot, used)
	}
	t.parked.slots = t.parked.slots[:used]
	copy(t.parked.slots, t.stack)
	t.parked.depth = int32(depth)
	t.freeStack()
}

// shrinkStack releases a stack that has grown in a recursion, for a task that waits without being
// parked.
func (t *task) shrinkStack() {
	if len(t.stack) > 16*firstStack {
		t.parkSlots()
		t.unpark()
	}
}

// freeStack releases the stack without clearing it, so that the next task that runs can reuse it at
// once. Clearing it here took a fifth of the time of tasks that pass control to one another.
func (t *task) freeStack() {
	t.m.sched.stacks.put(t.stack)
	t.stack, t.fp = nil, nil
}

// stacks contains free stacks of firstStack slots each.
type stacks struct {
	free    [][]value.Slot
	cleared int // number of stacks, from the first on, that contain no references
}

// put adds a free stack if it has firstStack slots.
func (k *stacks) put(s []value.Slot) {
	if len(s) == firstStack && len(k.free) < maxFreeStacks {
		k.free = append(k.free, s)
	}
}

// get returns a stack of firstStack slots.
func (k *stacks) get() []value.Slot {
	n := len(k.free)
	if n == 0 {
		return make([]value.Slot, firstStack)
	}
	s := k.free[n-1]
	k.free = k.free[:n-1]
	k.cleared = min(k.cleared, n-1)
	return s
}

// clear removes the references from free stacks, before the run waits.
func (k *stacks) clear() {
	for _, s := range k.free[k.cleared:] {
		clear(s)
	}
	k.cleared = len(k.free)
}

// unpark moves the parked slots of the task onto a stack.
func (t *task) unpark() {
	if t.stack != nil {
		return
	}
	var s []value.Slot
	if room := len(t.parked.slots) + headroom; room > firstStack {
		s = make([]value.Slot, 2*room)
	} else {
		s = t.m.sched.stacks.get()
	}
	copy(s, t.parked.slots)
	clear(t.parked.slots)
	t.setStack(s)
	t.setDepth(int(t.parked.depth))
}
