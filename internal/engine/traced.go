package engine

import (
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/vm"
)

// traced is the observer of a run that is exported. It remembers the numbers of the effects in
// progress, so that their performers can pass the run's trace on.
type traced struct {
	vm.Observer
	run *telemetry.Run

	mu      sync.Mutex
	effects map[effect.Request]int64
}

// Requested implements vm.Observer.
func (t *traced) Requested(e int64, at vm.Caller, q effect.Request) func(effect.Result, error) {
	t.mu.Lock()
	t.effects[q] = e
	t.mu.Unlock()
	ended := t.Observer.Requested(e, at, q)
	return func(r effect.Result, err error) {
		t.mu.Lock()
		delete(t.effects, q)
		t.mu.Unlock()
		if ended != nil {
			ended(r, err)
		}
	}
}

// Trace implements effect.Tracer.
func (t *traced) Trace(q effect.Request) func() []effect.Header {
	t.mu.Lock()
	e, known := t.effects[q]
	t.mu.Unlock()
	if !known {
		return nil
	}
	return func() []effect.Header { return t.run.Headers(e) }
}
