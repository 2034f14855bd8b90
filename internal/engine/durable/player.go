package durable

import (
	"cmp"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/vm"
)

// player implements vm.Past for a Run.
type player struct{ *Run }

// Past returns the recorded part of the run, or nil for a new run.
func (r *Run) Past() vm.Past {
	if r.c.History == nil {
		return nil
	}
	return player{r}
}

// Result returns the recorded result of an effect that does not wait. isKnown is false if the
// journal contains no result.
func (r player) Result(e int64, q effect.Request) (result effect.Result, isKnown bool, err error) {
	if !tape.Recorded(q.Kind()) {
		return nil, false, nil
	}
	p := &r.past
	k, err := p.findEffect(e, q)
	switch {
	case err != nil:
		return nil, true, err
	case k.waits >= 0 && !p.all[k.waits].returned:
		p.markReturned(k.waits)
		return nil, true, effect.ErrWaits
	case k.end < 0: // the earlier process stopped during this effect
		p.interrupted = append(p.interrupted, interrupted{r.flightOf(q), k.begin, q})
		return nil, false, nil
	}
	p.markReturned(k.end)
	result, failed, err := p.recordedResult(k.end, e)
	if err != nil {
		return nil, true, err
	}
	if failed != nil && !isProgram(failed) {
		if cause, over := p.overBefore(k.end); over {
			return nil, true, &vm.EndedBy{Cause: cause}
		}
	}
	return result, true, failed
}

// Find returns whether the journal contains the result of an effect for which the program waits.
func (r player) Find(e int64, q effect.Request) (vm.PastResult, error) {
	if !tape.Recorded(q.Kind()) {
		return vm.Unrecorded, nil
	}
	p := &r.past
	k, err := p.findEffect(e, q)
	if err != nil {
		return vm.Unrecorded, err
	}
	if a, ok := q.(*effect.AwaitEmit); ok && a.Misfit == "" {
		show := func(n int64) error {
			return r.print(&effect.Emit{Channel: a.Channel, Payload: a.Payload, From: a.From}, n)
		}
		if err := r.out.putOut(r.Run, a.Channel, a.Payload, show); err != nil {
			return vm.Unrecorded, err
		}
	}
	if k.end >= 0 {
		p.begun[e] = true
		return vm.Recorded, nil
	}
	p.interrupted = append(p.interrupted, interrupted{r.flightOf(q), k.begin, q})
	return vm.UnderWay, nil
}

// NextEvent returns the next recorded event. The VM calls it when no task can continue.
func (r player) NextEvent() (x vm.Event, ok bool) {
	p := &r.past
	for ; p.cursor < len(p.all); p.cursor++ {
		e := &p.all[p.cursor]
		switch {
		case e.returned:
			continue
		case e.record.Place == tape.PlaceOver && e.record.Moment == nil:
			p.markReturned(p.cursor)
			return vm.Event{Err: p.cause(p.cursor)}, true
		case !p.begun[e.record.Effect] || e.record.RecordKind == journal.KPlace:
			return vm.Event{}, false
		}
		return p.endEvent(p.cursor), true
	}
	return vm.Event{}, false
}

// EventAt returns the event that was recorded at a moment in the middle of a turn.
func (r player) EventAt(at vm.Moment) (x vm.Event, ok bool) {
	p := &r.past
	for _, i := range p.moments[at] {
		e := &p.all[i]
		switch {
		case e.returned || e.record.Place == tape.PlaceMemory:
			continue
		case e.record.Place == tape.PlaceOver:
			p.markReturned(i)
			return vm.Event{Err: p.cause(i)}, true
		case p.begun[e.record.Effect]:
			return p.endEvent(i), true
		}
	}
	return vm.Event{}, false
}

// ExceededMemory reports whether the recorded run exceeded its memory limit at this moment.
func (r player) ExceededMemory(at vm.Moment) bool {
	p := &r.past
	for _, i := range p.moments[at] {
		if p.all[i].record.Place == tape.PlaceMemory && !p.all[i].returned {
			p.markReturned(i)
			return true
		}
	}
	return false
}

// IsComplete reports whether all records were returned.
func (r player) IsComplete() bool { return r.past.left == 0 }

// OnlyResultsFollow reports whether the journal contains neither effect e, although its kind is
// recorded, nor anything after it except results for which the program waits.
func (r player) OnlyResultsFollow(e int64, q effect.Request) bool {
	p := &r.past
	return p.left == len(p.begun) && p.effects[e] == nil && tape.Recorded(q.Kind()) && (begins(q) || effect.Inline(q.Kind()))
}

// Pending ends the replay. It returns the effects that must be started again: first the expired
// timers by their expiry, then all other effects by their number.
func (r player) Pending() []int64 {
	if r.c.Trial {
		if int(r.out.n) < len(r.c.Out) {
			r.Suspend(divergedOutput(r.out.n + 1))
		}
		r.Suspend(ErrTried)
		return nil
	}
	r.live = true
	if err := r.resumeHosts(); err != nil {
		r.Suspend(err)
		return nil
	}
	beginSteering(r.Run)
	r.parking.caughtUp()
	r.out.readPrinted(r.c.History)
	if err := r.resolvedBefore(); err != nil {
		r.Suspend(err)
	}
	if err := r.ledgersLive(); err != nil {
		r.Suspend(err)
	}
	now := r.c.Writer.Time()
	expiry := func(u interrupted) int64 {
		if u.flight.expires > 0 && u.flight.expires <= now {
			return u.flight.expires
		}
		return 1<<63 - 1
	}
	all := r.past.interrupted
	slices.SortStableFunc(all, func(a, b interrupted) int {
		return cmp.Or(cmp.Compare(expiry(a), expiry(b)), cmp.Compare(a.flight.e, b.flight.e))
	})
	order := make([]int64, len(all))
	for i, u := range all {
		order[i] = u.flight.e
		u.flight.repeated = true
		if r.flightOf(u.q) == u.flight {
			r.flights.stores.begin(u.flight, u.q)
		}
		r.countLostAttempts(u)
		if u.begin != nil && retried(u.q) {
			u.flight.tries++
			r.recordBegin(u.flight, u.begin.Task, u.q)
		}
	}
	return order
}

// countLostAttempts counts the earlier attempts of a model call, whose usage is unknown.
func (r player) countLostAttempts(e interrupted) {
	if q, ok := e.q.(*effect.AgentCall); ok {
		for range e.flight.tries {
			r.lostCall(q)
		}
	}
}

// retried reports whether another attempt of an effect is recorded in the journal.
func retried(q effect.Request) bool {
	return effect.ClassOf(q) == effect.ClassRetry
}
