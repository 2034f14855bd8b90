package stdlib

import (
	"cmp"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/intmath"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// Ordering and reducing of arrays. Numbers are ordered by value, with NaN before every other
// number. Strings are ordered by code point.

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

// ordered returns a fault unless all elements are numbers or all are Strings.
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

// order compares two elements of an array that ordered has accepted.
func order(a, b value.Slot) int {
	c, _ := value.Compare(a, b)
	return c
}

// extreme returns the index of the first smallest element, or of the first largest one if sign is
// negative. It returns -1 for an empty array.
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

// arraySum returns a native that adds the elements to zero, which is also the sum of an empty
// array. The array contains Ints or Floats; an array of Any may contain both.
func arraySum(zero value.Slot) vm.Native {
	return fold("sum", zero, intmath.Add, func(x, y float64) float64 { return x + y })
}

// arrayProduct returns a native that multiplies the elements, beginning with one.
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

// sortBlock is the number of elements that one call of a sort function sorts.
const sortBlock = 1 << 13

// sorted sorts v and reports steps to the pace. It sorts blocks with sort and then merges them in
// pairs. The result is stable if sort is stable.
func sorted[T any](p *value.Pace, v []T, sort func([]T), compare func(x, y T) int) {
	for from := 0; from < len(v); from += sortBlock {
		block := v[from:min(from+sortBlock, len(v))]
		p.Step(4 * len(block))
		sort(block)
	}
	if len(v) <= sortBlock {
		return
	}
	from, to := v, make([]T, len(v))
	for size := sortBlock; size < len(v); size *= 2 {
		for at := 0; at < len(v); at += 2 * size {
			middle, end := min(at+size, len(v)), min(at+2*size, len(v))
			merge(p, from[at:middle], from[middle:end], to[at:end], compare)
		}
		from, to = to, from
	}
	if &from[0] != &v[0] {
		copy(v, from)
	}
}

// merge merges two sorted slices into into, which has space for both. Equal elements of x come
// before those of y.
func merge[T any](p *value.Pace, x, y, into []T, compare func(x, y T) int) {
	if len(x) == 0 || len(y) == 0 || compare(x[len(x)-1], y[0]) <= 0 {
		p.Step(len(into) >> 3)
		copy(into[copy(into, x):], y)
		return
	}
	n, next := 0, 0
	for len(x) > 0 && len(y) > 0 {
		if n == next {
			p.Step(sortBlock)
			next += sortBlock
		}
		if compare(x[0], y[0]) <= 0 {
			into[n], x = x[0], x[1:]
		} else {
			into[n], y = y[0], y[1:]
		}
		n++
	}
	copy(into[n+copy(into[n:], x):], y)
}

// sortInts sorts Ints.
func sortInts(p *value.Pace, v []int64) {
	sorted(p, v, slices.Sort[[]int64], func(x, y int64) int {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// sortStable sorts values of any type and preserves the order of equal elements.
func sortStable[T any](p *value.Pace, v []T, compare func(x, y T) int) {
	sorted(p, v, func(block []T) { slices.SortStableFunc(block, compare) }, compare)
}
