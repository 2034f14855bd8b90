package host

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/concerto-lang/concerto/effect"
)

// pool holds the processes of one host declaration. Exchanges beyond their
// number wait in the order they came.
type pool struct {
	hosts *Hosts
	cfg   *Config
	turn  chan struct{} // a token for each free slot

	waiting atomic.Int64 // exchanges that have no slot yet

	mu   sync.Mutex
	free []*slot
}

// slot is room for one process. Who holds it has the process to itself.
type slot struct {
	pool *pool
	p    *process // nil before the first use; may have ended
}

func newPool(h *Hosts, c *Config) *pool {
	n := max(c.Instances, 1)
	pl := &pool{hosts: h, cfg: c, turn: make(chan struct{}, n)}
	for range n {
		pl.free = append(pl.free, &slot{pool: pl})
		pl.turn <- struct{}{}
	}
	return pl
}

// enter takes a slot, one with a running process if there is any.
func (pl *pool) enter(ctx context.Context) (*slot, error) {
	pl.waiting.Add(1)
	defer pl.waiting.Add(-1)
	select {
	case <-pl.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-pl.hosts.closing:
		return nil, ErrClosed
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	at := slices.IndexFunc(pl.free, func(s *slot) bool { return s.p != nil && s.p.usable() })
	if at < 0 {
		at = 0
	}
	s := pl.free[at]
	pl.free = slices.Delete(pl.free, at, at+1)
	return s, nil
}

func (pl *pool) leave(s *slot) {
	pl.mu.Lock()
	pl.free = append(pl.free, s)
	pl.mu.Unlock()
	pl.turn <- struct{}{}
}

// process gives the slot's process, or a new one when it has none that lives.
// The old one is gone, with its group, before the new one starts.
func (s *slot) process(ctx context.Context) (*process, error) {
	if s.p != nil {
		if s.p.usable() {
			return s.p, nil
		}
		s.p.retire(0)
		select {
		case <-s.p.gone:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.pool.hosts.closing:
			return nil, ErrClosed
		}
		s.p = nil
	}
	return s.spawn(ctx)
}

// spawn starts and initialises a process.
func (s *slot) spawn(ctx context.Context) (*process, error) {
	h, c := s.pool.hosts, s.pool.cfg
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	first, err := c.initLine(h.opts.Environ)
	if err != nil {
		return nil, err
	}
	kind := c.Transport
	if kind == "" {
		kind = "stdio"
	}
	transport := h.opts.Transports[kind]
	if transport == nil {
		return nil, c.failure("has an unknown transport '%s': [hosts.%s] of Concerto.toml may name one of %v",
			kind, c.Connector, slices.Sorted(maps.Keys(h.opts.Transports)))
	}
	if !h.reserve() {
		return nil, ErrClosed
	}
	conn, err := transport.Connect(c, c.environ(h.opts.Environ), func(line string) { h.opts.Log(c.Name, line) })
	if err != nil {
		h.running.Done()
		return nil, err
	}
	p := newProcess(h, c, conn)
	s.p = p
	h.register(p)
	p.start()
	if first != nil {
		if err := p.initialise(ctx, first); err != nil {
			p.retire(0)
			return nil, err
		}
	}
	return p, nil
}

// environ is the host's environment: the run's, with the host's own on top.
func (c *Config) environ(base []string) []string {
	env := slices.Clone(base)
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name])
	}
	return env
}

var _ effect.Performer = (*Hosts)(nil)
