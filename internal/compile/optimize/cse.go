package optimize

import (
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

func trailing(x uint64) int { return bits.TrailingZeros64(x) }

// cse performs common subexpression elimination. It replaces an instruction with a move from the
// register that already contains the same result. It also replaces reads of the heap, which saves
// their checks.
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
		return // a move takes the same time
	}
	if d, ok := k.equal(in, holds); ok {
		k.u.set(pc, ir.Instr{Op: moveOf[ir.ShapeOf(in).Writes], A: in.A, B: d})
	}
}

// isResult reports whether an operation creates a Result.
func isResult(op ir.Op) bool { return op == ir.OpNewOk || op == ir.OpNewErr || op == ir.OpNewErrOf }

var moveOf = byClass{ir.Int: ir.OpMoveInt, ir.Float: ir.OpMoveFloat, ir.Bool: ir.OpMoveBool, ir.Full: ir.OpMove}

// equal returns a register that contains the result of an instruction.
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

// twins contains chains of facts that differ only in their result register.
type twins struct {
	first  index
	last   []int32 // last fact of the chain that starts with a fact
	next   []int32 // next fact of the chain, or -1
	paired bool
}

// pair builds the chains. The facts in a chain are in the order of list.
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
