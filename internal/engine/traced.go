package engine

import (
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/vm"
)

// numbering is a vm.Activity that remembers the numbers of the effects in progress, which their
// performers do not know.
type numbering struct {
	vm.Activity
	isNumbered func(effect.Request) bool // selects the requests; nil selects all

	mu      sync.Mutex
	effects map[effect.Request]int64
}

// Requested implements vm.Activity.
func (n *numbering) Requested(e int64, at vm.Caller, q effect.Request) func(effect.Result, error) {
	if n.isNumbered != nil && !n.isNumbered(q) {
		return n.Activity.Requested(e, at, q)
	}
	n.mu.Lock()
	n.effects[q] = e
	n.mu.Unlock()
	ended := n.Activity.Requested(e, at, q)
	return func(r effect.Result, err error) {
		n.mu.Lock()
		delete(n.effects, q)
		n.mu.Unlock()
		if ended != nil {
			ended(r, err)
		}
	}
}

// number returns the number of an effect in progress.
func (n *numbering) number(q effect.Request) (e int64, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e, known = n.effects[q]
	return e, known
}

// traced is the vm.Activity of a run that is exported. It passes the run's trace on to the
// performers of effects.
type traced struct {
	numbering
	run *telemetry.Run
}

// Trace implements effect.Tracer.
func (t *traced) Trace(q effect.Request) func() []effect.Header {
	e, known := t.number(q)
	if !known {
		return nil
	}
	return func() []effect.Header { return t.run.Headers(e) }
}
