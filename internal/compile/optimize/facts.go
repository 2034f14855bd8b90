package optimize

import (
	"github.com/concerto-lang/concerto/ir"
)

// facts is the result of a dataflow analysis. A fact is an instruction that need not run again,
// because its register still contains its result: on no path to the current position has the
// register, an operand or the memory that it read changed. The analysis runs forward through the
// code. Where paths meet, a fact is valid if it is valid on all of them.
type facts struct {
	u     *unit
	end   int // end of the analysed code
	list  []ir.Instr
	index index
	// of contains the number of the fact that each instruction creates, or -1.
	of []int32

	registers byRegister
	memory    byMemory
	twins     twins

	flow ir.Forward[uint64]
	now  bitset // facts that are valid at the visited instruction
	// classes contains the classes at the visited instruction. A fact can be valid for a register
	// that may not be read, because the register has different classes on two paths.
	classes ir.Classes
}

// The kinds of facts that an analysis includes.
const (
	onlyClosures = iota // only the facts that are necessary to find closures
	everything
)

// facts computes the facts that are valid at each instruction before end. No jump may lead from the
// code after end back to the code before it.
func (u *unit) facts(what, end int) *facts {
	k := &u.s.facts
	k.u, k.list, k.end = u, k.list[:0], end
	k.twins.paired = false
	k.index.reset(2 * end)
	room(&k.of, end)
	for pc, in := range u.code[:end] {
		k.of[pc] = -1
		switch {
		case in == nop:
		case what == onlyClosures:
			if (in.Op == ir.OpNewClosure || in.Op == ir.OpLoadFunction || in.Op == ir.OpMove) && !readsOwn(in) {
				k.of[pc] = int32(k.number(in))
			}
		case !has(in.Op, ir.Fact):
			if has(in.Op, ir.New) { // no other value refers to the created object
				k.of[pc] = int32(k.number(ir.Instr{Op: ir.OpOwn, A: in.A}))
			}
		case !readsOwn(in):
			k.of[pc] = int32(k.number(in))
			if in.Op == ir.OpOwnElem || in.Op == ir.OpOwnField {
				k.number(asRead(in))
			}
		}
	}
	if len(k.list) == 0 {
		return k
	}
	k.sets()
	g := u.graph()
	clear(k.flow.Start(g.Until(end), len(k.now)))
	k.flow.Solve(g, k)
	return k
}

// asRead returns the instruction that reads the part to which the Own instruction in leads.
func asRead(in ir.Instr) ir.Instr {
	if in.Op == ir.OpOwnElem {
		in.Op = ir.OpArrayGet
	} else {
		in.Op = ir.OpField
	}
	return in
}

// readsOwn reports whether an instruction reads the register that it sets. Running it again would
// have another result.
func readsOwn(in ir.Instr) bool {
	s := ir.ShapeOf(in)
	if s.Modify {
		return in.Op != ir.OpOwn
	}
	for _, o := range s.Reads {
		if in.Get(o.Field) == int(in.A) {
			return true
		}
	}
	// Of the instructions with a window, only those that create closures become facts.
	return s.Window && in.A >= in.B && int(in.A) < int(in.B)+int(in.C)
}

func (k *facts) number(in ir.Instr) int {
	at, found := k.index.find(in)
	if !found {
		*at = int32(len(k.list))
		k.list = append(k.list, in)
	}
	return int(*at)
}

// lookup returns the number of a fact, or -1.
func (k *facts) lookup(in ir.Instr) int { return k.index.get(in) }

// sets groups the facts by the registers and the memory whose change invalidates them.
func (k *facts) sets() {
	words := (len(k.list) + 63) / 64
	room((*[]uint64)(&k.now), words)
	k.registers.reset(words, k.u.f.Registers)
	k.memory.reset(words)
	for n, in := range k.list {
		k.registers.dest(int(in.A)).set(n)
		k.registers.about(int(in.A)).set(n)
		k.u.eachRead(in, func(r int) { k.registers.about(r).set(n) })
		t := traits[in.Op]
		for m := t.Reads() | t.Changes(); m != 0; m &= m - 1 {
			k.memory.of(m).set(n)
		}
	}
}

// Step replaces the facts before an instruction with the facts after it. It also merges the facts
// that are valid after an error of the instruction into raised.
func (k *facts) Step(pc int, s, raised []uint64) {
	k.step(pc, s)
	if raised != nil {
		bitset(raised).meet(s)
	}
}

// Catch removes the facts about the register that receives an error.
func (k *facts) Catch(s []uint64, register int) { bitset(s).without(k.registers.about(register)) }

// Meet retains the facts that are valid on both paths.
func (k *facts) Meet(s, t []uint64) bool { return bitset(s).meet(t) }

func (k *facts) step(pc int, s bitset) {
	in := k.u.code[pc]
	if in == nop {
		return
	}
	if changes[in.Op] != 0 {
		k.stepMemory(in, s)
	}
	n := k.of[pc]
	if shape := &ir.Shapes[in.Op]; shape.Frame {
		s.without(k.registers.from(int(in.A)))
		if in.Op == ir.OpListenBegin {
			k.u.fixed.each(func(r int) { s.without(k.registers.about(r)) })
		}
	} else if shape.Writes != ir.Unset {
		if in.Op == ir.OpOwn && n >= 0 && s.has(int(n)) {
			return // a container that is already owned does not change
		}
		s.without(k.registers.about(int(in.A)))
	}
	if n >= 0 {
		s.set(int(n))
		if in.Op == ir.OpOwnElem || in.Op == ir.OpOwnField {
			s.set(k.lookup(asRead(k.list[n]))) // the code may read copies of the original registers
		}
	}
}

// stepMemory removes the facts that become invalid because an instruction changes the heap.
func (k *facts) stepMemory(in ir.Instr, s bitset) {
	for m := changes[in.Op]; m != 0; m &= m - 1 {
		if m&-m == ir.Fields {
			k.stepFields(in, s)
		} else {
			s.without(k.memory.of(m))
		}
	}
}

// stepFields removes the facts about fields that an instruction may change. These are the facts
// about fields with the same index, and all facts about a Result that was created here.
func (k *facts) stepFields(in ir.Instr, s bitset) {
	slot := -1
	switch in.Op {
	case ir.OpSetField, ir.OpSetFieldInt, ir.OpSetFieldFloat, ir.OpSetFieldBool:
		slot = int(in.B)
	case ir.OpOwnField:
		slot = int(in.C)
	}
	fields := k.memory.of(ir.Fields)
	for w := range s {
		for x := s[w] & fields[w]; x != 0; x &= x - 1 {
			if f := k.list[w<<6|trailing(x)]; slot < 0 || int(f.C) == slot || has(f.Op, ir.New) {
				s[w] &^= x & -x
			}
		}
	}
}

// each calls visit for each reachable instruction with the facts that are valid before it.
func (k *facts) each(visit func(pc int, holds bitset)) {
	if len(k.list) == 0 {
		return
	}
	classes := k.u.classFlow(k.end)
	g := k.u.graph()
	k.classes = classes.at
	for i, reached := range k.flow.Reached {
		if !reached {
			continue
		}
		copy(k.now, k.flow.In(i))
		copy(k.classes, classes.states.In(i))
		for pc := g.Runs[i].From; pc < g.Runs[i].To; pc++ {
			visit(pc, k.now)
			k.u.stepClasses(k.u.code[pc], k.classes)
			k.step(pc, k.now)
		}
	}
}
