package host

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// exchange is one prompt and the messages that follow the prompt, until the program closes the
// exchange.
type exchange struct {
	id      int64
	pool    *pool
	slot    *slot
	inbox   *inbox
	request *effect.ExchangeOpen
	prompt  line // line that begins the exchange; promptFor returns the line for a certain process
	// key by which a host recognises a repeated prompt; "" if no keeper runs the host
	key string
	acquireSpec
	heartbeatTimer clock.Timer // zero without a heartbeat
	limit          timeLimit   // of the exchange

	life lifetime // ends when the exchange is closed or has timed out

	mu            lock[exchangeLock]
	proc          *process
	moving        bool            // moveToNewProcess is running and uses the slot
	released      bool            // the slot is released, or moveToNewProcess releases it when it returns
	interruptCtx  context.Context // when this context ends, reading is interrupted
	stopInterrupt func() bool     // detaches interruptCtx
	replyBuffer   []byte          // buffer reused for replies; nil while a reply uses it

	keeperExchange
}

// acquireSpec describes the process that an exchange needs.
type acquireSpec struct {
	session     string                  // session that the process must continue; "" for a new session
	workspace   string                  // name of the program's workspace in which the process works; "" for none
	dir         *exchangeDir            // directory of the exchange; nil unless the host is isolated
	start       startSpec               // what the process must be started with
	predecessor *continuity.Predecessor // exchange of a lost process that the new process continues; nil for none
	trace       []effect.Header         // position in the trace of the exchange that starts the process; nil for none
	bridgePath  string                  // path of the tool bridge of a process under a keeper; "" for a new process
}

// startSpec is what a vendor's agent receives when it starts.
type startSpec struct {
	tools  adapter.Tools   // tools of the program that the agent may call
	schema json.RawMessage // schema of the results; nil for none
}

func specOf(r *effect.ExchangeOpen) acquireSpec {
	return acquireSpec{session: r.Session, workspace: r.Workspace, start: startSpec{r.Tools, r.Schema}}
}

// openExchange acquires a process of the host and sends it the prompt.
func (h *Hosts) openExchange(ctx context.Context, r *effect.ExchangeOpen) (*effect.ExchangeOpened, error) {
	pool := h.pools[r.Host]
	if pool == nil {
		return nil, unconfiguredError(r.Host)
	}
	return h.openQueued(ctx, r, pool.enqueueWaiter(specOf(r)))
}

// Start begins to open an exchange in the background. When Start returns, the exchange is in the
// host's queue. ok is false for requests of other kinds, which the caller passes to Perform.
func (h *Hosts) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	open, ok := r.(*effect.ExchangeOpen)
	if !ok || h.pools[open.Host] == nil || !h.trackRunning() {
		return nil, false
	}
	at := h.pools[open.Host].enqueueWaiter(specOf(open))
	ctx, stop = context.WithCancel(ctx)
	go func() {
		defer h.running.Done()
		defer stop()
		done(asResult(h.openQueued(ctx, open, at)))
	}()
	return stop, true
}

// openQueued opens the exchange of a waiter that is already in the queue.
func (h *Hosts) openQueued(ctx context.Context, r *effect.ExchangeOpen, at *waiter) (*effect.ExchangeOpened, error) {
	pool := h.pools[r.Host]
	if ex := h.claimResumed(r); ex != nil {
		pool.cancelWait(at)
		return ex.openedResult(), nil
	}
	if h.isFenced(r) {
		pool.cancelWait(at)
		return nil, pool.cfg.lostError()
	}
	slot, meter, err := h.openSlot(ctx, r, at)
	if err != nil {
		return nil, err
	}
	key := ""
	if !inPage && h.opts.Keeper != nil {
		key = effect.KeyOf(ctx)
	}
	// The prompt is encoded before the process is acquired, so that no process waits for the
	// encoding.
	spec := specOf(r)
	spec.trace = effect.TraceHeaders(ctx)
	spec.session = slot.conversationOf(r)
	if r.Workspace == "" {
		spec.dir = pool.newExchangeDir(effect.KeyOf(ctx))
	}
	prompt := pool.cfg.promptWith(r.Continuing(spec.session), promptOptions{withTools: pool.cfg.SendTools, key: key, trace: spec.trace})
	p, err := slot.acquire(ctx, spec)
	if spec.session != r.Session && isResumeError(err) {
		spec.session = "" // the host cannot continue conversations
		prompt = pool.cfg.promptWith(r, promptOptions{withTools: pool.cfg.SendTools, key: key, trace: spec.trace})
		p, err = slot.acquire(ctx, spec)
	}
	if err != nil {
		if meter != nil {
			meter.reservation.Cancel()
		}
		spec.dir.endExchange()
		pool.releaseSlot(slot)
		return nil, err
	}
	ex := &exchange{
		pool: pool, slot: slot, inbox: newInbox(), request: r, prompt: prompt, key: key, acquireSpec: spec,
		life: newLifetime(), proc: p, stopInterrupt: func() bool { return false },
	}
	ex.inbox.meter, ex.inbox.exchange = meter, ex
	ex.inbox.turns.request = r
	ex.trackHistory(&continuity.History{})
	p.silence.resetForExchange()
	if !h.registerExchange(ex) {
		p.retire(closeInputWait)
		ex.closeMeter()
		spec.dir.endExchange()
		pool.releaseSlot(slot)
		return nil, ErrClosed
	}
	p.setSession(ex.session)
	p.beginExchange(ex.inbox, p.keeper.requestDigest(ex.request), ex.promptFor(p))
	return ex.openedResult(), nil
}

// openedResult returns the result of the opening. With a keeper, the result names the process.
func (ex *exchange) openedResult() *effect.ExchangeOpened {
	o := &effect.ExchangeOpened{ID: ex.id}
	p := ex.currentProcess()
	if p != nil {
		o.Started = int64(p.number)
	}
	if p != nil && p.keeper.conn != nil {
		o.Process, o.Turn, o.Session = int64(p.number), p.keeper.exchanges.Load(), p.sessionName()
		ex.history.RecordOpened(o)
	}
	return o
}

// registerExchange assigns the exchange's number and starts its timers. It returns false if Close
// has been called.
func (h *Hosts) registerExchange(ex *exchange) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.lastID++
	ex.id = h.lastID
	h.exchanges[ex.id] = ex
	ex.startTimers(ex.pool.cfg.timeout())
	return true
}

// startTimers starts the timers for the timeout and the heartbeat. The caller must hold the hosts'
// lock.
func (ex *exchange) startTimers(timeout time.Duration) {
	clock := ex.pool.hosts.opts.Clock
	ex.limit.mu.Lock()
	ex.limit.left, ex.limit.since = timeout, clock.Now()
	ex.limit.timer = clock.AfterFunc(timeout, ex.onTimeout)
	if ex.limit.paused {
		ex.limit.timer.Stop()
	}
	ex.limit.mu.Unlock()
	if wait := ex.pool.cfg.heartbeat(); wait > 0 {
		ex.heartbeatTimer = clock.AfterFunc(wait, ex.checkHeartbeat)
	}
}

func (h *Hosts) lookupExchange(id int64) (*exchange, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ex := h.exchanges[id]; ex != nil {
		return ex, nil
	}
	if h.closed {
		return nil, ErrClosed
	}
	return nil, fmt.Errorf("no exchange %d is open", id)
}

// nextMessages waits for messages. If ctx ends first, a later call returns the messages.
func (h *Hosts) nextMessages(ctx context.Context, r *effect.ExchangeNext) (*effect.ExchangeMessages, error) {
	ex, err := h.lookupExchange(r.ID)
	if err != nil {
		return nil, err
	}
	for {
		b, now := ex.inbox.takeBatch()
		if len(b.msgs) > 0 {
			m := &effect.ExchangeMessages{Messages: b.msgs, Lines: b.lines}
			if b.lines != nil {
				if len(b.lines.Text) > 0 {
					ex.deliveredLine.Store(b.lines.Last())
				}
				if p := ex.currentProcess(); p != nil {
					ex.history.AnnotateLines(b.lines, int64(p.number), p.sessionName())
				} else {
					ex.history.AnnotateLines(b.lines, 0, "")
				}
				ex.history.RecordMessages(m)
			}
			return m, nil
		}
		switch now {
		case inboxFailed, inboxTimedOut:
			if h.suspended.Load() {
				return nil, ErrClosed
			}
			ex.releaseUnlessExpired()
			return nil, ex.inbox.failureError()
		case inboxComplete:
			return nil, ex.endedError()
		case inboxNeedsProcess:
			if err := ex.reassign(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if ex.readDirectly(ctx) {
			continue
		}
		select {
		case <-ex.inbox.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-ex.life.Done():
			if ex.inbox.failureError() == nil {
				return nil, ex.endedError()
			}
		}
	}
}

// readDirectly reads the host's output on the calling goroutine, if that goroutine can acquire the
// read lease. It returns after a message has arrived or the reading was interrupted. It returns
// false if the lease is not available.
func (ex *exchange) readDirectly(ctx context.Context) bool {
	p := ex.currentProcess()
	if !p.reader.lease.tryAcquire() {
		return false
	}
	ex.interruptOn(ctx)
	if ctx.Err() != nil || ex.isDone() {
		p.reader.lease.stopReading(false)
		return false
	}
	if !ex.inbox.isEmpty() { // the reader goroutine has just delivered a batch
		p.reader.lease.stopReading(true)
		return true
	}
	p.reader.lease.stopReading(!p.reader.readBatch(false) && !p.reader.closed)
	return true
}

// interruptOn interrupts the reading when ctx ends.
func (ex *exchange) interruptOn(ctx context.Context) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ctx == ex.interruptCtx {
		return
	}
	ex.stopInterrupt()
	ex.interruptCtx, ex.stopInterrupt = ctx, context.AfterFunc(ctx, func() { ex.currentProcess().reader.lease.interruptReading() })
}

// stopInterrupting detaches the context passed to interruptOn and returns the exchange's process.
func (ex *exchange) stopInterrupting() *process {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.stopInterrupt()
	return ex.proc
}

func (ex *exchange) isDone() bool {
	select {
	case <-ex.life.Done():
		return true
	default:
		return false
	}
}

func (ex *exchange) endedError() error {
	return fmt.Errorf("exchange %d has ended", ex.id)
}

// reassign moves the exchange to a new process after the old process was lost, or exited before it
// read the prompt. It returns ctx's error if ctx ends. Any other failure becomes the failure of the
// exchange.
func (ex *exchange) reassign(ctx context.Context) error {
	if lost := ex.inbox.lostError(); !inPage && lost != nil {
		return ex.handOver(ctx, lost)
	}
	if ex.endLostTurn(true) {
		ex.inbox.setFailure(ex.pool.cfg.interruptedError())
		return nil
	}
	w := ex.acquireSpec
	current := ex.inbox.turns.currentPrompt()
	if p := ex.currentProcess(); p != nil && current != nil && p.announced.resumes {
		w.session = p.sessionName()
	}
	return ex.moveToNewProcess(ctx, w, func(p *process) {
		prompt := ex.promptFor(p)
		if current != nil {
			prompt = p.nextPrompt(ex.request, current)
		}
		p.beginExchange(ex.inbox, p.keeper.requestDigest(ex.request), prompt)
	})
}

// moveToNewProcess acquires a new process and calls begin to send it the exchange's first line.
// begin is called with the lock of the exchange's turns.
func (ex *exchange) moveToNewProcess(ctx context.Context, w acquireSpec, begin func(*process)) error {
	if !ex.holdSlot() {
		return ex.endedError()
	}
	defer ex.unholdSlot()
	inner, cancel := ex.life.bound(ctx)
	defer cancel()
	p, err := ex.slot.acquire(inner, w)
	switch {
	case err == nil:
		ex.inbox.turns.mu.Lock() // a message is stored either with the first line or after it
		ex.mu.Lock()
		ex.proc = p
		ex.mu.Unlock()
		ex.inbox.clearRequest()
		p.setSession(w.session)
		begin(p)
		ex.inbox.turns.mu.Unlock()
		select {
		case <-ex.life.Done():
			p.cancelAndRetire(defaultCancelReason)
		default:
		}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case inner.Err() == nil:
		return err
	}
	return nil
}

// closeExchange releases the process if the exchange is complete, and cancels the exchange
// otherwise. It does not wait: cancelling continues in the background, and then releases the slot.
// Closing an exchange twice has no effect. The result is an *effect.ExchangeClosed or nil.
func (h *Hosts) closeExchange(r *effect.ExchangeClose) effect.Result {
	h.mu.Lock()
	ex := h.exchanges[r.ID]
	delete(h.exchanges, r.ID)
	h.mu.Unlock()
	if ex == nil {
		return nil
	}
	ex.limit.timer.Stop()
	ex.heartbeatTimer.Stop()
	ex.cancelWaits()
	ex.inbox.turns.stopInterrupt()
	p := ex.stopInterrupting()
	if line := ex.deliveredLine.Load(); line > 0 && p != nil && p.keeper.conn != nil {
		p.keeper.conn.Ack(line)
	}
	ex.logUnsent()
	if ex.discard() {
		h.running.Add(1)
		go func() {
			defer h.running.Done()
			ex.cancelHost(p, r.Reason)
		}()
		return nil
	}
	if p != nil && ex.inbox.failureError() == nil && ex.inbox.lostError() == nil {
		p.release(true)
	}
	ex.releaseUnlessExpired()
	return ex.inbox.meter.closed()
}

// releaseUnlessExpired releases the slot, unless the exchange has timed out. After a timeout, abort
// ends the process and then releases the slot.
func (ex *exchange) releaseUnlessExpired() {
	if !ex.inbox.hasTimedOut() {
		ex.releaseSlot()
	}
}

func (ex *exchange) currentProcess() *process {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.proc
}

// cancelWaits ends all waits and reads of the exchange.
func (ex *exchange) cancelWaits() {
	ex.life.end(nil)
	if p := ex.currentProcess(); p != nil {
		p.reader.lease.recall()
	}
}

// releaseSlot returns the slot to the pool. While moveToNewProcess runs, the release is postponed
// until it returns.
func (ex *exchange) releaseSlot() {
	ex.mu.Lock()
	now := !ex.released && !ex.moving
	first := !ex.released
	ex.released = true
	ex.mu.Unlock()
	if first {
		ex.closeMeter()
		ex.dir.endExchange()
	}
	if now {
		ex.pool.releaseSlot(ex.slot)
	}
}

// holdSlot prevents the release of the slot until unholdSlot is called. It returns false if the
// slot is already released.
func (ex *exchange) holdSlot() bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.moving = !ex.released
	return ex.moving
}

func (ex *exchange) unholdSlot() {
	ex.mu.Lock()
	ex.moving = false
	now := ex.released
	ex.mu.Unlock()
	if now {
		ex.pool.releaseSlot(ex.slot)
	}
}

// Maximum times for a cancelled host to send its terminal message.
const (
	defaultCancelGrace  = 5 * time.Second        // default of cancel_grace
	closingCancelGrace  = 500 * time.Millisecond // while Close is running
	defaultCancelReason = "cancelled"
)

func cancelLine(reason string) []byte {
	if reason == "" {
		reason = defaultCancelReason
	}
	o := jsonobject.New(hostmsg.Cancel)
	o.Text("reason", reason)
	return ndjson.Append(nil, o.End())
}

// cancelHost cancels an exchange that has no terminal message, and then releases its slot. A host
// that supports cancellation receives a cancel message. If it sends its terminal message in time,
// its process stays in the pool. Any other process is stopped.
func (ex *exchange) cancelHost(p *process, reason string) {
	defer ex.releaseSlot()
	if !p.announced.cancels {
		p.retire(0)
		return
	}
	p.sendMessage(cancelLine(reason), true)
	if ex.awaitTerminal() {
		p.release(true)
		return
	}
	p.retire(0)
}

// cancelWithin ends the process during an exchange. A host that supports cancellation receives a
// cancel message and has patience to react.
func (p *process) cancelWithin(reason string, patience time.Duration) {
	if !p.announced.cancels {
		p.retire(0)
		return
	}
	p.sendMessage(cancelLine(reason), true)
	p.retire(patience)
}

// awaitTerminal waits until no further message can arrive, and reports whether the terminal message
// has arrived.
func (ex *exchange) awaitTerminal() bool {
	t := time.NewTimer(ex.pool.cfg.cancelGrace())
	defer t.Stop()
	closing := ex.pool.hosts.closing.Done()
	for {
		select {
		case <-ex.inbox.end():
			return ex.inbox.failureError() == nil
		case <-t.C:
			return false
		case <-closing:
			closing = nil
			t.Reset(closingCancelGrace)
		case <-ex.pool.hosts.kill.Done():
			return false
		}
	}
}
