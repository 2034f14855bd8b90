package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// world is everything outside of the processes of a run, and the judge's record of it.
type world struct {
	schedule *Schedule
	base     string // a real directory
	host     string // the server's name in the network
	gate     *gate
	disk     *simdisk.Disk
	began    time.Time

	mu      sync.Mutex
	program *process // the newest process of the program
	pids    []*process
	// interrupted is the number of processes of the program that have ended while they worked.
	interrupted int
	faults      []Fault // those that have happened
	log         []entry
	problems    []string
	news        signal // for people: something was printed
	answers     signal // for cron: an answer has arrived
	changes     signal // for the program: another process has changed a file
	server      server
	models      map[string][]string // replies by prompt
	people      people
	hosts       hosts
	keepers     []*keeperProcess
	sockets     sockets
	wires       wires
	printed     []string
}

// signal wakes one goroutine, when no other one runs.
type signal struct {
	isSet bool
	wake  chan struct{}
}

func newSignal() signal { return signal{wake: make(chan struct{}, 1)} }

// entry is an entry of the judge's log.
type entry struct {
	at        time.Duration
	who, what string
}

// worlds contains the worlds that exist, by directory and by the server's name.
var worlds sync.Map

// install lets package engine and package http use the worlds.
var install = sync.OnceFunc(func() {
	engine.Simulate(func(dir string) journal.Run {
		if w, ok := worlds.Load(filepath.Dir(dir)); ok {
			return w.(*world).stored(filepath.Base(dir))
		}
		return rundir.At(dir)
	}, func(o journal.Owner) bool {
		w, ok := worlds.Load(o.Machine)
		return ok && w.(*world).hasExited(o.By)
	})
	installNetwork()
})

func (w *world) note(who, format string, args ...any) {
	w.log = append(w.log, entry{time.Since(w.began), who, fmt.Sprintf(format, args...)})
}

// fail notes a violation. The caller has locked w.mu.
func (w *world) fail(invariant, format string, args ...any) {
	text := invariant + ": " + fmt.Sprintf(format, args...)
	if slices.Contains(w.problems, text) {
		return
	}
	w.problems = append(w.problems, text)
	w.note("judge", "%s", text)
}

// failed is like fail. The caller has not locked w.mu.
func (w *world) failed(invariant, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail(invariant, format, args...)
}

// start creates a process.
func (w *world) start(name string) *process { return w.startOn(w.disk, name) }

// startOn creates a process of the machine with a disk.
func (w *world) startOn(d *simdisk.Disk, name string) *process {
	p := &process{name: name, world: w, ended: make(chan struct{})}
	p.view = d.View(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	p.id = len(w.pids) + 1
	w.pids = append(w.pids, p)
	return p
}

func (w *world) newest() *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.program
}

// hasExited reports whether the process of an owner has exited.
func (w *world) hasExited(by string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.pids, func(p *process) bool { return p.owner(w).By == by })
	return i >= 0 && w.pids[i].dead.Load()
}

// owner returns a process as the owner of a run.
func (p *process) owner(w *world) journal.Owner {
	return journal.Owner{By: fmt.Sprintf("process %d", p.id), Machine: w.host, Boot: "boot"}
}

// crash ends a process. The caller has not locked w.mu.
func (w *world) crash(p *process, at string) {
	if p.dead.Load() {
		return
	}
	w.mu.Lock()
	w.note(p.name, "CRASH at %s", at)
	w.mu.Unlock()
	w.end(p)
	if p.cancel != nil { // so that its goroutines end
		p.cancel(simdisk.ErrDead)
	}
}

// end ends a process without its doing: its calls fail, its sockets are closed, and its hosts die.
func (w *world) end(p *process) {
	if p.dead.Swap(true) {
		return
	}
	close(p.ended)
	w.gate.release(p)
	w.sockets.end(p)
	w.wires.end(p)
	w.hosts.end(p)
}

// observe notes an operation of the disk.
func (w *world) observe(by simdisk.Process, operation string) {
	p := by.(*process)
	w.gate.note(p.name + ": " + operation)
	if !strings.HasPrefix(p.name, "program#") {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changes.isSet = true
	}
}

// run returns a stored run as a process uses it.
func (w *world) run(p *process, name string) *rundir.Directory {
	return rundir.On(p.view.At, filepath.Join(w.base, name))
}

// runName is the name of the directory of the run, and runID the run's id.
const (
	runName = "job"
	runID   = "r_same"
)

// fullFor is the number of operations for which a full disk has no space.
const fullFor = 9

// hasFailed reports whether an error is one that the simulated disk or network has returned.
func (w *world) hasFailed(err error) bool {
	return errors.Is(err, errCut) || slices.ContainsFunc(w.faults, func(f Fault) bool {
		return f.Kind == Full && errors.Is(err, syscall.ENOSPC) || f.Kind == Broken && errors.Is(err, syscall.EIO)
	})
}

// hasFailingDisk reports whether an operation of the disk has failed.
func (w *world) hasFailingDisk() bool {
	return slices.ContainsFunc(w.faults, func(f Fault) bool { return f.Kind == Full || f.Kind == Broken })
}

// happening returns those of some faults that happen for the first time, and notes them.
func (w *world) happening(at []Fault, applies func(Fault) bool) (all []Fault) {
	for _, f := range at {
		if !applies(f) || slices.Contains(w.faults, f) {
			continue
		}
		w.faults = append(w.faults, f)
		w.mu.Lock()
		w.note("fault", "%s", f)
		w.mu.Unlock()
		all = append(all, f)
	}
	return all
}

// reached is called when a call continues. It lets the faults of the call happen.
func (w *world) reached(p *process, name string) (delay time.Duration, again bool) {
	at := w.schedule.at(name, len(w.faults), w.schedule.random)
	for _, f := range w.happening(at, func(f Fault) bool { return f.applies(p) }) {
		switch f.Kind {
		case Crash:
			w.crash(p, name)
		case Disk:
			w.disk.FaultAfter(f.N, f.How)
		case Full:
			w.disk.FailAfter(f.N, fullFor, syscall.ENOSPC)
		case Broken:
			w.disk.FailAfter(f.N, 1, syscall.EIO)
		case Delay:
			delay = f.For
		case Lose:
			w.server.lose(name)
		case Suspend:
			w.suspend()
			again = true
		}
	}
	return delay, again
}

// errTooLate is the cause with which a process ends that still runs after maxTime.
var errTooLate = fmt.Errorf("the run has not ended after %s", maxTime)

// errSuspended is the cause with which a process is asked to end.
var errSuspended = errors.New("SIGTERM")

func (w *world) suspend() {
	if p := w.newest(); p != nil && p.cancel != nil {
		p.cancel(errSuspended)
	}
}

// options returns the options of a process of the program.
func (w *world) options(p *process) engine.Options {
	work := filepath.Join(w.base, "work")
	o := engine.Options{Environ: []string{"SERVER=http://" + w.host}, WorkDir: work, Dir: work, Executable: "concerto",
		Models:  engine.Models{Function: w.reply(p)},
		Records: engine.Records{Durable: &engine.Durable{Dir: filepath.Join(w.base, runName), Park: !w.schedule.Work.Wait, Wait: w.schedule.Work.Wait, Sync: w.schedule.Work.Sync, Remark: func(string) {}, ParkAfter: func() time.Duration { return parkAfter }}},
		Output:  engine.Output{To: &printer{w, p}, Mode: emit.NDJSON, Synchronous: true},
	}
	o.Session.SessionID = runID
	o.SetSeams(&engine.Seams{Owner: p.owner(w), Disk: p.view.At, VFS: p.view.VFS(), Outer: w.outer(p), Layer: w.layer(p), World: func(d durable.World) durable.World { return &outside{d, w, p} }, Keeper: &system{w, p}})
	return o
}

// printer receives what a process prints.
type printer struct {
	w *world
	p *process
}

func (x *printer) Write(b []byte) (int, error) {
	if x.p.dead.Load() {
		return 0, simdisk.ErrDead
	}
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	for line := range bytes.Lines(b) {
		x.w.printed = append(x.w.printed, strings.TrimSpace(string(line)))
	}
	x.w.wake()
	return len(b), nil
}

// wake lets people read the open questions when no goroutine runs.
func (w *world) wake() { w.news.isSet = true }

// notify wakes those who wait for what has happened. It reports whether there was anything to
// report. It is called when no goroutine runs: the process that has printed or stored something may
// still die in the same step.
func (w *world) notify() (notified bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range []*signal{&w.news, &w.answers, &w.changes} {
		if x.isSet {
			x.isSet, notified = false, true
			select {
			case x.wake <- struct{}{}:
			default:
			}
		}
	}
	return notified
}

// maxStarts is the number of processes after which a run must have ended, and maxTime the virtual
// time.
const (
	maxStarts = 100
	maxTime   = 48 * time.Hour
)

// startAll starts processes of the program until the run has ended. It returns the run's error.
func (w *world) startAll(ctx context.Context) error {
	for n := 1; n <= maxStarts && time.Since(w.began) < maxTime; n++ {
		p := w.start(fmt.Sprintf("program#%d", n))
		ctx, cancel := context.WithCancelCause(ctx)
		p.cancel = cancel
		w.mu.Lock()
		w.program = p
		w.note(p.name, "starts")
		w.mu.Unlock()
		w.gate.pass(p, "starts")
		err := w.startOne(ctx, p)
		if p.dead.Load() {
			w.interrupted++
			continue
		}
		w.mu.Lock()
		s, ok := errors.AsType[*engine.Suspended](err)
		w.note(p.name, "exits: %v%s", err, waiting(s))
		ok = ok || w.hasFailed(err)
		w.mu.Unlock()
		w.end(p)
		if !ok {
			return err
		}
		if s != nil && s.Why == nil {
			w.awaitDue()
		} else {
			w.interrupted++
		}
	}
	return fmt.Errorf("J16: the run has not ended after %d processes or %s", maxStarts, maxTime)
}

// waiting returns the questions for which a suspended run waits.
func waiting(s *engine.Suspended) (text string) {
	if s == nil {
		return ""
	}
	for _, q := range s.Waiting {
		text += " " + q.ID
	}
	return text
}

// startOne runs one process of the program.
func (w *world) startOne(ctx context.Context, p *process) error {
	defer p.cancel(nil)
	defer func() {
		if x := recover(); x != nil { // its goroutines would remain in the bubble
			text, _ := json.MarshalIndent(&Schedule{w.schedule.Work, Choices{Order: w.schedule.Order, People: w.schedule.People, Faults: w.faults}}, "", "  ")
			panic(fmt.Sprintf("the program panics: %v\n%s\n%s\n%s", x, debug.Stack(), w.story(), text))
		}
	}()
	late := time.AfterFunc(maxTime-time.Since(w.began), func() { p.cancel(errTooLate) })
	defer late.Stop()
	w.mu.Lock()
	w.wake()
	w.mu.Unlock()
	stored, err := engine.OpenNewest(filepath.Join(w.base, runName))
	if errors.Is(err, journal.ErrNoRun) {
		return w.schedule.Work.program.Run(ctx, w.options(p))
	}
	if err != nil {
		if !p.dead.Load() && !w.hasFailed(err) {
			err = fmt.Errorf("J17: a new process cannot open the run: %w", err)
		}
		return err
	}
	if _, ended := stored.Finished(); ended {
		return nil
	}
	return stored.Resume(ctx, w.options(p))
}

// awaitDue waits until a parked run has an answer or a timer that has expired, as cron does with
// `concerto runs resume --due`.
func (w *world) awaitDue() {
	for time.Since(w.began) < maxTime {
		cron := w.start("cron")
		w.gate.pass(cron, "searches for an answer or an expired timer")
		s, err := runs.Show(w.run(cron, runName))
		if err != nil || runs.IsReady(w.run(cron, runName), s, time.Now()) {
			return // the next process reports the error
		}
		due := maxTime - time.Since(w.began)
		for _, x := range s.Timers {
			if at, err := time.Parse(time.RFC3339, x.Due); err == nil && time.Until(at) > 0 {
				due = min(due, time.Until(at))
			}
		}
		select {
		case <-w.answers.wake:
		case <-time.After(due):
		}
	}
}

// Result is what a schedule has shown.
type Result struct {
	Problems []string
	Faults   []Fault  // those that have happened
	Trace    []string // the calls in the order in which they continued, and the operations of the disk
	Story    string
}

// Play runs a schedule in a bubble, with files below a real directory that it empties.
func (s *Schedule) Play(t *testing.T, base string) *Result {
	t.Helper()
	s.Work.compile(t, base)
	return s.play(t, base, func(w *world) {
		w.gate.reached = w.reached
	}, func(ctx context.Context, w *world) {
		closePeople := w.startPeople(w.answerAll, func(p *process, _ string) journal.Run { return w.run(p, runName) }, pauses)
		err := w.startAll(ctx)
		w.gate.pass(w.start("end"), "of the run")
		closePeople()
		w.disk.StopFaults()
		w.judge(ctx, err)
	})
}

// play lets work run in a new world, in a bubble. prepare completes the world before its first
// call.
func (s *Schedule) play(t *testing.T, base string, prepare func(w *world), work func(ctx context.Context, w *world)) (r *Result) {
	t.Helper()
	install()
	defer oneAtATime()()
	dir, scratch := filepath.Join(base, "work"), filepath.Join(base, "scratch")
	if err := errors.Join(os.RemoveAll(base), os.MkdirAll(dir, 0o700), os.MkdirAll(scratch, 0o700)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(base) + ".sim"
	late := time.AfterFunc(stuckAfter, func() { s.reportStuck(base) })
	defer late.Stop()
	synctest.Test(t, func(t *testing.T) {
		w := &world{schedule: s, base: base, host: name, gate: newGate(s.Order), began: time.Now(), news: newSignal(), answers: newSignal(), changes: newSignal(), models: map[string][]string{}}
		w.gate.idle = w.notify
		w.disk = simdisk.New(simdisk.Options{Seed: s.Order, Scratch: scratch, Observe: w.observe})
		defer w.disk.Close()
		w.disk.MkdirAll(base)
		w.disk.MkdirAll(dir)
		for _, key := range []string{base, name} {
			worlds.Store(key, w)
			defer worlds.Delete(key)
		}
		prepare(w)
		stop := make(chan struct{})
		go w.gate.run(stop)
		closeServer := w.serve()
		work(t.Context(), w)
		close(stop)
		closeServer()
		w.endKeepers()
		w.mu.Lock()
		defer w.mu.Unlock()
		r = &Result{Problems: w.problems, Faults: w.faults, Trace: w.gate.trace, Story: w.story()}
	})
	return r
}

// oneAtATime lets one goroutine run at a time, and no garbage collection move it, until the
// returned function is called. Otherwise goroutines that compute between two calls would be in an
// order of their own. The memory of a schedule is collected after it.
func oneAtATime() (restore func()) {
	n, percent, limit := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1), debug.SetMemoryLimit(2<<30)
	return func() {
		runtime.GOMAXPROCS(n)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
		if plays.Add(1)%16 == 0 {
			runtime.GC()
		}
	}
}

// plays is the number of schedules so far.
var plays atomic.Int64

// stuckAfter is the real time within which a schedule must end.
const stuckAfter = 20 * time.Second

// reportStuck ends the test process with the story so far and the stacks.
func (s *Schedule) reportStuck(base string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	story := ""
	if w, ok := worlds.Load(base); ok {
		story = w.(*world).tail(50)
	}
	panic(fmt.Sprintf("schedule with order %d and seed %d does not end:\n%s\n%s", s.Order, s.Seed, story, stacks))
}

// tail returns the last calls of a world.
func (w *world) tail(n int) string {
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	return strings.Join(w.gate.trace[max(len(w.gate.trace)-n, 0):], "\n")
}

// story returns the judge's log as a text.
func (w *world) story() string {
	var b strings.Builder
	for _, e := range w.log {
		fmt.Fprintf(&b, "%10.3f s  %-12s %s\n", e.at.Seconds(), e.who, e.what)
	}
	return b.String()
}
