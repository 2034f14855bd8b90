package vm

import "github.com/concerto-lang/concerto/ir"

// Superinstructions: several instructions of the IR as one of the VM's. A
// fusion never crosses a jump target or a region's edge; an error in it is
// placed at its first instruction.

// fusable says before which instructions of a block nothing may be fused:
// those that control can reach other than from the one before, and the edges
// of regions.
func fusable(b *ir.Block) []bool {
	inside := make([]bool, len(b.Code)+1)
	for i := range inside {
		inside[i] = true
	}
	for _, in := range b.Code {
		if jumps(uint8(in.Op)) && in.Imm >= 0 && int(in.Imm) < len(inside) {
			inside[in.Imm] = false
		}
	}
	for _, r := range b.Regions {
		for _, at := range []int{r.From, r.To, r.Target} {
			if at >= 0 && at < len(inside) {
				inside[at] = false
			}
		}
	}
	return inside
}

// fuse gives one instruction for the n that start at i; n is 0 when there is
// nothing to fuse.
func fuse(code []ir.Instr, i int, inside []bool) (in ins, n int) {
	return ins{}, 0
}

func opSubIntKCallSlow(t *task, in *ins) status { return t.badOperand(in) }
