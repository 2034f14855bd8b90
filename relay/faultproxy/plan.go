package faultproxy

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// Odds is how often a fault happens: to so many of 10,000 frames of text.
type Odds map[Fault]int

// Random is a plan of faults by chance, the same for the same seed and order of frames.
// Frames that are no text pass: a WebSocket's library relies on their order.
func Random(seed uint64, odds Odds) func(Frame) Fault {
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 0))
	return func(f Frame) Fault {
		if !f.Text() {
			return Pass
		}
		mu.Lock()
		n := chance.IntN(10_000)
		mu.Unlock()
		for fault := Drop; fault <= HalfOpen; fault++ { // in order: a map has none
			if n -= odds[fault]; n < 0 {
				return fault
			}
		}
		return Pass
	}
}

// Few is a plan that comes to its end: after so many faults all frames pass.
func Few(n int64, plan func(Frame) Fault) func(Frame) Fault {
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
