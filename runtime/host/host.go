// Package host performs the exchanges of a program with its hosts: it spawns
// and initialises their processes, sends prompts and replies, hands on what
// the hosts say in batches, and ends every process, group and all
// (spec/host-protocol.md); its API promises nothing.
//
// It stands behind the door: the VM runs the listen loop (handlers, default
// handlers, tool dispatch) and asks here with the four requests exchange.open,
// next, reply and close. It knows neither the VM nor the other performers.
//
// Invariants. A reader and a writer goroutine a process, so that neither side can
// block the other's large lines; who waits for messages borrows the reader's role.
// Memory is bounded: at most two batches of messages and one queue of replies a
// process, the pipe slows the rest. Nothing a host does or leaves undone holds a request beyond the host's
// timeout. When Close has returned, no process and no goroutine is left.
package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// What holds where a Config says nothing.
const (
	DefaultTimeout     = 120 * time.Second // of an exchange
	DefaultInitTimeout = 10 * time.Second  // of the wait for init_ack
)

// ErrClosed is what requests give after Close.
var ErrClosed = errors.New("hosts are closed: the run has ended")

// Options is what New needs.
type Options struct {
	Configs []Config
	// Environ is the environment that hosts inherit from and that params_env is
	// read from, as "NAME=value".
	Environ []string
	// Run is whose processes hosts are; nil is nobody.
	Run *procgroup.Run
	// Log takes what hosts write to their standard error, Remark what is to be
	// said of them ("debug" what is in order, "warn" what is not), a line a call,
	// from many goroutines; nil drops them.
	Log    func(host, line string)
	Remark func(level, line string)
	// MaxMemory bounds what one message unfolds to, in bytes; 0 means none.
	MaxMemory int
	// Wire takes each line that passes, from many goroutines; nil drops them.
	Wire func(hosttrace.Line)
	// Keeper keeps the processes, so that they outlive this one; nil: they end with it. New and
	// Resume own it from then on, Close ends it.
	Keeper *keeper.Client
	// Hand is what exchanges' time limits go by; nil: the system's clock.
	Hand *clock.Hand
	// Transports overrides the table of transports, for tests; nil is the table.
	Transports map[string]Transport
}

// Hosts performs exchange requests. Safe for concurrent use, but for one
// exchange's next and close, which come one after the other.
type Hosts struct {
	opts  Options
	pools map[string]*pool

	closing   chan struct{} // Close was called: nothing is waited for long
	kill      chan struct{} // its time is over: nothing is waited for
	killing   sync.Once
	left      atomic.Bool // the processes are left to their keeper
	unguarded sync.Once   // it has been told that nobody ends what hosts leave
	running   sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	lastID    int64
	started   map[string]int           // how many processes of a host there were
	versions  map[string]*versionCheck // of vendors' programs, by how they are started
	exchanges map[int64]*exchange
	processes map[*process]struct{}
	doubted   []string    // sums of exchanges to be opened whose prompts a lost process may have had
	begun     []*exchange // that were begun by a process before this one, and are yet to be opened here
}

// New makes the performer; it starts nothing. Processes are spawned when a host
// is first used.
func New(o Options) *Hosts {
	if o.Log == nil {
		o.Log = func(string, string) {}
	}
	if o.Remark == nil {
		o.Remark = func(string, string) {}
	}
	if o.Transports == nil {
		o.Transports = transports
	}
	h := &Hosts{
		opts:      o,
		pools:     map[string]*pool{},
		closing:   make(chan struct{}),
		kill:      make(chan struct{}),
		started:   map[string]int{},
		versions:  map[string]*versionCheck{},
		exchanges: map[int64]*exchange{},
		processes: map[*process]struct{}{},
	}
	for i := range o.Configs {
		c := &o.Configs[i]
		h.pools[c.Name] = newPool(h, c)
	}
	return h
}

// Perform performs an exchange request. Failures that the program may catch
// are *effect.Error of kind HostError, with field host and, where they are
// known, code, recoverable, exit_code and stderr.
func (h *Hosts) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if h.left.Load() {
		return nil, ErrClosed
	}
	switch r := r.(type) {
	case *effect.ExchangeOpen:
		return result(h.open(ctx, r))
	case *effect.ExchangeNext:
		return result(h.next(ctx, r))
	case *effect.ExchangeReply:
		return nil, h.reply(ctx, r)
	case *effect.ExchangeClose:
		return nil, h.close(r)
	}
	return nil, &effect.Unperformed{Who: "hosts", Kind: r.Kind()}
}

// remark says something of a host in the run's log.
func (h *Hosts) remark(level string, c *Config, format string, args ...any) {
	h.opts.Remark(level, "host '"+c.Name+"' "+fmt.Sprintf(format, args...))
}

// result keeps a nil pointer from becoming a non-nil Result.
func result[T any](v *T, err error) (effect.Result, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Close cancels running exchanges, ends every process with its group, and
// waits for them. Hosts that can be cancelled are told first; idle ones see
// their input end; what is left after a short while gets SIGTERM, and SIGKILL
// five seconds later or when ctx ends, whichever comes first. Its error is
// ctx's, when that cut the waiting short. It may be called again, also while a
// call waits, to give the hosts less time.
func (h *Hosts) Close(ctx context.Context) error {
	h.shut()
	done := make(chan struct{})
	go func() {
		h.running.Wait()
		if k := h.opts.Keeper; k != nil {
			k.End()
		}
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		h.killing.Do(func() { close(h.kill) })
		<-done
		return context.Cause(ctx)
	}
}

// shut begins the end, once: nothing new is started, and what runs is told.
func (h *Hosts) shut() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	close(h.closing)
	open := slices.Collect(maps.Keys(h.exchanges))
	h.mu.Unlock()
	for _, id := range open {
		h.close(&effect.ExchangeClose{ID: id, Reason: "the run is ending"})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.processes {
		if p.life.idle() {
			p.retire(leaveIdle)
		}
	}
}

// Waiting is how many exchanges wait for their turn with a host.
func (h *Hosts) Waiting(host string) int {
	pl := h.pools[host]
	if pl == nil {
		return 0
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return len(pl.line)
}

// reserve admits one more process, so that Close waits for it; false when the
// run is ending.
func (h *Hosts) reserve() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.running.Add(1)
	return true
}

func (h *Hosts) register(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.processes[p] = struct{}{}
}

func (h *Hosts) unregister(p *process) {
	h.mu.Lock()
	delete(h.processes, p)
	h.mu.Unlock()
	h.running.Done()
}
