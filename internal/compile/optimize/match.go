package optimize

import "github.com/concerto-lang/concerto/ir"

// match gathers the tests of a match's arms at its head. Tests of the same
// register, each of which leads to the next when it fails, become JumpEqIntK,
// JumpVariant or JumpEqualK instructions in a row, each to its arm, and a jump
// for the rest. The machine executes them as one table, so that the last arm
// costs no more than the first. The old tests stay where control still reaches
// them after a guard has failed.
//
// match runs last: by then decide and the other passes have turned nested
// patterns into one row of tests for each part of the value.
func match(u *unit) {
	runs := map[int][]int{}
	within := map[int]bool{}
	for pc, in := range u.code {
		if within[pc] || !isArm(in) {
			continue
		}
		run := u.arms(pc)
		if len(run) < leastArms {
			continue
		}
		runs[pc] = run
		for _, at := range run {
			within[at] = true
		}
	}
	if len(runs) == 0 {
		return
	}
	u.rewrite(func(pc int, in ir.Instr, b *buffer) {
		run, ok := runs[pc]
		if !ok {
			b.add(in, u.places[pc])
			return
		}
		for _, at := range run {
			arm, then, _ := u.arm(at)
			arm.Imm = int32(then)
			b.add(arm, u.places[at])
		}
		last := run[len(run)-1]
		_, _, next := u.arm(last)
		b.add(ir.Instr{Op: ir.OpJump, Imm: int32(next)}, u.places[last])
	})
	u.changed = true
}

// leastArms is from how many tests on a run pays.
const leastArms = 3

// armOf is the test that leads to an arm, for the one that leads past it.
var armOf = map[ir.Op]ir.Op{ir.OpJumpNeIntK: ir.OpJumpEqIntK, ir.OpJumpNotVariant: ir.OpJumpVariant, ir.OpJumpNotEqualK: ir.OpJumpEqualK}

func isArm(in ir.Instr) bool {
	switch in.Op {
	case ir.OpJumpNeIntK, ir.OpJumpNotVariant, ir.OpJumpNotEqualK, ir.OpJumpEqIntK, ir.OpJumpVariant, ir.OpJumpEqualK:
		return true
	}
	return false
}

// arm returns the test at pc in the form that jumps to its arm, the place of the
// arm, and the place where control goes when the test fails.
func (u *unit) arm(pc int) (test ir.Instr, then, next int) {
	test = u.code[pc]
	if op, ok := armOf[test.Op]; ok {
		then, next = u.after(pc), int(test.Imm)
		test.Op = op
		return test, then, next
	}
	return test, int(test.Imm), u.after(pc)
}

// arms follows a chain of tests of one register from its first.
func (u *unit) arms(pc int) (run []int) {
	first, _, _ := u.arm(pc)
	for from := pc; ; {
		if !isArm(u.code[pc]) || !u.sameRegions(pc, from) {
			return run
		}
		test, _, next := u.arm(pc)
		if test.Op != first.Op || test.A != first.A {
			return run
		}
		run = append(run, pc)
		pc = u.finalTarget(next)
	}
}

// sameRegions reports whether two instructions are in the same regions.
func (u *unit) sameRegions(a, b int) bool {
	for _, r := range u.regions {
		if (r.From <= a && a < r.To) != (r.From <= b && b < r.To) {
			return false
		}
	}
	return true
}
