package timetravel

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// again is a run that is replayed from a log: its Past and, as seeing, its Journal.
type again struct {
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
func (a *again) outcome(e int64) (effect.Result, error, bool) {
	n := a.log.of(e)
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

// Perform returns the result of an effect that does not wait.
func (a *again) Perform(e int64, _ effect.Request) (effect.Result, bool, error) {
	switch {
	case a.leaving:
		return nil, true, errStopped
	case a.log.of(e).waited:
		return nil, true, effect.ErrWaits
	}
	result, err, known := a.outcome(e)
	if !known { // the recording ends here
		return nil, true, errStopped
	}
	return result, true, err
}

// Begin reports whether the result of an effect will arrive.
func (a *again) Begin(e int64, _ effect.Request) (vm.Standing, error) {
	switch {
	case a.leaving:
		return vm.Unrecorded, errStopped
	case a.log.of(e).parked:
		return vm.Recorded, nil
	}
	return vm.UnderWay, nil
}

// Next returns the next event when no task can continue.
func (a *again) Next() (vm.Event, bool) {
	if a.leaving || a.cursor == len(a.log.arrivals) || a.log.arrivals[a.cursor].at != nil {
		a.leaving = true
		return vm.Event{}, false
	}
	return a.takeArrival(), true
}

// At returns the event at a moment.
func (a *again) At(at vm.Moment) (vm.Event, bool) {
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

func (a *again) takeArrival() vm.Event {
	x := a.log.arrivals[a.cursor]
	a.cursor++
	if x.e == 0 {
		return vm.Event{Err: x.err}
	}
	result, err, _ := a.outcome(x.e)
	return vm.Event{E: x.e, Result: result, Err: err}
}

// Looked reports whether a check of the memory in use exceeded the limit.
func (a *again) Looked(at vm.Moment) bool { return a.log.looked[at] }

// Over returns false: an effect beyond the recording is never performed.
func (a *again) Over() bool { return false }

// Again returns nil: nothing is begun again.
func (a *again) Again() []int64 { return nil }

// seeing is the run's Journal.
type seeing struct{ *again }

// Makes shows an effect. Running effects of a snapshot were shown before.
func (a seeing) Makes(e int64, _ effect.Request, at vm.Scene) {
	if a.leaving || e <= a.effects {
		return
	}
	a.again.effects = e
	a.again.leaving = !a.sees(e, at)
}

// Step shows a line.
func (a seeing) Step(at vm.Scene) bool {
	if a.leaving {
		return false
	}
	a.again.lines++
	a.again.leaving = !a.sees(0, at)
	return !a.leaving
}

// Began does nothing: the log contains it.
func (a seeing) Began(int64, int64, effect.Request) {}

// Ended does nothing.
func (a seeing) Ended(int64, effect.Request, effect.Result, error, *vm.Moment) {}

// Waited does nothing.
func (a seeing) Waited(int64, effect.Request, vm.Moment) {}

// Looked does nothing.
func (a seeing) Looked(vm.Moment) {}

// Over does nothing.
func (a seeing) Over(error, *vm.Moment) {}

// Waits does nothing.
func (a seeing) Waits() {}

// nobody performs no effect: a replayed run receives every result from its log.
type nobody struct{}

// Perform fails.
func (nobody) Perform(context.Context, effect.Request) (effect.Result, error) { return nil, errStopped }
