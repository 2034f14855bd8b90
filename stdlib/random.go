package stdlib

import (
	"fmt"
	"math/bits"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Natives that use random bits, which they request from the runtime.
var randomNatives = native.Table{
	{"random", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.Random{}, randomBits) }},
	{"random.seed", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.RandomSeed{Seed: a.Int(0)}, vm.Nothing) }},
	{"random.secret", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.Secret{Bytes: a.Int(0)}, secretBytes) }},
	{"random.__float", func(a *vm.Args) (value.Slot, error) {
		return value.Float(float64(uint64(a.Int(0))>>11) / (1 << 53)), nil
	}},
	{"random.__within", randomWithin},
	{"random.__shuffle", randomShuffle},
	{"random.__uuid", func(a *vm.Args) (value.Slot, error) {
		var b [16]byte
		for i := range 8 {
			b[i], b[8+i] = byte(a.Int(0)>>(8*i)), byte(a.Int(1)>>(8*i))
		}
		return value.String(uuid(b)), nil
	}},
}

func randomBits(r effect.Result) (value.Slot, error) {
	return value.Int(int64(r.(*effect.RandomBits).Bits)), nil
}

// secretBytes converts random bytes to an array of Ints.
func secretBytes(r effect.Result) (value.Slot, error) {
	var ints []int64
	for _, b := range r.(*effect.SecretBytes).Bytes {
		ints = append(ints, int64(b))
	}
	return value.IntArray(ints), nil
}

// uuid formats bytes as a UUID of version 4.
func uuid(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func randomWithin(a *vm.Args) (value.Slot, error) {
	lo, hi := a.Int(1), a.Int(2)
	if lo > hi {
		return value.Nil, value.Faultf("int: the minimum %d is greater than the maximum %d", lo, hi)
	}
	n, ok := within(uint64(a.Int(0)), uint64(hi-lo)+1)
	if !ok {
		return value.Nil, nil
	}
	return value.Int(lo + int64(n)), nil
}

// within converts 64 random bits x to a number below n, such that all numbers have the same
// probability. An n of 0 means 2^64. The number is the high half of the product of x and n. ok is
// false for the few values of x that would make some numbers more probable. The low half of the
// product identifies them.
func within(x, n uint64) (v uint64, ok bool) {
	if n == 0 {
		return x, true
	}
	high, low := bits.Mul64(x, n)
	return high, low >= n || low >= -n%n
}

// randomShuffle returns the elements in random order. Argument 1 contains the random bits that seed
// a stream of numbers.
func randomShuffle(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	y := x.Slice(0, x.Len)
	state := uint64(a.Int(1))
	for i := y.Len - 1; i > 0; i-- {
		a.Step(2)
		n, ok := uint64(0), false
		for !ok {
			n, ok = within(mix(&state), uint64(i)+1)
		}
		at := y.At(i)
		y.Set(i, y.At(int(n)))
		y.Set(int(n), at)
	}
	return y.Slot(), nil
}

// mix returns the next number of a stream of 64-bit numbers (SplitMix64).
func mix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
