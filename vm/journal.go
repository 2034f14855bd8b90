package vm

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Durable records a run, replays a recorded one and suspends it. Journal, Past and Suspended return
// the same at each call. An implementation embeds NotDurable, and has the methods for what it does.
type Durable interface {
	// Journal returns what receives everything that determines the course of the run, or nil.
	Journal() Journal
	// Past returns a recorded run that the VM replays before it continues the run, or nil.
	Past() Past
	// Suspended returns a channel that, when closed, suspends the run at its current point, or nil.
	// No task is unwound, pending requests stay pending, and Run returns ErrSuspended. The channel
	// requires a Journal.
	Suspended() <-chan struct{}
	// DrainBeforeSuspend is called when the run is suspended. Until the returned channel is closed,
	// the VM waits for the requests that will end by themselves, so that the journal contains their
	// results. If the channel is nil, the VM does not wait.
	DrainBeforeSuspend() (until <-chan struct{})
}

// NotDurable implements Durable without a journal, a past and a suspension.
type NotDurable struct{}

// Journal implements Durable.
func (NotDurable) Journal() Journal { return nil }

// Past implements Durable.
func (NotDurable) Past() Past { return nil }

// Suspended implements Durable.
func (NotDurable) Suspended() <-chan struct{} { return nil }

// DrainBeforeSuspend implements Durable.
func (NotDurable) DrainBeforeSuspend() <-chan struct{} { return nil }

// Journal receives everything that determines the course of a run (spec/25-tapes.md). Its methods
// are called on the run's goroutine, in the order in which the program receives the events. Effects
// are numbered from 1 in the order in which the program performs them.
type Journal interface {
	// EffectBegan receives an effect before it is performed, its number, and the position of the
	// task that performs it. The Scene is valid until EffectBegan returns.
	EffectBegan(e int64, at Scene, r effect.Request)
	// EffectEnded receives the result of an effect. at is nil if the moment follows from the run
	// itself: the program waits for this effect, or no task can continue without it.
	EffectEnded(e int64, r effect.Request, result effect.Result, err error, at *Moment)
	// EffectDeferred reports that an effect could not be performed at once. The program will
	// perform it again.
	EffectDeferred(e int64, r effect.Request, at Moment)
	// MemoryExceeded reports that a check of the memory in use found more than the limit.
	MemoryExceeded(at Moment)
	// ContextEnded receives the cause when the end of the context ends the run. For at see
	// EffectEnded.
	ContextEnded(cause error, at *Moment)
	// OnIdle reports that no task can continue and no completion has arrived.
	OnIdle()
}

// NoJournal implements Journal with methods that do nothing.
type NoJournal struct{}

// EffectBegan implements Journal.
func (NoJournal) EffectBegan(int64, Scene, effect.Request) {}

// EffectEnded implements Journal.
func (NoJournal) EffectEnded(int64, effect.Request, effect.Result, error, *Moment) {}

// EffectDeferred implements Journal.
func (NoJournal) EffectDeferred(int64, effect.Request, Moment) {}

// MemoryExceeded implements Journal.
func (NoJournal) MemoryExceeded(Moment) {}

// ContextEnded implements Journal.
func (NoJournal) ContextEnded(error, *Moment) {}

// OnIdle implements Journal.
func (NoJournal) OnIdle() {}

// Past is a recorded run. The VM consumes the results of the Past instead of performing effects.
// When the Past is complete, the run continues with the performer. During the replay, the Journal
// receives the recorded results through EffectBegan and EffectEnded.
type Past interface {
	// Result returns the recorded result of a request for which the program does not wait. known is
	// false for a request that must be performed. An error other than an *effect.Error ends the
	// run.
	Result(e int64, r effect.Request) (result effect.Result, known bool, err error)
	// Find looks up a request for which the program waits.
	Find(e int64, r effect.Request) (PastResult, error)
	// NextEvent returns the next completion of the requests that have begun. The VM calls it when
	// no task can continue. ok is false if there is none.
	NextEvent() (x Event, ok bool)
	// EventAt returns the next event that arrived at a moment. ok is false if there is none.
	EventAt(at Moment) (x Event, ok bool)
	// ExceededMemory reports whether a check of the memory in use at a moment exceeded the limit.
	ExceededMemory(at Moment) bool
	// IsComplete reports whether the program has received all of the Past. It is always false for a
	// tape.
	IsComplete() bool
	// OnlyResultsFollow reports whether the Past does not contain effect e, and contains nothing
	// more except results for which the program waits.
	OnlyResultsFollow(e int64, r effect.Request) bool
	// Pending is called once, at the end of the Past. It returns the effects that were UnderWay, in
	// the order in which they must begin.
	Pending() []int64
}

// OnlyPast implements the methods of a Past after which the run does not continue.
type OnlyPast struct{}

// IsComplete implements Past. It returns false, so that the VM never performs an effect.
func (OnlyPast) IsComplete() bool { return false }

// OnlyResultsFollow implements Past.
func (OnlyPast) OnlyResultsFollow(int64, effect.Request) bool { return false }

// Pending implements Past.
func (OnlyPast) Pending() []int64 { return nil }

// IdlePast is a Past that ends effects which were UnderWay. The end of the run's context also ends
// a run that is still in such a past.
type IdlePast interface {
	Past
	// NextIdle returns the end of an effect that was UnderWay. The VM calls it when nothing else
	// can happen. An effect that was cancelled is skipped. Without an effect, the past may be
	// complete after the call: the effects that were UnderWay then begin.
	NextIdle() (x Event, ok bool)
}

// PastResult reports whether a Past contains the result of a request.
type PastResult uint8

// The values of PastResult.
const (
	Unrecorded PastResult = iota // not recorded: the request is performed, because its result follows from the run itself
	Recorded                     // recorded: the result will be returned
	UnderWay                     // begun and not ended: the request begins at the end of the Past
)

// EndedBy is the error that Past.Result returns for an effect during which the run's context ended.
type EndedBy struct{ Cause error }

func (e *EndedBy) Error() string { return e.Cause.Error() }

// Unwrap returns the reason why the context ended.
func (e *EndedBy) Unwrap() error { return e.Cause }

// Event is a recorded completion: the end of effect E. If E is 0, it is the end of the run's
// context with the error Err.
type Event struct {
	E      int64
	Result effect.Result
	Err    error
}

// Moment is a point within the time slice of a task at which an event may arrive that the program
// does not await. Consumed is the number of results consumed before it, and Ticks the number of
// moments since the last of them.
type Moment struct{ Consumed, Ticks int64 }

// journaled is the state of a run with its journal and its past.
type journaled struct {
	on         bool // the run has a journal or a past
	durable    Durable
	journal    Journal
	suspend    <-chan struct{}
	past       Past // nil after the end of the past
	now        Moment
	begun      map[int64]int // for effects whose end the past contains: request number, by effect
	unfinished map[int64]int // for effects that begin at the end of the past: request number, by effect
	dropped    int           // number of cancelled effects whose completions precede the next event of an IdlePast
	rest       []completion  // recorded results that the run consumes after it has left the past
	over       bool          // the context has ended, and the journal was notified
	stop       context.CancelCauseFunc
}

// init initializes the state of a run that has not begun.
func (w *journaled) init(d Durable) {
	*w = journaled{begun: map[int64]int{}, unfinished: map[int64]int{}}
	if d != nil {
		w.durable, w.journal, w.past, w.suspend = d, d.Journal(), d.Past(), d.Suspended()
		w.on = w.journal != nil || w.past != nil
	}
}

// begin returns the context of a run. If the context of a recorded run ended the run, the returned
// context ends at the same point.
func (w *journaled) begin(ctx context.Context) context.Context {
	if w.past != nil {
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

// ctxOver reports whether the run has noticed the end of its context. With a journal it notices the
// end only at a recorded moment.
func (m *VM) ctxOver() bool {
	if m.journaled.journal != nil {
		return m.journaled.over
	}
	return m.requests.ctx.Err() != nil
}

// checkContext checks whether the run's context has ended. at is the run's moment, or nil if the
// run waits.
func (m *VM) checkContext(at *Moment) {
	w := &m.journaled
	if j := m.journaled.journal; j != nil && !w.over && m.requests.ctx.Err() != nil && w.endsWithContext() {
		m.journaled.over = true
		j.ContextEnded(context.Cause(m.requests.ctx), at)
	}
}

// endsWithContext reports whether the end of the run's context ends the run now. A run that is
// resumed first does everything that its past contains.
func (w *journaled) endsWithContext() bool {
	_, isIdle := w.past.(IdlePast)
	return w.past == nil || isIdle
}

// performJournaled is performEffect for a run with a journal or a past.
func (m *VM) performJournaled(ctx context.Context, t *task, r effect.Request) (effect.Result, error) {
	e, j := m.stats.Requests, m.journaled.journal
	leavePastBefore(m, e, r)
	if j != nil {
		j.EffectBegan(e, Scene{t}, r)
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
	m.leavePast() // the effect was the last event of the past, and had not ended
	return m.config.Performer.Perform(ctx, r)
}

// endedEffect reports the result of an effect to the journal. If the run's context ended the
// effect, it reports that first.
func (m *VM) endedEffect(e int64, r effect.Request, result effect.Result, err error, at *Moment) {
	if err != nil && !isProgramError(err) {
		m.checkContext(at)
	}
	m.journaled.journal.EffectEnded(e, r, result, err, at)
}

// recordConsumed reports to the journal a completion that is about to be consumed.
func (m *VM) recordConsumed(c *completion, at *Moment) {
	if m.journaled.journal == nil || c.do != nil {
		return
	}
	f := m.requests.pending[c.seq]
	if isWokenByQueue(f.request, c.err) && m.requests.ctx.Err() == nil {
		c.err = nil // the wait was successful
	}
	m.endedEffect(f.effect, f.request, c.result, c.err, at)
}

// startJournaled reports a request to the journal. If the past contains the request, startJournaled
// begins it there and returns true.
func (m *VM) startJournaled(r effect.Request, f *pendingRequest) bool {
	f.effect, f.request = m.stats.Requests, r
	leavePastBefore(m, f.effect, r)
	return m.beginJournaled(f)
}

// beginJournaled does the work of startJournaled for a request that already has its effect number.
func (m *VM) beginJournaled(f *pendingRequest) bool {
	if j := m.journaled.journal; j != nil {
		j.EffectBegan(f.effect, Scene{f.t}, f.request)
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
		m.journaled.begun[f.effect] = seq // the past contains its result
	case err == nil:
		m.journaled.unfinished[f.effect] = seq
		f.end = func() { m.dropPending(f.effect) }
	default:
		m.diverged(f.t.stopped(err))
		m.requests.inbox.put(completion{seq: seq, err: err})
	}
	return true
}

// dropPending removes a request that would otherwise begin at the end of the past.
func (m *VM) dropPending(e int64) {
	if seq, ok := m.journaled.unfinished[e]; ok {
		delete(m.journaled.unfinished, e)
		m.requests.inbox.put(completion{seq: seq, err: context.Canceled})
		if _, can := m.journaled.past.(IdlePast); can {
			m.journaled.dropped++
		}
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

// abandonPast completes the requests whose results the past contains with the error of the run. A
// failed run consumes nothing more from its past and performs no effects.
func (m *VM) abandonPast() {
	for _, under := range []map[int64]int{m.journaled.begun, m.journaled.unfinished} {
		for _, e := range slices.Sorted(maps.Keys(under)) {
			m.requests.inbox.put(completion{seq: under[e], err: m.ending.fatal})
		}
		clear(under)
	}
}

// leavePast begins, at the end of the past, the effects that were under way. A failed run stays in
// its past, so that none of its effects are performed.
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

// leavePastBefore leaves the past if it is complete, or if only results follow and effect e begins
// before them. A process that was suspended recorded results that its program did not receive any
// more. The program receives them as in the past: when no task can continue.
func leavePastBefore(m *VM, e int64, r effect.Request) {
	w := &m.journaled
	if w.past != nil && m.ending.fatal == nil && !w.past.IsComplete() && w.past.OnlyResultsFollow(e, r) {
		for x, ok := w.past.NextEvent(); ok; x, ok = w.past.NextEvent() {
			w.rest = append(w.rest, m.completionOf(x, nil))
		}
	}
	m.leavePast()
}

// takeRest removes the next of the recorded results that the run consumes after the past.
func (w *journaled) takeRest() (c completion, ok bool) {
	if len(w.rest) == 0 {
		return c, false
	}
	c, w.rest = w.rest[0], w.rest[1:]
	return c, true
}

// nextPast returns the next completion of a recorded run. ok is false if the past has ended, or if
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
		if m.journaled.dropped > 0 { // otherwise hosts would send more before a handler has ended
			m.journaled.dropped--
			return c, false
		}
		x, ok := m.journaled.past.NextEvent()
		isIdle := len(m.requests.arrived) == 0 && m.requests.inbox.empty() && m.journaled.contains(m.requests.pending)
		if p, can := m.journaled.past.(IdlePast); can && !ok && isIdle {
			x, ok = p.NextIdle()
		}
		switch {
		case !ok && m.journaled.past.IsComplete():
			continue // the effects that were under way begin
		case ok && x.E == 0:
			m.journaled.endPast(x.Err)
		case ok && !m.journaled.isRunning(x.E):
			continue // it was cancelled
		case ok:
			return m.completionOf(x, nil), true
		case isIdle:
			m.diverged(errors.New("the recorded run has not waited for what this one waits for"))
		default:
			return c, false
		}
	}
}

// contains reports whether the past contains all of the pending requests. Others are performed.
func (w *journaled) contains(pending map[int]*pendingRequest) bool {
	return len(pending) <= len(w.begun)+len(w.unfinished)
}

// endPast ends the run's context with the cause that the past contains.
func (w *journaled) endPast(cause error) {
	w.over = true
	w.stop(cause)
}

// isRunning reports whether an effect of the past has begun and not ended.
func (w *journaled) isRunning(e int64) bool { return w.begun[e] != 0 || w.unfinished[e] != 0 }

// completionOf returns the completion for a recorded event of an effect that has begun.
func (m *VM) completionOf(x Event, at *Moment) completion {
	c := completion{seq: cmp.Or(m.journaled.begun[x.E], m.journaled.unfinished[x.E]), result: x.Result, err: x.Err}
	delete(m.journaled.begun, x.E)
	delete(m.journaled.unfinished, x.E)
	m.recordConsumed(&c, at)
	return c
}

// pollPast consumes the recorded events of a moment.
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

// memoryFits reports whether a check of the memory in use is within the limit. It returns the
// recorded outcome if there is a past, and otherwise compares n with the limit.
func (m *VM) memoryFits(n int) bool {
	at := m.journaled.moment()
	if p := m.journaled.past; p != nil {
		return !p.ExceededMemory(at)
	}
	fits := m.memory.measureHeap(n)
	if j := m.journaled.journal; !fits && j != nil {
		j.MemoryExceeded(at)
	}
	return fits
}

func isProgramError(err error) bool {
	_, ok := errors.AsType[*effect.Error](err)
	return ok
}

// ErrSuspended is the error of a suspended run: see Durable.
var ErrSuspended = errors.New("the run is suspended")

// suspending is the panic value of a task that computes while its run is suspended.
type suspending struct{}

// suspended reports whether Durable requests that the run be suspended.
func (m *VM) suspended() bool {
	if m.journaled.suspend == nil {
		return false
	}
	select {
	case <-m.journaled.suspend:
		return true
	default:
		return false
	}
}

// suspend suspends the run. It reports the completions that have arrived as consumed, because the
// resumed run consumes them. Pending requests stay pending.
func (m *VM) suspend() {
	m.ending.fatal = ErrSuspended
	m.recordArrived()
	if m.journaled.durable != nil {
		drainRequests(m, m.journaled.durable.DrainBeforeSuspend())
	}
	for _, seq := range m.requests.underWay() {
		m.requests.pending[seq].cancel()
	}
	m.requests.goroutes.Wait()
	m.requests.idle.end()
	m.recordArrived()
}

// drainRequests waits until the pending requests that end by themselves have ended, or until the
// channel is closed. nil means not to wait.
func drainRequests(m *VM, until <-chan struct{}) {
	ended := map[int]bool{}
	for until != nil {
		for _, seq := range m.recordArrived() {
			ended[seq] = true
		}
		if !slices.ContainsFunc(m.requests.underWay(), func(seq int) bool { return !ended[seq] && endsByItself(m.requests.pending[seq].request) }) {
			return
		}
		select {
		case <-m.requests.inbox.wake:
		case <-until:
			return
		}
	}
}

// endsByItself reports whether a request ends without an event from outside, such as an answer or a
// message of a host.
func endsByItself(r effect.Request) bool {
	if r == nil {
		return false
	}
	switch effect.ClassOf(r) {
	case effect.ClassKept, effect.ClassWaits, effect.ClassCut:
		return false
	}
	return true
}

// recordArrived reports the effects that have ended to the journal, except those that were
// cancelled. It returns the numbers of all requests that have ended.
func (m *VM) recordArrived() (arrived []int) {
	m.requests.arrived = m.requests.inbox.drain(m.requests.arrived)
	for i := range m.requests.arrived {
		c := &m.requests.arrived[i]
		if c.err == nil || isProgramError(c.err) {
			m.recordConsumed(c, nil)
			if f := m.requests.pending[c.seq]; f != nil && c.do == nil {
				f.reportResult(c)
			}
		}
		arrived = append(arrived, c.seq)
	}
	m.requests.arrived = nil
	return arrived
}
