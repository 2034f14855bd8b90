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

	in      []uint64 // by block
	reached []bool   // by block
	now     bitset   // within the block under way
	raised  bitset   // what its errors leave
	landed  bitset

	alike  index   // the first fact of those that differ in their register only
	last   []int32 // of those that are alike with the first, the last
	next   []int32 // alike with a fact, -1 for none
	paired bool
	// classes are those at the instruction that each visits. A fact can hold of a
	// register that may not be read, when it came there in two classes.
	classes classes
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

// memory is what of the heap an operation reads (as a fact) or changes.
type memory uint16

const (
	elems  memory = 1 << iota // which elements arrays hold
	lens                      // how many
	fields                    // slots of blocks
	maps                      // entries
	cells                     // contents of cells
	marks                     // who is marked as shared
	all    = elems | lens | fields | maps | cells | marks
)

// asFact are the operations that make a fact, with the memory that they read.
var asFact = func() (set [256]struct {
	ok   bool
	from memory
}) {
	for from, ops := range map[memory][]ir.Op{
		0: {ir.OpMove, ir.OpMoveInt, ir.OpMoveFloat, ir.OpMoveBool, ir.OpLoadInt, ir.OpLoadBool, ir.OpLoadNil, ir.OpLoadConst,
			ir.OpLoadIntConst, ir.OpLoadFloatConst, ir.OpLoadFunction, ir.OpBoxInt, ir.OpBoxFloat, ir.OpBoxBool,
			ir.OpAddInt, ir.OpSubInt, ir.OpMulInt, ir.OpDivInt, ir.OpRemInt, ir.OpAddIntK, ir.OpSubIntK, ir.OpMulIntK, ir.OpDivIntK,
			ir.OpRemIntK, ir.OpNegInt, ir.OpAddFloat, ir.OpSubFloat, ir.OpMulFloat, ir.OpDivFloat, ir.OpNegFloat, ir.OpSqrtFloat,
			ir.OpIntToFloat, ir.OpFloatToInt, ir.OpEqInt, ir.OpLtInt, ir.OpLeInt, ir.OpEqFloat, ir.OpLtFloat, ir.OpLeFloat, ir.OpEqBool,
			ir.OpNot, ir.OpIsNil, ir.OpStringLen, ir.OpRangeLo, ir.OpRangeHi, ir.OpRangeLast, ir.OpCaptured, ir.OpVariant, ir.OpNewClosure},
		elems:  {ir.OpArrayGet, ir.OpArrayGetInt, ir.OpArrayGetFloat, ir.OpArrayGetBool},
		lens:   {ir.OpArrayLen},
		fields: {ir.OpField, ir.OpFieldInt, ir.OpFieldFloat, ir.OpFieldBool, ir.OpNewOk, ir.OpNewErr, ir.OpNewErrOf},
		maps:   {ir.OpMapLen, ir.OpMapGet},
		cells:  {ir.OpCellGet},
		marks:  {ir.OpOwn, ir.OpOwnElem, ir.OpOwnField},
	} {
		for _, op := range ops {
			set[op].ok, set[op].from = true, from
		}
	}
	return set
}()

// changes are the operations that leave the heap as it is, or change only what
// is said here; any other may change all.
var changes = func() (set [256]memory) {
	for op := range set {
		set[op] = all
	}
	for to, ops := range map[memory][]ir.Op{
		0: {ir.OpMove, ir.OpMoveInt, ir.OpMoveFloat, ir.OpMoveBool, ir.OpLoadInt, ir.OpLoadBool, ir.OpLoadNil, ir.OpLoadConst,
			ir.OpLoadIntConst, ir.OpLoadFloatConst, ir.OpLoadFunction, ir.OpLoadAgent, ir.OpLoadHost, ir.OpLoadTool, ir.OpLoadStore,
			ir.OpLoadType, ir.OpBoxInt, ir.OpBoxFloat, ir.OpBoxBool,
			ir.OpAddInt, ir.OpSubInt, ir.OpMulInt, ir.OpDivInt, ir.OpRemInt, ir.OpAddIntK, ir.OpSubIntK, ir.OpMulIntK, ir.OpDivIntK,
			ir.OpRemIntK, ir.OpNegInt, ir.OpAddFloat, ir.OpSubFloat, ir.OpMulFloat, ir.OpDivFloat, ir.OpRemFloat, ir.OpNegFloat,
			ir.OpSqrtFloat, ir.OpIntToFloat, ir.OpFloatToInt, ir.OpEqInt, ir.OpLtInt, ir.OpLeInt, ir.OpEqFloat, ir.OpLtFloat, ir.OpLeFloat,
			ir.OpEqBool, ir.OpLtString, ir.OpLeString, ir.OpEqual, ir.OpNot, ir.OpIsNil,
			ir.OpJump, ir.OpJumpIf, ir.OpJumpIfNot, ir.OpJumpEqInt, ir.OpJumpNeInt, ir.OpJumpLtInt, ir.OpJumpLeInt, ir.OpJumpEqIntK,
			ir.OpJumpNeIntK, ir.OpJumpLtIntK, ir.OpJumpLeIntK, ir.OpJumpGtIntK, ir.OpJumpGeIntK, ir.OpJumpLtFloat, ir.OpJumpLeFloat,
			ir.OpJumpNotLtFloat, ir.OpJumpNotLeFloat, ir.OpJumpEqual, ir.OpJumpNotEqual, ir.OpJumpEqualK, ir.OpJumpNotEqualK, ir.OpJumpNil, ir.OpJumpNotNil,
			ir.OpJumpVariant, ir.OpJumpNotVariant, ir.OpForInt, ir.OpForIntTo, ir.OpLoop,
			ir.OpConcat, ir.OpInterpolate, ir.OpStringLen, ir.OpStringAt, ir.OpNewArray, ir.OpNewMap, ir.OpArrayLen,
			ir.OpArrayGet, ir.OpArrayGetInt, ir.OpArrayGetFloat, ir.OpArrayGetBool, ir.OpMapLen, ir.OpMapGet, ir.OpMapFind,
			ir.OpNewRange, ir.OpRangeLo, ir.OpRangeHi, ir.OpRangeLast, ir.OpNewTuple, ir.OpNewStruct, ir.OpNewVariant, ir.OpNewOk, ir.OpNewErr, ir.OpNewErrOf,
			ir.OpWrapSome, ir.OpUnwrap, ir.OpField, ir.OpFieldInt, ir.OpFieldFloat, ir.OpFieldBool, ir.OpVariant, ir.OpIsType,
			ir.OpNewClosure, ir.OpCaptured, ir.OpNewCell, ir.OpCellGet, ir.OpReturn, ir.OpReturnInt, ir.OpReturnFloat, ir.OpReturnBool,
			ir.OpReturnNil, ir.OpThrow, ir.OpRethrow, ir.OpFault, ir.OpPanic},
		elems:  {ir.OpArraySet, ir.OpArraySetInt, ir.OpArraySetFloat, ir.OpArraySetBool, ir.OpOwnElem},
		lens:   {ir.OpArrayPush, ir.OpArrayPushInt, ir.OpArrayPushFloat, ir.OpArrayPushBool},
		fields: {ir.OpSetField, ir.OpSetFieldInt, ir.OpSetFieldFloat, ir.OpSetFieldBool, ir.OpOwnField},
		maps:   {ir.OpMapSet, ir.OpOwnKey},
		cells:  {ir.OpCellSet, ir.OpOwnCell},
		marks:  {ir.OpShare, ir.OpLeave},
	} {
		for _, op := range ops {
			set[op] = to
		}
	}
	set[ir.OpOwn] = 0 // a copy has the same content; it stands in the register that changes
	return set
}()

// makesOwned are the operations whose result nobody else holds.
func makesOwned(op ir.Op) bool {
	return op == ir.OpNewArray || op == ir.OpNewMap || op == ir.OpNewTuple
}

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
		case makesOwned(in.Op):
			k.of[pc] = int32(k.number(ir.Instr{Op: ir.OpOwn, A: in.A}))
		case asFact[in.Op].ok && !readsOwn(in):
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
	k.flow()
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
	s := shapeOf(in)
	if s.modify {
		return in.Op != ir.OpOwn
	}
	for _, o := range s.reads {
		if in.Get(o.field) == int(in.A) {
			return true
		}
	}
	// Of those with a window only closures make facts.
	return s.window && in.A >= in.B && int(in.A) < int(in.B)+int(in.C)
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
	for _, s := range []*bitset{&k.now, &k.raised, &k.landed} {
		room((*[]uint64)(s), n)
	}
	for n := range k.list {
		in := k.list[n]
		s := shapeOf(in)
		k.part(k.dest, int(in.A)).set(n)
		k.part(k.about, int(in.A)).set(n)
		for _, o := range s.reads {
			k.part(k.about, in.Get(o.field)).set(n)
		}
		if s.window {
			from, many := k.u.window(in)
			for r := from; r < from+many; r++ {
				k.part(k.about, r).set(n)
			}
		}
		switch asFact[in.Op].from {
		case elems:
			k.elems.set(n)
		case lens:
			k.lens.set(n)
		case fields:
			k.fields.set(n)
		case maps:
			k.maps.set(n)
		case cells:
			k.cells.set(n)
		case marks:
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

// at is what holds at the beginning of a block.
func (k *facts) at(block int) bitset { return k.in[block*k.words : (block+1)*k.words] }

// flow walks the blocks until nothing changes.
func (k *facts) flow() {
	g := k.u.graph()
	n := g.until(k.end)
	room(&k.in, n*k.words)
	zeroed(&k.reached, n)
	k.reached[0] = true
	clear(k.at(0))
	for again := true; again; {
		again = false
		for i := range n {
			if k.reached[i] {
				again = k.block(g, i) || again
			}
		}
	}
}

// block follows the facts through a block and says whether a block before it
// must be looked at again.
func (k *facts) block(g *graph, i int) (again bool) {
	b := &g.blocks[i]
	around := g.around(b)
	copy(k.now, k.at(i))
	if len(around) > 0 {
		copy(k.raised, k.now)
	}
	for pc := b.from; pc < b.to; pc++ {
		k.step(pc, k.now)
		if len(around) > 0 {
			k.raised.meet(k.now)
		}
	}
	for _, to := range b.succs() {
		again = k.arrive(int(to), k.now) && int(to) <= i || again
	}
	for _, c := range around {
		copy(k.landed, k.raised)
		k.forget(k.landed, c.register)
		k.arrive(int(c.to), k.landed) // it stands behind
	}
	return again
}

func (k *facts) arrive(to int, s bitset) (changed bool) {
	if to >= len(k.reached) {
		return false
	}
	if !k.reached[to] {
		k.reached[to] = true
		copy(k.at(to), s)
		return true
	}
	return k.at(to).meet(s)
}

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

// step makes of what holds before an instruction what holds after it. What an
// error leaves is a part of that.
func (k *facts) step(pc int, s bitset) {
	in := k.u.code[pc]
	if in == nop {
		return
	}
	if changes[in.Op] != 0 {
		k.stepMemory(in, s)
	}
	n := k.of[pc]
	if shape := &shapes[in.Op]; shape.call {
		k.forgetFrom(s, int(in.A))
		if in.Op == ir.OpListenBegin {
			k.u.kept.each(func(r int) { k.forget(s, r) })
		}
	} else if shape.writes != ir.Unset {
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
	if to&elems != 0 {
		s.without(k.elems)
		s.without(k.elemOwns)
	}
	if to&lens != 0 {
		s.without(k.lens)
	}
	if to&fields != 0 {
		k.stepFields(in, s)
	}
	if to&maps != 0 {
		s.without(k.maps)
	}
	if to&cells != 0 {
		s.without(k.cells)
	}
	if to&marks != 0 {
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
	flow := k.u.classFlow(k.end)
	g := k.u.graph()
	k.classes = flow.at
	for i, reached := range k.reached {
		if !reached {
			continue
		}
		copy(k.now, k.at(i))
		copy(k.classes, flow.in(i))
		for pc := g.blocks[i].from; pc < g.blocks[i].to; pc++ {
			visit(pc, k.now)
			k.u.stepClasses(k.u.code[pc], k.classes)
			k.step(pc, k.now)
		}
	}
}
