package optimize

import (
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

func trailing(x uint64) int { return bits.TrailingZeros64(x) }

// cse, common subexpression elimination, replaces an instruction by a move from
// the register that holds the result of an earlier equal one. It also covers
// reads of the heap, which saves their checks too.
func (k *facts) cse(pc int, holds bitset) {
	in := k.u.code[pc]
	if in == nop || !has(in.Op, ir.Fact) || has(in.Op, ir.New) || traits[in.Op].Reads() == ir.Marks {
		return
	}
	if n := k.lookup(in); n >= 0 && holds.has(n) {
		k.u.remove(pc)
		return
	}
	if has(in.Op, ir.Cheap) {
		return // a move costs the same
	}
	if d, ok := k.equal(in, holds); ok {
		k.u.set(pc, ir.Instr{Op: moveOf[ir.ShapeOf(in).Writes], A: in.A, B: d})
	}
}

// isResult reports whether an operation makes a Result.
func isResult(op ir.Op) bool { return op == ir.OpNewOk || op == ir.OpNewErr || op == ir.OpNewErrOf }

var moveOf = byClass{ir.Int: ir.OpMoveInt, ir.Float: ir.OpMoveFloat, ir.Bool: ir.OpMoveBool, ir.Full: ir.OpMove}

// equal finds a register that holds what an instruction would give.
func (k *facts) equal(in ir.Instr, holds bitset) (d uint8, ok bool) {
	if !k.twins.paired {
		k.twins.pair(k.list)
	}
	in.A = 0
	for n := k.twins.first.get(in); n >= 0; n = int(k.twins.next[n]) {
		if holds.has(n) && k.classes.Fits(int(k.list[n].A), ir.ShapeOf(in).Writes) {
			return k.list[n].A, true
		}
	}
	return 0, false
}

// twins are facts that differ in their register only, in chains.
type twins struct {
	first  index
	last   []int32 // of the chain that a first one begins
	next   []int32 // after a fact, -1 for none
	paired bool
}

// pair chains facts, those that come first in front.
func (t *twins) pair(list []ir.Instr) {
	t.paired = true
	t.first.reset(len(list))
	next, last := room(&t.next, len(list)), room(&t.last, len(list))
	for n, in := range list {
		in.A, next[n] = 0, -1
		first, found := t.first.find(in)
		if found {
			next[last[*first]] = int32(n)
		} else {
			*first = int32(n)
		}
		last[*first] = int32(n)
	}
}
