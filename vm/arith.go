package vm

import (
	"math"

	"github.com/concerto-lang/concerto/ir"
)

func opRemFloat(t *task, in *ins) status {
	*floatAt(t.fp, in.a) = math.Mod(*floatAt(t.fp, in.b), *floatAt(t.fp, in.c))
	return running
}

func opNegInt(t *task, in *ins) status { return t.fault("integer overflow") }

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

// intRest does those Int operations that the loop leaves over: products of
// large numbers, division by -1, and every fault.
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
