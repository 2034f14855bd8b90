package cli

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

// killer kills a process at some events, which a seed selects by their names. A seed that fails
// therefore fails again, and the order of concurrent tasks does not matter.
type killer struct {
	seed uint64
	odds int // one in so many events kills

	mu      sync.Mutex
	left    int // kills to come
	kills   int
	process *os.Process    // nil if there is no process to kill
	seen    map[string]int // number of the events by name
	// before, if not nil, is called before a kill. It may prevent the kill.
	before func(random *rand.Rand) (kills bool)
}

// newKiller returns a killer. Each seed selects other events.
func newKiller(seed uint64, odds, kills int) *killer {
	return &killer{seed: seed, odds: odds, left: kills, seen: map[string]int{}}
}

// at reports whether an event has killed the process.
func (k *killer) at(format string, args ...any) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	random := k.selects(fmt.Sprintf(format, args...))
	if k.process == nil || random == nil || k.before != nil && !k.before(random) {
		return false
	}
	_ = k.process.Kill() // fails if the process has exited
	k.process = nil
	return true
}

// selects returns random numbers for the choices at an event, or nil if nothing happens at it.
func (k *killer) selects(name string) *rand.Rand {
	k.seen[name]++
	h := fnv.New64a()
	fmt.Fprint(h, name, k.seen[name])
	random := rand.New(rand.NewPCG(k.seed, h.Sum64()))
	if k.left == 0 || random.IntN(k.odds) > 0 {
		return nil
	}
	return random
}

// watch sets the process to kill.
func (k *killer) watch(p *os.Process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.process = p
}

// exited counts a kill if the process has been killed, and reports whether it was.
func (k *killer) exited(state *os.ProcessState) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.process = nil
	if state.ExitCode() >= 0 {
		return false
	}
	k.kills++
	k.left--
	return true
}

// killsOf returns the value of an environment variable, which is a number of kills, or that of a
// usual run of the tests.
func killsOf(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
