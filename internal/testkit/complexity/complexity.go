// Package complexity lets tests check how the work for an input grows with the size of the input.
// It measures processor time, which does not depend on the load of the machine. The two measured
// sizes differ by a large factor, so that quadratic growth cannot pass as linear.
package complexity

import (
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/cputime"
)

const (
	factor   = 8                      // ratio of the two sizes
	maxRatio = 3 * factor             // maximum ratio of the times; with quadratic growth it would be 64
	noise    = 300 * time.Millisecond // time added to the limit for a full garbage collection
	rounds   = 3                      // maximum number of measurements of the large size
)

// Linear fails the test if an input eight times as large needs much more than eight times the work.
// run creates an input of size n, does the work on it, and returns the time of the work alone,
// measured by CPUTime. The large input is measured again only if it takes too long.
func Linear(t testing.TB, n int, run func(n int) time.Duration) {
	t.Helper()
	small := min(run(n), run(n), run(n))
	limit, large := maxRatio*small+noise, run(factor*n)
	for i := 1; i < rounds && large > limit; i++ {
		large = min(large, run(factor*n))
	}
	if large > limit {
		t.Errorf("%d takes %v, %d takes %v: %.1f times as much", n, small, factor*n, large, float64(large)/float64(small))
	}
}

// CPUTime returns the processor time of work.
func CPUTime(work func()) time.Duration {
	before := cputime.Used()
	work()
	return cputime.Used() - before
}
