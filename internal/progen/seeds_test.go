package progen_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

var (
	only  = flag.Int64("seed", -1, "run the programs of this seed alone, and print them")
	fresh = flag.Duration("fresh", 0, "run programs of new seeds for so long")
)

// seeds runs a test for the programs of the first n seeds: the same ones each
// time. With -fresh it takes new ones, as `make fuzz` does, until one fails, which
// is named; with -seed that one alone.
func seeds(t *testing.T, n int, program func(seed uint64) string, test func(t *testing.T, seed uint64)) {
	if testing.Short() {
		n /= 8
	}
	switch {
	case *only >= 0:
		t.Logf("seed %d:\n%s", *only, program(uint64(*only)))
		test(t, uint64(*only))
	case *fresh > 0:
		for end := time.Now().Add(*fresh); time.Now().Before(end) && !t.Failed(); {
			sideBySide(t, rand.Uint64N(1<<40), 4*runtime.GOMAXPROCS(0), test)
		}
	default:
		sideBySide(t, 0, n, test)
	}
}

// sideBySide runs a test for n seeds.
func sideBySide(t *testing.T, from uint64, n int, test func(t *testing.T, seed uint64)) {
	name := t.Name()
	t.Run("seeds", func(t *testing.T) {
		for seed := from; seed < from+uint64(n); seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				defer func() {
					if t.Failed() {
						t.Logf("once more: go test ./internal/progen -v -run '^%s$' -seed %d", name, seed)
					}
				}()
				test(t, seed)
			})
		}
	})
}
