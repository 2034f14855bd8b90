package stdlib

import (
	"cmp"

	"github.com/concerto-lang/concerto/internal/data/intmath"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// Ordering and folding arrays. Numbers are ordered among each other, with NaN
// below every number, and Strings by code point.

func arraySort(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	if err := ordered(a, x); err != nil {
		return value.Nil, err
	}
	y := x.Slice(0, x.Len)
	switch y.Sub {
	case value.ReprInts:
		sortInts(a.Pace(), y.Ints())
	case value.ReprFloats:
		sortStable(a.Pace(), y.Floats(), cmp.Compare[float64])
	case value.ReprSlots:
		sortStable(a.Pace(), y.Slots(), order)
	}
	return y.Slot(), nil
}

// ordered faults unless all elements are numbers or all are Strings.
func ordered(a *vm.Args, x *value.Array) error {
	if x.Sub == value.ReprBools {
		return value.Faultf("cannot order values of type Bool")
	}
	if x.Sub != value.ReprSlots {
		return nil
	}
	first := x.At(0)
	for i := range x.Len {
		a.Step(1)
		if _, ok := value.Compare(first, x.At(i)); !ok {
			if i == 0 {
				return value.Faultf("cannot order values of type %s", value.TypeName(first))
			}
			return value.Faultf("cannot order %s and %s", value.TypeName(first), value.TypeName(x.At(i)))
		}
	}
	return nil
}

// order compares elements of an array that ordered accepts.
func order(a, b value.Slot) int {
	c, _ := value.Compare(a, b)
	return c
}

// extreme gives the index of the first smallest element, or of the first
// largest when sign is negative; -1 for an empty array.
func extreme(a *vm.Args, x *value.Array, sign int) (int, error) {
	if x.Len == 0 {
		return -1, nil
	}
	if err := ordered(a, x); err != nil {
		return 0, err
	}
	best, s := 0, x.At(0)
	for i := 1; i < x.Len; i++ {
		a.Step(1)
		if t := x.At(i); order(t, s)*sign < 0 {
			best, s = i, t
		}
	}
	return best, nil
}

func arrayMin(a *vm.Args) (value.Slot, error) { return extremeElement(a, 1) }

func arrayMax(a *vm.Args) (value.Slot, error) { return extremeElement(a, -1) }

func extremeElement(a *vm.Args, sign int) (value.Slot, error) {
	i, err := extreme(a, a.Array(0), sign)
	if err != nil || i < 0 {
		return value.Nil, err
	}
	return a.Array(0).At(i), nil
}

func arrayLeast(a *vm.Args) (value.Slot, error) { return extremePlace(a, 1) }

func arrayGreatest(a *vm.Args) (value.Slot, error) { return extremePlace(a, -1) }

func extremePlace(a *vm.Args, sign int) (value.Slot, error) {
	i, err := extreme(a, a.Array(0), sign)
	if err != nil || i < 0 {
		return value.Nil, err
	}
	return value.Int(int64(i)), nil
}

func arrayOrder(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	if err := ordered(a, x); err != nil {
		return value.Nil, err
	}
	places := make([]int64, x.Len)
	for i := range places {
		places[i] = int64(i)
	}
	sortStable(a.Pace(), places, func(i, j int64) int { return order(x.At(int(i)), x.At(int(j))) })
	return value.IntArray(places), nil
}

// arraySum makes a native that adds up the elements, starting with zero, which
// is also the sum of an empty array. The array may hold Ints, Floats or, seen
// through Any, both.
func arraySum(zero value.Slot) vm.Native {
	return fold("sum", zero, intmath.Add, func(x, y float64) float64 { return x + y })
}

// arrayProduct makes a native that multiplies from one.
func arrayProduct(one value.Slot) vm.Native {
	return fold("product", one, intmath.Mul, func(x, y float64) float64 { return x * y })
}

func fold(name string, start value.Slot, ints func(x, y int64) (int64, bool), floats func(x, y float64) float64) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		x, acc := a.Array(0), start
		for i := range x.Len {
			a.Step(1)
			s := x.At(i)
			if acc.Kind() == value.KindInt && s.Kind() == value.KindInt {
				n, ok := ints(acc.AsInt(), s.AsInt())
				if !ok {
					return value.Nil, value.Faultf("integer overflow: %s of an array", name)
				}
				acc = value.Int(n)
				continue
			}
			f, _ := acc.Number()
			g, ok := s.Number()
			if !ok {
				return value.Nil, value.Faultf("%s: expected numbers, got %s", name, value.TypeName(s))
			}
			acc = value.Float(floats(f, g))
		}
		return acc, nil
	}
}
