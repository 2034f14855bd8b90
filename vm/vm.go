// Package vm runs programs: it loads IR into its own instructions, represents each task as frames
// on a stack of slots, and accesses the world only through effect.Performer. The compatibility
// promise does not cover its API. Nothing else here or in natives accesses the world.
//
// A VM runs one program once; it is not safe for concurrent use.
package vm

import (
	"context"
	"errors"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Config configures a run.
type Config struct {
	Program   *ir.Program              // passed ir.Verify
	Natives   func(name string) Native // finds a function of the library by its registered name; nil if there is none
	Performer effect.Performer

	// Journal, if set, receives everything that decides the course of the run. Past, if set, is a
	// recorded run that is replayed first; then the run continues.
	Journal Journal
	Past    Past
	// Suspend, when closed, suspends the run where it is: nothing is unwound, pending requests stay
	// pending, and Run returns ErrSuspended. It requires a Journal.
	Suspend <-chan struct{}

	// Boundary, if set, is called on the run's goroutine wherever no task can continue and the run
	// is about to wait for the next result: there Snapshot may be called. It is called once more
	// when the run is suspended while it waits. It requires a journal or a past.
	Boundary func(*VM)
	// NewNativeState creates the empty state of a native by its name, for reading a snapshot. It
	// returns nil if there is none of that name.
	NewNativeState func(name string) NativeState
	// Texts, if set, replaces secrets in the texts of a snapshot.
	Texts Texts

	// AlwaysCopy turns each copy-on-write into a copy, to show that no program can observe the
	// difference.
	AlwaysCopy bool

	// Choose, if set, makes the run repeatable. Requests that wait are then performed one at a
	// time, on the run's goroutine, when no task can continue. Choose receives the waiting requests
	// in the order in which they were made, and returns the index of the next one. Requests whose
	// context has ended come first.
	Choose func([]effect.Request) int

	// Decisions, if set, receives each decision with its author.
	Decisions Decisions

	// Count selects what is counted.
	Count Counting

	// Profile, if set, samples where the run is.
	Profile *Profile

	// Observer, if set, receives tasks and effects.
	Observer Observer
	// Located, if set, receives the place of a task that makes a request for which it may wait.
	// Awaited emits and questions to a person then contain their place and the schema of answers.
	Located func(Place)
	// Detail adds the origin of output to it: effect.From.
	Detail bool

	// Asks means that a person is asked to answer a host's message if neither a handler nor a
	// default of the program answers it.
	Asks bool

	// Application describes the application around the run.
	Application Application

	// MaxStack bounds a task's stack, in slots of 16 bytes; 0 means 8 Mi slots. Recursion beyond it
	// is a fault.
	MaxStack int
}

// Counting selects what is counted in a run.
type Counting struct {
	Points       bool // coverage: see VM.Covered
	Instructions bool // executions of each instruction: see VM.Runs
}

// Texts replaces texts that no snapshot may contain, such as secrets. Reveal is the inverse of
// Hide.
type Texts interface {
	Hide(text string) string
	Reveal(text string) string
}

// Outcome is the result of a successful run.
type Outcome struct {
	Value value.Slot // the result of main
	Stats Stats
	// Unfinished are the places where those tasks begin that were still running when main returned,
	// in the order of their start. The run has awaited them.
	Unfinished []Place
}

// Stats are the counters of a run.
type Stats struct {
	Copied     int64 // containers copied by copy-on-write
	CopiedText int64 // bytes copied by joining strings
	Requests   int64 // effects performed
}

// VM is one run of an image.
type VM struct {
	image    *image
	config   Config
	declared declared
	methods  methodCache

	args     Args       // of the native being called
	pace     value.Pace // of natives and of other long operations
	memory   memory
	texts    textCache
	maxStack int

	sched     sched
	requests  requests
	journaled journaled
	ending    ending
	left      errSteps
	serving   *serving

	stats  Stats
	counts counts

	own           map[any]any // the state of natives: see StateOf
	holdings      holdings
	taskDecisions map[*task]*taskDecisions // with Config.Decisions
	debug         debugState
	hostStreams   hostStreams
}

// declared are the values of a program's declarations.
type declared struct {
	agents []value.Slot
	hosts  []value.Slot
	stores []value.Slot
	tools  []*Tool
	whole  bool // the state of the tools has been computed
	// replaced are tools that others of the same name have replaced: see Grow.
	replaced map[*toolDecl]bool
}

// counts are the last assigned numbers.
type counts struct {
	task      int64 // with Config.Observer or Config.Detail
	exchanges int64 // exchanges that have begun, with Config.Detail
}

// ending determines how a run ends.
type ending struct {
	panicked   *raised     // ends the run: a task's panic
	fatal      error       // ends the run: a performer's error, or a violated invariant
	cut        bool        // the end of the run's context has ended a task
	cutAt      *Stopped    // where the first task noticed it
	lost       []*task     // failed while no task waited for them
	unfinished []*function // of tasks that were running when main returned
}

// New loads a program and creates a run of it. The error names what the program requires and the
// library lacks.
func New(config Config) (*VM, error) {
	i, err := load(&config)
	if err != nil {
		return nil, err
	}
	return newRun(config, i)
}

// Fresh returns a VM for another run of the same program. The two share the image; everything that
// a run changes is new. They must not run at the same time.
func (m *VM) Fresh(p effect.Performer, choose func([]effect.Request) int) (*VM, error) {
	config := m.config
	config.Performer, config.Choose = p, choose
	return newRun(config, m.image)
}

// newRun creates a run of an image.
func newRun(config Config, i *image) (*VM, error) {
	m := new(VM)
	m.init(config, i)
	return m, nil
}

// init makes m, which is empty, a run of an image.
func (m *VM) init(config Config, i *image) {
	m.image, m.config, m.maxStack = i, config, config.MaxStack
	m.sched.most = int(config.Program.Limits.MaxTasks)
	m.journaled.init(&config)
	if m.journaled.on {
		m.memory.judge = m.memoryExceeded
	}
	m.requests.init()
	if config.Application.Debugger != nil {
		m.debug.calls, m.image.debug.classes = &pendingCalls{}, map[position]ir.Classes{}
	}
	m.pace.Check = m.sched.tickLong
	m.args.vm, m.args.pace = m, &m.pace
	if m.maxStack == 0 {
		m.maxStack = 8 << 20
	}
	m.declare()
}

// ErrNoMain is the error of running a program that has no main.
var ErrNoMain = errors.New("the program has no function `main`")

// Run runs main. The error is an *Uncaught if the program failed, context.Cause(ctx) if ctx ended
// the run, and else the error from outside. Every goroutine of the run has ended when Run returns.
func (m *VM) Run(ctx context.Context) (*Outcome, error) {
	if m.image.program.Entry < 0 {
		return nil, ErrNoMain
	}
	return m.Call(ctx, m.image.program.Entry)
}

// Call runs function f of the program with Full arguments, as Run does main.
func (m *VM) Call(ctx context.Context, f int, args ...value.Slot) (*Outcome, error) {
	m.memory.begin(m.image.program.Limits.MaxMemoryMB, &m.pace, m.texts.offsets.Clear)
	if err := m.initTools(ctx); err != nil {
		return nil, err
	}
	m.declared.whole = true
	if d := m.config.Application.Debugger; d != nil {
		m.requests.begin(ctx)
		d.Loaded(m)
	}
	v, err := m.runTask(ctx, &m.image.functions[f], args)
	if err != nil {
		return nil, err
	}
	return &Outcome{Value: v, Stats: m.stats, Unfinished: m.image.entries(m.ending.unfinished)}, nil
}

// runTask runs one function as the main task, with all the tasks that it starts, and returns its
// result.
func (m *VM) runTask(ctx context.Context, f *function, args []value.Slot) (value.Slot, error) {
	return m.runClosure(ctx, f, nil, args)
}

// runClosure is runTask for a function that may have captured variables.
func (m *VM) runClosure(ctx context.Context, f *function, closure unsafe.Pointer, args []value.Slot) (value.Slot, error) {
	ctx = m.journaled.begin(ctx, &m.config)
	m.requests.begin(ctx)
	m.ending.lost, m.ending.unfinished = nil, nil
	t := m.newTask(f, closure, args...)
	m.sched.main = t
	m.sched.ready.push(t)
	m.loop()
	return m.outcome(ctx, m.sched.main, m.ending.lost, m.ending.cut) // a snapshot may have replaced it
}

// outcome returns the result of a task that was run for an outside caller, or the error why there
// is none. lost are the tasks that it started and that failed while no task waited for them; cut
// means that ctx has ended one.
func (m *VM) outcome(ctx context.Context, t *task, lost []*task, cut bool) (value.Slot, error) {
	u := (*Uncaught)(nil)
	switch r := t.raised; {
	case m.ending.fatal != nil:
		return value.Nil, m.ending.fatal
	case m.ending.panicked != nil:
		return value.Nil, m.uncaught(m.ending.panicked)
	case r != nil && r.cancelled:
		return value.Nil, context.Cause(ctx)
	case r != nil:
		u = m.uncaught(r)
	case isErr(t.result):
		u = m.uncaughtErr(t)
	}
	if u != nil {
		u.Number = t.id
	}
	for _, x := range lost {
		if x.state.seen {
			continue
		}
		e := (*Uncaught)(nil)
		if x.raised != nil {
			e = m.uncaught(x.raised)
		} else {
			e = m.uncaughtErr(x)
		}
		e.Task, e.Number = true, x.id
		if u == nil {
			u = e
		} else {
			u.Others = append(u.Others, e)
		}
	}
	switch {
	case u != nil:
		return value.Nil, u
	case cut:
		return value.Nil, context.Cause(ctx)
	}
	return t.result, nil
}

// isErr reports whether a task's result is an Err.
func isErr(v value.Slot) bool { return v.IsResult() && v.Variant() == value.VariantErr }

// uncaughtErr returns the Err of a task as an uncaught error.
func (m *VM) uncaughtErr(t *task) *Uncaught {
	e := &Uncaught{Value: t.result.Fields()[0]}
	e.describe()
	if t.way != nil {
		e.Trace = m.wayPlaces(*t.way, "")
	}
	if len(e.Trace) == 0 { // the program itself created none of it
		e.Trace = []Place{m.image.place(call{pc: int32(t.fn.entry), level: atEntry})}
	}
	e.Place, e.Trace = visible(e.Trace), userView(e.Trace)
	return e
}

// boxed makes a register of a class self-describing.
func boxed(s value.Slot, c ir.Class) value.Slot {
	switch c {
	case ir.Int:
		return value.Int(s.AsInt())
	case ir.Float:
		return value.Float(s.AsFloat())
	case ir.Bool:
		return value.Bool(s.Bits&1 != 0)
	}
	return s
}
