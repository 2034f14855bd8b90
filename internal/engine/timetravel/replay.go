package timetravel

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// replayed is a run that is replayed from a log: its Past and, as seeing, its Journal.
type replayed struct {
	log      *log
	cursor   int // number of the log's arrivals so far
	effects  int64
	lines    int64
	leaving  bool  // the run must end
	recorded int64 // number of recorded effects of an interrupted run, otherwise 0
	idle     int   // number of polls after the last one
	// sees receives each effect and line, and returns whether the run continues.
	sees func(e int64, at vm.Scene) bool
}

// outcome returns the result of an effect.
func (a *replayed) outcome(e int64) (effect.Result, error, bool) {
	n := a.log.notedEffect(e)
	switch {
	case n.endedBy != nil:
		return nil, &vm.EndedBy{Cause: n.endedBy}, true
	case n.entry == nil:
		return nil, nil, false
	}
	result, failed, err := n.entry.Outcome(e)
	if err == nil {
		err = failed
	}
	return result, err, true
}

// Result returns the result of an effect that does not wait.
func (a *replayed) Result(e int64, _ effect.Request) (effect.Result, bool, error) {
	switch {
	case a.leaving:
		return nil, true, errStopped
	case a.log.notedEffect(e).waited:
		return nil, true, effect.ErrWaits
	}
	result, err, ok := a.outcome(e)
	if !ok { // the recording ends here
		return nil, true, errStopped
	}
	return result, true, err
}

// Find reports whether the result of an effect will arrive.
func (a *replayed) Find(e int64, _ effect.Request) (vm.PastResult, error) {
	switch {
	case a.leaving:
		return vm.Unrecorded, errStopped
	case a.log.notedEffect(e).parked:
		return vm.Recorded, nil
	}
	return vm.UnderWay, nil
}

// NextEvent returns the next event when no task can continue.
func (a *replayed) NextEvent() (vm.Event, bool) {
	if a.leaving || a.cursor == len(a.log.arrivals) || a.log.arrivals[a.cursor].at != nil {
		a.leaving = true
		return vm.Event{}, false
	}
	return a.takeArrival(), true
}

// EventAt returns the event at a moment.
func (a *replayed) EventAt(at vm.Moment) (vm.Event, bool) {
	if a.leaving {
		return vm.Event{}, false
	}
	if a.cursor == len(a.log.arrivals) {
		if a.recorded == 0 || a.effects < a.recorded {
			return vm.Event{}, false
		}
		if a.idle++; a.idle < mostIdle {
			return vm.Event{}, false
		}
		a.leaving = true
		return vm.Event{Err: context.Canceled}, true
	}
	if x := a.log.arrivals[a.cursor]; x.at == nil || *x.at != at {
		return vm.Event{}, false
	}
	return a.takeArrival(), true
}

// mostIdle is how often an interrupted run is polled after its last recorded effect before it
// counts as an endless computation. It is polled after some 50,000 loops or calls.
const mostIdle = 200

func (a *replayed) takeArrival() vm.Event {
	x := a.log.arrivals[a.cursor]
	a.cursor++
	if x.e == 0 {
		return vm.Event{Err: x.err}
	}
	result, err, _ := a.outcome(x.e)
	return vm.Event{E: x.e, Result: result, Err: err}
}

// ExceededMemory reports whether a check of the memory in use exceeded the limit.
func (a *replayed) ExceededMemory(at vm.Moment) bool { return a.log.exceeded[at] }

// IsComplete returns false: an effect beyond the recording is never performed.
func (a *replayed) IsComplete() bool { return false }

// Pending returns nil: nothing is begun again.
func (a *replayed) Pending() []int64 { return nil }

// seeing is the run's Journal.
type seeing struct{ *replayed }

// Makes shows an effect. Running effects of a snapshot were shown before.
func (a seeing) Makes(e int64, _ effect.Request, at vm.Scene) {
	if a.leaving || e <= a.effects {
		return
	}
	a.replayed.effects = e
	a.replayed.leaving = !a.sees(e, at)
}

// Step shows a line.
func (a seeing) Step(at vm.Scene) bool {
	if a.leaving {
		return false
	}
	a.replayed.lines++
	a.replayed.leaving = !a.sees(0, at)
	return !a.leaving
}

// EffectBegan does nothing: the log contains it.
func (a seeing) EffectBegan(int64, int64, effect.Request) {}

// EffectEnded does nothing.
func (a seeing) EffectEnded(int64, effect.Request, effect.Result, error, *vm.Moment) {}

// EffectDeferred does nothing.
func (a seeing) EffectDeferred(int64, effect.Request, vm.Moment) {}

// MemoryExceeded does nothing.
func (a seeing) MemoryExceeded(vm.Moment) {}

// ContextEnded does nothing.
func (a seeing) ContextEnded(error, *vm.Moment) {}

// ProgramWaits does nothing.
func (a seeing) ProgramWaits() {}

// noPerformer performs no effect: a replayed run receives every result from its log.
type noPerformer struct{}

// Perform fails.
func (noPerformer) Perform(context.Context, effect.Request) (effect.Result, error) {
	return nil, errStopped
}
