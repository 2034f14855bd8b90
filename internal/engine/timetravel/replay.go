package timetravel

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// again is a run that is played from a log: its Past and, as seeing, its Journal.
type again struct {
	log      *log
	cursor   int // of the log's arrivals: those before it have come
	effects  int64
	lines    int64
	leaving  bool  // the run is to end
	recorded int64 // how many effects the recording has, if it was cut off; else 0
	idle     int   // how often the run was polled after the last of them
	// sees is told of each effect and line, and says whether the run goes on.
	sees func(e int64, at vm.Scene) bool
}

// outcome is what an effect gave.
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

// Perform gives what an effect gave that does not wait.
func (a *again) Perform(e int64, _ effect.Request) (effect.Result, bool, error) {
	switch {
	case a.leaving:
		return nil, true, errStopped
	case a.log.of(e).waited:
		return nil, true, effect.ErrWaits
	}
	result, err, known := a.outcome(e)
	if !known { // here the recording ends
		return nil, true, errStopped
	}
	return result, true, err
}

// Begin says whether what an effect gave will come.
func (a *again) Begin(e int64, _ effect.Request) (vm.Standing, error) {
	switch {
	case a.leaving:
		return vm.Unrecorded, errStopped
	case a.log.of(e).parked:
		return vm.Recorded, nil
	}
	return vm.UnderWay, nil
}

// Next gives what came next, when nothing else could go on.
func (a *again) Next() (vm.Event, bool) {
	if a.leaving || a.cursor == len(a.log.arrivals) || a.log.arrivals[a.cursor].at != nil {
		a.leaving = true
		return vm.Event{}, false
	}
	return a.take(), true
}

// At gives what came at a moment.
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
	return a.take(), true
}

// mostIdle is how often a run that was cut off is polled after its last recorded effect before it
// is taken to compute without end. It is polled after some 50,000 loops or calls.
const mostIdle = 200

func (a *again) take() vm.Event {
	x := a.log.arrivals[a.cursor]
	a.cursor++
	if x.e == 0 {
		return vm.Event{Err: x.err}
	}
	result, err, _ := a.outcome(x.e)
	return vm.Event{E: x.e, Result: result, Err: err}
}

// Looked says whether a look at the memory in use found too much.
func (a *again) Looked(at vm.Moment) bool { return a.log.looked[at] }

// Over is false: nothing is to be had beyond the recording.
func (a *again) Over() bool { return false }

// Again has nothing to begin.
func (a *again) Again() []int64 { return nil }

// seeing is the run's Journal.
type seeing struct{ *again }

// Makes shows an effect. Those under way in a snapshot have been shown.
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

// Began and the others: the log has it.
func (a seeing) Began(int64, int64, effect.Request) {}

// Ended as Began.
func (a seeing) Ended(int64, effect.Request, effect.Result, error, *vm.Moment) {}

// Waited as Began.
func (a seeing) Waited(int64, effect.Request, vm.Moment) {}

// Looked as Began.
func (a seeing) Looked(vm.Moment) {}

// Over as Began.
func (a seeing) Over(error, *vm.Moment) {}

// Waits as Began.
func (a seeing) Waits() {}

// nobody performs nothing: a run that is played again has it all from its log.
type nobody struct{}

// Perform refuses.
func (nobody) Perform(context.Context, effect.Request) (effect.Result, error) { return nil, errStopped }
