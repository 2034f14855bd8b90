package optimize

import "github.com/concerto-lang/concerto/ir"

// match gathers the tests of a match's arms at its head: where one that fails
// leads to the next test of the same register, they become a run of
// JumpEqIntK or JumpVariant, each to its arm, and a jump for what is left. The
// machine goes through such a run by a table, so that the last arm costs no more
// than the first. The tests stay where a guard that fails still comes to them.
func match(u *unit) {
	runs := map[int][]int{}
	within := map[int]bool{}
	for pc, in := range u.code {
		if within[pc] || in == nop || !isArm(in.Op) {
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
			arm := u.code[at]
			arm.Op, arm.Imm = armOf[arm.Op], int32(at+1)
			b.add(arm, u.places[at])
		}
		last := run[len(run)-1]
		b.add(ir.Instr{Op: ir.OpJump, Imm: u.code[last].Imm}, u.places[last])
	})
	u.changed = true
}

// leastArms is from how many tests on a run pays.
const leastArms = 3

// armOf is the test that leads to an arm, for the one that leads past it.
var armOf = map[ir.Op]ir.Op{ir.OpJumpNeIntK: ir.OpJumpEqIntK, ir.OpJumpNotVariant: ir.OpJumpVariant}

func isArm(op ir.Op) bool { return op == ir.OpJumpNeIntK || op == ir.OpJumpNotVariant }

// arms follows a chain of tests of one register from its first.
func (u *unit) arms(pc int) (run []int) {
	first := u.code[pc]
	for {
		in := u.code[pc]
		if in == nop || in.Op != first.Op || in.A != first.A || !u.sameRegions(pc, runOr(run, pc)) {
			return run
		}
		run = append(run, pc)
		pc = int(in.Imm)
	}
}

func runOr(run []int, pc int) int {
	if len(run) > 0 {
		return run[0]
	}
	return pc
}

// sameRegions says whether two instructions stand in the same regions.
func (u *unit) sameRegions(a, b int) bool {
	for _, r := range u.regions {
		if (r.From <= a && a < r.To) != (r.From <= b && b < r.To) {
			return false
		}
	}
	return true
}
