package vm

import (
	"math"
	"unsafe"

	"github.com/concerto-lang/concerto/ir"
)

// Tables. A sequence of tests of one register, each for another number, variant or String, is
// loaded as one instruction followed by a table of opCases. The table has one entry for each number
// from the smallest to the largest, or one for each String, which a map finds. If no test matches
// the value, control continues after the tests. With a table, a loop around a match of eight
// Strings takes 0.35 of its time, a match of five Strings 0.55.

const (
	leastCases = 3    // minimum number of tests for a table of numbers
	leastTexts = 4    // minimum number of tests for a table of Strings: hashing takes as long as three tests
	mostHoles  = 4    // maximum number of entries per test
	mostCases  = 1024 // maximum entries of a table
)

// table loads the tests that begin at instruction i as a table. It returns their number, or 0 if it
// creates no table.
func (m *loader) table(code []ir.Instr, i int, inside []bool) (n int) {
	first := code[i]
	if first.Op != ir.OpJumpEqIntK && first.Op != ir.OpJumpVariant && first.Op != ir.OpJumpEqualK {
		return 0
	}
	for n = 1; i+n < len(code) && inside[i+n] && code[i+n].Op == first.Op && code[i+n].A == first.A; n++ {
	}
	if first.Op == ir.OpJumpEqualK {
		return m.textTable(code[i:i+n], i)
	}
	return m.numberTable(code[i:i+n], i)
}

func (m *loader) numberTable(run []ir.Instr, at int) (n int) {
	first := run[0]
	lo, hi := caseOf(first), caseOf(first)
	for _, in := range run {
		lo, hi = min(lo, caseOf(in)), max(hi, caseOf(in))
	}
	op := opSwitchInt
	if first.Op == ir.OpJumpVariant {
		op, lo = opSwitchVariant, 0
	}
	size := hi - lo + 1
	if len(run) < leastCases || size > mostHoles*len(run) || size > mostCases {
		return 0
	}
	to := make([]int32, size)
	for k := range to {
		to[k] = int32(at + len(run))
	}
	for k := len(run) - 1; k >= 0; k-- { // the first of equal tests decides
		to[caseOf(run[k])-lo] = run[k].Imm
	}
	m.emitIns(ins{op: uint8(op), a: first.A, b: uint8(uint16(lo)), c: uint8(uint16(lo) >> 8), imm: int32(size)}, at)
	for _, target := range to {
		m.emitIns(ins{op: opCase, imm: target}, at)
	}
	return len(run)
}

// textTable loads the leading tests for a String as a table.
func (m *loader) textTable(run []ir.Instr, at int) (n int) {
	to := map[string]int{}
	for _, in := range run[:min(len(run), math.MaxInt16)] {
		k := int(in.BC())
		if k < 0 || k >= len(m.constants) || m.constants[k].Str() == nil {
			break
		}
		s := m.constants[k].AsString()
		if _, exists := to[s]; !exists { // the first of equal tests decides
			to[s] = n
		}
		n++
	}
	if n < leastTexts {
		return 0
	}
	m.emitIns(ins{op: opSwitchText, a: run[0].A, b: uint8(n), c: uint8(n >> 8), imm: int32(len(m.texts))}, at)
	m.texts = append(m.texts, to)
	for _, in := range run[:n] {
		m.emitIns(ins{op: opCase, imm: in.Imm}, at)
	}
	return n
}

func doSwitchText(t *task, in *ins) status {
	if s := t.slot(in.a).Str(); s != nil {
		if k, ok := t.m.image.texts[in.imm][s.S]; ok {
			entry := unsafe.Add(t.ip, uintptr(k)*insSize)
			t.ip = jump(unsafe.Add(entry, insSize), (*ins)(entry).imm)
			return running
		}
	}
	t.ip = unsafe.Add(t.ip, uintptr(short(in))*insSize)
	return running
}

// caseOf returns the number with which a test compares.
func caseOf(in ir.Instr) int {
	if in.Op == ir.OpJumpVariant {
		return int(in.B)
	}
	return int(in.BC())
}
