package program

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// EffectObserver observes the effects of a program. A client.Source is one.
type EffectObserver interface {
	Requested(effect.Request) func(effect.Result, error)
}

// Watch returns a vm.Observer that passes the effects of a program to by.
func Watch(by EffectObserver) vm.Observer { return watch{by} }

// watch is a vm.Observer that observes only effects.
type watch struct{ by EffectObserver }

// TaskBegan does nothing.
func (watch) TaskBegan(int64, int64, vm.Place) {}

// TaskEnded does nothing.
func (watch) TaskEnded(int64, string) {}

// Entered does nothing.
func (watch) Entered(int64, vm.SpanKind, string) {}

// Left does nothing.
func (watch) Left(int64) {}

// Requested passes an effect to the EffectObserver.
func (w watch) Requested(_ int64, q effect.Request) func(effect.Result, error) {
	switch q.(type) {
	case *effect.Emit, *effect.Print: // these effects are frequent, and are reported where their output is written
		return nil
	}
	return w.by.Requested(q)
}
