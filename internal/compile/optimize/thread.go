package optimize

import "github.com/concerto-lang/concerto/ir"

// thread shortens jumps. A jump to another jump goes to that one's target; a
// jump to a return becomes the return; a test that jumps over a jump becomes
// the opposite test; a jump to the next instruction is removed.
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

// countTargets counts, for each instruction, the ways by which control can come
// to it other than from the instruction before.
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

// onlyFrom reports whether control comes to an instruction by the one before alone.
func (u *unit) onlyFrom(before, pc int) bool {
	for ; pc > before; pc-- {
		if u.s.targets[pc] > 0 {
			return false
		}
	}
	return true
}

// redirect replaces a jump, and updates the counts of targets.
func (u *unit) redirect(pc int, in ir.Instr) {
	u.s.targets[u.code[pc].Imm]--
	if in != nop && ir.ShapeOf(in).Target {
		u.s.targets[in.Imm]++
	}
	u.set(pc, in)
}

// finalTarget follows the jumps that begin at an instruction.
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

// after is the next instruction that has not been deleted.
func (u *unit) after(pc int) int {
	for pc++; pc < len(u.code) && u.code[pc] == nop; pc++ {
	}
	return pc
}

// opposites returns for each test the one that jumps exactly when it does not.
// OpMove, the zero value, is no test.
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
	in.Op = opposites[in.Op]
	return in, in.Op != ir.OpMove
}
