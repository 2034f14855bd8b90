package parallel

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestDo checks that each number is processed exactly once, for different numbers of processors.
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
					t.Errorf("with %d processors, number %d of %d was processed %d times, want once", processors, i, n, got)
				}
			}
			if want := max(1, min(processors, n/5)); int(parts.Load()) != want {
				t.Errorf("with %d processors, %d numbers were divided into %d parts, want %d", processors, n, parts.Load(), want)
			}
		}
	}
}

// TestDoPanics checks that the caller receives the panic of the first part that panics.
func TestDoPanics(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	defer func() {
		if r := recover(); r != 25 {
			t.Errorf("recovered %v, want the panic of the first part, 25", r)
		}
	}()
	Do(100, 1, func(from, _ int) {
		if from > 0 {
			panic(from)
		}
	})
}
