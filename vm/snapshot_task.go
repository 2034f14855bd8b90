package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Encoding of tasks. Each task is parked or has ended.

// taskHead encodes or decodes the function of a task. When decoding, it returns a new task.
func (k *StateCodec) taskHead(p unsafe.Pointer) unsafe.Pointer {
	t := (*task)(p)
	valued, n := false, 0
	if t != nil {
		valued, n = t.valued(), t.fn.number
		if t.fn != &k.m.image.functions[n] {
			k.refuse("a task belongs to a call from outside the program")
		}
	}
	k.Bool(&valued)
	if !below(k, &n, len(k.m.image.functions), "there is no such function") || !k.reading {
		return p
	}
	t = &task{m: k.self, fn: &k.m.image.functions[n]}
	t.code, t.constants = unsafe.Pointer(unsafe.SliceData(k.m.image.code)), unsafe.Pointer(unsafe.SliceData(k.m.image.constants))
	if p := k.m.config.Profile; p != nil {
		t.samples = &sampling{pending: &p.Pending}
	}
	if valued {
		t.parts.handle.Init("Task", t.fn.Name, t)
	}
	return unsafe.Pointer(t)
}

func (k *StateCodec) taskBody(t *task) {
	for _, flag := range []*bool{&t.state.started, &t.state.stop, &t.state.ended, &t.state.seen, &t.state.left} {
		k.Bool(flag)
	}
	number(k, &t.id)
	refer(k, entityRaised, &t.raised)
	if t.state.ended {
		k.Slot(&t.result)
		k.path(t)
		return
	}
	if !k.reading && (t.wait == nil || t.wait.off || t.state.starting || t.served != nil || !t.state.started) {
		k.refuse("a task is not waiting")
		return
	}
	number(k, &t.budget)
	list(k, &t.caught, func(r **raised) { referRequired(k, entityRaised, r, "an error that was caught is missing") })
	k.frames(t)
	list(k, &t.scopes, func(s **scope) { referRequired(k, entityScope, s, "a listen is missing") })
	k.wait(t)
	refer(k, entityGroup, &t.member.group)
	number(k, &t.member.index)
	list(k, &t.watch, k.watch)
	k.taskDecisions(t)
}

func (k *StateCodec) watch(w *watch) {
	refer(k, entityTask, &w.t)
	refer(k, entityGroup, &w.g)
	number(k, &w.i)
	k.require((w.t != nil) != (w.g != nil), "the waiter of a task must be either a task or a group")
}

// parkedSlots returns the slots of a parked task, and the index of its innermost frame in them.
func (t *task) parkedSlots() (slots []value.Slot, depth int) {
	if t.stack != nil {
		return t.stack, t.depth()
	}
	return t.parked.slots, int(t.parked.depth)
}

// frame is a frame of a stack: its index in the slots, and its current instruction.
type frame struct{ depth, pc int }

// frames encodes or decodes the frames of a task, the outermost first.
func (k *StateCodec) frames(t *task) {
	if k.reading {
		k.readFrames(t)
		return
	}
	slots, depth := t.parkedSlots()
	all := k.stack[:0]
	for pc := t.pc(); pc > 0; {
		all = append(all, frame{depth, pc})
		link := slots[depth].Bits
		pc, depth = int(uint32(link)/uint32(insSize))-1, depth-int(link>>linkBits)/int(slotSize)
	}
	k.stack = all
	k.writeUint(uint64(len(all)))
	for i := len(all) - 1; i >= 0; i-- {
		k.frame(slots[all[i].depth:], all[i].pc, i == 0)
	}
}

// frame encodes a frame: the position of its current instruction, and its registers as they are
// before that instruction. If that instruction is a pending call, the registers from the call's
// window on belong to the called function.
func (k *StateCodec) frame(slots []value.Slot, pc int, top bool) {
	x := k.at.ofCall(pc)
	b := &k.m.image.blocks[x.block]
	number(k, &x.block)
	number(k, &x.at)
	classes := k.classesOf(x, b)
	if classes == nil {
		k.refuse("a task is at an unreachable instruction, in %s", b.fn.Name)
		return
	}
	if b.fn.info.Captures > 0 && b.ir != nil {
		k.writeSlot(value.Slot{Ref: slots[0].Ref})
	}
	for r := 1; r < k.registers(b, pc, top); r++ {
		k.register(&slots[r], classes[r])
	}
}

// registers returns the number of registers that belong to a frame. top is set for the innermost
// frame.
func (k *StateCodec) registers(b *block, pc int, top bool) int {
	if top {
		return b.fn.registers
	}
	return int(k.m.image.code[pc].a)
}

// classesOf returns the classes of a frame's registers. The registers of a stub all have the class
// Full.
func (k *StateCodec) classesOf(x position, b *block) ir.Classes {
	if b.ir != nil {
		return k.at.classesAt(x)
	}
	all := make(ir.Classes, b.fn.registers)
	for r := range all {
		all[r] = ir.Full
	}
	return all
}

// register encodes or decodes a register according to its class: the bits of a scalar, or the whole
// slot if the class is Full.
func (k *StateCodec) register(s *value.Slot, c ir.Class) {
	switch c {
	case ir.Int:
		n := int64(s.Bits)
		k.Int(&n)
		s.Bits = uint64(n)
	case ir.Float:
		k.uint64(&s.Bits)
	case ir.Bool:
		b := s.Bits != 0
		k.Bool(&b)
		if k.reading {
			s.Bits = bit(b)
		}
	case ir.Full:
		k.Slot(s)
	}
}

// readFrames decodes the frames of a task onto its parked stack.
func (k *StateCodec) readFrames(t *task) {
	depth, link := 0, uint64(insSize)
	var by *ins // the call that created the frame; nil for the bottom frame
	for left := k.Count(0); left > 0; left-- {
		var x position
		number(k, &x.block)
		number(k, &x.at)
		pc, b := k.place(x)
		if k.err != nil || !k.require(k.m.image.calls(by, b.fn, t.fn), "a frame's function is not the one that was called") {
			return
		}
		slots := k.frameSlots(t, depth, b.fn.registers)
		if slots == nil {
			return
		}
		slots[0].Bits = link
		top := left == 1
		k.readFrame(slots, x, b, k.registers(b, pc, top))
		if top {
			t.parked.depth = int32(depth)
			t.setPC(pc + 1)
			return
		}
		by = &k.m.image.code[pc]
		if !k.require(callsFrame(by), "a frame is at an instruction that is no call") {
			return
		}
		link = uint64(pc+1)*uint64(insSize) | uint64(by.a)<<frameShift
		depth += int(by.a)
	}
	k.require(false, "a task has no frames")
}

// frameSlots extends the parked stack of a task by a frame and returns the frame's slots.
func (k *StateCodec) frameSlots(t *task, depth, registers int) []value.Slot {
	size := depth + registers
	if !k.require(size <= k.m.maxStack, "a stack is too large") {
		return nil
	}
	if more := size - len(t.parked.slots); more > 0 {
		t.parked.slots = append(t.parked.slots, make([]value.Slot, more)...)
	}
	t.parked.slots = t.parked.slots[:size]
	return t.parked.slots[depth:]
}

// readFrame decodes the registers of a frame, at most n.
func (k *StateCodec) readFrame(slots []value.Slot, x position, b *block, n int) {
	classes := k.classesOf(x, b)
	if !k.require(classes != nil, "a frame is at an unreachable instruction") {
		return
	}
	if b.fn.info.Captures > 0 && b.ir != nil {
		c := k.readSlot()
		if !k.require(c.Kind() == value.KindClosure && functionOf(c) == b.fn, "a frame's closure is another function's") {
			return
		}
		slots[0].Ref = c.Ref
	}
	for r := 1; r < min(n, len(slots)); r++ {
		k.register(&slots[r], classes[r])
	}
}

// callsFrame reports whether an instruction creates a frame.
func callsFrame(in *ins) bool {
	return in.op == opSubIntKCall || in.op < opTrap && ir.Shapes[in.op].Frame && ir.Op(in.op) != ir.OpCallNative
}

// place returns the instruction and the block of a position.
func (k *StateCodec) place(x position) (pc int, b *block) {
	pc, part, ok := k.at.find(x)
	if !ok || part != 0 && (part != 1 || k.m.image.code[pc].op != opSubIntKCall) {
		k.damaged("there is no such place in the program")
		return 0, nil
	}
	return pc, &k.m.image.blocks[x.block]
}

// calls reports whether f can be the callee of an instruction. If in is nil, f must be first, the
// function of the task.
func (m *image) calls(in *ins, f, first *function) bool {
	switch {
	case in == nil:
		return f == first
	case ir.Op(in.op) == ir.OpCall || in.op == opSubIntKCall:
		return int(in.imm) == f.entry
	case ir.Op(in.op) == ir.OpDispatchTool:
		return f != &m.functions[f.number]
	}
	return f == &m.functions[f.number] && f.info.ABI == ir.FullABI
}

// wait encodes or decodes what a task waits for. The pending request is encoded separately.
func (k *StateCodec) wait(t *task) {
	if k.reading {
		t.wait = new(wait)
		if p := k.m.config.Profile; p != nil {
			t.wait.since = p.Now()
		}
	}
	w := t.wait
	if !below(k, &w.kind, int(waitUnwind)+1, "a task waits for an unknown kind of event") {
		return
	}
	if k.reading && w.kind == waitTask {
		t.parts.wait = *w
		t.wait, w = &t.parts.wait, &t.parts.wait
	}
	number(k, &w.window)
	k.Bool(&w.wrap)
	k.Bool(&w.refused)
	refer(k, entityScope, &w.scope)
	k.Slot(&w.payload)
	refer(k, entityTask, &w.task)
	refer(k, entityGroup, &w.group)
	refer(k, entityStream, &w.stream)
	if k.reading && k.err == nil {
		k.waitFits(t, w)
	}
}

// waitFits checks that the task's current instruction can wait in this way.
func (k *StateCodec) waitFits(t *task, w *wait) {
	in := &k.m.image.code[t.pc()]
	ok := w.window == in.a
	switch op := ir.Op(in.op); w.kind {
	case waitPerform:
		ok = ok && (op == ir.OpPerform || op == ir.OpCallNative)
	case waitAnswer:
		ok = ok && (op == ir.OpAwaitEmit || op == ir.OpAwaitEmitAs)
		ok = ok && (w.payload.IsNil() || w.payload.TypeDesc() != nil)
	case waitTask:
		ok = ok && op == ir.OpAwait && w.task != nil
	case waitGroup:
		ok = w.group != nil && (op == ir.OpJoinAll || op == ir.OpRace || op == ir.OpParallelFor)
	default:
		ok = op == ir.OpListenBegin && w.scope != nil
	}
	k.require(ok, "a task waits at an instruction that does not wait in this way")
}

// Encoding of groups.

func (k *StateCodec) groupBody(g *group) {
	referRequired(k, entityTask, &g.t, "no task waits for a group")
	number(k, &g.kind)
	number(k, &g.d)
	n := k.Count(len(g.tasks))
	if k.reading {
		g.values, g.tasks = make([]value.Slot, n), make([]*task, n)
	}
	k.slots(g.values)
	for i := range g.tasks {
		refer(k, entityTask, &g.tasks[i])
	}
	number(k, &g.open)
	k.Slot(&g.body)
	items := value.Nil
	if g.items != nil {
		items = g.items.Slot()
	}
	k.Slot(&items)
	g.items = items.Array()
	number(k, &g.next)
	number(k, &g.free)
	k.bounding(g)
	refer(k, entityAsk, &g.ask)
	k.Bool(&g.decided)
	number(k, &g.winner)
	refer(k, entityRaised, &g.failed)
	k.Slot(&g.left)
	k.Bool(&g.lost)
	if k.reading && k.err == nil {
		k.require(g.isConsistent(), "a group makes no sense")
	}
}

// bounding encodes or decodes the time bound of a race. The timer of the bound is encoded with the
// pending requests.
func (k *StateCodec) bounding(g *group) {
	bound := g.bound != nil
	k.Bool(&bound)
	if !bound {
		return
	}
	if k.reading {
		g.bound = new(bounding)
	}
	k.Int(&g.bound.ms)
	number(k, &g.bound.place)
}

// isConsistent reports whether a decoded group can continue.
func (g *group) isConsistent() bool {
	n, under := len(g.tasks), 0
	for _, t := range g.tasks {
		if t != nil {
			under++
		}
	}
	rounds := 0
	switch g.kind {
	case ir.OpParallelFor:
		f, _ := bodyOf(g.body)
		if g.items == nil || g.items.Len != n || f == nil || f.Params != 1 || g.next < 0 || g.next > n {
			return false
		}
		rounds = n - g.next
	case ir.OpJoinAll, ir.OpRace:
		if g.items != nil {
			return false
		}
	default:
		return false
	}
	return g.open == under+rounds && g.winner >= 0 && g.winner < max(n, 1) && (g.bound == nil || g.bound.place >= 0 && g.bound.place < n) && g.free >= -1 && g.free <= n
}
