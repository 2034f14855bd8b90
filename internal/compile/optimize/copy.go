package optimize

import "github.com/concerto-lang/concerto/ir"

// propagateCopies changes the operands of the instruction at pc from copies to the original
// registers. The original is the source of a move if it still contains the value. For an operand
// that must be an unboxed number, it is the register that was boxed. A move whose result is no
// longer read is later removed as dead code.
func (k *facts) propagateCopies(pc int, holds bitset) {
	in := k.u.code[pc]
	if in == nop {
		return
	}
	s := ir.ShapeOf(in)
	out := in
	for i, o := range s.Reads {
		if s.Modify && i == 0 && o.Field == ir.A {
			continue
		}
		r := in.Get(o.Field)
		for range 8 {
			from, ok := k.source(r, o.Class, holds)
			if !ok || !k.classes.Fits(from, o.Class) {
				break
			}
			r = from
		}
		out.Set(o.Field, int64(r))
	}
	k.u.set(pc, out)
}

// source returns the register from which r was copied, if an operand of the given class can read
// it.
func (k *facts) source(r int, class ir.Class, holds bitset) (int, bool) {
	in, ok := k.findFact(r, holds, func(in ir.Instr) bool {
		switch in.Op {
		case ir.OpMove, ir.OpMoveInt, ir.OpMoveFloat, ir.OpMoveBool:
			return true
		case ir.OpBoxInt:
			return class == ir.Int
		case ir.OpBoxFloat:
			return class == ir.Float
		case ir.OpBoxBool:
			return class == ir.Bool
		}
		return false
	})
	return int(in.B), ok
}

// findFact returns a fact about register r that is in holds and satisfies want.
func (k *facts) findFact(r int, holds bitset, want func(ir.Instr) bool) (ir.Instr, bool) {
	for w, bits := range k.registers.dest(r) {
		for bits &= holds[w]; bits != 0; bits &= bits - 1 {
			if in := k.list[w<<6|trailing(bits)]; want(in) {
				return in, true
			}
		}
	}
	return ir.Instr{}, false
}
