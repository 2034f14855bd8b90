package vm

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// divisors and numbers return values for which a reciprocal is most likely to produce a wrong
// result, and some random values.
func divisors() []int32 {
	all := []int32{-3, -1, 1, 2, 3, 4, 5, 6, 7, 9, 10, 60, 641, 1000, 1 << 16, 1000003, 1<<30 - 1, 1 << 30, math.MaxInt32 - 1, math.MaxInt32}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		all = append(all, rng.Int32()>>rng.IntN(30)|1)
	}
	return all
}

func numbers(k int64) []int64 {
	all := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt32, math.MaxInt32 + 1, math.MinInt32}
	for _, at := range []int64{k, 2 * k, 1<<32/k*k - k, 1 << 31, 1 << 32, 1 << 40, -k} {
		all = append(all, at-1, at, at+1)
	}
	rng := rand.New(rand.NewPCG(3, uint64(k)))
	for range 50 {
		all = append(all, rng.Int64()>>rng.IntN(60))
	}
	return all
}

// TestReciprocals checks that a division by a constant has the same result as in Go, both as a
// single instruction and fused with others.
func TestReciprocals(t *testing.T) {
	for _, k := range divisors() {
		a := newAsm()
		a.fn("rem(Int) Int 4", fmt.Sprintf("RemIntK r2 r1 %d\nReturnInt r2", k))
		a.fn("div(Int) Int 4", fmt.Sprintf("DivIntK r2 r1 %d\nReturnInt r2", k))
		a.fn("add(Int, Int) Int 5", fmt.Sprintf("AddInt r3 r1 r2\nRemIntK r1 r3 %d\nAddInt r1 r1 r3\nSubInt r1 r1 r3\nReturnInt r1", k))
		a.fn("mul(Int, Int, Int) Int 6", fmt.Sprintf("MulInt r4 r2 r3\nAddInt r5 r1 r4\nRemIntK r1 r5 %d\nAddInt r1 r1 r4\nSubInt r1 r1 r4\nReturnInt r1", k))
		a.fn("main() Full 2", "ReturnNil")
		if err := ir.Verify(&a.Program); err != nil {
			t.Fatal(err)
		}
		m, err := New(Config{Program: &a.Program, Performer: effectless})
		if err != nil {
			t.Fatal(err)
		}
		check := func(f int, want int64, args ...int64) {
			t.Helper()
			var slots []value.Slot
			for _, n := range args {
				slots = append(slots, value.Int(n))
			}
			fresh, err := m.Fresh(func(c *Config) { c.Performer = effectless })
			if err != nil {
				t.Fatal(err)
			}
			out, err := fresh.Call(context.Background(), f, slots...)
			if err != nil {
				t.Fatalf("%s(%v) with divisor %d: %v", a.Functions[f].Name, args, k, err)
			}
			if got := out.Value.AsInt(); got != want {
				t.Errorf("%s(%v) with divisor %d = %d, want %d", a.Functions[f].Name, args, k, got, want)
			}
		}
		for _, x := range numbers(int64(k)) {
			check(0, x%int64(k), x)
			if x != math.MinInt64 || k != -1 {
				check(1, x/int64(k), x)
			}
			small := x >> 2
			check(2, small%int64(k), small-5, 5)
			y, z := int64(int32(x)), int64(int32(k))+7
			if sum := small/2 + y*z; sum+y*z-y*z == sum && (sum > small/2) == (y*z > 0) {
				check(3, sum%int64(k), small/2, y, z)
			}
		}
	}
}
