package timetravel

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// replayed replays a run from a log. It is the VM's Durable and Past; the Journal is seeing.
type replayed struct {
	vm.NotDurable
	vm.OnlyPast
	log      *log
	cursor   int // number of arrivals of the log that were returned so far
	effects  int64
	lines    int64
	leaving  bool  // the VM must stop
	recorded int64 // number of recorded effects if the recorded run was interrupted, otherwise 0
	idle     int   // number of polls since the last recorded event was returned
	// sees is called before each effect, and at each line with e = 0. It returns whether the run
	// continues.
	sees func(e int64, at vm.Scene) bool
}

// Journal implements vm.Durable.
func (a *replayed) Journal() vm.Journal { return seeing{replayed: a} }

// Past implements vm.Durable.
func (a *replayed) Past() vm.Past { return a }

// outcome returns the recorded result of effect e. ok is false if there is none.
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

// Result returns the recorded result of an effect that does not wait.
func (a *replayed) Result(e int64, _ effect.Request) (effect.Result, bool, error) {
	switch {
	case a.leaving:
		return nil, true, errStopped
	case a.log.notedEffect(e).waited:
		return nil, true, effect.ErrWaits
	}
	result, err, ok := a.outcome(e)
	if !ok { // the log ends before this effect
		return nil, true, errStopped
	}
	return result, true, err
}

// Find reports whether the log contains an event with the result of an effect.
func (a *replayed) Find(e int64, _ effect.Request) (vm.PastResult, error) {
	switch {
	case a.leaving:
		return vm.Unrecorded, errStopped
	case a.log.notedEffect(e).parked:
		return vm.Recorded, nil
	}
	return vm.UnderWay, nil
}

// NextEvent returns the next event of the log. The VM calls it when no task can continue.
func (a *replayed) NextEvent() (vm.Event, bool) {
	if a.leaving || a.cursor == len(a.log.arrivals) || a.log.arrivals[a.cursor].at != nil {
		a.leaving = true
		return vm.Event{}, false
	}
	return a.takeArrival(), true
}

// EventAt returns the event that the log contains at a moment of the computation.
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

// mostIdle limits the number of polls after the last recorded event of an interrupted run. At the
// limit, the run counts as an endless computation. The VM polls after about 50,000 loops or calls.
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

// ExceededMemory reports whether the recorded run exceeded its memory limit at this moment.
func (a *replayed) ExceededMemory(at vm.Moment) bool { return a.log.exceeded[at] }

// seeing is the VM's Journal of a replayed run. It counts effects and lines, and passes them to
// sees.
type seeing struct {
	vm.NoJournal
	*replayed
}

// EffectBegan passes an effect to sees.
func (a seeing) EffectBegan(e int64, at vm.Scene, _ effect.Request) {
	if a.leaving {
		return
	}
	a.replayed.effects = e
	a.replayed.leaving = !a.sees(e, at)
}

// Step passes a line to sees.
func (a seeing) Step(at vm.Scene) bool {
	if a.leaving {
		return false
	}
	a.replayed.lines++
	a.replayed.leaving = !a.sees(0, at)
	return !a.leaving
}

// noPerformer fails every effect, because a replayed run receives all results from its log.
type noPerformer struct{}

// Perform returns an error.
func (noPerformer) Perform(context.Context, effect.Request) (effect.Result, error) {
	return nil, errStopped
}
