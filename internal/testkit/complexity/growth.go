// Package complexity lets tests check how work grows with the size of its input.
// Work is measured in processor time, which a busy machine does not change. The
// sizes are far apart, so that quadratic growth cannot be taken for linear.
package complexity

import (
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/cputime"
)

const (
	factor = 8                      // the large input is so many times the small one
	most   = 3 * factor             // a multiple of the size, with room for caches and the collector; the square is 64
	noise  = 300 * time.Millisecond // what a collection of everything may add
	rounds = 3
)

// Linear fails the test when an input eight times as large takes much more than
// eight times the work. run makes an input of size n, does the work on it, and
// gives the time of the work alone, measured by Of.
func Linear(t testing.TB, n int, run func(n int) time.Duration) {
	t.Helper()
	small, large := best(n, run), best(factor*n, run)
	if large > most*small+noise {
		t.Errorf("%d takes %v, %d takes %v: %.1f times as much", n, small, factor*n, large, float64(large)/float64(small))
	}
}

// Of is the processor time that work takes.
func Of(work func()) time.Duration {
	before := cputime.Used()
	work()
	return cputime.Used() - before
}

func best(n int, run func(n int) time.Duration) time.Duration {
	least := run(n)
	for range rounds - 1 {
		least = min(least, run(n))
	}
	return least
}
