package stdlib

import (
	"math/bits"
	"slices"

	"github.com/concerto-lang/concerto/value"
	"github.com/concerto-lang/concerto/vm"
)

var rangeNatives = []native{
	{"Range.contains", rangeContains},
	{"Range.len", rangeLen},
	{"Range.step", rangeStep},
	{"Range.to_array", rangeToArray},
	{"Range.reverse", rangeReverse},
}

// maxRange bounds how many Ints a range may become as an array.
const maxRange = 1 << 28

// rangeOf gives the receiver's bounds, hi exclusive, and its length.
func rangeOf(a *vm.Args) (lo, hi int64, n uint64, err error) {
	s := a.Slot(0)
	if s.Kind() != value.KindRange {
		return 0, 0, 0, value.Faultf("expected a Range, got %s", value.TypeName(s))
	}
	lo, hi = s.Range()
	if hi > lo {
		n, _ = bits.Sub64(uint64(hi), uint64(lo), 0)
	}
	return lo, hi, n, nil
}

func rangeContains(a *vm.Args) (value.Slot, error) {
	lo, hi, _, err := rangeOf(a)
	if err != nil {
		return value.Nil, err
	}
	n := a.Int(1)
	return value.Bool(lo <= n && n < hi), nil
}

func rangeLen(a *vm.Args) (value.Slot, error) {
	lo, hi, n, err := rangeOf(a)
	if err == nil && n > 1<<63-1 {
		err = value.Faultf("integer overflow: length of %d..%d", lo, hi)
	}
	if err != nil {
		return value.Nil, err
	}
	return value.Int(int64(n)), nil
}

// ints makes an array of every step-th Int of the receiver.
func ints(a *vm.Args, step uint64) ([]int64, error) {
	lo, hi, n, err := rangeOf(a)
	if err != nil {
		return nil, err
	}
	n = n/step + min(n%step, 1)
	if n > maxRange {
		return nil, value.Faultf("an array of the %d numbers of %d..%d would be too large", n, lo, hi)
	}
	a.Room(8 * int(n))
	out := make([]int64, n)
	for i := range out {
		out[i] = lo + int64(uint64(i)*step)
	}
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
	slices.Reverse(out)
	return value.IntArray(out), err
}
