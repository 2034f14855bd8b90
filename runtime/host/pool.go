package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/service"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// pool manages the processes of one host declaration. If all slots are in use, further exchanges
// wait in the order of their arrival.
type pool struct {
	hosts *Hosts
	cfg   *Config

	workDirs  workDirs  // working directories of exchanges, if the host is isolated
	plainOnce sync.Once // limits logPlainResult to one message
	rootsOnce sync.Once // limits warnOfRoots to one call
	// limits the warning about an incomplete sandbox to one message
	sandboxOnce sync.Once
	backoff     startBackoff

	mu      lock[poolLock]
	free    []*slot
	waiters []*waiter // in order of arrival; empty while a slot is free
}

// slot holds at most one process. At most one exchange holds the slot, and only that exchange uses
// the process.
type slot struct {
	pool      *pool
	proc      *process    // nil before the first use; the process may have exited
	idleTimer *time.Timer // ends the process of an unused slot; nil while the slot is in use
}

// waiter is an exchange that waits for a slot.
type waiter struct{ slot chan *slot }

func newPool(h *Hosts, c *Config) *pool {
	pl := &pool{hosts: h, cfg: c, backoff: startBackoff{clock: h.opts.Clock}}
	for range max(c.Instances, 1) {
		pl.free = append(pl.free, &slot{pool: pl})
	}
	return pl
}

// enqueueWaiter adds a waiter at the end of the queue.
func (pl *pool) enqueueWaiter(w acquireSpec) *waiter {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	p := &waiter{make(chan *slot, 1)}
	if len(pl.free) == 0 {
		pl.waiters = append(pl.waiters, p)
		return p
	}
	at := pl.chooseSlot(w)
	pl.free[at].stopIdleTimer()
	p.slot <- pl.free[at]
	pl.free = slices.Delete(pl.free, at, at+1)
	return p
}

// chooseSlot returns the index of a free slot. It prefers a slot whose process has the session,
// then one whose process can serve the exchange, then one without a process.
func (pl *pool) chooseSlot(w acquireSpec) int {
	first := func(ok func(s *slot) bool) int { return slices.IndexFunc(pl.free, ok) }
	runs := func(s *slot) bool { return s.proc != nil && s.proc.isUsable() }
	at := -1
	if w.session != "" {
		at = first(func(s *slot) bool { return runs(s) && s.proc.sessionName() == w.session })
	}
	if at < 0 {
		at = first(func(s *slot) bool { return runs(s) && s.proc.canServe(w) })
	}
	if at < 0 {
		at = first(func(s *slot) bool { return !runs(s) })
	}
	if at < 0 {
		at = first(func(s *slot) bool { return !s.proc.translation.hasTasks() })
	}
	return max(at, 0)
}

// awaitSlot waits until the waiter receives a slot.
func (pl *pool) awaitSlot(ctx context.Context, p *waiter) (*slot, error) {
	select {
	case s := <-p.slot:
		return s, nil
	default:
	}
	var err error
	select {
	case s := <-p.slot:
		return s, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-pl.hosts.closing.Done():
		err = ErrClosed
	}
	pl.cancelWait(p)
	return nil, err
}

// cancelWait removes a waiter from the queue, or releases the slot that it has received.
func (pl *pool) cancelWait(p *waiter) {
	pl.mu.Lock()
	at := slices.Index(pl.waiters, p)
	if at >= 0 {
		pl.waiters = slices.Delete(pl.waiters, at, at+1)
	}
	pl.mu.Unlock()
	if at < 0 {
		pl.releaseSlot(<-p.slot)
	}
}

// releaseSlot passes a slot to the first waiter, or frees it.
func (pl *pool) releaseSlot(s *slot) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if len(pl.waiters) == 0 {
		pl.free = append(pl.free, s)
		s.startIdleTimer()
		return
	}
	pl.waiters[0].slot <- s
	pl.waiters = slices.Delete(pl.waiters, 0, 1)
}

// acquire returns the slot's process if it can serve the exchange, and a new process otherwise. The
// old process and its group have exited before the new process starts. If the new process is lost
// together with its keeper before it receives a prompt, acquire starts one more.
func (s *slot) acquire(ctx context.Context, w acquireSpec) (*process, error) {
	p, err := s.acquireOnce(ctx, w)
	if lost, ok := errors.AsType[*effect.Error](err); ok && isLostError(lost) {
		return s.acquireOnce(ctx, w)
	}
	return p, err
}

func (s *slot) acquireOnce(ctx context.Context, w acquireSpec) (*process, error) {
	if w.session != "" && !s.canResume() {
		return nil, s.pool.cfg.resumeError()
	}
	if s.proc != nil {
		if s.proc.isUsable() {
			why := s.proc.mismatch(w)
			if why == "" {
				return s.proc, nil
			}
			if why == otherSchema && s.pool.cfg.Vendor.Session != "fresh" { // the conversation continues
				w.session = cmp.Or(w.session, s.proc.sessionName())
			}
			if err := s.proc.settling.await(ctx); err != nil {
				return nil, err
			}
			s.pool.hosts.logf("debug", s.pool.cfg, "is restarted: %s", why)
		}
		s.proc.retire(closeInputWait)
		select {
		case <-s.proc.stages.terminated:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.pool.hosts.closing.Done():
			return nil, ErrClosed
		}
		s.proc = nil
	}
	p, err := s.spawnProcess(ctx, w)
	if err == nil && w.session != "" && !p.announced.resumes {
		return nil, s.pool.cfg.resumeError()
	}
	return p, err
}

// canResume returns false if the host cannot continue a session: the host is not initialised, its
// prompts are text, or its process has not announced the capability.
func (s *slot) canResume() bool {
	c := s.pool.cfg
	if c.protocol().New != nil {
		return true
	}
	isRunning := s.proc != nil && s.proc.isUsable()
	return (c.Init || c.hasParams()) && c.inputJSON() && (!isRunning || s.proc.announced.resumes)
}

func (c *Config) resumeError() error {
	return c.errorf("cannot resume a session").With("code", "resume")
}

func isResumeError(err error) bool {
	e, ok := errors.AsType[*effect.Error](err)
	return ok && e.Fields["code"] == "resume"
}

// canServe reports whether the process can serve an exchange.
func (p *process) canServe(w acquireSpec) bool { return p.mismatch(w) == "" }

// otherSchema is the mismatch of a process whose results have another schema, or one that the
// exchange does not need.
const otherSchema = "the schema of its results has changed"

// mismatch returns the reason why the process cannot serve an exchange, or "" if it can.
func (p *process) mismatch(w acquireSpec) string {
	switch proto := p.cfg.protocol(); {
	case p.workspace != w.workspace || p.dir != w.dir:
		return "the exchange works in another directory"
	case p.translation != nil && !p.start.tools.Equal(w.start.tools):
		return "its tools have changed" // an agent receives them when it starts
	case w.session == "" && proto.OneConversation && p.cfg.Vendor.Session == "fresh" && p.lifecycle.hasServed():
		return "the exchange needs a new session"
	// A host that uses Concerto's protocol receives the session in its prompt.
	case w.session != "" && p.sessionName() != w.session && (p.translation != nil || !p.announced.resumes):
		return "the exchange continues another session"
	case p.translation != nil && proto.SchemaAtStart && !bytes.Equal(p.start.schema, w.start.schema):
		return otherSchema
	}
	return ""
}

// spawnProcess starts and initialises a process.
func (s *slot) spawnProcess(ctx context.Context, w acquireSpec) (*process, error) {
	h, c := s.pool.hosts, s.pool.cfg
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	first, err := c.initLine(h.opts.Environ, w.trace)
	if err != nil {
		return nil, err
	}
	if err := s.pool.awaitStart(ctx); err != nil {
		return nil, err
	}
	if !h.trackRunning() {
		return nil, ErrClosed
	}
	var work workspace.Directory
	if w.workspace != "" {
		if c, work, err = h.inWorkspace(ctx, c, w.workspace); err != nil {
			h.running.Done()
			return nil, err
		}
	} else if w.dir != nil {
		if c, work, err = h.makeWorkDir(ctx, c, &w); err != nil {
			h.running.Done()
			return nil, err
		}
	}
	p, err := h.startProcess(c, w, work)
	if err != nil {
		h.running.Done()
		s.pool.countStartFailure(err)
		return nil, err
	}
	if p.dir != nil {
		p.dir.addProcess(p)
	}
	s.proc = p
	h.registerProcess(p)
	p.startIO()
	if first != nil {
		if err := p.awaitReady(ctx, first); err != nil {
			p.countFailedStart(err)
			p.retire(0)
			return nil, err
		}
	}
	return p, nil
}

// connectVia connects to the host with the transport of its configuration.
func (c *Config) connectVia(table map[string]Transport, s Surroundings) (Conn, error) {
	kind := c.Transport
	if kind == "" {
		kind = "stdio"
	}
	transport := table[kind]
	if transport == nil {
		return nil, c.errorf("has an unknown transport '%s' in [hosts.%s] of Concerto.toml: use one of %v",
			kind, c.Connector, slices.Sorted(maps.Keys(table)))
	}
	return transport.Connect(c, s)
}

// startProcess starts a process. work is its directory, or nil for that of the configuration.
func (h *Hosts) startProcess(c *Config, w acquireSpec, work workspace.Directory) (*process, error) {
	p := newProcess(h, c)
	p.workDir, p.workspace, p.dir = work, w.workspace, w.dir
	p.number, p.seed = h.nextNumber(c.Name), procgroup.NewID()
	if err := p.prepareAdapter(w); err != nil {
		return nil, err
	}
	run := c.startConfig(w.session)
	env := effect.TraceEnviron(h.exportEnviron(c, h.processEnviron(c, p.number)), w.trace)
	if err := p.confine(run, env); err != nil {
		p.bridge.closeBridge()
		return nil, err
	}
	p.version = h.startVersionCheck(run, env, p.startCommand)
	attached := make(chan struct{}) // standard error is traced only after the connection is set
	defer close(attached)
	conn, err := run.connectVia(h.opts.Transports, Surroundings{Env: env, Start: p.startCommand, Keeper: p.newKeeperSpec(w), Stderr: p.stderrSink(attached)})
	if err != nil {
		p.bridge.closeBridge()
		return nil, err
	}
	h.warnUnguarded()
	p.setConn(conn)
	if h.opts.Trace != nil {
		p.trace(hosttrace.Lifecycle, hosttrace.Start)
	}
	return p, nil
}

// stderrSink returns a function that handles each line of the host's standard error. attached is
// closed when the process has a connection.
func (p *process) stderrSink(attached <-chan struct{}) func(line []byte) {
	return func(line []byte) {
		p.stderrLines.LogLine(line)
		if p.hosts.opts.Trace != nil {
			<-attached
			p.trace(hosttrace.Stderr, string(line))
		}
	}
}

// prepareAdapter creates the permission policy, adapter, request service and tool bridge of the
// process.
func (p *process) prepareAdapter(w acquireSpec) (err error) {
	c := p.cfg
	pool := p.hosts.pools[c.Name]
	pool.rootsOnce.Do(func() { p.hosts.warnOfRoots(pool.cfg) })
	if p.rules, err = c.newPolicy(p.hosts.opts.Environ); err != nil {
		return err
	}
	proto := c.protocol()
	if inPage || proto.New == nil {
		return nil
	}
	v, err := c.adapterConfig(w)
	if err != nil {
		return err
	}
	v.Seed = p.seed
	if c.Transport == adapter.TransportACP {
		if c.Access.Permissions != nil {
			p.service = service.New(p.serviceOptions())
		}
		if len(w.start.tools) > 0 {
			if err := p.openBridge(w.bridgePath); err != nil {
				return err
			}
			v.Bridge = p.bridgeEntry
		}
	}
	p.translation, p.start = &translation{adapter: proto.New(v)}, w.start
	return nil
}

// nextNumber returns the number for the next process of a host.
func (h *Hosts) nextNumber(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.processCounts[name]++
	return h.processCounts[name]
}

// awaitReady waits until a new process can receive a prompt.
func (p *process) awaitReady(ctx context.Context, first []byte) error {
	if err := p.initialise(ctx, first); err != nil {
		return err
	}
	return p.checkVersion(ctx)
}

var _ effect.Performer = (*Hosts)(nil)

// startIdleTimer schedules the end of the slot's process, which is now idle. The caller must hold
// the pool's lock.
func (s *slot) startIdleTimer() {
	wait := s.pool.cfg.idleTime()
	if wait == 0 || s.proc == nil || !s.proc.isUsable() {
		return
	}
	p := s.proc
	s.idleTimer = time.AfterFunc(wait, func() { s.pool.retireIdle(s, p) })
}

// stopIdleTimer cancels the timer of startIdleTimer. The caller must hold the pool's lock.
func (s *slot) stopIdleTimer() {
	if s.idleTimer != nil {
		s.idleTimer.Stop()
		s.idleTimer = nil
	}
}

// retireIdle retires the process p if its slot is still free.
func (pl *pool) retireIdle(s *slot, p *process) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if s.idleTimer == nil || s.proc != p {
		return
	}
	s.idleTimer = nil
	if p.translation.hasTasks() {
		s.startIdleTimer()
		return
	}
	p.retire(closeInputWait)
}
