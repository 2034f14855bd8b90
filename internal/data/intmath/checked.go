// Package intmath is arithmetic on Ints: 64 bits, with overflow detected, never
// wrapped (spec/02-values.md). The compiler's constants, the optimiser, the
// machine and the library compute with it; the machine's loop has code of its
// own for the common cases. It imports no other package of the project.
package intmath

import (
	"math"
	"math/bits"
)

// Add gives x + y; ok is false when that is no Int.
func Add(x, y int64) (n int64, ok bool) {
	n = x + y
	return n, (n^x)&(n^y) >= 0
}

// Sub gives x - y; ok is false when that is no Int.
func Sub(x, y int64) (n int64, ok bool) {
	n = x - y
	return n, (x^y)&(n^x) >= 0
}

// Mul gives x * y; ok is false when that is no Int.
func Mul(x, y int64) (n int64, ok bool) {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	high := int64(hi) // of the signed product
	if x < 0 {
		high -= y
	}
	if y < 0 {
		high -= x
	}
	return int64(lo), high == int64(lo)>>63
}

// Div gives x / y, truncated; ok is false when y is 0 or the quotient is no Int.
func Div(x, y int64) (n int64, ok bool) {
	if y == 0 || y == -1 && x == math.MinInt64 {
		return 0, false
	}
	return x / y, true
}

// Rem gives x % y with the sign of x; ok is false when y is 0.
func Rem(x, y int64) (n int64, ok bool) {
	if y == 0 {
		return 0, false
	}
	return x % y, true
}

// Neg gives -x; ok is false for the least Int.
func Neg(x int64) (n int64, ok bool) { return -x, x != math.MinInt64 }
