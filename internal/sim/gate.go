package sim

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/sim/simdisk"
)

// process is a simulated process. After a crash, no call of it has an effect. Its goroutines
// continue to run until their next call, which fails: a call that never returned could hold a mutex
// for which another goroutine waits, and such a wait stops virtual time.
type process struct {
	name   string
	id     int
	world  *world
	dead   atomic.Bool
	ended  chan struct{} // closed when the process is dead
	view   *simdisk.View
	cancel context.CancelCauseFunc // ends the program; nil for other processes
}

// IsDead reports whether the process has crashed.
func (p *process) IsDead() bool { return p.dead.Load() }

// Crash ends the process.
func (p *process) Crash() { p.world.crash(p, "an operation of the disk") }

// gate lets one call continue at a time, when all goroutines of the bubble wait.
type gate struct {
	order uint64
	// reached is called when a call is chosen. It returns for how long the call is delayed, or that
	// it must wait until another goroutine has done something.
	reached func(p *process, name string) (delay time.Duration, again bool)
	idle    func() bool            // called when all goroutines wait; reports whether one continues
	urgent  func(name string) bool // reports whether a call comes before all others; nil for never

	mu         sync.Mutex
	waiting    map[string]*call
	delayed    map[string]*call
	counts     map[string]int // calls by name without number
	arrived    chan struct{}
	closed     bool
	trace      []string
	traceEnded bool
}

// call is a call that waits at the gate.
type call struct {
	by    *process
	ready chan struct{}
}

func newGate(order uint64) *gate {
	return &gate{order: order, waiting: map[string]*call{}, delayed: map[string]*call{}, counts: map[string]int{}, arrived: make(chan struct{}, 1)}
}

// pass waits until a call continues. It returns false if the process is dead.
func (g *gate) pass(p *process, what string) bool { return g.passAs(p, g.name(p, what)) }

// name returns a name for a call, which differs from all others.
func (g *gate) name(p *process, what string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	name := p.name + " " + what
	g.counts[name]++
	if n := g.counts[name]; n > 1 {
		name = fmt.Sprintf("%s (%d)", name, n)
	}
	return name
}

// passAs is like pass for a call with a name.
func (g *gate) passAs(p *process, name string) bool {
	return g.passUntil(context.Background(), p, name)
}

// passUntil is like passAs for a call that ends with ctx at the latest.
func (g *gate) passUntil(ctx context.Context, p *process, name string) bool {
	g.mu.Lock()
	if g.closed || p.dead.Load() {
		g.mu.Unlock()
		return !p.dead.Load()
	}
	c := &call{p, make(chan struct{})}
	g.enter(name, c)
	g.mu.Unlock()
	select {
	case <-c.ready:
	case <-ctx.Done(): // the gate also chooses the ended call, which does nothing
	}
	return !p.dead.Load()
}

// enter adds a call. The caller has locked g.mu.
func (g *gate) enter(name string, c *call) {
	g.waiting[name] = c
	select {
	case g.arrived <- struct{}{}:
	default:
	}
}

// run chooses calls until stop is closed. It then lets all calls continue.
func (g *gate) run(stop <-chan struct{}) {
	for {
		synctest.Wait()
		if g.idle() {
			continue
		}
		if name, c := g.choose(); c != nil {
			switch d, again := g.reached(c.by, name); {
			case again:
				g.reenter(name, c)
			case d > 0:
				g.delay(name, c, d)
			default:
				close(c.ready)
			}
			continue
		}
		select {
		case <-g.arrived:
		case <-stop:
			g.mu.Lock()
			defer g.mu.Unlock()
			g.closed = true
			g.releaseIf(func(*call) bool { return true })
			return
		}
	}
}

// note adds an operation of the disk to the trace.
func (g *gate) note(operation string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.addTrace("- " + operation)
}

// addTrace adds to the trace. The caller has locked g.mu.
func (g *gate) addTrace(text string) {
	if !g.traceEnded {
		g.trace = append(g.trace, text)
	}
}

// endTrace ends the trace.
func (g *gate) endTrace() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.traceEnded = true
}

// reenter adds a call that was chosen, unless its process has ended.
func (g *gate) reenter(name string, c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.by.dead.Load() {
		close(c.ready)
		return
	}
	g.enter(name, c)
}

// delay lets a call continue later.
func (g *gate) delay(name string, c *call, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.by.dead.Load() {
		close(c.ready)
		return
	}
	g.delayed[name] = c
	time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.delayed[name] == c {
			delete(g.delayed, name)
			close(c.ready)
		}
	})
}

// choose removes the waiting call with the highest priority, and returns it.
func (g *gate) choose() (name string, c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return "", nil
	}
	name = slices.MinFunc(slices.Sorted(maps.Keys(g.waiting)), func(a, b string) int {
		return cmp.Compare(g.priority(a), g.priority(b))
	})
	c = g.waiting[name]
	delete(g.waiting, name)
	g.addTrace(name)
	return name, c
}

// priority returns the priority of a call. Lower values come first. Those that are not urgent are
// equal for order 0, so that calls continue in the order of their names.
func (g *gate) priority(name string) uint64 {
	switch {
	case g.urgent != nil && g.urgent(name):
		return 0
	case g.order == 0:
		return 1
	}
	return max(chance(g.order, name), 1)
}

// chance returns a random number that follows from a seed and a name.
func chance(seed uint64, name string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", seed, name)
	x := h.Sum64()
	x ^= x >> 33 // the lower bits of FNV are weak
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// release lets the calls of a process that has ended continue; each of them fails.
func (g *gate) release(p *process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.releaseIf(func(c *call) bool { return c.by == p })
}

// abandon lets one call continue that waits.
func (g *gate) abandon(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, all := range []map[string]*call{g.waiting, g.delayed} {
		if c := all[name]; c != nil {
			delete(all, name)
			close(c.ready)
		}
	}
}

// releaseIf lets calls continue. The caller has locked g.mu.
func (g *gate) releaseIf(released func(*call) bool) {
	for _, all := range []map[string]*call{g.waiting, g.delayed} {
		for name, c := range all {
			if released(c) {
				delete(all, name)
				close(c.ready)
			}
		}
	}
}
