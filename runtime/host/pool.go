package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/service"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// pool holds the processes of one host declaration. Exchanges beyond their
// number wait in the order in which they were asked for.
type pool struct {
	hosts *Hosts
	cfg   *Config

	places workplaces // of isolated exchanges
	plain  sync.Once  // it has been told that a line of text counts as the result
	roots  sync.Once  // it has been warned of roots that do not exist
	starts starts

	mu   sync.Mutex
	free []*slot
	line []*place // the first comes next; empty while a slot is free
}

// slot is room for one process. Who holds it has the process to itself.
type slot struct {
	pool *pool
	p    *process    // nil before the first use; may have ended
	idle *time.Timer // ends a process that nobody uses; nil while somebody does
}

// place is a place in the line of a pool: its slot comes when it is free.
type place struct{ slot chan *slot }

func newPool(h *Hosts, c *Config) *pool {
	pl := &pool{hosts: h, cfg: c, starts: starts{hand: h.opts.Hand}}
	for range max(c.Instances, 1) {
		pl.free = append(pl.free, &slot{pool: pl})
	}
	return pl
}

// join takes the next place in the line.
func (pl *pool) join(w wish) *place {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	p := &place{make(chan *slot, 1)}
	if len(pl.free) == 0 {
		pl.line = append(pl.line, p)
		return p
	}
	at := pl.choose(w)
	pl.free[at].use()
	p.slot <- pl.free[at]
	pl.free = slices.Delete(pl.free, at, at+1)
	return p
}

// choose picks one of the free slots: that of the conversation, if there is one, or
// else one whose process need not be ended.
func (pl *pool) choose(w wish) int {
	first := func(ok func(s *slot) bool) int { return slices.IndexFunc(pl.free, ok) }
	runs := func(s *slot) bool { return s.p != nil && s.p.usable() }
	at := -1
	if w.session != "" {
		at = first(func(s *slot) bool { return runs(s) && s.p.conversation() == w.session })
	}
	if at < 0 {
		at = first(func(s *slot) bool { return runs(s) && s.p.fits(w) })
	}
	if at < 0 {
		at = first(func(s *slot) bool { return !runs(s) })
	}
	return max(at, 0)
}

// enter waits for the slot of a place in the line.
func (pl *pool) enter(ctx context.Context, p *place) (*slot, error) {
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
	case <-pl.hosts.closing:
		err = ErrClosed
	}
	pl.quit(p)
	return nil, err
}

// quit gives up a place, or the slot that has come meanwhile.
func (pl *pool) quit(p *place) {
	pl.mu.Lock()
	at := slices.Index(pl.line, p)
	if at >= 0 {
		pl.line = slices.Delete(pl.line, at, at+1)
	}
	pl.mu.Unlock()
	if at < 0 {
		pl.leave(<-p.slot)
	}
}

// leave gives a slot back, to the first who waits for one.
func (pl *pool) leave(s *slot) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if len(pl.line) == 0 {
		pl.free = append(pl.free, s)
		s.rest()
		return
	}
	pl.line[0].slot <- s
	pl.line = slices.Delete(pl.line, 0, 1)
}

// process gives the slot's process, or a new one when it has none that lives, or
// none of the conversation that is asked for. The old one is gone, with its group,
// before the new one starts. One that is lost with its keeper before it has had a prompt is started once more.
func (s *slot) process(ctx context.Context, w wish) (*process, error) {
	p, err := s.current(ctx, w)
	if lost, ok := errors.AsType[*effect.Error](err); ok && isLost(lost) {
		return s.current(ctx, w)
	}
	return p, err
}

func (s *slot) current(ctx context.Context, w wish) (*process, error) {
	if w.session != "" && !s.mayResume() {
		return nil, s.pool.cfg.noResume()
	}
	if s.p != nil {
		if s.p.usable() {
			why := s.p.unfit(w)
			if why == "" {
				return s.p, nil
			}
			s.pool.hosts.remark("debug", s.pool.cfg, "is started anew: %s", why)
		}
		s.p.retire(leaveIdle)
		select {
		case <-s.p.stages.gone:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.pool.hosts.closing:
			return nil, ErrClosed
		}
		s.p = nil
	}
	p, err := s.spawn(ctx, w)
	if err == nil && w.session != "" && !p.announced.resumes {
		return nil, s.pool.cfg.noResume()
	}
	return p, err
}

// mayResume is false when it is known that the host cannot go on with a
// conversation: it was not asked whether it can, or its prompt is text, which names
// none, or its process has said so.
func (s *slot) mayResume() bool {
	c := s.pool.cfg
	if c.protocol().New != nil {
		return true
	}
	known := s.p != nil && s.p.usable()
	return (c.Init || c.hasParams()) && c.inputJSON() && (!known || s.p.announced.resumes)
}

func (c *Config) noResume() error {
	return c.failure("cannot resume a session").With("code", "resume")
}

// fits says that the process can be given to an exchange.
func (p *process) fits(w wish) bool { return p.unfit(w) == "" }

// unfit says why the process cannot go on with a conversation, or begin one when
// none is named; "" when it can.
func (p *process) unfit(w wish) string {
	switch proto := p.cfg.protocol(); {
	case p.words != nil && !p.tools.Equal(w.tools):
		return "it is to be told of other tools" // an agent hears of them when it begins
	case w.session == "" && proto.OneConversation && p.cfg.Vendor.Session == "fresh" && p.life.hasServed():
		return "a conversation of its own is wanted"
	// A host that speaks our protocol is told in its prompt.
	case w.session != "" && p.conversation() != w.session && (p.words != nil || !p.announced.resumes):
		return "another conversation is to go on"
	}
	return ""
}

// spawn starts and initialises a process, of a conversation when one is named.
func (s *slot) spawn(ctx context.Context, w wish) (*process, error) {
	h, c := s.pool.hosts, s.pool.cfg
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	first, err := c.initLine(h.opts.Environ)
	if err != nil {
		return nil, err
	}
	if err := s.pool.turn(ctx); err != nil {
		return nil, err
	}
	if !h.reserve() {
		return nil, ErrClosed
	}
	var work *workspace.Dir
	if c.isolated() {
		if c, work, err = h.work(ctx, c, w.session); err != nil {
			h.running.Done()
			return nil, err
		}
	}
	p, err := h.connect(c, w)
	if err != nil {
		if work != nil {
			if _, leaving := work.End(context.WithoutCancel(ctx)); leaving != nil {
				err = errors.Join(err, leaving)
			}
		}
		h.running.Done()
		s.pool.failed(err)
		return nil, err
	}
	if work != nil {
		p.work = work
		s.pool.places.begin(p)
	}
	s.p = p
	h.register(p)
	p.start()
	if first != nil {
		if err := p.ready(ctx, first); err != nil {
			p.aborted(err)
			p.retire(0)
			return nil, err
		}
	}
	return p, nil
}

// connect reaches a host by its transport.
func (c *Config) connect(table map[string]Transport, s Surroundings) (Conn, error) {
	kind := c.Transport
	if kind == "" {
		kind = "stdio"
	}
	transport := table[kind]
	if transport == nil {
		return nil, c.failure("has an unknown transport '%s': [hosts.%s] of Concerto.toml may name one of %v",
			kind, c.Connector, slices.Sorted(maps.Keys(table)))
	}
	return transport.Connect(c, s)
}

// connect starts a process.
func (h *Hosts) connect(c *Config, w wish) (*process, error) {
	p := newProcess(h, c)
	p.number = h.count(c.Name)
	if err := p.prepare(w); err != nil {
		return nil, err
	}
	run := c.started(w.session)
	env := h.environ(c, p.number)
	p.version = h.checkVersion(run, env)
	attached := make(chan struct{}) // what it says is recorded behind its start
	defer close(attached)
	conn, err := run.connect(h.opts.Transports, Surroundings{Env: env, Run: h.opts.Run, Keep: p.keeping(w), Stderr: p.stderr(attached)})
	if err != nil {
		p.door.end()
		return nil, err
	}
	h.guarded()
	p.attach(conn)
	if h.opts.Wire != nil {
		p.wire(hosttrace.Fate, hosttrace.Start)
	}
	return p, nil
}

// stderr gives what takes the lines of its standard error; attached is closed when it has a connection.
func (p *process) stderr(attached <-chan struct{}) func(line string) {
	return func(line string) {
		p.aside.Take(line)
		if p.hosts.opts.Wire != nil {
			<-attached
			p.wire(hosttrace.Aside, line)
		}
	}
}

// prepare makes what stands between the process and the program.
func (p *process) prepare(w wish) (err error) {
	c := p.cfg
	pool := p.hosts.pools[c.Name]
	pool.roots.Do(func() { p.hosts.warnOfRoots(pool.cfg) })
	if p.rules, err = c.policy(p.hosts.opts.Environ); err != nil {
		return err
	}
	proto := c.protocol()
	if proto.New == nil {
		return nil
	}
	v, err := c.vendor(w)
	if err != nil {
		return err
	}
	if c.Transport == adapter.TransportACP {
		if p.rules != nil {
			p.help = service.New(p.serviceOptions())
		}
		if len(w.tools) > 0 {
			if err := p.bridgeTo(w.bridge); err != nil {
				return err
			}
			v.Bridge = p.entry
		}
	}
	p.words, p.tools = &translation{a: proto.New(v)}, w.tools
	return nil
}

// count numbers the processes of a host.
func (h *Hosts) count(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started[name]++
	return h.started[name]
}

// ready waits until a new process can take a prompt.
func (p *process) ready(ctx context.Context, first []byte) error {
	if err := p.initialise(ctx, first); err != nil {
		return err
	}
	return p.recent(ctx)
}

var _ effect.Performer = (*Hosts)(nil)
