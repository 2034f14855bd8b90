package vm

import (
	"math"
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

func init() {
	slow[ir.OpRemFloat] = func(t *task, in *ins) status {
		*floatAt(t.fp, in.a) = math.Mod(*floatAt(t.fp, in.b), *floatAt(t.fp, in.c))
		return running
	}
	slow[ir.OpFloatToInt] = opFloatToInt
}

// mulOverflows says whether x * y leaves 64 bits.
//
//go:noinline
func mulOverflows(x, y int64) bool {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	high := int64(hi) // of the signed product
	if x < 0 {
		high -= y
	}
	if y < 0 {
		high -= x
	}
	return high != int64(lo)>>63
}

// floatToInt truncates f; ok is false for NaN and what leaves 64 bits.
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

// hotFault raises the fault of an operation of the loop that has no part
// outside it.
func (t *task) hotFault(in *ins, code int) status {
	switch code {
	case faultDivide:
		return t.fault("division by zero")
	case faultRemainder:
		return t.fault("remainder by zero")
	}
	switch ir.Op(in.op) {
	case ir.OpAddInt, ir.OpSubInt, ir.OpMulInt, ir.OpDivInt, ir.OpAddIntK, ir.OpSubIntK, ir.OpMulIntK, ir.OpDivIntK, ir.OpNegInt:
		return t.fault("integer overflow")
	}
	return t.badOperand(in)
}
