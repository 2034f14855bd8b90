package faultproxy

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// Odds maps each fault to the number of its occurrences in 10,000 text frames.
type Odds map[Fault]int

// Random returns a plan of random faults. The faults depend only on the seed and the order of the
// frames. Frames other than text are not changed, because WebSocket libraries rely on their order.
func Random(seed uint64, odds Odds) func(Frame) Fault {
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 0))
	return func(f Frame) Fault {
		if !f.IsText() {
			return Pass
		}
		mu.Lock()
		n := chance.IntN(10_000)
		mu.Unlock()
		for fault := Drop; fault <= HalfOpen; fault++ { // a fixed order, unlike that of the map
			if n -= odds[fault]; n < 0 {
				return fault
			}
		}
		return Pass
	}
}

// Limit returns a plan that applies at most n faults.
func Limit(n int64, plan func(Frame) Fault) func(Frame) Fault {
	var left atomic.Int64
	left.Store(n)
	return func(f Frame) Fault {
		if left.Load() <= 0 {
			return Pass
		}
		fault := plan(f)
		if fault != Pass {
			left.Add(-1)
		}
		return fault
	}
}
