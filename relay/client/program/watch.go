package program

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// EffectObserver observes the effects of a program, for example a client.Source.
type EffectObserver interface {
	Requested(effect.Request) func(effect.Result, error)
}

// Watch returns a vm.Observer that passes effects to by.
func Watch(by EffectObserver) vm.Observer { return watch{by} }

// watch implements vm.Observer for effects only.
type watch struct{ by EffectObserver }

// TaskBegan does nothing.
func (watch) TaskBegan(int64, int64, vm.Place) {}

// TaskEnded does nothing.
func (watch) TaskEnded(int64, string) {}

// Entered does nothing.
func (watch) Entered(int64, vm.SpanKind, string) {}

// Left does nothing.
func (watch) Left(int64) {}

// Requested passes on an effect.
func (w watch) Requested(_ int64, q effect.Request) func(effect.Result, error) {
	switch q.(type) {
	case *effect.Emit, *effect.Print: // frequent; reported where they are output
		return nil
	}
	return w.by.Requested(q)
}
