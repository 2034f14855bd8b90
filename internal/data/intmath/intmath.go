// Package intmath implements the arithmetic of Ints, which have 64 bits and detect overflow
// (spec/02-values.md). The compiler, the optimiser, the VM and the library use it. The VM's loop
// contains inlined code for common cases. The package imports no other package of the project.
package intmath

import (
	"math"
	"math/bits"
)

// Add returns x + y; ok is false on overflow.
func Add(x, y int64) (n int64, ok bool) {
	n = x + y
	return n, (n^x)&(n^y) >= 0
}

// Sub returns x - y; ok is false on overflow.
func Sub(x, y int64) (n int64, ok bool) {
	n = x - y
	return n, (x^y)&(n^x) >= 0
}

// Mul returns x * y; ok is false on overflow.
func Mul(x, y int64) (n int64, ok bool) {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	high := int64(hi) // upper half of the signed product
	if x < 0 {
		high -= y
	}
	if y < 0 {
		high -= x
	}
	return int64(lo), high == int64(lo)>>63
}

// Div returns x / y, truncated; ok is false if y is 0 or on overflow.
func Div(x, y int64) (n int64, ok bool) {
	if y == 0 || y == -1 && x == math.MinInt64 {
		return 0, false
	}
	return x / y, true
}

// Rem returns x % y with the sign of x; ok is false if y is 0.
func Rem(x, y int64) (n int64, ok bool) {
	if y == 0 {
		return 0, false
	}
	return x % y, true
}

// Neg returns -x; ok is false for the smallest Int.
func Neg(x int64) (n int64, ok bool) { return -x, x != math.MinInt64 }
