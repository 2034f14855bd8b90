package program

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// Hears is who is told of a program's effects: a relay.Source, for one.
type Hears interface {
	Requested(effect.Request) func(effect.Result, error)
}

// Watch is the observer by which somebody hears of a program's effects.
func Watch(by Hears) vm.Observer { return watch{by} }

// watch is a vm.Observer; it hears of requests alone.
type watch struct{ by Hears }

// TaskBegan does not concern it.
func (watch) TaskBegan(int64, int64, vm.Place) {}

// TaskEnded does not concern it.
func (watch) TaskEnded(int64, string) {}

// Entered does not concern it.
func (watch) Entered(int64, vm.SpanKind, string) {}

// Left does not concern it.
func (watch) Left(int64) {}

// Requested hears of an effect.
func (w watch) Requested(_ int64, q effect.Request) func(effect.Result, error) {
	switch q.(type) {
	case *effect.Emit, *effect.Print: // they are many, and told of where they are put out
		return nil
	}
	return w.by.Requested(q)
}
