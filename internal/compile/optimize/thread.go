package optimize

import "github.com/concerto-lang/concerto/ir"

// thread shortens jumps. A jump to another jump goes to the target of the latter. A jump to a
// return becomes the return. A conditional jump over a jump becomes the opposite conditional jump.
// A jump to the next instruction is removed.
func thread(u *unit) {
	u.countTargets()
	for pc, in := range u.code {
		if in == nop || !ir.ShapeOf(in).Target || loops(in) {
			continue
		}
		in.Imm = int32(u.finalTarget(int(in.Imm)))
		next := u.after(pc)
		switch {
		case int(in.Imm) == next && (in.Op == ir.OpJump || !has(in.Op, ir.Raises)):
			u.redirect(pc, nop)
			continue
		case in.Op == ir.OpJump:
			if to := u.code[in.Imm]; has(to.Op, ir.Returns) {
				in = to
			}
		case next < len(u.code) && u.code[next].Op == ir.OpJump && u.after(next) == int(in.Imm):
			if out, ok := opposite(in); ok && u.onlyFrom(pc, next) {
				out.Imm = int32(u.finalTarget(int(u.code[next].Imm)))
				u.redirect(next, nop)
				in = out
			}
		}
		u.redirect(pc, in)
	}
}

// countTargets counts the jumps and regions that lead to each instruction.
func (u *unit) countTargets() {
	n := zeroed(&u.s.targets, len(u.code)+1)
	for pc := range u.code {
		if in := &u.code[pc]; *in != nop && ir.Shapes[in.Op].Target {
			n[in.Imm]++
		}
	}
	for _, r := range u.regions {
		n[r.Target]++
	}
}

// onlyFrom reports whether the instruction at pc is reached only from the preceding instruction,
// before.
func (u *unit) onlyFrom(before, pc int) bool {
	for ; pc > before; pc-- {
		if u.s.targets[pc] > 0 {
			return false
		}
	}
	return true
}

// redirect replaces a jump, and updates the numbers of jumps to each instruction.
func (u *unit) redirect(pc int, in ir.Instr) {
	u.s.targets[u.code[pc].Imm]--
	if in != nop && ir.ShapeOf(in).Target {
		u.s.targets[in.Imm]++
	}
	u.set(pc, in)
}

// finalTarget follows a chain of jumps from pc, and returns the first instruction that is no jump.
func (u *unit) finalTarget(pc int) int {
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

// after returns the index of the next instruction that is not deleted.
func (u *unit) after(pc int) int {
	for pc++; pc < len(u.code) && u.code[pc] == nop; pc++ {
	}
	return pc
}

// opposites maps each conditional jump to the one that jumps in the opposite case. OpMove, the zero
// value, means that an operation is no conditional jump.
var opposites = func() (of [256]ir.Op) {
	for a, b := range map[ir.Op]ir.Op{
		ir.OpJumpIf: ir.OpJumpIfNot, ir.OpJumpEqInt: ir.OpJumpNeInt, ir.OpJumpEqIntK: ir.OpJumpNeIntK, ir.OpJumpLtIntK: ir.OpJumpGeIntK,
		ir.OpJumpLeIntK: ir.OpJumpGtIntK, ir.OpJumpLtFloat: ir.OpJumpNotLtFloat, ir.OpJumpLeFloat: ir.OpJumpNotLeFloat,
		ir.OpJumpEqual: ir.OpJumpNotEqual, ir.OpJumpEqualK: ir.OpJumpNotEqualK, ir.OpJumpNil: ir.OpJumpNotNil, ir.OpJumpVariant: ir.OpJumpNotVariant,
	} {
		of[a], of[b] = b, a
	}
	return of
}()

// opposite returns the conditional jump that jumps if in does not.
func opposite(in ir.Instr) (ir.Instr, bool) {
	switch in.Op {
	case ir.OpJumpLtInt: // !(a < b) means b <= a
		in.Op, in.A, in.B = ir.OpJumpLeInt, in.B, in.A
		return in, true
	case ir.OpJumpLeInt:
		in.Op, in.A, in.B = ir.OpJumpLtInt, in.B, in.A
		return in, true
	}
	in.Op = opposites[in.Op]
	return in, in.Op != ir.OpMove
}
