// Package randtest runs tests of generated inputs from seeds: a fixed set, new ones for a time, or
// a single one. Every test that uses it has the flags -seed and -fresh; `make fuzz` runs all tests
// that call Run with -fresh.
package randtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"testing"
	"time"
)

var (
	only  = flag.Int64("seed", -1, "run only this seed, and print its input")
	fresh = flag.Duration("fresh", 0, "run new seeds for this duration")
)

// InOneGoroutine skips a long test under the race detector: the tested code runs in one goroutine,
// cannot race, and would be ten times as slow.
func InOneGoroutine(t testing.TB) {
	if Raced {
		t.Skip("it is run without the race detector")
	}
}

// Measures skips a test of memory or time under the race detector, which multiplies both.
func Measures(t testing.TB) {
	if Raced {
		t.Skip("it is measured without the race detector")
	}
}

// Sampled reports whether to run the i-th of many programs: with the race detector one in four,
// unless CONCERTO_RACE_ALL is set, as `make race` does.
func Sampled(i int) bool { return !Raced || i%4 == 0 || os.Getenv("CONCERTO_RACE_ALL") != "" }

// Run runs a test for the first n seeds, for an eighth of them with -short, and for a sixteenth
// with the race detector, which makes each ten times as slow. With -fresh it tests new seeds until
// one fails, and prints that one. With -seed it runs that seed alone, and prints the text that show
// returns for it. dir is the test's package, relative to the module's root.
func Run(t *testing.T, dir string, n int, show func(seed uint64) string, test func(t *testing.T, seed uint64)) {
	switch {
	case Raced:
		n = max(n/16, 2)
	case testing.Short():
		n /= 8
	}
	rerun := fmt.Sprintf("once more: go test ./%s -v -run '^%s$' -seed ", path.Clean(dir), t.Name())
	switch {
	case *only >= 0:
		t.Logf("seed %d:\n%s", *only, show(uint64(*only)))
		test(t, uint64(*only))
	case *fresh > 0:
		for end := time.Now().Add(*fresh); time.Now().Before(end) && !t.Failed(); {
			sideBySide(t, rerun, rand.Uint64N(1<<40), 4*runtime.GOMAXPROCS(0), test)
		}
	default:
		sideBySide(t, rerun, 0, n, test)
	}
}

// sideBySide runs a test for n seeds in parallel.
func sideBySide(t *testing.T, rerun string, from uint64, n int, test func(t *testing.T, seed uint64)) {
	t.Run("seeds", func(t *testing.T) {
		for seed := from; seed < from+uint64(n); seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				defer func() {
					if t.Failed() {
						t.Log(rerun + fmt.Sprint(seed))
					}
				}()
				test(t, seed)
			})
		}
	})
}
