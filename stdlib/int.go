package stdlib

import (
	"cmp"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/intmath"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var intNatives = native.Table{
	{"Int.abs", intAbs},
	{"Int.clamp", intClamp},
	{"Int.pow", intPow},
	{"Int.to_float", func(a *vm.Args) (value.Slot, error) { return value.Float(float64(a.Int(0))), nil }},
	{"Int.to_string", textOfValue},
	{"Int.to_hex", func(a *vm.Args) (value.Slot, error) { return value.String(strconv.FormatInt(a.Int(0), 16)), nil }},
	{"Int.checked_add", orNone(intmath.Add)},
	{"Int.checked_sub", orNone(intmath.Sub)},
	{"Int.checked_mul", orNone(intmath.Mul)},
	{"Int.wrapping_add", wrapping(func(x, y int64) int64 { return x + y })},
	{"Int.wrapping_sub", wrapping(func(x, y int64) int64 { return x - y })},
	{"Int.wrapping_mul", wrapping(func(x, y int64) int64 { return x * y })},
	{"Int.bit_and", wrapping(func(x, y int64) int64 { return x & y })},
	{"Int.bit_or", wrapping(func(x, y int64) int64 { return x | y })},
	{"Int.bit_xor", wrapping(func(x, y int64) int64 { return x ^ y })},
	{"Int.bit_not", func(a *vm.Args) (value.Slot, error) { return value.Int(^a.Int(0)), nil }},
	{"Int.shl", shift(func(x int64, n uint) int64 { return x << n })},
	{"Int.shr", shift(func(x int64, n uint) int64 { return x >> n })},
}

// orNone makes a native that gives None where f overflows.
func orNone(f func(x, y int64) (int64, bool)) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		n, ok := f(a.Int(0), a.Int(1))
		if !ok {
			return value.Nil, nil
		}
		return value.Int(n), nil
	}
}

// wrapping makes a native of a function that cannot fail.
func wrapping(f func(x, y int64) int64) vm.Native {
	return func(a *vm.Args) (value.Slot, error) { return value.Int(f(a.Int(0), a.Int(1))), nil }
}

func shift(f func(x int64, n uint) int64) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		n := a.Int(1)
		if n < 0 || n > 63 {
			return value.Nil, value.Faultf("shift by %d: must be 0 to 63", n)
		}
		return value.Int(f(a.Int(0), uint(n))), nil
	}
}

// magnitude gives |x|, also of the least Int.
func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func intAbs(a *vm.Args) (value.Slot, error) {
	n := a.Int(0)
	minus, ok := intmath.Neg(n)
	if !ok {
		return value.Nil, value.Faultf("integer overflow: abs of %d", n)
	}
	return value.Int(max(n, minus)), nil
}

func intClamp(a *vm.Args) (value.Slot, error) { return clamp(a.Int(0), a.Int(1), a.Int(2), value.Int) }

// clamp brings n within lo and hi, which must be in order.
func clamp[T cmp.Ordered](n, lo, hi T, slot func(T) value.Slot) (value.Slot, error) {
	if !(lo <= hi) {
		return value.Nil, value.Faultf("clamp: the lower bound %s is above the upper bound %s",
			value.Text(slot(lo)), value.Text(slot(hi)))
	}
	return slot(max(lo, min(n, hi))), nil
}

// intPow multiplies by squaring. The last square is not used and may overflow.
func intPow(a *vm.Args) (value.Slot, error) {
	base, n := a.Int(0), a.Int(1)
	if n < 0 {
		return value.Nil, value.Faultf("%d to the power of %d: the exponent must not be negative", base, n)
	}
	result, square, ok := int64(1), base, true
	for e := n; e > 0; e >>= 1 {
		if e&1 == 1 {
			if result, ok = intmath.Mul(result, square); !ok {
				break
			}
		}
		if e > 1 {
			if square, ok = intmath.Mul(square, square); !ok {
				break
			}
		}
	}
	if !ok {
		return value.Nil, value.Faultf("integer overflow: %d to the power of %d", base, n)
	}
	return value.Int(result), nil
}
