package stdlib

import (
	"math"

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

// ofNumber makes a native that takes Ints or Floats, and applies ofInts when
// all arguments are Ints.
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
