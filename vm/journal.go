package vm

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Journal hears of all that decides a run, on the run's goroutine, in the order in which the
// program gets it (spec/25-tapes.md). Effects are numbered from 1 in the order in which the
// program makes them.
type Journal interface {
	// Began is told of an effect before it is performed, and of the task that makes it.
	Began(e, task int64, r effect.Request)
	// Ended is told what the program gets of an effect. at is nil where that follows from the
	// run itself: the program waits for this effect, or nothing else can go on.
	Ended(e int64, r effect.Request, result effect.Result, err error, at *Moment)
	// Waited is told that an effect could not be performed at once; it is made again.
	Waited(e int64, r effect.Request, at Moment)
	// Looked is told of a look at the memory in use that found too much.
	Looked(at Moment)
	// Over is told that the run's context has ended it; at as in Ended.
	Over(cause error, at *Moment)
	// Waits is told that no task can go on, and nothing has come.
	Waits()
}

// Past is a recorded run, which takes the place of the world until it is over: from then on
// the run goes on with the world. While it lasts the Journal hears of what it gives by Began
// and Ended.
type Past interface {
	// Perform gives what a request gave that does not wait. known is false for one that is
	// to be performed. An error that is no *effect.Error ends the run.
	Perform(e int64, r effect.Request) (result effect.Result, known bool, err error)
	// Begin finds what a request gave for which the program waits.
	Begin(e int64, r effect.Request) (Standing, error)
	// Next gives what comes next, of those that have begun, when no task can go on. ok is false
	// when none has.
	Next() (x Event, ok bool)
	// At gives what came at a moment; ok is false when nothing (more) did.
	At(at Moment) (x Event, ok bool)
	// Looked says whether a look at a moment found too much memory in use.
	Looked(at Moment) bool
	// Over says that all of it has been given. A tape is never over.
	Over() bool
	// Again is called once, when the past is over, and gives the effects that were UnderWay in
	// the order in which they are to be begun.
	Again() []int64
}

// Standing says how a past stands to a request.
type Standing uint8

// The standings.
const (
	Unrecorded Standing = iota // it is performed: what it gives follows from the run itself
	Recorded                   // what it gave will come
	UnderWay                   // it had not ended: it is begun when the past is over
)

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

// written is how a run stands with its journal, and its past.
type written struct {
	on    bool // there is one or the other
	past  Past // nil once it is over
	now   Moment
	begun map[int64]int // of effects whose end the past will give: their requests' numbers
	again map[int64]int // of effects that are begun when the past is over
	over  bool          // the context has ended, and the journal has heard of it
	stop  context.CancelCauseFunc
}

// init makes the state of a run that is yet to begin.
func (w *written) init(c *Config) {
	*w = written{on: c.Journal != nil || c.Past != nil, past: c.Past, begun: map[int64]int{}, again: map[int64]int{}}
}

// begin gives the context of a run: what ended a recorded one ends it, where it did.
func (w *written) begin(ctx context.Context, c *Config) context.Context {
	if c.Past != nil {
		ctx, w.stop = context.WithCancelCause(ctx)
	}
	return ctx
}

// moment counts one, and gives it.
func (w *written) moment() Moment {
	w.now.Ticks++
	return w.now
}

// took counts a result that was taken.
func (w *written) took() {
	w.now.Taken++
	w.now.Ticks = 0
}

// ctxOver says whether the run's context has ended, as far as the run has learnt of it: with a
// journal it learns of that at a moment that is recorded.
func (m *VM) ctxOver() bool {
	if m.config.Journal != nil {
		return m.written.over
	}
	return m.requests.ctx.Err() != nil
}

// heedEnd looks whether the run's context has ended; at is where the run stands, nil when it
// waits.
func (m *VM) heedEnd(at *Moment) {
	if j := m.config.Journal; j != nil && m.written.past == nil && !m.written.over && m.requests.ctx.Err() != nil {
		m.written.over = true
		j.Over(context.Cause(m.requests.ctx), at)
	}
}

// performWritten is perform of a run with a journal, or a past.
func (m *VM) performWritten(ctx context.Context, t *task, r effect.Request) (effect.Result, error) {
	e, j := m.stats.Requests, m.config.Journal
	m.leavePast()
	if j != nil {
		m.tellPolicy(e, t, r)
		m.tellStanding(e, t, r)
		j.Began(e, t.id, r)
	}
	result, err := m.performNow(ctx, e, r)
	if errors.Is(err, ErrSuspended) {
		m.ending.fatal = ErrSuspended
		panic(suspending{})
	}
	if j == nil {
		return result, err
	}
	if errors.Is(err, effect.ErrWaits) {
		j.Waited(e, r, m.written.now)
		return result, err
	}
	m.endedEffect(e, r, result, err, nil)
	return result, err
}

// performNow performs a request, or gives what it gave in the past.
func (m *VM) performNow(ctx context.Context, e int64, r effect.Request) (effect.Result, error) {
	p := m.written.past
	if p == nil {
		return m.config.Performer.Perform(ctx, r)
	}
	if m.ending.fatal != nil {
		return nil, m.ending.fatal
	}
	result, known, err := p.Perform(e, r)
	if over, ended := errors.AsType[*EndedBy](err); ended {
		m.written.endPast(over.Cause)
	}
	if known || err != nil {
		return result, err
	}
	m.leavePast() // it was the last, and had not ended
	return m.config.Performer.Perform(ctx, r)
}

// endedEffect tells the journal what an effect gave, and first that the run's context has ended
// when that is why the effect has.
func (m *VM) endedEffect(e int64, r effect.Request, result effect.Result, err error, at *Moment) {
	if err != nil && !isProgramError(err) {
		m.heedEnd(at)
	}
	m.config.Journal.Ended(e, r, result, err, at)
}

// tellTaken tells the journal of a completion that is about to be taken.
func (m *VM) tellTaken(c *completion, at *Moment) {
	if m.config.Journal == nil || c.do != nil {
		return
	}
	f := m.requests.pending[c.seq]
	m.endedEffect(f.effect, f.request, c.result, c.err, at)
}

// startWritten tells the journal of a request, and begins it where the past knows it.
func (m *VM) startWritten(r effect.Request, f *pendingRequest) bool {
	f.effect, f.request = m.stats.Requests, r
	m.leavePast()
	return m.beginWritten(f)
}

// beginWritten is startWritten of a request that has its number.
func (m *VM) beginWritten(f *pendingRequest) bool {
	if j := m.config.Journal; j != nil {
		m.tellPolicy(f.effect, f.t, f.request)
		m.tellStanding(f.effect, f.t, f.request)
		j.Began(f.effect, f.t.id, f.request)
	}
	p := m.written.past
	if p == nil {
		return false
	}
	if m.ending.fatal != nil {
		m.requests.inbox.put(completion{seq: m.requests.addPending(f), err: m.ending.fatal})
		return true
	}
	standing, err := p.Begin(f.effect, f.request)
	if standing == Unrecorded && err == nil {
		m.leavePast()
		return false
	}
	seq := m.requests.addPending(f)
	switch {
	case err == nil && standing == Recorded:
		m.written.begun[f.effect] = seq // what it gave stands already
	case err == nil:
		m.written.again[f.effect] = seq
		f.end = func() { m.forgo(f.effect) }
	default:
		m.strayed(f.t.stopped(err))
		m.requests.inbox.put(completion{seq: seq, err: err})
	}
	return true
}

// forgo ends a request that is not to be begun any more when the past is over.
func (m *VM) forgo(e int64) {
	if seq, ok := m.written.again[e]; ok {
		delete(m.written.again, e)
		m.requests.inbox.put(completion{seq: seq, err: context.Canceled})
	}
}

// strayed ends a run that is not as the recorded one was.
func (m *VM) strayed(err error) {
	if m.ending.fatal != nil {
		return
	}
	m.ending.fatal = err
	m.sched.cancelAll()
}

// abandonPast completes the requests whose results the past holds with the error that ended the
// run: a run that has failed takes nothing more from its past, and performs nothing.
func (m *VM) abandonPast() {
	for _, under := range []map[int64]int{m.written.begun, m.written.again} {
		for _, e := range slices.Sorted(maps.Keys(under)) {
			m.requests.inbox.put(completion{seq: under[e], err: m.ending.fatal})
		}
		clear(under)
	}
}

// leavePast begins what was under way, when the past is over. A run that has failed stays in its
// past, so that nothing of it reaches the world.
func (m *VM) leavePast() {
	w := &m.written
	if w.past == nil || m.ending.fatal != nil || !w.past.Over() {
		return
	}
	p := w.past
	w.past = nil
	for _, e := range p.Again() {
		if seq, ok := w.again[e]; ok {
			f := m.requests.pending[seq]
			m.launch(seq, f.request, f)
		}
	}
	clear(w.again)
}

// nextPast gives what came next to a recorded run; ok is false when the past is over, or the
// run has left it.
func (m *VM) nextPast() (c completion, ok bool) {
	for {
		m.leavePast()
		if m.written.past == nil {
			return c, false
		}
		if m.ending.fatal != nil {
			m.abandonPast()
			return c, false
		}
		x, ok := m.written.past.Next()
		switch {
		case ok && x.E == 0:
			m.written.endPast(x.Err)
		case ok:
			return m.completionOf(x, nil), true
		case len(m.requests.arrived) == 0 && m.requests.inbox.empty():
			m.strayed(errors.New("the recorded run has not waited for what this one waits for"))
		default:
			return c, false
		}
	}
}

// endPast ends the run's context as it ended in the past.
func (w *written) endPast(cause error) {
	w.over = true
	w.stop(cause)
}

// completionOf makes a completion of what came to an effect under way.
func (m *VM) completionOf(x Event, at *Moment) completion {
	c := completion{seq: m.written.begun[x.E], result: x.Result, err: x.Err}
	delete(m.written.begun, x.E)
	m.tellTaken(&c, at)
	return c
}

// pollPast takes what came at a moment.
func (m *VM) pollPast(at Moment) {
	for m.written.past != nil && m.ending.fatal == nil {
		x, ok := m.written.past.At(at)
		if !ok {
			return
		}
		if x.E == 0 {
			m.written.endPast(x.Err)
			continue
		}
		m.takeCompletion(m.completionOf(x, &at))
		at = m.written.now
	}
}

// judge decides what a look at the memory in use finds: as in the past, or as it is.
func (m *VM) judge(n int) bool {
	at := m.written.moment()
	if p := m.written.past; p != nil {
		return !p.Looked(at)
	}
	fits := m.memory.measure(n)
	if j := m.config.Journal; !fits && j != nil {
		j.Looked(at)
	}
	return fits
}

func isProgramError(err error) bool {
	_, ok := errors.AsType[*effect.Error](err)
	return ok
}
