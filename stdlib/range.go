package stdlib

import (
	"math"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var rangeNatives = native.Table{
	{"Range.contains", rangeContains},
	{"Range.len", rangeLen},
	{"Range.step", rangeStep},
	{"Range.to_array", rangeToArray},
	{"Range.reverse", rangeReverse},
}

// maxRange is the maximum length of a range that is converted to an array.
const maxRange = 1 << 28

// rangeOf returns the receiver and its length. The range of all Ints has 2^64 elements, for which
// rangeOf returns the largest uint64.
func rangeOf(a *vm.Args) (r value.Slot, n uint64, err error) {
	r = a.Slot(0)
	if r.Kind() != value.KindRange {
		return r, 0, value.Faultf("expected a Range, got %s", value.TypeName(r))
	}
	n, ok := r.RangeLen()
	if !ok {
		n = math.MaxUint64
	}
	return r, n, nil
}

func rangeContains(a *vm.Args) (value.Slot, error) {
	r, _, err := rangeOf(a)
	if err != nil {
		return value.Nil, err
	}
	first, last := r.Range()
	n := a.Int(1)
	return value.Bool(first <= n && n <= last), nil
}

func rangeLen(a *vm.Args) (value.Slot, error) {
	r, n, err := rangeOf(a)
	if err == nil && n > 1<<63-1 {
		err = value.Faultf("integer overflow: length of %s", value.Text(r))
	}
	if err != nil {
		return value.Nil, err
	}
	return value.Int(int64(n)), nil
}

// ints returns an array with every step-th Int of the receiver.
func ints(a *vm.Args, step uint64) ([]int64, error) {
	r, n, err := rangeOf(a)
	if err != nil {
		return nil, err
	}
	n = n/step + min(n%step, 1)
	if n > maxRange {
		return nil, value.Faultf("an array of the %d numbers of %s would be too large", n, value.Text(r))
	}
	a.Room(8 * int(n))
	lo, _ := r.Range()
	out := make([]int64, n)
	a.Pace().Parts(len(out), func(from, to int) {
		for i := from; i < to; i++ {
			out[i] = lo + int64(uint64(i)*step)
		}
	})
	return out, nil
}

func rangeStep(a *vm.Args) (value.Slot, error) {
	step := a.Int(1)
	if step <= 0 {
		return value.Nil, value.Faultf("step: %d is not positive", step)
	}
	out, err := ints(a, uint64(step))
	return value.IntArray(out), err
}

func rangeToArray(a *vm.Args) (value.Slot, error) {
	out, err := ints(a, 1)
	return value.IntArray(out), err
}

func rangeReverse(a *vm.Args) (value.Slot, error) {
	out, err := ints(a, 1)
	a.Step(len(out) >> 2)
	slices.Reverse(out)
	return value.IntArray(out), err
}
