package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// exchange is one prompt and the messages that follow it, until it is closed.
type exchange struct {
	id      int64
	pool    *pool
	slot    *slot
	inbox   *inbox
	request *effect.ExchangeOpen
	prompt  line // see promptFor
	// key of the prompt, by which a host recognises a repeated prompt; "" if the host is not kept
	key string
	acquireSpec
	timeoutTimer   clock.Timer
	heartbeatTimer clock.Timer // zero without a heartbeat

	done     chan struct{} // closed when the exchange is closed or has timed out
	doneOnce sync.Once

	mu            sync.Mutex
	proc          *process
	moving        bool            // moveToNewProcess uses the slot
	released      bool            // the slot is released, or will be when moving ends
	interruptCtx  context.Context // context whose end interrupts reading
	stopInterrupt func() bool     // cancels the interruption by interruptCtx
	replyBuffer   []byte          // reused for replies; nil while one is encoded

	keeperExchange
}

// acquireSpec describes the process that an exchange needs.
type acquireSpec struct {
	session     string        // session to continue; "" for a new one
	tools       adapter.Tools // tools that the process was started with
	predecessor *predecessor  // exchange that the process continues; nil for none
	bridgePath  string        // path of a kept process's bridge to the tools; "" for a new process
}

func specOf(r *effect.ExchangeOpen) acquireSpec {
	return acquireSpec{session: r.Session, tools: r.Tools}
}

// openExchange acquires a process of the host and sends it the prompt.
func (h *Hosts) openExchange(ctx context.Context, r *effect.ExchangeOpen) (*effect.ExchangeOpened, error) {
	pool := h.pools[r.Host]
	if pool == nil {
		return nil, effect.Errorf("HostError", "host '%s' is not configured: give it a section in Concerto.toml", r.Host).With("host", r.Host)
	}
	return h.openQueued(ctx, r, pool.enqueueWaiter(specOf(r)))
}

// Start begins to open an exchange in the background. The exchange is queued for its host before
// Start returns. ok is false for other requests, which the caller passes to Perform.
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

// openQueued opens an exchange for a queued waiter.
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
	slot, err := pool.awaitSlot(ctx, at)
	if err != nil {
		return nil, err
	}
	key := ""
	if h.opts.Keeper != nil {
		key = effect.KeyOf(ctx)
	}
	// encoded before the process is acquired, so that no process waits for it
	prompt := pool.cfg.promptWith(r, pool.cfg.SendTools, key, nil)
	p, err := slot.acquire(ctx, specOf(r))
	if err != nil {
		pool.releaseSlot(slot)
		return nil, err
	}
	ex := &exchange{
		pool: pool, slot: slot, inbox: newInbox(), request: r, prompt: prompt, key: key, acquireSpec: specOf(r),
		done: make(chan struct{}), proc: p, stopInterrupt: func() bool { return false },
	}
	ex.trackHistory(&History{})
	p.silence.resetForExchange()
	if !h.registerExchange(ex) {
		p.retire(idlePatience)
		pool.releaseSlot(slot)
		return nil, ErrClosed
	}
	p.setSession(ex.session)
	p.beginExchange(ex.inbox, p.keeper.requestDigest(ex.request), ex.promptFor(p))
	return ex.openedResult(), nil
}

// openedResult returns the result of the opening. With a keeper, it includes the process.
func (ex *exchange) openedResult() *effect.ExchangeOpened {
	o := &effect.ExchangeOpened{ID: ex.id}
	if p := ex.currentProcess(); p != nil && p.keeper.conn != nil {
		o.Process, o.Turn, o.Session = int64(p.number), p.keeper.exchanges.Load(), p.sessionName()
		ex.history.RecordOpened(o)
	}
	return o
}

// registerExchange assigns the exchange's number and starts its timers. It returns false if the run
// is ending.
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
	ex.timeoutTimer = clock.AfterFunc(timeout, ex.onTimeout)
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

// nextMessages waits for messages. Messages that arrive after ctx ends are returned by the next
// call.
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
				ex.deliveredLine.Store(b.lines.Last())
				ex.history.annotateLines(b.lines, ex.currentProcess())
				ex.history.RecordMessages(m)
			}
			return m, nil
		}
		switch now {
		case inboxFailed:
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
		case <-ex.done:
			if ex.inbox.failureError() == nil {
				return nil, ex.endedError()
			}
		}
	}
}

// readDirectly reads the host's output on the calling goroutine, if it can acquire the reader's
// lease, until a message has come or the reading is interrupted. It returns false if it did not
// read.
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

// interruptOn makes the end of ctx interrupt the reading.
func (ex *exchange) interruptOn(ctx context.Context) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ctx == ex.interruptCtx {
		return
	}
	ex.stopInterrupt()
	ex.interruptCtx, ex.stopInterrupt = ctx, context.AfterFunc(ctx, func() { ex.currentProcess().reader.lease.interruptReading() })
}

// stopInterrupting cancels the effect of interruptOn and returns the exchange's process.
func (ex *exchange) stopInterrupting() *process {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.stopInterrupt()
	return ex.proc
}

func (ex *exchange) isDone() bool {
	select {
	case <-ex.done:
		return true
	default:
		return false
	}
}

func (ex *exchange) endedError() error {
	return fmt.Errorf("exchange %d has ended", ex.id)
}

// reassign moves the exchange to a new process after its process exited before it read the prompt,
// or was lost. The error is ctx's; any other failure fails the exchange.
func (ex *exchange) reassign(ctx context.Context) error {
	if lost := ex.inbox.lostError(); lost != nil {
		return ex.handOver(ctx, lost)
	}
	return ex.moveToNewProcess(ctx, ex.acquireSpec, func(p *process) { p.beginExchange(ex.inbox, p.keeper.requestDigest(ex.request), ex.promptFor(p)) })
}

// moveToNewProcess acquires a new process and calls begin to send it the exchange's first line.
func (ex *exchange) moveToNewProcess(ctx context.Context, w acquireSpec, begin func(*process)) error {
	if !ex.holdSlot() {
		return ex.endedError()
	}
	defer ex.unholdSlot()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-ex.done:
			cancel()
		case <-inner.Done():
		}
	}()
	p, err := ex.slot.acquire(inner, w)
	switch {
	case err == nil:
		ex.mu.Lock()
		ex.proc = p
		ex.mu.Unlock()
		ex.inbox.clearRequest()
		p.setSession(w.session)
		begin(p)
		select {
		case <-ex.done:
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
// otherwise. It never waits: cancelling continues in the background, and the slot becomes free
// after it. Closing an exchange twice has no effect.
func (h *Hosts) closeExchange(r *effect.ExchangeClose) error {
	h.mu.Lock()
	ex := h.exchanges[r.ID]
	delete(h.exchanges, r.ID)
	h.mu.Unlock()
	if ex == nil {
		return nil
	}
	ex.timeoutTimer.Stop()
	ex.heartbeatTimer.Stop()
	ex.cancelWaits()
	p := ex.stopInterrupting()
	if line := ex.deliveredLine.Load(); line > 0 && p != nil && p.keeper.conn != nil {
		p.keeper.conn.Ack(line)
	}
	if ex.inbox.discardAll() {
		h.running.Add(1)
		go func() {
			defer h.running.Done()
			ex.cancelHost(p, r.Reason)
		}()
		return nil
	}
	if ex.inbox.failureError() == nil && ex.inbox.lostError() == nil {
		p.release(true)
	}
	ex.releaseUnlessExpired()
	return nil
}

// releaseUnlessExpired releases the slot, unless the exchange has timed out: then abort releases it
// after it has ended the process.
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

// cancelWaits ends every wait of the exchange, and its reading.
func (ex *exchange) cancelWaits() {
	ex.doneOnce.Do(func() { close(ex.done) })
	if p := ex.currentProcess(); p != nil {
		p.reader.lease.recall()
	}
}

// releaseSlot returns the slot to the pool, immediately or when moveToNewProcess has finished.
func (ex *exchange) releaseSlot() {
	ex.mu.Lock()
	now := !ex.released && !ex.moving
	ex.released = true
	ex.mu.Unlock()
	if now {
		ex.pool.releaseSlot(ex.slot)
	}
}

// holdSlot prevents the release of the slot until unholdSlot. It returns false if the slot is
// released already.
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
