package intmath

import (
	"math"
	"math/big"
	"testing"
)

// TestAgainstBig compares every operation with arithmetic of unlimited precision.
func TestAgainstBig(t *testing.T) {
	edges := []int64{0, 1, 2, 3, 7, math.MaxInt32, math.MaxInt32 + 1, 3037000499, 3037000500, 1 << 32, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
	numbers := []int64{math.MinInt64, math.MinInt64 + 1}
	for _, n := range edges {
		numbers = append(numbers, n, -n)
	}
	for _, op := range []struct {
		name string
		do   func(x, y int64) (int64, bool)
		want func(z, x, y *big.Int) *big.Int
		zero bool // the operation is defined for y = 0
	}{
		{"+", Add, (*big.Int).Add, true}, {"-", Sub, (*big.Int).Sub, true}, {"*", Mul, (*big.Int).Mul, true},
		{"/", Div, (*big.Int).Quo, false}, {"%", Rem, (*big.Int).Rem, false},
		{"neg", func(x, _ int64) (int64, bool) { return Neg(x) }, func(z, x, _ *big.Int) *big.Int { return z.Neg(x) }, true},
	} {
		for _, x := range numbers {
			for _, y := range numbers {
				got, ok := op.do(x, y)
				if y == 0 && !op.zero {
					if ok {
						t.Errorf("%d %s 0 = %d, want ok = false", x, op.name, got)
					}
					continue
				}
				want := op.want(new(big.Int), big.NewInt(x), big.NewInt(y))
				if ok != want.IsInt64() || ok && got != want.Int64() {
					t.Errorf("%d %s %d = %d, ok = %v, want %s", x, op.name, y, got, ok, want)
				}
			}
		}
	}
}
