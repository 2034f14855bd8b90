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

// exchange is one prompt and all that follows until its close.
type exchange struct {
	id     int64
	pool   *pool
	slot   *slot
	in     *inbox
	asked  *effect.ExchangeOpen
	prompt line   // see promptFor
	key    string // of the prompt, by which the host knows a further attempt; "" when the host is not kept
	wish
	timer clock.Timer // of the timeout
	beat  clock.Timer // of the heartbeat; the zero one without

	life   chan struct{} // closed when the exchange is closed or its time is over
	ending sync.Once

	mu         sync.Mutex
	proc       *process
	restarting bool            // the slot is in use
	released   bool            // the slot has been, or will be, given back
	heeded     context.Context // that interrupts the reading when it ends
	unheed     func() bool     // makes it interrupt no more
	buffer     []byte          // for a reply; nil while one is made

	keptExchange
}

// wish is what an exchange wants of its process.
type wish struct {
	session string        // the conversation that it goes on with; "" for none
	tools   adapter.Tools // that the process has been told of
	of      *predecessor  // the exchange that the process is to go on with; nil: none
	bridge  string        // where a process that is kept has its bridge to the tools; "": it is a new one
}

func wishOf(r *effect.ExchangeOpen) wish { return wish{session: r.Session, tools: r.Tools} }

// open takes a process of the host and sends it the prompt.
func (h *Hosts) open(ctx context.Context, r *effect.ExchangeOpen) (*effect.ExchangeOpened, error) {
	pool := h.pools[r.Host]
	if pool == nil {
		return nil, effect.Errorf("HostError", "host '%s' is not configured: give it a section in Concerto.toml", r.Host).With("host", r.Host)
	}
	return h.openAt(ctx, r, pool.join(wishOf(r)))
}

// Start begins to open an exchange: its place in the line of those who want the
// host is taken at once. Other requests it leaves to Perform.
func (h *Hosts) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	open, ok := r.(*effect.ExchangeOpen)
	if !ok || h.pools[open.Host] == nil || !h.reserve() {
		return nil, false
	}
	at := h.pools[open.Host].join(wishOf(open))
	ctx, stop = context.WithCancel(ctx)
	go func() {
		defer h.running.Done()
		defer stop()
		done(result(h.openAt(ctx, open, at)))
	}()
	return stop, true
}

// openAt is open at a place in the line.
func (h *Hosts) openAt(ctx context.Context, r *effect.ExchangeOpen, at *place) (*effect.ExchangeOpened, error) {
	pool := h.pools[r.Host]
	if ex := h.goOn(r); ex != nil {
		pool.quit(at)
		return ex.opened(), nil
	}
	if h.doubts(r) {
		pool.quit(at)
		return nil, pool.cfg.lost()
	}
	slot, err := pool.enter(ctx, at)
	if err != nil {
		return nil, err
	}
	key := ""
	if h.opts.Keeper != nil {
		key = effect.KeyOf(ctx)
	}
	prompt := pool.cfg.promptOf(r, pool.cfg.SendTools, key, nil) // while no host waits for it
	p, err := slot.process(ctx, wishOf(r))
	if err != nil {
		pool.leave(slot)
		return nil, err
	}
	ex := &exchange{
		pool: pool, slot: slot, in: newInbox(), asked: r, prompt: prompt, key: key, wish: wishOf(r),
		life: make(chan struct{}), proc: p, unheed: func() bool { return false },
	}
	ex.follow(&Course{})
	p.pulse.begin()
	if !h.admit(ex) {
		p.retire(leaveIdle)
		pool.leave(slot)
		return nil, ErrClosed
	}
	p.goesOnWith(ex.session)
	p.begin(ex.in, p.kept.opens(ex.asked), ex.promptFor(p))
	return ex.opened(), nil
}

// opened names the exchange, and its process where that is kept.
func (ex *exchange) opened() *effect.ExchangeOpened {
	o := &effect.ExchangeOpened{ID: ex.id}
	if p := ex.process(); p != nil && p.kept.conn != nil {
		o.Process, o.Turn, o.Session = int64(p.number), p.kept.begun.Load(), p.conversation()
		ex.course.Opened(o)
	}
	return o
}

// admit numbers an exchange and starts its time; false when the run is ending.
func (h *Hosts) admit(ex *exchange) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.lastID++
	ex.id = h.lastID
	h.exchanges[ex.id] = ex
	ex.begin(ex.pool.cfg.timeout())
	return true
}

// begin begins its time. Who calls it holds the hosts' lock.
func (ex *exchange) begin(timeout time.Duration) {
	hand := ex.pool.hosts.opts.Hand
	ex.timer = hand.AfterFunc(timeout, ex.expire)
	if wait := ex.pool.cfg.heartbeat(); wait > 0 {
		ex.beat = hand.AfterFunc(wait, ex.listen)
	}
}

func (h *Hosts) exchange(id int64) (*exchange, error) {
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

// next waits for messages. When ctx ends, those that come later wait for the
// next call.
func (h *Hosts) next(ctx context.Context, r *effect.ExchangeNext) (*effect.ExchangeMessages, error) {
	ex, err := h.exchange(r.ID)
	if err != nil {
		return nil, err
	}
	for {
		b, now := ex.in.take()
		if len(b.msgs) > 0 {
			m := &effect.ExchangeMessages{Messages: b.msgs, Lines: b.lines}
			if b.lines != nil {
				ex.given.Store(b.lines.Last())
				ex.course.sign(b.lines, ex.process())
				ex.course.Heard(m)
			}
			return m, nil
		}
		switch now {
		case failed:
			if h.left.Load() {
				return nil, ErrClosed
			}
			ex.leave()
			return nil, ex.in.why()
		case complete:
			return nil, ex.noMore()
		case untaken:
			if err := ex.another(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if ex.hear(ctx) {
			continue
		}
		select {
		case <-ex.in.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-ex.life:
			if ex.in.why() == nil {
				return nil, ex.noMore()
			}
		}
	}
}

// hear reads what the host says itself, when it can have the reader's role, until
// something has come or the reading is interrupted. It gives false when it did not
// read.
func (ex *exchange) hear(ctx context.Context) bool {
	p := ex.process()
	if !p.read.role.borrow() {
		return false
	}
	ex.heedful(ctx)
	if ctx.Err() != nil || ex.isOver() {
		p.read.role.leave(false)
		return false
	}
	if !ex.in.quiet() { // the reader goroutine had something in hand
		p.read.role.leave(true)
		return true
	}
	p.read.role.leave(!p.read.pass(false) && !p.read.over)
	return true
}

// heedful lets the end of ctx interrupt the reading, from now on.
func (ex *exchange) heedful(ctx context.Context) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ctx == ex.heeded {
		return
	}
	ex.unheed()
	ex.heeded, ex.unheed = ctx, context.AfterFunc(ctx, func() { ex.process().read.role.wake() })
}

// heedless ends what heedful began, and gives the exchange's process.
func (ex *exchange) heedless() *process {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.unheed()
	return ex.proc
}

func (ex *exchange) isOver() bool {
	select {
	case <-ex.life:
		return true
	default:
		return false
	}
}

func (ex *exchange) noMore() error {
	return fmt.Errorf("exchange %d has ended: nothing is left to wait for", ex.id)
}

// another gives the exchange to a new process: the one it had ended before it
// read the prompt, or is lost. Its error is ctx's; any other failure is the exchange's.
func (ex *exchange) another(ctx context.Context) error {
	if lost := ex.in.whyLost(); lost != nil {
		return ex.revive(ctx, lost)
	}
	return ex.restart(ctx, ex.wish, func(p *process) { p.begin(ex.in, p.kept.opens(ex.asked), ex.promptFor(p)) })
}

// restart gives the exchange to a new process, which begin tells of it.
func (ex *exchange) restart(ctx context.Context, w wish, begin func(*process)) error {
	if !ex.hold() {
		return ex.noMore()
	}
	defer ex.unhold()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-ex.life:
			cancel()
		case <-inner.Done():
		}
	}()
	p, err := ex.slot.process(inner, w)
	switch {
	case err == nil:
		ex.mu.Lock()
		ex.proc = p
		ex.mu.Unlock()
		ex.in.resume()
		p.goesOnWith(w.session)
		begin(p)
		select {
		case <-ex.life:
			p.giveUp(plainReason)
		default:
		}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case inner.Err() == nil:
		return err
	}
	return nil
}

// close gives the process back when the exchange is over, and cancels it when it
// is not. It never waits; a host that has to be cancelled or ended is busy with
// that until its next exchange. Closing twice does nothing.
func (h *Hosts) close(r *effect.ExchangeClose) error {
	h.mu.Lock()
	ex := h.exchanges[r.ID]
	delete(h.exchanges, r.ID)
	h.mu.Unlock()
	if ex == nil {
		return nil
	}
	ex.timer.Stop()
	ex.beat.Stop()
	ex.over()
	p := ex.heedless()
	if line := ex.given.Load(); line > 0 && p != nil && p.kept.conn != nil {
		p.kept.conn.Ack(line)
	}
	if ex.in.drain() {
		h.running.Add(1)
		go func() {
			defer h.running.Done()
			ex.cancel(p, r.Reason)
		}()
		return nil
	}
	if ex.in.why() == nil && ex.in.whyLost() == nil {
		p.rest(true)
	}
	ex.leave()
	return nil
}

// leave gives the slot back, unless expire has yet to end the process.
func (ex *exchange) leave() {
	if !ex.in.expired() {
		ex.free()
	}
}

func (ex *exchange) process() *process {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.proc
}

// over ends all waiting within the exchange, and its reading.
func (ex *exchange) over() {
	ex.ending.Do(func() { close(ex.life) })
	if p := ex.process(); p != nil {
		p.read.role.reclaim()
	}
}

// free lets the next exchange have the slot, at once or when a restart is done
// with it.
func (ex *exchange) free() {
	ex.mu.Lock()
	now := !ex.released && !ex.restarting
	ex.released = true
	ex.mu.Unlock()
	if now {
		ex.pool.leave(ex.slot)
	}
}

// hold keeps the slot for a restart; false when it has been given back.
func (ex *exchange) hold() bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.restarting = !ex.released
	return ex.restarting
}

func (ex *exchange) unhold() {
	ex.mu.Lock()
	ex.restarting = false
	now := ex.released
	ex.mu.Unlock()
	if now {
		ex.pool.leave(ex.slot)
	}
}
