package stdlib

import (
	"math"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

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

// toInt makes a native that rounds by round and gives an Int; name is the
// native's name in the fault.
func toInt(name string, round func(float64) float64) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		f := round(a.Float(0))
		// 2^63 is the least Float above every Int; -2^63 is an Int itself.
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
