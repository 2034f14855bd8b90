package vm

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// The scheduler runs one task at a time. A task yields only where it waits: for an effect, for a
// task, or for a group. Requests are performed outside of the scheduler. It consumes completions
// one at a time, and before it consumes the next one, it runs every task that can continue. The
// results of the requests and the order of the completions therefore determine the run.

// pendingRequest is a request that has not returned, and the receiver of its result.
type pendingRequest struct {
	t         *task
	scope     *scope         // set for a request for the next messages of a listen
	run       *handlerRun    // set for the timer of a handler run
	bound     *group         // set for the time bound of a race
	stream    *hostStream    // set for a request for the next messages of a stream
	ask       *ask           // set for the time limit of a message
	wait      *wait          // set if a task is parked for the request
	effect    int64          // with a journal or a past: number of the effect
	request   effect.Request // with a journal: the request
	closing   bool           // the request continues after the end of the run
	cancelled bool           // the request was cancelled
	// came passes the result to the observer; nil without an observer.
	came func(effect.Result, error)

	end     func() // ends the request early; nil if the result is already recorded
	release func() // releases the context of the request; nil if it has none
}

// cancel ends the request early. It does nothing if f is nil.
func (f *pendingRequest) cancel() {
	if f == nil {
		return
	}
	f.cancelled = true
	if f.end != nil {
		f.end()
	}
}

// reportResult passes the result of the request to the observer.
func (f *pendingRequest) reportResult(c *completion) {
	if f.came != nil {
		f.came(c.result, c.err)
		f.came = nil
	}
}

// completion is a request that has returned or, if do is set, an action for the run's goroutine.
type completion struct {
	seq    int
	result effect.Result
	err    error
	do     func()
}

// inbox contains completions in the order in which they arrived.
type inbox struct {
	mu        sync.Mutex
	list      []completion
	wake      chan empty
	interrupt func() // called when a completion arrives; may be nil
	closed    bool
}

type empty = struct{}

// put adds a completion, unless the inbox is closed.
func (b *inbox) put(c completion) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	b.list = append(b.list, c)
	first, interrupt := len(b.list) == 1, b.interrupt
	b.mu.Unlock()
	if interrupt != nil {
		interrupt()
	}
	if first {
		select {
		case b.wake <- empty{}:
		default:
		}
	}
	return true
}

// empty reports whether the inbox is empty.
func (b *inbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list) == 0
}

// close returns the completions that were not consumed. After that, no completion can be added.
func (b *inbox) close() []completion {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.list
}

// drain appends the completions to list.
func (b *inbox) drain(list []completion) []completion {
	b.mu.Lock()
	defer b.mu.Unlock()
	list = append(list, b.list...)
	clear(b.list)
	b.list = b.list[:0]
	return list
}

// requests are the requests that a run has made, and the completions that have arrived.
type requests struct {
	ctx       context.Context // context of the run
	atOnce    context.Context // context of the run for requests that must not wait
	cancelled bool            // the run is cancelled, and all requests were cancelled

	pending  map[int]*pendingRequest // requests that have not returned, by number
	made     int                     // number of the last request
	opening  int                     // number of pending requests that open an exchange
	waiting  []waiting               // used with Config.Choose
	deferred deferredRequest
	idle     idleWait
	bounds   bounds
	inbox    *inbox
	arrived  []completion // completions taken from inbox and not consumed
	goroutes *sync.WaitGroup
}

func (r *requests) init() {
	r.pending, r.inbox, r.goroutes = map[int]*pendingRequest{}, &inbox{wake: make(chan empty, 1)}, new(sync.WaitGroup)
}

// begin sets the context of the requests.
func (r *requests) begin(ctx context.Context) {
	r.ctx, r.atOnce, r.cancelled = ctx, effect.WithNoWait(ctx), false
}

// addPending adds a request and returns its number.
func (r *requests) addPending(p *pendingRequest) int {
	r.made++
	r.pending[r.made] = p
	return r.made
}

// underWay returns the numbers of the pending requests, in the order in which they were made.
func (r *requests) underWay() []int {
	all := make([]int, 0, len(r.pending))
	for seq := range r.pending {
		all = append(all, seq)
	}
	slices.Sort(all)
	return all
}

// endPending cancels every request, in the order in which they were made.
func (r *requests) endPending() {
	for _, seq := range r.underWay() {
		if p := r.pending[seq]; p != nil && !p.closing {
			p.cancel()
		}
	}
}

// loop runs until every task has ended and every request has returned.
func (m *VM) loop() {
	for {
		for t := m.sched.ready.pop(); t != nil; t = m.sched.ready.pop() {
			if m.guarded(t) == finished {
				m.taskEnded(t)
			}
			if m.ending.fatal == ErrSuspended {
				m.suspend()
				return
			}
		}
		m.beginBounds()
		if m.sched.alive == 0 {
			m.closeHostStreams()
		}
		if len(m.requests.pending) == 0 && !m.expectsCalls() {
			break
		}
		if c, ok := m.nextCompletion(); ok {
			m.handleCompletion(c)
		}
		if m.ending.fatal == ErrSuspended {
			m.suspend()
			return
		}
	}
	if m.sched.alive > 0 && m.ending.fatal == nil {
		m.ending.fatal = errors.New("broken invariant in the VM: tasks are parked without a request")
	}
	m.requests.goroutes.Wait()
	m.requests.idle.end()
}

// nextCompletion waits for the next completion. If the run is cancelled during the wait, it cancels
// every request once. ok is false if there is no request and therefore no completion can arrive.
func (m *VM) nextCompletion() (completion, bool) {
	if len(m.requests.waiting) > 0 {
		return m.performChosen(), true
	}
	if c, ok := m.nextPast(); ok {
		return c, true
	}
	if c, ok := m.journaled.takeRest(); ok {
		return c, true
	}
	return m.arrival()
}

// arrival waits for the next completion of a performed request.
func (m *VM) arrival() (completion, bool) {
	for len(m.requests.arrived) == 0 {
		m.requests.arrived = m.requests.inbox.drain(m.requests.arrived[:0])
		if len(m.requests.arrived) > 0 {
			break
		}
		over := m.requests.ctx.Done()
		if m.requests.cancelled {
			over = nil
		}
		m.sched.stacks.clear()
		if j := m.journaled.journal; j != nil && m.journaled.past == nil {
			j.OnIdle()
		}
		if m.requests.performDeferred(m) {
			continue
		}
		select {
		case <-m.requests.inbox.wake:
		case <-m.journaled.suspend:
			m.ending.fatal = ErrSuspended
			return completion{}, false
		case <-over:
			m.requests.cancelled = true
			m.checkContext(nil)
			m.requests.endPending()
			if len(m.requests.pending) == 0 {
				return completion{}, false
			}
		}
		m.discardSamples()
	}
	c := m.requests.arrived[0]
	m.requests.arrived[0] = completion{}
	m.requests.arrived = m.requests.arrived[1:]
	m.recordConsumed(&c, nil)
	return c, true
}

// guarded resumes t. If a native or an accessor panics with a *value.Fault, the program receives
// that fault. Any other panic is a bug of the VM and ends the run.
func (m *VM) guarded(t *task) (st status) {
	m.sched.current = t
	for more := true; more; {
		st, more = m.attempt(t)
	}
	m.sched.current = nil
	return st
}

func (m *VM) attempt(t *task) (st status, again bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		switch f := p.(type) { // ip and fp were saved before the call that panicked
		case *value.Fault:
			t.fault("%s", f.Message)
			again = true
			return
		case interrupted:
			again = true
			return
		case suspending:
			st = parked
			return
		}
		if b := missingOperand(p); b != nil {
			m.ending.fatal = b
		} else {
			m.ending.fatal = fmt.Errorf("broken invariant in the VM: %v\n%s", p, debug.Stack())
		}
		m.sched.cancelAll()
		st = finished
	}()
	if !t.state.started && (t.state.stop || m.mustEnd() || t.served.isCancelled()) {
		t.raised = &raised{cancelled: true}
		return finished, false
	}
	first := !t.state.started
	if y := t.copies; y != nil {
		t.state.started, t.raised, t.state.left, t.result = true, y.raised, y.state.left, y.result
		return finished, false
	}
	t.unpark()
	if first {
		t.began()
	}
	if t.state.starting {
		t.state.starting, t.parts.wait.task = false, nil
		t.m.sched.nested--
	}
	if w := t.wait; w != nil {
		t.wait = nil
		if w.since != 0 {
			t.recordWait(w.describe(), w.since)
		}
		if st := t.resume(w); st != running {
			return st, false
		}
	} else if t.raised == nil {
		t.cancelled()
	}
	return t.run(), false
}

// handleCompletion processes one completion.
func (m *VM) handleCompletion(c completion) {
	if c.do != nil {
		c.do()
		return
	}
	f := m.requests.pending[c.seq]
	delete(m.requests.pending, c.seq)
	f.reportResult(&c)
	m.journaled.countConsumed()
	if f.release != nil {
		f.release()
	}
	switch {
	case f.bound != nil:
		f.bound.boundOver(c.err)
	case f.run != nil:
		f.run.expire(c.err)
		f.t.interruptRun()
	case f.ask != nil:
		f.ask.expire(f.t, c.err)
	case f.stream != nil:
		f.stream.enqueue(f.t, c)
	case f.wait != nil:
		if f.wait.kind == waitOpen {
			m.requests.opening--
		}
		f.wait.flight = nil
		f.wait.result, f.wait.err = c.result, c.err
		m.sched.ready.push(f.t)
	case f.scope != nil:
		f.scope.enqueueMessages(c)
		if w := f.t.wait; w != nil && (w.kind == waitMessages || w.kind == waitQuiet) && w.scope == f.scope {
			m.sched.ready.push(f.t)
			return
		}
		f.t.interruptRun()
	}
}

// poll runs while a task computes for long. Without waiting, it consumes the completions that have
// arrived for the task's listens, for streams and for time bounds. Other completions stay in the
// queue in their order. at is the run's moment.
func (m *VM) poll(t *task, at Moment) {
	if m.leavePast(); m.journaled.past != nil {
		m.pollPast(at)
		return
	}
	m.requests.beginDeferred(m.config.Performer)
	m.requests.arrived = m.requests.inbox.drain(m.requests.arrived)
	for i := 0; i < len(m.requests.arrived); {
		c := m.requests.arrived[i]
		if f := m.requests.pending[c.seq]; f == nil || f.bound == nil && f.stream == nil && f.ask == nil && (f.t != t || f.wait != nil) {
			i++
			continue
		}
		m.requests.arrived = slices.Delete(m.requests.arrived, i, i+1) // first, because the rest may suspend the run
		m.recordConsumed(&c, &at)
		m.handleCompletion(c)
		at = m.journaled.now
	}
}

// startRequest starts the request r without waiting for its result. The performer starts it itself
// if it is an effect.Starter that accepts r. Otherwise r is performed on a new goroutine.
func (m *VM) startRequest(r effect.Request, f *pendingRequest) {
	m.stats.Requests++
	f.came = observe(f.t, m.stats.Requests, r)
	if m.journaled.on && m.startJournaled(r, f) {
		return
	}
	m.launch(m.requests.addPending(f), r, f)
}

// launch starts a request that is already registered as pending.
func (m *VM) launch(seq int, r effect.Request, f *pendingRequest) {
	f.t.requested(r)
	inbox, performer := m.requests.inbox, m.config.Performer // put may be called on any goroutine, and accesses no field of m
	put := func(result effect.Result, err error) {
		inbox.put(completion{seq: seq, result: result, err: err})
	}
	chosen := m.config.Choose != nil
	if s, ok := performer.(effect.Starter); ok && !f.closing && !chosen {
		stop, ok := s.Start(m.requests.ctx, r, put)
		if ok {
			f.end = stop
			return
		}
	}
	if !f.closing && !chosen && m.requests.canDefer(r, m) {
		m.requests.deferUntilIdle(deferredRequest{seq, r, put})
		return
	}
	var ctx context.Context
	var cancel context.CancelFunc
	if f.closing {
		ctx, cancel = context.WithTimeout(context.WithoutCancel(m.requests.ctx), closeTime)
	} else {
		ctx, cancel = context.WithCancel(m.requests.ctx)
	}
	f.end, f.release = cancel, cancel
	if chosen {
		m.requests.waiting = append(m.requests.waiting, waiting{seq, ctx, r})
		return
	}
	m.requests.performApart(ctx, performer, r, put)
}

// isAlone reports whether only t can act while t waits: there is no other task, no pending request,
// and no handler that could be cancelled.
func (t *task) isAlone() bool {
	if t.m.sched.alive != 1 || t.served != nil || t.m.config.Choose != nil || t.m.journaled.on || t.m.observed.debugger != nil {
		return false
	}
	if len(t.m.requests.pending) > 0 {
		t.m.poll(t, Moment{}) // consume the expired timers of handlers
		if len(t.m.requests.pending) > 0 {
			return false
		}
	}
	for _, s := range t.scopes {
		if s.run != nil {
			return false
		}
	}
	return true
}

// request performs r for the task, which then continues as w specifies. The task continues at once
// if requests of this kind never wait, or if no other task could run during the wait. Otherwise the
// task is parked.
func (t *task) request(r effect.Request, w *wait) status {
	w.request = r
	inline := effect.Inline(r.Kind())
	if (!inline || t.m.debug.evaluating != nil && t.isRefused(r)) && t.cancelled() {
		return raising
	}
	if inline || t.isAlone() {
		t.m.stats.Requests++
		t.recordRequestNumber()
		if !inline {
			t.shrinkStack()
		}
		if inline {
			w.result, w.err = t.performEffect(t.m.requests.ctx, r)
			if t.samples.hasSamples() {
				t.sample(string(r.Kind()))
			}
			return t.complete(w)
		}
		w.result, w.err = t.performWaiting(r)
		return t.returnResult(w)
	}
	f := &pendingRequest{t: t, wait: w}
	t.m.startRequest(r, f)
	w.flight = f
	t.recordRequestNumber()
	if w.kind == waitOpen {
		t.m.requests.opening++
	}
	return t.park(w)
}

// park makes the task wait. It ensures that the task receives withdrawals for its handlers, and
// moves the used slots off the stack.
func (t *task) park(w *wait) status {
	t.wait = w
	if p := t.m.config.Profile; p != nil {
		w.since = p.Now()
	}
	t.fetchWithdrawals()
	t.parkSlots()
	if t.raised == nil && (len(t.scopes) > 0 || t.m.requests.bounds.running > 0) {
		// A completion that poll has consumed may have cancelled the task. The task has not checked
		// for a cancellation since then.
		t.interruptRun()
	}
	return parked
}

// fetchWithdrawals ensures that a request for messages is pending for every listen whose handler is
// running, so that a withdrawal arrives in time.
func (t *task) fetchWithdrawals() {
	for _, s := range t.scopes {
		if s.run != nil {
			s.requestMessages()
		}
	}
	t.m.hostStreams.fetchWithdrawals(t)
}

// resume continues the task after a completion.
func (t *task) resume(w *wait) status {
	st := t.returnResult(w)
	if st == raising {
		return t.unwind()
	}
	return st
}

// returnResult passes a result to the operation that requested it, unless the task has been
// cancelled.
func (t *task) returnResult(w *wait) status {
	if w.kind != waitUnwind && w.kind != waitQuiet && t.cancelled() {
		switch {
		case w.kind == waitOpen && w.err == nil:
			t.registerExchange(w) // the exchange was opened in spite of the cancellation, and unwinding closes it
		case w.kind == waitOpen, w.kind == waitPlan:
			w.scope.emitCancelled()
		}
		if _, opened := w.result.(*effect.ExchangeOpened); opened && w.kind == waitPerform {
			_, _ = w.convert(w.result) // the conversion makes the task own the resource
		}
		return raising
	}
	return t.complete(w)
}

func (t *task) complete(w *wait) status {
	if isWokenByQueue(w.request, w.err) {
		w.err = nil
	}
	if w.err != nil {
		var e *effect.Error
		if !errors.As(w.err, &e) && w.kind != waitUnwind && !w.refused {
			if t.cancelled() {
				return raising
			}
			return t.failRun(w.err)
		}
	}
	if d := t.debugger(); d != nil && w.request != nil {
		d.AfterEffect(Scene{t}, w.request, w.result, w.err)
	}
	switch w.kind {
	case waitPerform:
		return t.acceptResult(w)
	case waitAnswer:
		return t.consumeAnswer(w)
	case waitPerson:
		return t.personAnswered(w)
	case waitOpen:
		return t.exchangeOpened(w)
	case waitReply:
		s := w.scope
		r := s.unsent
		s.unsent = nil
		if e, ok := errors.AsType[*effect.Error](w.err); ok {
			s.replyFailed(r, e)
		}
		return t.processMessages(s)
	case waitMessages:
		return t.processMessages(w.scope)
	case waitContinue:
		return exchangeContinued(t, w)
	case waitPlan:
		return planResumed(t, w)
	case waitClose:
		return t.closed(w)
	case waitTask:
		y := w.task
		w.task = nil // w is part of the task, and must not keep y alive
		return t.consumeResult(w.window, y)
	case waitGroup:
		return w.group.finishExpression()
	case waitUnwind:
		w.scope.open = false // the exchange is closed, and unwinding continues
	}
	if !t.raised.panicked {
		t.cancelled()
	}
	return t.unwind()
}

// failRun ends the run with an error that no program may catch.
func (t *task) failRun(err error) status {
	if t.m.ending.fatal == nil {
		t.m.ending.fatal = t.stopped(err)
		t.m.sched.cancelAll()
	}
	t.raised = &raised{cancelled: true}
	return raising
}

// programError returns the value of an error that the program may catch.
func programError(e *effect.Error) value.Slot {
	err := value.Error{Kind: e.Kind, Message: e.Message}
	for name, v := range e.Fields {
		switch v := v.(type) {
		case string:
			err.With(name, value.String(v))
		case bool:
			err.With(name, value.Bool(v))
		case int64:
			err.With(name, value.Int(v))
		case int:
			err.With(name, value.Int(int64(v)))
		case float64:
			err.With(name, value.Float(v))
		case []string:
			err.With(name, value.StringArray(v))
		default: // JSON, or what a journal has decoded
			if s, problem := value.Parse(jsonwrite.MustEncode(v)); problem == nil && !s.IsNil() {
				err.With(name, s)
			}
		}
	}
	if value.ErrorType(err.Kind) == nil {
		err.Kind = "RuntimeError"
	}
	return err.Slot()
}
