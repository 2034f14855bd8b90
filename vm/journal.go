package vm

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Journal receives everything that decides the course of a run, on the run's goroutine, in the
// order in which the program receives it (spec/25-tapes.md). Effects are numbered from 1 in the
// order in which the program makes them.
type Journal interface {
	// EffectBegan receives an effect before it is performed, and the number of the task that makes
	// it.
	EffectBegan(e, task int64, r effect.Request)
	// EffectEnded receives the result of an effect. at is nil if the moment follows from the run
	// itself: the program waits for this effect, or nothing else can continue.
	EffectEnded(e int64, r effect.Request, result effect.Result, err error, at *Moment)
	// EffectDeferred reports that an effect could not be performed at once; it will be made again.
	EffectDeferred(e int64, r effect.Request, at Moment)
	// MemoryExceeded receives a check of the memory in use that exceeded the limit.
	MemoryExceeded(at Moment)
	// ContextEnded receives the cause when the run's context has ended the run; at is as in
	// EffectEnded.
	ContextEnded(cause error, at *Moment)
	// ProgramWaits reports that no task can continue and no completion has arrived.
	ProgramWaits()
}

// Past is a recorded run. It replaces the world until all of it has been played; then the run
// continues with the world. While it lasts, the Journal receives its results through EffectBegan
// and EffectEnded.
type Past interface {
	// Result returns the result of a request that does not wait. known is false for a request that
	// must be performed. An error other than an *effect.Error ends the run.
	Result(e int64, r effect.Request) (result effect.Result, known bool, err error)
	// Find looks up a request for which the program waits.
	Find(e int64, r effect.Request) (PastResult, error)
	// NextEvent returns the next completion of the requests that have begun, when no task can
	// continue. ok is false if there is none.
	NextEvent() (x Event, ok bool)
	// EventAt returns what arrived at a moment; ok is false if nothing (more) did.
	EventAt(at Moment) (x Event, ok bool)
	// ExceededMemory reports whether a check of the memory in use at a moment exceeded the limit.
	ExceededMemory(at Moment) bool
	// IsComplete reports whether the program has received all of it. It is always false for a tape.
	IsComplete() bool
	// Pending is called once, when the past has ended. It returns the effects that were UnderWay,
	// in the order in which they must begin.
	Pending() []int64
}

// PastResult is what a past knows about a request.
type PastResult uint8

// The values of PastResult.
const (
	Unrecorded PastResult = iota // it is performed: its result follows from the run itself
	Recorded                     // its result will be returned
	UnderWay                     // it had not ended: it begins when the past has ended
)

// EndedBy is the error that Past.Perform returns for an effect during which the run's context ended
// it.
type EndedBy struct{ Cause error }

func (e *EndedBy) Error() string { return e.Cause.Error() }

// Unwrap returns the reason why the context ended.
func (e *EndedBy) Unwrap() error { return e.Cause }

// Event is a recorded completion: the end of effect E, or, with E 0, the end of the run's context
// with error Err.
type Event struct {
	E      int64
	Result effect.Result
	Err    error
}

// Moment is a point within the time slice of a task at which something may arrive that the program
// does not wait for. Consumed counts the results consumed before, Ticks the moments since.
type Moment struct{ Consumed, Ticks int64 }

// journaled is the state of a run with its journal and its past.
type journaled struct {
	on         bool // the run has a journal or a past
	past       Past // nil after its end
	now        Moment
	begun      map[int64]int // request numbers of effects whose end the past contains
	unfinished map[int64]int // request numbers of effects that begin when the past has ended
	over       bool          // the context has ended, and the journal was notified
	stop       context.CancelCauseFunc
}

// init initializes the state of a run that has not begun.
func (w *journaled) init(c *Config) {
	*w = journaled{on: c.Journal != nil || c.Past != nil, past: c.Past, begun: map[int64]int{}, unfinished: map[int64]int{}}
}

// begin returns the context of a run. If a recorded run was ended by its context, this context ends
// at the same point.
func (w *journaled) begin(ctx context.Context, c *Config) context.Context {
	if c.Past != nil {
		ctx, w.stop = context.WithCancelCause(ctx)
	}
	return ctx
}

// moment counts a moment and returns it.
func (w *journaled) moment() Moment {
	w.now.Ticks++
	return w.now
}

// countConsumed counts a consumed result.
func (w *journaled) countConsumed() {
	w.now.Consumed++
	w.now.Ticks = 0
}

// ctxOver reports whether the run's context has ended, as far as the run has noticed: with a
// journal it notices that at a recorded moment.
func (m *VM) ctxOver() bool {
	if m.config.Journal != nil {
		return m.journaled.over
	}
	return m.requests.ctx.Err() != nil
}

// checkContext checks whether the run's context has ended; at is the run's moment, nil if it waits.
func (m *VM) checkContext(at *Moment) {
	if j := m.config.Journal; j != nil && m.journaled.past == nil && !m.journaled.over && m.requests.ctx.Err() != nil {
		m.journaled.over = true
		j.ContextEnded(context.Cause(m.requests.ctx), at)
	}
}

// performJournaled is perform for a run with a journal or a past.
func (m *VM) performJournaled(ctx context.Context, t *task, r effect.Request) (effect.Result, error) {
	e, j := m.stats.Requests, m.config.Journal
	m.leavePast()
	if j != nil {
		m.reportPolicy(e, t, r)
		m.reportScene(e, t, r)
		j.EffectBegan(e, t.id, r)
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
		j.EffectDeferred(e, r, m.journaled.now)
		return result, err
	}
	m.endedEffect(e, r, result, err, nil)
	return result, err
}

// performNow performs a request, or returns its recorded result.
func (m *VM) performNow(ctx context.Context, e int64, r effect.Request) (effect.Result, error) {
	p := m.journaled.past
	if p == nil {
		return m.config.Performer.Perform(ctx, r)
	}
	if m.ending.fatal != nil {
		return nil, m.ending.fatal
	}
	result, recorded, err := p.Result(e, r)
	if over, ended := errors.AsType[*EndedBy](err); ended {
		m.journaled.endPast(over.Cause)
	}
	if recorded || err != nil {
		return result, err
	}
	m.leavePast() // it was the last, and had not ended
	return m.config.Performer.Perform(ctx, r)
}

// endedEffect reports the result of an effect to the journal. If the run's context ended the
// effect, it reports that first.
func (m *VM) endedEffect(e int64, r effect.Request, result effect.Result, err error, at *Moment) {
	if err != nil && !isProgramError(err) {
		m.checkContext(at)
	}
	m.config.Journal.EffectEnded(e, r, result, err, at)
}

// recordConsumed reports to the journal a completion that is about to be consumed.
func (m *VM) recordConsumed(c *completion, at *Moment) {
	if m.config.Journal == nil || c.do != nil {
		return
	}
	f := m.requests.pending[c.seq]
	m.endedEffect(f.effect, f.request, c.result, c.err, at)
}

// startJournaled reports a request to the journal and, if the past contains it, begins it there.
func (m *VM) startJournaled(r effect.Request, f *pendingRequest) bool {
	f.effect, f.request = m.stats.Requests, r
	m.leavePast()
	return m.beginJournaled(f)
}

// beginJournaled is startJournaled for a request that has its number.
func (m *VM) beginJournaled(f *pendingRequest) bool {
	if j := m.config.Journal; j != nil {
		m.reportPolicy(f.effect, f.t, f.request)
		m.reportScene(f.effect, f.t, f.request)
		j.EffectBegan(f.effect, f.t.id, f.request)
	}
	p := m.journaled.past
	if p == nil {
		return false
	}
	if m.ending.fatal != nil {
		m.requests.inbox.put(completion{seq: m.requests.addPending(f), err: m.ending.fatal})
		return true
	}
	state, err := p.Find(f.effect, f.request)
	if state == Unrecorded && err == nil {
		m.leavePast()
		return false
	}
	seq := m.requests.addPending(f)
	switch {
	case err == nil && state == Recorded:
		m.journaled.begun[f.effect] = seq // its result is recorded already
	case err == nil:
		m.journaled.unfinished[f.effect] = seq
		f.end = func() { m.dropPending(f.effect) }
	default:
		m.diverged(f.t.stopped(err))
		m.requests.inbox.put(completion{seq: seq, err: err})
	}
	return true
}

// dropPending removes a request that must no longer begin when the past has ended.
func (m *VM) dropPending(e int64) {
	if seq, ok := m.journaled.unfinished[e]; ok {
		delete(m.journaled.unfinished, e)
		m.requests.inbox.put(completion{seq: seq, err: context.Canceled})
	}
}

// diverged ends a run that differs from the recorded one.
func (m *VM) diverged(err error) {
	if m.ending.fatal != nil {
		return
	}
	m.ending.fatal = err
	m.sched.cancelAll()
}

// abandonPast completes the requests whose results the past contains with the error that ended the
// run: a failed run consumes nothing more from its past, and performs nothing.
func (m *VM) abandonPast() {
	for _, under := range []map[int64]int{m.journaled.begun, m.journaled.unfinished} {
		for _, e := range slices.Sorted(maps.Keys(under)) {
			m.requests.inbox.put(completion{seq: under[e], err: m.ending.fatal})
		}
		clear(under)
	}
}

// leavePast begins the effects that were under way, when the past has ended. A failed run stays in
// its past, so that none of its effects reach the world.
func (m *VM) leavePast() {
	w := &m.journaled
	if w.past == nil || m.ending.fatal != nil || !w.past.IsComplete() {
		return
	}
	p := w.past
	w.past = nil
	for _, e := range p.Pending() {
		if seq, ok := w.unfinished[e]; ok {
			f := m.requests.pending[seq]
			m.launch(seq, f.request, f)
		}
	}
	clear(w.unfinished)
}

// nextPast returns the next completion of a recorded run; ok is false if the past has ended, or if
// the run differs from it.
func (m *VM) nextPast() (c completion, ok bool) {
	for {
		m.leavePast()
		if m.journaled.past == nil {
			return c, false
		}
		if m.ending.fatal != nil {
			m.abandonPast()
			return c, false
		}
		x, ok := m.journaled.past.NextEvent()
		switch {
		case ok && x.E == 0:
			m.journaled.endPast(x.Err)
		case ok:
			return m.completionOf(x, nil), true
		case len(m.requests.arrived) == 0 && m.requests.inbox.empty():
			m.diverged(errors.New("the recorded run has not waited for what this one waits for"))
		default:
			return c, false
		}
	}
}

// endPast ends the run's context as it ended in the past.
func (w *journaled) endPast(cause error) {
	w.over = true
	w.stop(cause)
}

// completionOf returns the completion for an event of an effect under way.
func (m *VM) completionOf(x Event, at *Moment) completion {
	c := completion{seq: m.journaled.begun[x.E], result: x.Result, err: x.Err}
	delete(m.journaled.begun, x.E)
	m.recordConsumed(&c, at)
	return c
}

// pollPast consumes what arrived at a moment.
func (m *VM) pollPast(at Moment) {
	for m.journaled.past != nil && m.ending.fatal == nil {
		x, ok := m.journaled.past.EventAt(at)
		if !ok {
			return
		}
		if x.E == 0 {
			m.journaled.endPast(x.Err)
			continue
		}
		m.handleCompletion(m.completionOf(x, &at))
		at = m.journaled.now
	}
}

// memoryExceeded decides the outcome of a check of the memory in use: as in the past, or by the
// actual amount.
func (m *VM) memoryExceeded(n int) bool {
	at := m.journaled.moment()
	if p := m.journaled.past; p != nil {
		return !p.ExceededMemory(at)
	}
	fits := m.memory.measureHeap(n)
	if j := m.config.Journal; !fits && j != nil {
		j.MemoryExceeded(at)
	}
	return fits
}

func isProgramError(err error) bool {
	_, ok := errors.AsType[*effect.Error](err)
	return ok
}
