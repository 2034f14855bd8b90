package vm

import (
	"math"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

func opRemFloat(t *task, in *ins) status {
	*floatAt(t.fp, in.a) = math.Mod(*floatAt(t.fp, in.b), *floatAt(t.fp, in.c))
	return running
}

func opNegInt(t *task, in *ins) status { return t.fault("integer overflow") }

// opShift raises the fault of a shift by an invalid distance. The dispatch loop executes valid
// shifts itself.
func opShift(t *task, in *ins) status {
	return t.fault("shift by %d: must be 0 to 63", *intAt(t.fp, in.c))
}

// floatToInt truncates f. ok is false if f is NaN or the result does not fit into 64 bits.
func floatToInt(f float64) (n int64, ok bool) {
	if !(f >= -9223372036854775808.0 && f < 9223372036854775808.0) {
		return 0, false
	}
	return int64(f), true
}

func opFloatToInt(t *task, in *ins) status {
	f := *floatAt(t.fp, in.b)
	n, ok := floatToInt(f)
	if !ok {
		return t.fault("cannot convert %s to Int", floatText(f))
	}
	*intAt(t.fp, in.a) = n
	return running
}

// intRest returns the implementation of an Int operation for the cases that the dispatch loop does
// not handle: products of large numbers, division by -1, and every fault. If constant is set, the
// second operand is the instruction's immediate value instead of a register.
func intRest(op ir.AnyOp, constant bool) func(*task, *ins) status {
	return func(t *task, in *ins) status {
		y := int64(in.imm)
		if !constant {
			y = *intAt(t.fp, in.c)
		}
		v, st := t.intArith(op, *intAt(t.fp, in.b), y)
		if st == running {
			*intAt(t.fp, in.a) = v.AsInt()
		}
		return st
	}
}

// Division by a constant k > 1. Let m be 2^64/k rounded up. For x from 0 to 2^32-1 the quotient is
// the high half of m*x, and the remainder is the high half of k times the low half of m*x. Two
// multiplications replace a division that takes up to four times as long (D. Lemire, O. Kaser, N.
// Kurz, "Faster remainder by direct computation", 2019). For any other x the VM uses the division
// instruction. The dispatch loop contains a copy of this code, because Go does not inline a
// function of this size.

// reciprocal holds m and k in two slots, which are stored after the program's constants.
type reciprocal struct {
	m uint64
	_ unsafe.Pointer
	k uint64
	_ unsafe.Pointer
}

// reciprocalAt returns the reciprocal at constant i.
func reciprocalAt(constants unsafe.Pointer, i int32) *reciprocal {
	return (*reciprocal)(unsafe.Add(constants, uintptr(i)*slotSize))
}

// byReciprocal reports whether the instruction is a division by a constant that a reciprocal can
// replace.
func byReciprocal(in ir.Instr) bool {
	return (in.Op == ir.OpRemIntK || in.Op == ir.OpDivIntK) && in.Imm > 1
}

// loadReciprocal replaces the divisor of a division by a constant by the index of its reciprocal.
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

func opLtString(t *task, in *ins) status { return t.compareStrings(in, false) }

func opLeString(t *task, in *ins) status { return t.compareStrings(in, true) }

func opEqual(t *task, in *ins) status {
	*bitsAt(t.fp, in.a) = bit(value.EqualIn(&t.m.pace, *t.slot(in.b), *t.slot(in.c)))
	return running
}

func opJumpEqual(t *task, in *ins) status { return t.jumpWhen(in, true) }

func opJumpNotEqual(t *task, in *ins) status { return t.jumpWhen(in, false) }

func opJumpEqualK(t *task, in *ins) status { return t.jumpWhenK(in, true) }

func opJumpNotEqualK(t *task, in *ins) status { return t.jumpWhenK(in, false) }

// compareStrings orders two Strings by code points. In UTF-8 that is the order of their bytes.
func (t *task) compareStrings(in *ins, orEqual bool) status {
	a, b := t.slot(in.b).Str(), t.slot(in.c).Str()
	if a == nil || b == nil {
		return t.badOperand(in)
	}
	*bitsAt(t.fp, in.a) = bit(a.S < b.S || orEqual && a.S == b.S)
	return running
}

func (t *task) jumpWhen(in *ins, equal bool) status {
	if value.EqualIn(&t.m.pace, *t.slot(in.a), *t.slot(in.b)) == equal {
		t.ip = jump(t.ip, in.imm)
	}
	return running
}

// jumpWhenK compares a register with a constant and jumps if their equality is equal.
func (t *task) jumpWhenK(in *ins, equal bool) status {
	if value.EqualIn(&t.m.pace, *t.slot(in.a), t.m.image.constants[short(in)]) == equal {
		t.ip = jump(t.ip, in.imm)
	}
	return running
}
