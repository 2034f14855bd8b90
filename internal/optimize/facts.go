package optimize

import (
	"github.com/concerto-lang/concerto/ir"
)

// A fact is an instruction that need not run again: its register still holds
// what it gave, since neither that, nor what it read, nor the memory that it
// read from has changed since, on every way here. Which facts hold where is a
// forward dataflow; where ways meet, what holds on all of them.
type facts struct {
	u     *unit
	end   int // of the code that is looked at
	list  []ir.Instr
	index index
	words int
	// of[pc] is the fact that an instruction makes, -1 for none.
	of []int32
	// dest holds, by register, the facts whose register it is, about those and
	// the ones that read it, above those about it or a later one.
	dest, about, above []uint64
	summed             bool // above has been filled in
	// by memory
	elems, lens, fields, maps, cells, owns, elemOwns, fieldOwns bitset

	flow ir.Forward[uint64]
	now  bitset // for each visit

	alike  index   // the first fact of those that differ in their register only
	last   []int32 // of those that are alike with the first, the last
	next   []int32 // alike with a fact, -1 for none
	paired bool
	// classes are those at the instruction that each visits. A fact can hold of a
	// register that may not be read, when it came there in two classes.
	classes ir.Classes
}

type bitset []uint64

func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bitset) without(c bitset) {
	for i := range c {
		b[i] &^= c[i]
	}
}

// meet keeps what holds in both and says whether that changed b.
func (b bitset) meet(c bitset) (changed bool) {
	for i := range b {
		if n := b[i] & c[i]; n != b[i] {
			b[i], changed = n, true
		}
	}
	return changed
}

// traits are those of the operations, by number, so that no index needs a check.
var traits = func() (all [256]ir.Traits) {
	for op := range ir.Table {
		all[op] = ir.Table[op].Traits
	}
	return all
}()

func has(op ir.Op, t ir.Traits) bool { return traits[op].Has(t) }

// changes is the memory that each operation may change.
var changes = func() (all [256]ir.Memory) {
	for op := range ir.Table {
		all[op] = ir.Table[op].Traits.Changes()
	}
	return all
}()

// of what facts are wanted.
const (
	onlyClosures = iota // what is needed to find closures
	everything
)

// facts finds what holds where, before pc end. Control does not come back from
// there.
func (u *unit) facts(what, end int) *facts {
	k := &u.s.facts
	k.u, k.list, k.paired, k.end = u, k.list[:0], false, end
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
			if has(in.Op, ir.New) { // nobody else holds it
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
	clear(k.flow.Start(g.Until(end), k.words))
	k.flow.Solve(g, k)
	return k
}

// asRead is what reads the place that in walks to.
func asRead(in ir.Instr) ir.Instr {
	if in.Op == ir.OpOwnElem {
		in.Op = ir.OpArrayGet
	} else {
		in.Op = ir.OpField
	}
	return in
}

// readsOwn says whether an instruction reads the register that it sets, so that
// it would give something else when run again.
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
	// Of those with a window only closures make facts.
	return s.Window && in.A >= in.B && int(in.A) < int(in.B)+int(in.C)
}

func (k *facts) number(in ir.Instr) int {
	at, known := k.index.find(in)
	if !known {
		*at = int32(len(k.list))
		k.list = append(k.list, in)
	}
	return int(*at)
}

// lookup finds the number of a fact, -1 when it is none.
func (k *facts) lookup(in ir.Instr) int { return k.index.get(in) }

// sets sorts the facts by what makes them untrue.
func (k *facts) sets() {
	k.words = (len(k.list) + 63) / 64
	k.summed = false
	n, registers := k.words, k.u.f.Registers
	zeroed(&k.dest, registers*n)
	zeroed(&k.about, registers*n)
	for _, s := range []*bitset{&k.elems, &k.lens, &k.fields, &k.maps, &k.cells, &k.owns, &k.elemOwns, &k.fieldOwns} {
		zeroed((*[]uint64)(s), n)
	}
	room((*[]uint64)(&k.now), n)
	for n := range k.list {
		in := k.list[n]
		s := ir.ShapeOf(in)
		k.part(k.dest, int(in.A)).set(n)
		k.part(k.about, int(in.A)).set(n)
		for _, o := range s.Reads {
			k.part(k.about, in.Get(o.Field)).set(n)
		}
		if s.Window {
			from, many := k.u.window(in)
			for r := from; r < from+many; r++ {
				k.part(k.about, r).set(n)
			}
		}
		switch traits[in.Op].Reads() {
		case ir.Elems:
			k.elems.set(n)
		case ir.Lens:
			k.lens.set(n)
		case ir.Fields:
			k.fields.set(n)
		case ir.Entries:
			k.maps.set(n)
		case ir.Cells:
			k.cells.set(n)
		case ir.Marks:
			k.owns.set(n)
			switch in.Op {
			case ir.OpOwnElem:
				k.elemOwns.set(n)
			case ir.OpOwnField:
				k.fieldOwns.set(n)
			}
		}
	}
}

// part is a register's part of a set by registers.
func (k *facts) part(sets []uint64, r int) bitset { return sets[r*k.words : (r+1)*k.words] }

// forget drops what is known of and from a register.
func (k *facts) forget(s bitset, r int) { s.without(k.part(k.about, r)) }

// forgetFrom drops what is known of and from a register and all behind it.
func (k *facts) forgetFrom(s bitset, r int) {
	if !k.summed {
		k.summed = true
		copy(room(&k.above, len(k.about)), k.about)
		for i := len(k.above) - k.words - 1; i >= 0; i-- {
			k.above[i] |= k.above[i+k.words]
		}
	}
	s.without(k.part(k.above, r))
}

// Step makes of what holds before an instruction what holds after it. What an
// error leaves is a part of that.
func (k *facts) Step(pc int, s, raised []uint64) {
	k.step(pc, s)
	if raised != nil {
		bitset(raised).meet(s)
	}
}

// Catch drops what is known of the register that gets an error.
func (k *facts) Catch(s []uint64, register int) { k.forget(s, register) }

// Meet keeps what holds on both ways.
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
		k.forgetFrom(s, int(in.A))
		if in.Op == ir.OpListenBegin {
			k.u.kept.each(func(r int) { k.forget(s, r) })
		}
	} else if shape.Writes != ir.Unset {
		if in.Op == ir.OpOwn && n >= 0 && s.has(int(n)) {
			return // what is owned already does not change
		}
		k.forget(s, int(in.A))
	}
	if n >= 0 {
		s.set(int(n))
		if in.Op == ir.OpOwnElem || in.Op == ir.OpOwnField {
			s.set(k.lookup(asRead(k.list[n]))) // the code may read copies by now
		}
	}
}

// stepMemory drops what an instruction's change of the heap makes untrue.
func (k *facts) stepMemory(in ir.Instr, s bitset) {
	to := changes[in.Op]
	if to&ir.Elems != 0 {
		s.without(k.elems)
		s.without(k.elemOwns)
	}
	if to&ir.Lens != 0 {
		s.without(k.lens)
	}
	if to&ir.Fields != 0 {
		k.stepFields(in, s)
	}
	if to&ir.Entries != 0 {
		s.without(k.maps)
	}
	if to&ir.Cells != 0 {
		s.without(k.cells)
	}
	if to&ir.Marks != 0 {
		s.without(k.owns)
	}
}

// stepFields drops the slots that an instruction may change: those of its own
// number.
func (k *facts) stepFields(in ir.Instr, s bitset) {
	slot := -1
	switch in.Op {
	case ir.OpSetField, ir.OpSetFieldInt, ir.OpSetFieldFloat, ir.OpSetFieldBool:
		slot = int(in.B)
	case ir.OpOwnField:
		slot = int(in.C)
	}
	for w := range s {
		for x := s[w] & (k.fields[w] | k.fieldOwns[w]); x != 0; x &= x - 1 {
			if slot < 0 || int(k.list[w<<6|trailing(x)].C) == slot {
				s[w] &^= x & -x
			}
		}
	}
}

// each visits the instructions that are reached, with what holds before them.
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
		copy(k.classes, classes.known.In(i))
		for pc := g.Runs[i].From; pc < g.Runs[i].To; pc++ {
			visit(pc, k.now)
			k.u.stepClasses(k.u.code[pc], k.classes)
			k.step(pc, k.now)
		}
	}
}
