// Package host performs a program's exchanges with its hosts. It starts and initialises host
// processes, sends prompts and replies, returns the hosts' messages in batches, and ends every
// process together with its process group (spec/host-protocol.md).
//
// The VM runs the listen loop (handlers, default handlers, tool dispatch) and calls this package
// with the requests exchange.open, next, reply, steer and close. The package does not import the VM
// or other performers.
//
// Invariants. Each process has a reader and a writer goroutine, so that neither side can block the
// other's large lines; a goroutine that waits for messages may take over the reading. Memory is
// bounded: each process has at most two batches of messages and one queue of replies, and beyond
// that the pipe blocks the host. No host can delay a request beyond the host's timeout. When Close
// has returned, no process and no goroutine is left. locks.go contains the order of the locks.
package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/workspace"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// Defaults of Config.
const (
	DefaultTimeout     = 120 * time.Second // for an exchange
	DefaultInitTimeout = 10 * time.Second  // for the wait for init_ack
)

// inPage means that this is the playground, where hosts are played. The linker then omits what a
// page does not have: vendors' agents, keepers, sandboxes, workspaces and the starts of processes.
const inPage = runtime.GOOS == "js"

// ErrClosed is the error of requests after Close or Suspend.
var ErrClosed = errors.New("hosts are closed: the run has ended")

// Options configures New.
type Options struct {
	Configs []Config
	// Environ is the run's environment, as "NAME=value". Hosts inherit variables from it, and
	// params_env reads it.
	Environ []string
	// Run is the run that the processes belong to, or nil.
	Run *procgroup.Run
	// Stderr receives each line of the hosts' standard error. Many goroutines call it, with one
	// line a call. nil discards the lines.
	Stderr func(host, line string)
	// Log receives messages about hosts with their levels: "debug", "info", "warn" or "error". nil
	// discards them.
	Log func(level, message string)
	// MaxMemory limits the memory of one decoded message, in bytes; 0 means no limit.
	MaxMemory int
	// Trace receives each line that a host sends or receives. Many goroutines call it. nil discards
	// the lines.
	Trace func(hosttrace.Line)
	// Secrets are removed from partial messages; nil means that there are none.
	Secrets *secret.Set
	// Keeper, if not nil, runs the processes so that they survive the end of the Concerto process.
	// New and Resume take ownership of Keeper, and Close closes it.
	Keeper *keeper.Client
	// Directories creates the directories of exchanges, and finds those of workspaces. nil means
	// that hosts work in their configured directory only.
	Directories Directories
	// Outside records a decision on a request that an agent made while no exchange could decide it,
	// before the agent receives the answer. If the run has recorded a decision on the same line
	// before, Outside replaces the answer by that one. An error denies the request. Many goroutines
	// call it.
	// nil means that such decisions are not recorded.
	Outside func(*OutsideDecision) error
	// Ask begins to ask the application about a request that detached work made while no exchange
	// was running, and calls done with the answer. Many goroutines call it. nil means that such
	// requests are refused.
	Ask func(ctx context.Context, q *effect.AwaitEmit, done func(*effect.Answer, error))
	// Budget limits what exchanges use; nil means that they are neither limited nor counted.
	Budget Budget
	// Sandboxes starts the processes of hosts that have a sandbox. nil means that such hosts are
	// not started.
	Sandboxes Sandboxes
	// Exports returns the variables with which a host exports its own telemetry; nil for none.
	Exports func(host, transport string) []string
	// Clock measures the time limits of exchanges; nil means the system's clock.
	Clock *clock.PausableClock
	// Transports replaces the table of transports; nil means the default table. Tests and the
	// playground set it.
	Transports map[string]Transport
}

// Directories creates and finds the working directories of processes. workspace.Directories
// implements it.
type Directories interface {
	Make(ctx context.Context, kind, name string, x workspace.Exchange, p workspace.Place) (workspace.Directory, error)
	Adopt(ctx context.Context, name string, x workspace.Exchange, p workspace.Place) (workspace.Directory, error)
	Owned(host string, p workspace.Place) map[string]string
	FindSession(host, session string, p workspace.Place) string
	Use(ctx context.Context, name string) (workspace.Directory, error)
	Session(name, host string) string
	Prove(ctx context.Context, dir string, r *effect.ExchangeGate, environ []string) (*effect.GateOutput, error)
}

// Hosts performs exchange requests. It is safe for concurrent use, with one exception: the requests
// next and close of one exchange must not run at the same time.
type Hosts struct {
	opts  Options
	pools map[string]*pool

	closing       lifetime // ends when Close begins: waiting times become short
	kill          lifetime // ends when the context of Close ends: waiting times become zero
	delivered     deliveries
	left          atomic.Bool // Suspend was called: open exchanges belong to the process that resumes the run
	suspended     atomic.Bool // in addition, the processes continue to run under the keeper
	unguardedOnce sync.Once   // limits warnUnguarded to one message
	running       sync.WaitGroup
	tasks         taskChanges

	mu            lock[hostsLock]
	closed        bool
	lastID        int64
	processCounts map[string]int           // number of processes started, by host
	versions      map[string]*versionCheck // versions of vendors' programs, by command line
	exchanges     map[int64]*exchange
	processes     map[*process]struct{}
	fenced        []string    // digests of opening requests whose prompts a lost process may have received
	resumed       []*exchange // exchanges that an earlier Concerto process began and the program has not yet opened again
}

// New returns a Hosts. It starts no process: processes start when a host is first used.
func New(o Options) *Hosts {
	if o.Stderr == nil {
		o.Stderr = func(string, string) {}
	}
	if o.Log == nil {
		o.Log = func(string, string) {}
	}
	if o.Transports == nil {
		o.Transports = transports
	}
	h := &Hosts{
		opts:          o,
		pools:         map[string]*pool{},
		closing:       newLifetime(),
		kill:          newLifetime(),
		processCounts: map[string]int{},
		versions:      map[string]*versionCheck{},
		exchanges:     map[int64]*exchange{},
		processes:     map[*process]struct{}{},
		tasks:         taskChanges{next: make(chan struct{})},
	}
	for i := range o.Configs {
		c := &o.Configs[i]
		h.pools[c.Name] = newPool(h, c)
	}
	return h
}

// Perform performs an exchange request. An error that the program can catch is an *effect.Error of
// kind HostError with the field host and, where known, the fields code, recoverable, exit_code and
// stderr.
func (h *Hosts) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if h.suspended.Load() {
		return nil, ErrClosed
	}
	switch r := r.(type) {
	case *effect.ExchangeOpen:
		return asResult(h.openExchange(ctx, r))
	case *effect.ExchangeNext:
		return asResult(h.nextMessages(ctx, r))
	case *effect.ExchangeReply:
		return nil, h.replyToHost(ctx, r)
	case *effect.ExchangeSteer:
		return asResult(h.steerHost(ctx, r))
	case *effect.ExchangeContinue:
		return asResult(continueExchange(ctx, h, r))
	case *effect.ExchangeGate:
		return asResult(runGate(ctx, h, r))
	case *effect.ExchangeClose:
		return h.closeExchange(r), nil
	case *effect.HostTasks:
		return asResult(h.listTasks(ctx, r))
	}
	return nil, &effect.UnperformedError{Who: "hosts", Kind: r.Kind()}
}

// logf logs a message about a host.
func (h *Hosts) logf(level string, c *Config, format string, args ...any) {
	h.opts.Log(level, "host '"+c.Name+"' "+fmt.Sprintf(format, args...))
}

// asResult prevents a nil pointer from becoming a non-nil Result.
func asResult[T any](v *T, err error) (effect.Result, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Close cancels running exchanges, ends every process with its process group, and waits for their
// exit. A host that supports cancellation receives a cancel message. The input of idle hosts is
// closed. Processes that have not exited after a short time receive SIGTERM, and SIGKILL five
// seconds later or when ctx ends, whichever is first. Close returns ctx's error if ctx shortened
// the wait. A second call, also a concurrent one, can shorten the wait.
func (h *Hosts) Close(ctx context.Context) error {
	h.beginClose()
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
		h.kill.end(nil)
		<-done
		return context.Cause(ctx)
	}
}

// beginClose starts closing. After its first call no process is started any more, exchanges are
// closed and idle processes are retired.
func (h *Hosts) beginClose() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	h.closing.end(ErrClosed)
	open := slices.Collect(maps.Keys(h.exchanges))
	h.mu.Unlock()
	for _, id := range open {
		h.closeExchange(&effect.ExchangeClose{ID: id, Reason: "the run is ending"})
	}
	h.mu.Lock()
	all := slices.Collect(maps.Keys(h.processes))
	h.mu.Unlock()
	for _, p := range all {
		if p.lifecycle.isIdle() {
			p.settling.warnOfTasks()
			p.retire(closeInputWait)
		}
	}
}

// Waiting returns the number of exchanges that wait for a slot of the host.
func (h *Hosts) Waiting(host string) int {
	pl := h.pools[host]
	if pl == nil {
		return 0
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return len(pl.waiters)
}

// trackRunning adds one process to those that Close waits for. It returns false if Close has been
// called.
func (h *Hosts) trackRunning() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.running.Add(1)
	return true
}

func (h *Hosts) registerProcess(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.processes[p] = struct{}{}
}

func (h *Hosts) unregisterProcess(p *process) {
	h.mu.Lock()
	delete(h.processes, p)
	h.mu.Unlock()
	h.tasks.notify()
	h.running.Done()
}

// Add registers a host. If a host with the same name exists, Add replaces it and stops its idle
// processes. No request may be running when Add is called.
func (h *Hosts) Add(c Config) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if was := h.pools[c.Name]; was != nil {
		for p := range h.processes {
			if p.lifecycle.isIdle() && p.cfg == was.cfg {
				p.retire(closeInputWait)
			}
		}
	}
	h.pools[c.Name] = newPool(h, &c)
}
