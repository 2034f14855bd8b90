package faultproxy

import (
	"math/rand/v2"
	"sync"
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
