package stdlib

import (
	"cmp"
	"math"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/intmath"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var mathNatives = native.Table{
	{"math.abs", ofNumber(intAbs, float1(math.Abs))},
	{"math.min", ofNumber(wrapping(func(x, y int64) int64 { return min(x, y) }), float2(math.Min))},
	{"math.max", ofNumber(wrapping(func(x, y int64) int64 { return max(x, y) }), float2(math.Max))},
	{"math.clamp", ofNumber(intClamp, floatClamp)},
	{"math.round", toInt("round", math.Round)},
	{"math.floor", toInt("floor", math.Floor)},
	{"math.ceil", toInt("ceil", math.Ceil)},
	{"math.pow", ofNumber(intPow, float2(math.Pow))},
	{"math.sqrt", float1(math.Sqrt)},
	{"math.exp", float1(math.Exp)},
	{"math.ln", float1(math.Log)},
	{"math.log10", float1(math.Log10)},
	{"math.log2", float1(math.Log2)},
	{"math.sin", float1(math.Sin)},
	{"math.cos", float1(math.Cos)},
	{"math.tan", float1(math.Tan)},
	{"math.asin", float1(math.Asin)},
	{"math.acos", float1(math.Acos)},
	{"math.atan", float1(math.Atan)},
	{"math.atan2", float2(math.Atan2)},
	{"math.hypot", float2(math.Hypot)},
	{"math.gcd", gcd},
}

// ofNumber returns a native for numbers. It calls ofInts if all arguments are Ints, and ofFloats
// otherwise.
func ofNumber(ofInts, ofFloats vm.Native) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		for i := range a.Len() {
			if a.Slot(i).Kind() != value.KindInt {
				return ofFloats(a)
			}
		}
		return ofInts(a)
	}
}

func gcd(a *vm.Args) (value.Slot, error) {
	x, y := magnitude(a.Int(0)), magnitude(a.Int(1))
	for y != 0 {
		x, y = y, x%y
	}
	if x > math.MaxInt64 {
		return value.Nil, value.Faultf("integer overflow: gcd of %d and %d", a.Int(0), a.Int(1))
	}
	return value.Int(int64(x)), nil
}

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

// orNone returns a native that returns None if f reports an overflow.
func orNone(f func(x, y int64) (int64, bool)) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		n, ok := f(a.Int(0), a.Int(1))
		if !ok {
			return value.Nil, nil
		}
		return value.Int(n), nil
	}
}

// wrapping returns a native for a function that cannot fail.
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

// magnitude returns |x|. The result is also correct for the smallest Int.
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

// clamp limits n to the range from lo to hi. lo must not be greater than hi.
func clamp[T cmp.Ordered](n, lo, hi T, slot func(T) value.Slot) (value.Slot, error) {
	if !(lo <= hi) {
		return value.Nil, value.Faultf("clamp: the lower bound %s is above the upper bound %s",
			value.Text(slot(lo)), value.Text(slot(hi)))
	}
	return slot(max(lo, min(n, hi))), nil
}

// intPow computes a power by repeated squaring. The last square is not used and may overflow.
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

var floatNatives = native.Table{
	{"Float.abs", float1(math.Abs)},
	{"Float.min", float2(math.Min)},
	{"Float.max", float2(math.Max)},
	{"Float.clamp", floatClamp},
	{"Float.pow", float2(math.Pow)},
	{"Float.sqrt", float1(math.Sqrt)},
	{"Float.floor", float1(math.Floor)},
	{"Float.ceil", float1(math.Ceil)},
	{"Float.round", float1(math.Round)},
	{"Float.trunc", float1(math.Trunc)},
	{"Float.to_int", toInt("to_int", math.Trunc)},
	{"Float.is_nan", func(a *vm.Args) (value.Slot, error) { return value.Bool(math.IsNaN(a.Float(0))), nil }},
	{"Float.is_finite", func(a *vm.Args) (value.Slot, error) { return value.Bool(finite(a.Float(0))), nil }},
	{"Float.to_string", textOfValue},
	{"Float.to_fixed", floatToFixed},
	{"Bool.to_string", textOfValue},
	{"Any.to_string", textOfValue},
}

func float1(f func(float64) float64) vm.Native {
	return func(a *vm.Args) (value.Slot, error) { return value.Float(f(a.Float(0))), nil }
}

func float2(f func(x, y float64) float64) vm.Native {
	return func(a *vm.Args) (value.Slot, error) { return value.Float(f(a.Float(0), a.Float(1))), nil }
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// toInt returns a native that rounds with round and returns an Int. name is the name of the native
// in the fault.
func toInt(name string, round func(float64) float64) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		f := round(a.Float(0))
		// 2^63 is the smallest Float that is greater than every Int, and -2^63 is the smallest Int
		if !(f >= -1<<63 && f < 1<<63) {
			return value.Nil, value.Faultf("%s: %s does not fit an Int", name, value.Text(value.Float(a.Float(0))))
		}
		return value.Int(int64(f)), nil
	}
}

func floatClamp(a *vm.Args) (value.Slot, error) {
	return clamp(a.Float(0), a.Float(1), a.Float(2), value.Float)
}

func floatToFixed(a *vm.Args) (value.Slot, error) {
	f, digits := a.Float(0), a.Int(1)
	if digits < 0 || digits > 100 {
		return value.Nil, value.Faultf("to_fixed: %d digits: must be 0 to 100", digits)
	}
	if !finite(f) {
		return value.String(value.Text(value.Float(f))), nil
	}
	return value.String(strconv.FormatFloat(f, 'f', int(digits), 64)), nil
}
