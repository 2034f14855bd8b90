package vm

import (
	"context"
	"errors"

	"github.com/concerto-lang/concerto/internal/effect"
)

// Journal hears of all that decides a run, on the run's goroutine, in the order in which the
// program gets it (spec/25-tapes.md). Effects are numbered from 1 in the order in which the
// program makes them.
type Journal interface {
	// Began is told of an effect before it is performed.
	Began(e int64, r effect.Request)
	// Ended is told what the program gets of an effect. at is nil where that follows from the
	// run itself: the program waits for this effect, or nothing else can go on.
	Ended(e int64, r effect.Request, result effect.Result, err error, at *Moment)
	// Waited is told that an effect could not be performed at once; it is made again.
	Waited(e int64, r effect.Request, at Moment)
	// Looked is told of a look at the memory in use that found too much.
	Looked(at Moment)
	// Over is told that the run's context has ended it; at as in Ended.
	Over(cause error, at *Moment)
}

// Past is a recorded run, which takes the place of the world. A request that it does not know
// of is performed.
type Past interface {
	// Perform gives what a request gave that does not wait. known is false for one that is
	// to be performed. An error that is no *effect.Error ends the run.
	Perform(e int64, r effect.Request) (result effect.Result, known bool, err error)
	// Begin finds what a request gave for which the program waits.
	Begin(e int64, r effect.Request) (known bool, err error)
	// Next gives what comes next, of those that have begun, when no task can go on. ok is false
	// when none has.
	Next() (x Event, ok bool)
	// At gives what came at a moment; ok is false when nothing (more) did.
	At(at Moment) (x Event, ok bool)
	// Looked says whether a look at a moment found too much memory in use.
	Looked(at Moment) bool
}

// EndedBy is the error of an effect that Past.Perform gives where the run's context ended it.
type EndedBy struct{ Cause error }

func (e *EndedBy) Error() string { return e.Cause.Error() }

// Unwrap gives why the context ended.
func (e *EndedBy) Unwrap() error { return e.Cause }

// Event is something that came to a recorded run: the end of an effect, or, with E 0, that of
// the run's context, by Err.
type Event struct {
	E      int64
	Result effect.Result
	Err    error
}

// Moment is one within a task's turn, at which something may come that the program does not
// wait for: Taken counts the results that were taken before, Ticks the moments since.
type Moment struct{ Taken, Ticks int64 }

// written is how a run stands with its journal, or its past.
type written struct {
	on   bool // there is one or the other
	now  Moment
	past map[int64]int // of effects under way that the past knows: their requests' numbers
	over bool          // the context has ended, and the journal has heard of it
	stop context.CancelCauseFunc
}

// begin gives the context of a run: what ended a recorded one ends it, where it did.
func (w *written) begin(ctx context.Context, c *Config) context.Context {
	if c.Past != nil {
		ctx, w.stop = context.WithCancelCause(ctx)
	}
	return ctx
}

// moment counts one, and gives it.
func (m *VM) moment() Moment {
	m.written.now.Ticks++
	return m.written.now
}

// took counts a result that was taken.
func (m *VM) took() {
	m.written.now.Taken++
	m.written.now.Ticks = 0
}

// ctxOver says whether the run's context has ended, as far as the run has learnt of it: with a
// journal it learns of that at a moment that is recorded.
func (m *VM) ctxOver() bool {
	if m.config.Journal != nil {
		return m.written.over
	}
	return m.ctx.Err() != nil
}

// heedEnd looks whether the run's context has ended; at is where the run stands, nil when it
// waits.
func (m *VM) heedEnd(at *Moment) {
	if j := m.config.Journal; j != nil && !m.written.over && m.ctx.Err() != nil {
		m.written.over = true
		j.Over(context.Cause(m.ctx), at)
	}
}

// performWritten is perform of a run with a journal, or a past.
func (m *VM) performWritten(ctx context.Context, r effect.Request) (effect.Result, error) {
	e := m.stats.Requests
	if p := m.config.Past; p != nil {
		result, known, err := p.Perform(e, r)
		if over, ended := errors.AsType[*EndedBy](err); ended {
			m.endPast(over.Cause)
		}
		if known || err != nil {
			return result, err
		}
		return m.config.Performer.Perform(ctx, r)
	}
	m.config.Journal.Began(e, r)
	result, err := m.config.Performer.Perform(ctx, r)
	if errors.Is(err, effect.ErrWaits) {
		m.config.Journal.Waited(e, r, m.written.now)
		return result, err
	}
	m.endedEffect(e, r, result, err, nil)
	return result, err
}

// endedEffect tells the journal what an effect gave, and first that the run's context has ended
// when that is why the effect has.
func (m *VM) endedEffect(e int64, r effect.Request, result effect.Result, err error, at *Moment) {
	if _, program := errors.AsType[*effect.Error](err); err != nil && !program {
		m.heedEnd(at)
	}
	m.config.Journal.Ended(e, r, result, err, at)
}

// tellTaken tells the journal of a completion that is about to be taken.
func (m *VM) tellTaken(c *completion, at *Moment) {
	if m.config.Journal == nil || c.do != nil {
		return
	}
	f := m.pending[c.seq]
	m.endedEffect(f.effect, f.request, c.result, c.err, at)
}

// startWritten begins a request that the past knows. Others are told to the journal.
func (m *VM) startWritten(r effect.Request, f *pendingRequest) bool {
	f.effect = m.stats.Requests
	p := m.config.Past
	if p == nil {
		f.request = r
		m.config.Journal.Began(f.effect, r)
		return false
	}
	known, err := p.Begin(f.effect, r)
	if !known && err == nil {
		return false
	}
	seq := m.addPending(f)
	f.end = func() {} // what it gave stands already
	if err == nil {
		m.written.past[f.effect] = seq
		return true
	}
	if m.fatal == nil {
		m.fatal = f.t.stopped(err)
		m.cancelAll()
	}
	m.inbox.put(completion{seq: seq, err: err})
	return true
}

// nextPast gives what came next to a recorded run.
func (m *VM) nextPast() (completion, bool) {
	for {
		if m.arrived = m.inbox.drain(m.arrived); len(m.arrived) > 0 || len(m.written.past) == 0 {
			return m.arrival()
		}
		x, ok := m.config.Past.Next()
		switch {
		case !ok:
			panic("the past has lost what was under way")
		case x.E == 0:
			m.endPast(x.Err)
		default:
			return m.completionOf(x), true
		}
	}
}

// endPast ends the run's context as it ended in the past.
func (m *VM) endPast(cause error) { m.written.stop(cause) }

// completionOf makes a completion of what came to an effect under way.
func (m *VM) completionOf(x Event) completion {
	seq := m.written.past[x.E]
	delete(m.written.past, x.E)
	return completion{seq: seq, result: x.Result, err: x.Err}
}

// pollPast takes what came at a moment.
func (m *VM) pollPast(at Moment) {
	for {
		x, ok := m.config.Past.At(at)
		if !ok {
			return
		}
		if x.E == 0 {
			m.endPast(x.Err)
			continue
		}
		m.takeCompletion(m.completionOf(x))
		at = m.written.now
	}
}

// judge decides what a look at the memory in use finds: as in the past, or as it is.
func (m *VM) judge(n int) bool {
	at := m.moment()
	if p := m.config.Past; p != nil {
		return !p.Looked(at)
	}
	fits := m.memory.measure(n)
	if !fits {
		m.config.Journal.Looked(at)
	}
	return fits
}
