package engine

import (
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/eventstream"
	"github.com/concerto-lang/concerto/vm"
)

// gate is the vm.Activity of a run that only `concerto top` may show. Until someone looks, it
// passes on only what a state cannot do without: exchanges with hosts, awaited emits, and requests
// of hosts that no handler answers. All events would double the time of a program that emits
// without pause.
type gate struct {
	*eventstream.Stream
	isWatched *atomic.Bool
	tasks     *atomic.Int64
}

// TaskBegan implements vm.Activity.
func (g *gate) TaskBegan(id, parent int64, at vm.Place) {
	g.tasks.Add(1)
	if g.isWatched.Load() {
		g.Stream.TaskBegan(id, parent, at)
	}
}

// TaskEnded implements vm.Activity.
func (g *gate) TaskEnded(id int64, how string) {
	g.tasks.Add(-1)
	if g.isWatched.Load() {
		g.Stream.TaskEnded(id, how)
	}
}

// Entered implements vm.Activity.
func (g *gate) Entered(id int64, s vm.Span) {
	if g.isWatched.Load() {
		g.Stream.Entered(id, s)
	}
}

// Left implements vm.Activity.
func (g *gate) Left(id int64) {
	if g.isWatched.Load() {
		g.Stream.Left(id)
	}
}

// Requested implements vm.Activity.
func (g *gate) Requested(e int64, at vm.Caller, q effect.Request) func(effect.Result, error) {
	if !g.isWatched.Load() {
		switch q.(type) {
		case *effect.ExchangeOpen, *effect.ExchangeClose, *effect.AwaitEmit, *effect.AskHost:
		default:
			return nil
		}
	}
	return g.Stream.Requested(e, at, q)
}
