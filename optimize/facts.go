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
	list  []ir.Instr
	index map[ir.Instr]int
	words int
	// of[pc] is the fact that an instruction makes, -1 for none.
	of []int32
	// dest holds the facts whose register is r, uses those that read r.
	dest, uses [256]bitset
	// by memory
	elems, lens, fields, maps, cells, owns, elemOwns, fieldOwns bitset
	in                                                          []bitset           // by block; nil when not reached yet
	alike                                                       map[ir.Instr][]int // by the instruction without its register
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
var asFact = func() (set [len(ir.Table)]struct {
	ok   bool
	from memory
}) {
	for from, ops := range map[memory][]ir.Op{
		0: {ir.OpMove, ir.OpMoveInt, ir.OpMoveFloat, ir.OpMoveBool, ir.OpLoadInt, ir.OpLoadBool, ir.OpLoadNil, ir.OpLoadConst,
			ir.OpLoadIntConst, ir.OpLoadFloatConst, ir.OpLoadFunction, ir.OpBoxInt, ir.OpBoxFloat, ir.OpBoxBool,
			ir.OpAddInt, ir.OpSubInt, ir.OpMulInt, ir.OpDivInt, ir.OpRemInt, ir.OpAddIntK, ir.OpSubIntK, ir.OpMulIntK, ir.OpDivIntK,
			ir.OpRemIntK, ir.OpNegInt, ir.OpAddFloat, ir.OpSubFloat, ir.OpMulFloat, ir.OpDivFloat, ir.OpNegFloat, ir.OpSqrtFloat,
			ir.OpIntToFloat, ir.OpFloatToInt, ir.OpEqInt, ir.OpLtInt, ir.OpLeInt, ir.OpEqFloat, ir.OpLtFloat, ir.OpLeFloat, ir.OpEqBool,
			ir.OpNot, ir.OpIsNil, ir.OpStringLen, ir.OpRangeLo, ir.OpRangeHi, ir.OpCaptured, ir.OpVariant, ir.OpNewClosure},
		elems:  {ir.OpArrayGet, ir.OpArrayGetInt, ir.OpArrayGetFloat, ir.OpArrayGetBool},
		lens:   {ir.OpArrayLen},
		fields: {ir.OpField, ir.OpFieldInt, ir.OpFieldFloat, ir.OpFieldBool, ir.OpNewOk, ir.OpNewErr},
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
var changes = func() (set [len(ir.Table)]memory) {
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
			ir.OpJumpVariant, ir.OpJumpNotVariant, ir.OpForInt, ir.OpLoop,
			ir.OpConcat, ir.OpInterpolate, ir.OpStringLen, ir.OpStringAt, ir.OpNewArray, ir.OpNewMap, ir.OpArrayLen,
			ir.OpArrayGet, ir.OpArrayGetInt, ir.OpArrayGetFloat, ir.OpArrayGetBool, ir.OpMapLen, ir.OpMapGet, ir.OpMapFind,
			ir.OpNewRange, ir.OpRangeLo, ir.OpRangeHi, ir.OpNewTuple, ir.OpNewStruct, ir.OpNewVariant, ir.OpNewOk, ir.OpNewErr,
			ir.OpWrapSome, ir.OpUnwrap, ir.OpField, ir.OpFieldInt, ir.OpFieldFloat, ir.OpFieldBool, ir.OpVariant, ir.OpIsType,
			ir.OpNewClosure, ir.OpCaptured, ir.OpNewCell, ir.OpCellGet, ir.OpReturn, ir.OpReturnInt, ir.OpReturnFloat, ir.OpReturnBool,
			ir.OpReturnNil, ir.OpThrow, ir.OpRethrow, ir.OpFault, ir.OpPanic},
		elems:  {ir.OpArraySet, ir.OpArraySetInt, ir.OpArraySetFloat, ir.OpArraySetBool, ir.OpOwnElem},
		lens:   {ir.OpArrayPush, ir.OpArrayPushInt, ir.OpArrayPushFloat, ir.OpArrayPushBool},
		fields: {ir.OpSetField, ir.OpSetFieldInt, ir.OpSetFieldFloat, ir.OpSetFieldBool, ir.OpOwnField},
		maps:   {ir.OpMapSet, ir.OpOwnKey},
		cells:  {ir.OpCellSet, ir.OpOwnCell},
		marks:  {ir.OpShare},
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

// facts finds what holds where.
func (u *unit) facts() *facts {
	k := &facts{u: u, index: map[ir.Instr]int{}, of: make([]int32, len(u.code))}
	for pc, in := range u.code {
		k.of[pc] = -1
		switch {
		case in == nop:
		case makesOwned(in.Op):
			k.of[pc] = int32(k.number(ir.Instr{Op: ir.OpOwn, A: in.A}))
		case asFact[in.Op].ok && !k.readsOwn(in):
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
func (k *facts) readsOwn(in ir.Instr) bool {
	s := shapeOf(in)
	if s.modify {
		return in.Op != ir.OpOwn
	}
	own := false
	k.u.eachRead(in, func(r int) { own = own || r == int(in.A) })
	return own
}

func (k *facts) number(in ir.Instr) int {
	n, ok := k.index[in]
	if !ok {
		n = len(k.list)
		k.index[in] = n
		k.list = append(k.list, in)
	}
	return n
}

func (k *facts) sets() {
	k.words = (len(k.list) + 63) / 64
	room := make([]uint64, 8*k.words)
	next := func() bitset {
		s := room[:k.words:k.words]
		room = room[k.words:]
		return s
	}
	k.elems, k.lens, k.fields, k.maps, k.cells, k.owns, k.elemOwns, k.fieldOwns = next(), next(), next(), next(), next(), next(), next(), next()
	put := func(to *bitset, n int) {
		if *to == nil {
			*to = make(bitset, k.words)
		}
		to.set(n)
	}
	for n, in := range k.list {
		put(&k.dest[in.A], n)
		k.u.eachRead(in, func(r int) { put(&k.uses[r], n) })
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

// flow walks the blocks until nothing changes.
func (k *facts) flow() {
	g := k.u.graph()
	k.in = make([]bitset, len(g.blocks))
	if len(g.blocks) == 0 {
		return
	}
	k.in[0] = make(bitset, k.words)
	s, raised := make(bitset, k.words), make(bitset, k.words)
	for again := true; again; {
		again = false
		for i := range g.blocks {
			b := &g.blocks[i]
			if k.in[i] == nil {
				continue
			}
			copy(s, k.in[i])
			copy(raised, s)
			for pc := b.from; pc < b.to; pc++ {
				k.step(pc, s)
				if len(b.catches) > 0 {
					raised.meet(s)
				}
			}
			for _, to := range b.succ {
				again = k.arrive(to, s, i) || again
			}
			for j, to := range b.catches {
				t := make(bitset, k.words)
				copy(t, raised)
				k.forget(t, b.caught[j].Register)
				again = k.arrive(to, t, i) || again
			}
		}
	}
}

func (k *facts) arrive(to int, s bitset, from int) bool {
	if k.in[to] == nil {
		k.in[to] = make(bitset, k.words)
		copy(k.in[to], s)
		return to <= from
	}
	return k.in[to].meet(s) && to <= from
}

// forget drops what is known of and from a register.
func (k *facts) forget(s bitset, r int) {
	s.without(k.dest[r])
	s.without(k.uses[r])
}

// step makes of what holds before an instruction what holds after it. What an
// error leaves is a part of that.
func (k *facts) step(pc int, s bitset) {
	in := k.u.code[pc]
	if in == nop {
		return
	}
	k.stepMemory(in, s)
	r, keeps := k.u.written(in)
	if r >= 0 {
		if in.Op != ir.OpOwn || !s.has(int(k.of[pc])) { // an Own of what is owned changes nothing
			k.forget(s, r)
		}
		if at := k.u.lost(in); at < 256 {
			for ; at < k.u.f.Registers; at++ {
				k.forget(s, at)
			}
		}
		if keeps >= 0 {
			k.forget(s, keeps)
		}
	}
	if n := k.of[pc]; n >= 0 {
		s.set(int(n))
		if in.Op == ir.OpOwnElem || in.Op == ir.OpOwnField {
			s.set(k.index[asRead(in)])
		}
	}
}

// stepMemory drops what an instruction's change of the heap makes untrue.
func (k *facts) stepMemory(in ir.Instr, s bitset) {
	to := changes[in.Op]
	if to == 0 {
		return
	}
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
	for n, x := range k.list {
		if s.has(n) && (k.fields.has(n) || k.fieldOwns.has(n)) && (slot < 0 || int(x.C) == slot) {
			s[n>>6] &^= 1 << (n & 63)
		}
	}
}

// each visits the instructions that are reached, with what holds before them.
func (k *facts) each(visit func(pc int, holds bitset)) {
	if len(k.list) == 0 {
		return
	}
	g := k.u.graph()
	s := make(bitset, k.words)
	classes := k.u.classesIn()
	for i := range g.blocks {
		if k.in[i] == nil {
			continue
		}
		copy(s, k.in[i])
		k.classes = *classes[i]
		for pc := g.blocks[i].from; pc < g.blocks[i].to; pc++ {
			visit(pc, s)
			k.u.stepClasses(k.u.code[pc], &k.classes)
			k.step(pc, s)
		}
	}
}
