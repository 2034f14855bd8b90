package vm

import "github.com/concerto-lang/concerto/ir"

// Tables. A run of tests of one register, each for another number or variant, is
// loaded as one instruction and a table behind it: an opCase for each number from
// the least to the largest, which leads where its test did; those without a test
// lead past the run, where the next instruction is.

const (
	leastCases = 3    // fewer tests are made one by one
	mostHoles  = 4    // entries for each test, at most
	mostCases  = 1024 // entries of a table
)

// table loads the run of tests that begins at instruction i, and gives its
// length; 0 when there is none.
func (m *VM) table(code []ir.Instr, i int, inside []bool) (n int) {
	first := code[i]
	if first.Op != ir.OpJumpEqIntK && first.Op != ir.OpJumpVariant {
		return 0
	}
	lo, hi := caseOf(first), caseOf(first)
	for n = 1; i+n < len(code) && inside[i+n] && code[i+n].Op == first.Op && code[i+n].A == first.A; n++ {
		lo, hi = min(lo, caseOf(code[i+n])), max(hi, caseOf(code[i+n]))
	}
	op := opSwitchInt
	if first.Op == ir.OpJumpVariant {
		op, lo = opSwitchVariant, 0
	}
	size := hi - lo + 1
	if n < leastCases || size > mostHoles*n || size > mostCases {
		return 0
	}
	to := make([]int32, size)
	for k := range to {
		to[k] = int32(i + n)
	}
	for k := n - 1; k >= 0; k-- { // of equal tests the first decides
		to[caseOf(code[i+k])-lo] = code[i+k].Imm
	}
	m.emitIns(ins{op: uint8(op), a: first.A, b: uint8(uint16(lo)), c: uint8(uint16(lo) >> 8), imm: int32(size)}, i)
	for _, target := range to {
		m.emitIns(ins{op: opCase, imm: target}, i)
	}
	return n
}

// caseOf is the number that a test is for.
func caseOf(in ir.Instr) int {
	if in.Op == ir.OpJumpVariant {
		return int(in.B)
	}
	return int(in.BC())
}
