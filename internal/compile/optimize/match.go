package optimize

import "github.com/concerto-lang/concerto/ir"

// match moves the tests of a match's arms to its start. It handles tests of the same register, each
// of which leads to the next test if it fails. They become a sequence of JumpEqIntK, JumpVariant or
// JumpEqualK instructions that jump to the arms, and a jump for the other values. The machine
// executes the sequence as one table, so that the last arm is as fast as the first. The old tests
// are retained if a failing guard still leads to them.
//
// match is the last pass, because the other passes first convert nested patterns to one sequence of
// tests for each part of the value.
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

// leastArms is the minimum number of tests in a sequence.
const leastArms = 3

// armOf maps a test that jumps past an arm to the test that jumps to the arm.
var armOf = map[ir.Op]ir.Op{ir.OpJumpNeIntK: ir.OpJumpEqIntK, ir.OpJumpNotVariant: ir.OpJumpVariant, ir.OpJumpNotEqualK: ir.OpJumpEqualK}

func isArm(in ir.Instr) bool {
	switch in.Op {
	case ir.OpJumpNeIntK, ir.OpJumpNotVariant, ir.OpJumpNotEqualK, ir.OpJumpEqIntK, ir.OpJumpVariant, ir.OpJumpEqualK:
		return true
	}
	return false
}

// arm returns the test at pc in the form that jumps to its arm. then is the start of the arm, and
// next is the instruction after a failing test.
func (u *unit) arm(pc int) (test ir.Instr, then, next int) {
	test = u.code[pc]
	if op, ok := armOf[test.Op]; ok {
		then, next = u.after(pc), int(test.Imm)
		test.Op = op
		return test, then, next
	}
	return test, int(test.Imm), u.after(pc)
}

// arms returns the tests of one register in the chain that starts at pc.
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

// sameRegions reports whether two instructions are in the same error regions.
func (u *unit) sameRegions(a, b int) bool {
	for _, r := range u.regions {
		if (r.From <= a && a < r.To) != (r.From <= b && b < r.To) {
			return false
		}
	}
	return true
}
