package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/submission"
	"github.com/concerto-lang/concerto/internal/engine/worker"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/testkit/memory"
)

// The figures of the workers.
const (
	workers     = 3
	lease       = 6 * time.Second
	concurrency = 2 // runs of a worker at once
	maxEngine   = 30 * time.Minute
	// limited is the name of a queue of which two runs may be in progress, and one of each key.
	limited = "limited"
)

// fleet is the world of an engine: workers that execute the runs of a shared store.
type fleet struct {
	*world
	plan  *EngineSchedule
	store *memory.Store

	workers workerTable
	lost    map[string]bool // names of statements and answers whose responses are lost
	ended   chan struct{}   // closed when all runs have ended
	over    bool            // ended is closed
}

// workerTable contains the processes of workers.
type workerTable struct {
	running   sync.WaitGroup
	byProcess map[*process]*workerProcess
	sessions  map[string]string // names of processes by the ids of their sessions
}

// workerProcess is a process of `concerto worker`. A process that has crashed or is paused does
// not know it.
type workerProcess struct {
	*process
	f       *fleet
	machine int              // its number
	epochs  map[string]int64 // those at which it has claimed runs
	parts   []*process       // the executions of its runs
	all     []*memory.Session
	drain   context.CancelFunc
	kill    chan struct{} // closed to end the process without delay
	died    chan struct{} // closed when it has crashed
	paused  time.Time     // until when its calls do not return
	cut     time.Time     // until when it does not reach the store
	how     cutKind
	skew    time.Duration // of its wall clock
}

// cutKind is what happens to the statements of a worker that does not reach the store.
type cutKind int

// The kinds of partitions.
const (
	refusing  cutKind = iota // connections fail at once
	silent                   // requests are lost
	responses                // responses are lost
	cutKinds
)

var errCut = errors.New("the simulated connection is broken")

// runMachine starts processes of one machine until all runs have ended.
func (f *fleet) runMachine(machine int) {
	for n := 1; n <= maxStarts; n++ {
		p := f.start(fmt.Sprintf("w%d#%d", machine, n))
		f.gate.pass(p, "starts")
		x := f.startWorker(p, machine)
		ctx, cancel := context.WithCancel(context.Background())
		x.drain = cancel
		exited := make(chan struct{})
		f.workers.running.Go(func() {
			defer close(exited)
			err := worker.Run(ctx, x.kill, x.config())
			if f.gate.pass(p, "exits") {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.note(p.name, "exits: %v", err)
			}
		})
		select {
		case <-f.ended:
			f.gate.pass(p, "ends")
			cancel()
			select {
			case <-exited:
			case <-x.died:
			}
			return
		case <-exited:
		case <-x.died:
		}
		cancel()
		select { // no two machines need the same time
		case <-f.ended:
			return
		case <-time.After(time.Duration(301+100*machine+7*n) * time.Millisecond):
		}
	}
}

// startWorker makes a process a worker.
func (f *fleet) startWorker(p *process, machine int) *workerProcess {
	x := &workerProcess{process: p, f: f, machine: machine, epochs: map[string]int64{}, kill: make(chan struct{}), died: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.workers.byProcess[p] = x
	f.note(p.name, "starts")
	return x
}

// config returns the configuration of the worker.
func (x *workerProcess) config() worker.Config {
	dir := filepath.Join(x.f.base, "work")
	return worker.Config{
		Engine: x, Lease: lease, Drain: 2 * time.Second, MaxCrashes: 1 + maxFaults, State: filepath.Join(x.f.base, fmt.Sprint("state", x.machine)), Dir: dir,
		Row:     postgres.WorkerRow{Machine: fmt.Sprint("m", x.machine), PID: x.id, Queues: []string{"default", limited}, Concurrency: concurrency},
		Options: x.options,
		Log: func(e worker.Event) {
			x.f.mu.Lock()
			defer x.f.mu.Unlock()
			if !x.dead.Load() {
				x.f.note(x.name, "%s %s: %s", e.Kind, e.Run, e.Text)
			}
		},
	}
}

// options returns the options of a run.
func (x *workerProcess) options(_ *engine.Program, run string, start json.RawMessage) (engine.Options, error) {
	s, err := submission.Decode(start)
	if err != nil {
		return engine.Options{}, err
	}
	part := x.f.start(x.name + "/" + run)
	x.f.mu.Lock()
	defer x.f.mu.Unlock()
	if x.dead.Load() {
		x.f.world.end(part)
	}
	x.parts, x.f.workers.byProcess[part] = append(x.parts, part), x
	acts := func(next effect.Performer) effect.Performer { return &acts{next, x, run, x.epochs[run]} }
	o := engine.Options{Args: s.Args, Inputs: s.Inputs, Environ: []string{"SERVER=http://" + x.f.host}, Models: engine.Models{Function: x.f.reply(part)}}
	o.SetSeams(&engine.Seams{Owner: part.owner(x.f.world), Outer: x.f.outer(part), World: func(d durable.World) durable.World { return &outside{d, x.f.world, part} }, Layer: func(next effect.Performer) effect.Performer { return x.f.layer(part)(acts(next)) }})
	return o, nil
}

// crash ends the process with all that it executes. The caller has not locked f.mu.
func (x *workerProcess) crash(at string) {
	if x.dead.Load() {
		return
	}
	x.f.world.crash(x.process, at)
	x.f.mu.Lock()
	parts, all := slices.Clone(x.parts), slices.Clone(x.all)
	x.f.mu.Unlock()
	for _, p := range parts {
		x.f.world.end(p)
	}
	for _, s := range all {
		s.Abandon()
	}
	close(x.died)
	close(x.kill)
	x.drain()
}

// NewSession registers the worker in the store.
func (x *workerProcess) NewSession(ctx context.Context, row postgres.WorkerRow, lease time.Duration, onRetry func(string, error)) (worker.Session, error) {
	l := &link{workerProcess: x}
	s, err := x.f.store.NewSession(ctx, row.Queues, lease, memory.Connection{Send: l.send, Notify: x.notify, OnRetry: onRetry})
	if err != nil {
		return nil, err
	}
	x.f.mu.Lock()
	defer x.f.mu.Unlock()
	l.session, x.f.workers.sessions[s.ID()] = s.ID(), x.name
	x.all = append(x.all, s)
	if x.dead.Load() {
		s.Abandon()
	}
	return &session{s, x}, nil
}

// FireSchedules does nothing: the store has no schedules.
func (x *workerProcess) FireSchedules(context.Context) error { return nil }

// State returns the state of a run.
func (x *workerProcess) State(ctx context.Context, run string) (state string, exit *int, err error) {
	sent := (&link{workerProcess: x}).send(ctx, "state", run, func() { state, exit, err = x.f.store.State(run) })
	return state, exit, errors.Join(sent, err)
}

// link is the connection of a session to the store.
type link struct {
	*workerProcess
	session string // id; "" until the worker is registered
}

// send sends a statement to the store. The request passes the gate, and so does the response of a
// statement that may have changed something.
func (x *link) send(ctx context.Context, what, run string, do func()) error {
	if x.dead.Load() {
		return journal.ErrFenced // which is final
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if what == "read answer" { // the program reads answers with a lock for which its goroutines wait
		if x.isCut() {
			return errCut
		}
		do()
		return nil
	}
	name := x.f.gate.name(x.process, strings.TrimSpace("sends "+what+" "+run))
	if !x.f.gate.passAs(x.process, name) {
		return journal.ErrFenced
	}
	if x.isCut() && x.how != responses {
		if x.how == silent {
			select {
			case <-ctx.Done():
			case <-time.After(time.Until(x.cut) + time.Duration(chance(1, name)%1e6)):
			}
		}
		return errCut
	}
	x.f.judged(x, what, do)
	x.f.mu.Lock()
	lost := x.f.lost[name]
	x.f.mu.Unlock()
	switch what {
	case "poll", "claim", "owned", "state", "read", "part", "out", "open", "running", "read stop", "read answers", "ledger", "watch":
	default:
		if !x.f.gate.passAs(x.process, "receives "+name) {
			return journal.ErrFenced
		}
	}
	if lost || x.isCut() {
		return errCut
	}
	return nil
}

// isCut reports whether the worker does not reach the store.
func (x *workerProcess) isCut() bool {
	x.f.mu.Lock()
	defer x.f.mu.Unlock()
	return time.Now().Before(x.cut)
}

// notify delivers a notification.
func (x *workerProcess) notify(run string, deliver func()) {
	if x.dead.Load() {
		return
	}
	name := x.f.gate.name(x.process, "is notified of "+run)
	go func() {
		if x.f.gate.passAs(x.process, name) && !x.isCut() {
			deliver()
		}
	}()
}

// session is the worker's registration.
type session struct {
	*memory.Session
	x *workerProcess
}

func (s *session) Claim(n, maxCrashes int, refused []string) (all []postgres.Claimed, err error) {
	claimed, err := s.Session.Claim(n, maxCrashes, refused)
	for _, c := range claimed {
		all = append(all, postgres.Claimed(c))
	}
	return all, err
}

func (s *session) Owned() (all []postgres.Claimed, err error) {
	owned, err := s.Session.Owned()
	for _, c := range owned {
		all = append(all, postgres.Claimed(c))
	}
	return all, err
}

func (s *session) Claimed(c *postgres.Claimed) journal.Run {
	own := memory.Claimed(*c)
	return &watchedRun{Run: s.Session.Claimed(&own), x: s.x}
}

func (s *session) Release(c *postgres.Claimed) error {
	own := memory.Claimed(*c)
	return s.Session.Release(&own)
}

func (s *session) Refuse(c *postgres.Claimed, reason string, delay time.Duration) error {
	own := memory.Claimed(*c)
	return s.Session.Refuse(&own, "ready", reason, delay)
}

func (s *session) Damaged(c *postgres.Claimed, reason string) error {
	own := memory.Claimed(*c)
	return s.Session.Refuse(&own, "damaged", reason, 0)
}

// watchedRun is a run whose process reads answers when no other goroutine continues. It finds
// one answer in each reading, because the goroutines that two answers let continue would run at the
// same time.
type watchedRun struct {
	journal.Run
	x *workerProcess

	mu      sync.Mutex
	looking bool
	found   int
}

func (r *watchedRun) Watch(ctx context.Context, changed func()) {
	r.Run.Watch(ctx, func() {
		for more := true; more && ctx.Err() == nil; {
			if !r.x.f.gate.pass(r.x.process, "reads answers to "+r.Name()) {
				return
			}
			r.set(true)
			changed()
			more = r.set(false) > 1
		}
	})
}

// set begins or ends a look, and returns the number of answers that it has found.
func (r *watchedRun) set(looking bool) (found int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looking, found, r.found = looking, r.found, 0
	return found
}

func (r *watchedRun) Answer(id string) (*journal.Answer, error) {
	a, err := r.Run.Answer(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if a == nil || !r.looking {
		return a, err
	}
	if r.found++; r.found > 1 {
		return nil, err
	}
	return a, err
}

// Play runs a schedule in a bubble, with files below a real directory that it empties.
func (s *EngineSchedule) Play(t *testing.T, base string) *Result {
	t.Helper()
	var f *fleet
	s.compile(t)
	one := &Schedule{Choices: s.Choices}
	return one.play(t, base, func(w *world) {
		f = &fleet{world: w, plan: s, store: &memory.Store{}, workers: workerTable{byProcess: map[*process]*workerProcess{}, sessions: map[string]string{}}, lost: map[string]bool{}, ended: make(chan struct{})}
		w.gate.reached = f.reached
		f.submit()
	}, func(_ context.Context, w *world) {
		closePeople := w.startPeople(f.answerAll, func(p *process, run string) journal.Run { return &clientRun{f.store.Run(run), f, p} }, workerPauses)
		f.work()
		closePeople()
		f.judge()
	})
}

// submit stores the runs.
func (f *fleet) submit() {
	f.store.SetQueue(limited, memory.Queue{Concurrency: 2, PerKey: 1})
	start := submission.Start{}
	for i, r := range f.plan.Runs {
		f.store.Submit(memory.Submitted{ID: r.id(i), Program: "main.conc", IR: r.Work.program.Encode(), Start: start.Encode(), Queue: r.Queue, Key: r.Key})
	}
}

// work lets the workers work until all runs have ended, or for maxEngine.
func (f *fleet) work() {
	late := time.AfterFunc(maxEngine, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, r := range f.plan.Runs {
			if x := f.store.Info(r.id(i)); !isEnd(x.State) {
				f.fail("J16", "%s has not ended after %s: it is %s, epoch %d, %d open questions: %s", r.id(i), maxEngine, x.State, x.Epoch, len(x.Questions), x.Refusal)
			}
		}
		f.end()
	})
	defer late.Stop()
	var all sync.WaitGroup
	for machine := 1; machine <= workers; machine++ {
		all.Go(func() { f.runMachine(machine) })
	}
	all.Wait()
	f.workers.running.Wait()
	time.Sleep(30 * time.Second) // the longest partition: statements that are lost in it still wait
}

// end lets the workers end. The caller has locked f.mu.
func (f *fleet) end() {
	if !f.over {
		f.over = true
		close(f.ended)
	}
}

func isEnd(state string) bool {
	return slices.Contains([]string{"finished", "failed", "held", "damaged"}, state)
}
