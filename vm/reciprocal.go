package vm

import (
	"math"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Division by a constant k > 1. Let m be 2^64/k rounded up. For x from 0 to
// 2^32-1 the quotient is the high half of m*x. The remainder is the high half
// of k times the low half of m*x. That takes two multiplications, where a
// division takes up to four times as long (D. Lemire, O. Kaser, N. Kurz,
// "Faster remainder by direct computation", 2019). Other x are divided. The
// loop repeats this code, since a function of this size is not inlined there.

// reciprocal is m and k as they lie in two slots, behind the program's constants.
type reciprocal struct {
	m uint64
	_ unsafe.Pointer
	k uint64
	_ unsafe.Pointer
}

// reciprocalAt gives the reciprocal at constant i.
func reciprocalAt(constants unsafe.Pointer, i int32) *reciprocal {
	return (*reciprocal)(unsafe.Add(constants, uintptr(i)*slotSize))
}

// byReciprocal says whether a division by a constant is done by its reciprocal.
func byReciprocal(in ir.Instr) bool {
	return (in.Op == ir.OpRemIntK || in.Op == ir.OpDivIntK) && in.Imm > 1
}

// loadReciprocal makes such a division one.
func (m *loader) loadReciprocal(in *ins) {
	k, op := in.imm, opRemIntR
	if ir.Op(in.op) == ir.OpDivIntK {
		op = opDivIntR
	}
	i, ok := m.reciprocals[k]
	if !ok {
		if m.reciprocals == nil {
			m.reciprocals = map[int32]int32{}
		}
		i = int32(len(m.constants))
		m.reciprocals[k] = i
		m.constants = append(m.constants, value.Slot{Bits: math.MaxUint64/uint64(k) + 1}, value.Slot{Bits: uint64(k)})
	}
	in.op, in.imm = op, i
}
