// Package randtest runs tests with inputs that are generated from seeds. It runs a fixed set of
// seeds, new seeds for a certain time, or a single seed. Every test that uses the package has the
// flags -seed and -fresh. `make fuzz` runs all tests that call Run with -fresh.
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

// InOneGoroutine skips a long test under the race detector. The tested code runs in one goroutine,
// so it cannot race, and the detector would make it ten times as slow.
func InOneGoroutine(t testing.TB) {
	if Raced {
		t.Skip("not run under the race detector: the tested code uses one goroutine")
	}
}

// Night reports whether tests that otherwise run in part run whole: `make night` sets
// CONCERTO_NIGHT.
func Night() bool { return os.Getenv("CONCERTO_NIGHT") != "" }

// Measures skips a test of memory or time under the race detector, which multiplies both.
func Measures(t testing.TB) {
	if Raced {
		t.Skip("not measured under the race detector")
	}
}

// Sampled reports whether to run the i-th of many programs. Under the race detector it selects
// every 32nd program, unless CONCERTO_RACE_ALL is set, as `make race` does.
func Sampled(i int) bool { return i%32 == 0 || !Raced || os.Getenv("CONCERTO_RACE_ALL") != "" }

// RacedElsewhere skips a long test under the race detector, unless CONCERTO_RACE_ALL is set. It is
// for tests whose concurrent code shorter tests execute, too.
func RacedElsewhere(t testing.TB) {
	if Raced && os.Getenv("CONCERTO_RACE_ALL") == "" {
		t.Skip("only run under the race detector with CONCERTO_RACE_ALL: shorter tests run the same code concurrently")
	}
}

// Run runs a test for the first n seeds. With -short it runs an eighth of them, and under the race
// detector, which makes each ten times as slow, a sixteenth. With -fresh it runs new seeds until
// one fails and prints that seed. With -seed it runs only the given seed and prints the text that
// show returns for it. dir is the directory of the test's package, relative to the module's root.
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
