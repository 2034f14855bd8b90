package parallel

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// Each number is processed once, for any number of processors.
func TestDo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, processors := range []int{1, 2, 3, 8} {
		runtime.GOMAXPROCS(processors)
		for _, n := range []int{0, 1, 2, 7, 100} {
			done := make([]atomic.Int32, n)
			var parts atomic.Int32
			Do(n, 5, func(from, to int) {
				parts.Add(1)
				for i := from; i < to; i++ {
					done[i].Add(1)
				}
			})
			for i := range done {
				if got := done[i].Load(); got != 1 {
					t.Errorf("%d processors: %d of %d was done %d times", processors, i, n, got)
				}
			}
			if want := max(1, min(processors, n/5)); int(parts.Load()) != want {
				t.Errorf("%d processors: %d in %d parts, want %d", processors, n, parts.Load(), want)
			}
		}
	}
}

// The panic of the first part reaches the caller.
func TestDoPanics(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	defer func() {
		if r := recover(); r != 25 {
			t.Errorf("recovered %v", r)
		}
	}()
	Do(100, 1, func(from, _ int) {
		if from > 0 {
			panic(from)
		}
	})
}
