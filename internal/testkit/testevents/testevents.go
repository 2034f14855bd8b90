// Package testevents plays the VM and the model client for tests of what shows a run.
package testevents

import (
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/eventstream"
	"github.com/concerto-lang/concerto/vm"
)

// Run is a run whose events sinks receive. The clock of the run advances by Step at each event.
type Run struct {
	*eventstream.Stream
	Step time.Duration

	now    time.Duration
	effect int64
	places map[int64][]vm.Place
}

// New returns a run. secrets may be nil. It panics if a sink neither shows a kind of event nor
// omits it for a reason.
func New(secrets *secret.Set, sinks ...event.Sink) *Run {
	for _, s := range sinks {
		for _, row := range event.Table() {
			if (s.Shows[row.Kind] != nil) == (s.Omits[row.Kind] != "") {
				panic(fmt.Sprintf("the sink must show events of kind %q, or list the kind as omitted with a reason", row.Kind))
			}
		}
	}
	r := &Run{Step: time.Second, places: map[int64][]vm.Place{}}
	r.Stream = eventstream.New(eventstream.Options{Sinks: sinks, Secrets: secrets, Since: func() time.Duration { r.now += r.Step; return r.now }})
	return r
}

// caller is a task that performs an effect.
type caller struct {
	task   int64
	places []vm.Place
}

func (c caller) Task() int64        { return c.task }
func (c caller) Places() []vm.Place { return c.places }

func (c caller) Place() vm.Place {
	for _, p := range c.places {
		if p.Text != "" {
			return p
		}
	}
	return vm.Place{}
}

// At sets the calls of a task, the innermost first. A place whose Text is not empty is in the
// program's own files.
func (r *Run) At(task int64, calls ...vm.Place) { r.places[task] = calls }

// Request begins an effect of a task. The function that it returns passes the result; it is nil if
// no result is expected.
func (r *Run) Request(task int64, q effect.Request) func(effect.Result, error) {
	r.effect++
	return r.Requested(r.effect, caller{task, r.places[task]}, q)
}

// Perform performs an effect of a task with the given outcome.
func (r *Run) Perform(task int64, q effect.Request, result effect.Result, err error) {
	if came := r.Request(task, q); came != nil {
		came(result, err)
	}
}
