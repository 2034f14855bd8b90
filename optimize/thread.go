package optimize

import "github.com/concerto-lang/concerto/ir"

// thread makes jumps short: one that leads to another goes where that goes, one
// to a return returns, a test over a jump becomes the opposite test, and a jump
// to the next instruction goes.
func thread(u *unit) {
	for pc, in := range u.code {
		if in == nop || !shapeOf(in).target || in.Op == ir.OpForInt || in.Op == ir.OpLoop {
			continue
		}
		in.Imm = int32(u.final(int(in.Imm)))
		next := u.after(pc)
		switch {
		case int(in.Imm) == next && (in.Op == ir.OpJump || !mayFault(in.Op)):
			u.remove(pc)
			continue
		case in.Op == ir.OpJump:
			if to := u.code[in.Imm]; returns(to.Op) {
				in = to
			}
		case next < len(u.code) && u.code[next].Op == ir.OpJump && u.after(next) == int(in.Imm) && u.after(pc) == next:
			if out, ok := opposite(in); ok && !u.isTarget(next) {
				out.Imm = int32(u.final(int(u.code[next].Imm)))
				u.remove(next)
				in = out
			}
		}
		u.set(pc, in)
	}
	u.g = nil
}

// final follows the jumps that begin at an instruction.
func (u *unit) final(pc int) int {
	for {
		for pc < len(u.code)-1 && u.code[pc] == nop {
			pc++
		}
		if in := u.code[pc]; in == nop || in.Op != ir.OpJump {
			return pc
		}
		pc = int(u.code[pc].Imm)
	}
}

// after is the next instruction that has not been deleted.
func (u *unit) after(pc int) int {
	for pc++; pc < len(u.code) && u.code[pc] == nop; pc++ {
	}
	return pc
}

// mayFault says whether a test can raise: only those of values.
func mayFault(op ir.Op) bool { return op == ir.OpJumpVariant || op == ir.OpJumpNotVariant }

func returns(op ir.Op) bool { return op >= ir.OpReturn && op <= ir.OpReturnNil }

// isTarget says whether control can come to an instruction from elsewhere than
// the one before.
func (u *unit) isTarget(pc int) bool {
	for _, in := range u.code {
		if in != nop && shapeOf(in).target && int(in.Imm) == pc {
			return true
		}
	}
	for _, r := range u.regions {
		if r.Target == pc {
			return true
		}
	}
	return false
}

var opposites = map[ir.Op]ir.Op{
	ir.OpJumpIf: ir.OpJumpIfNot, ir.OpJumpEqInt: ir.OpJumpNeInt, ir.OpJumpEqIntK: ir.OpJumpNeIntK, ir.OpJumpLtIntK: ir.OpJumpGeIntK,
	ir.OpJumpLeIntK: ir.OpJumpGtIntK, ir.OpJumpLtFloat: ir.OpJumpNotLtFloat, ir.OpJumpLeFloat: ir.OpJumpNotLeFloat,
	ir.OpJumpEqual: ir.OpJumpNotEqual, ir.OpJumpEqualK: ir.OpJumpNotEqualK, ir.OpJumpNil: ir.OpJumpNotNil, ir.OpJumpVariant: ir.OpJumpNotVariant,
}

func init() {
	for a, b := range opposites {
		opposites[b] = a
	}
}

// opposite is the test that jumps when in does not.
func opposite(in ir.Instr) (ir.Instr, bool) {
	switch in.Op {
	case ir.OpJumpLtInt: // !(a < b) is b <= a
		in.Op, in.A, in.B = ir.OpJumpLeInt, in.B, in.A
		return in, true
	case ir.OpJumpLeInt:
		in.Op, in.A, in.B = ir.OpJumpLtInt, in.B, in.A
		return in, true
	}
	op, ok := opposites[in.Op]
	in.Op = op
	return in, ok
}
