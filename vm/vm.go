// Package vm runs programs: it loads IR into its own instructions, keeps each
// task as saved frames on a stack of slots, and reaches the world only through
// effect.Performer; its API promises nothing. Nothing else here or in natives
// touches the world.
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

// Config is what a run needs.
type Config struct {
	Program   *ir.Program              // passed ir.Verify
	Natives   func(name string) Native // finds a function of the library by its registered name; nil when there is none
	Performer effect.Performer

	// Journal, when set, hears of all that decides the run. Past, when set, is a recorded run
	// that is played again, and gone on with where it is over.
	Journal Journal
	Past    Past
	// Suspend, when closed, leaves the run where it is: nothing is unwound, what is under way
	// is left, and Run gives ErrSuspended. It needs a Journal.
	Suspend <-chan struct{}

	// Boundary, when set, is called on the run's goroutine wherever no task can go on and the
	// next result is about to be waited for: there Snapshot may be taken. It is called once more
	// when the run is suspended while it waits. It needs a journal or a past.
	Boundary func(*VM)
	// Kept makes an empty object of what natives keep, by its name: what a snapshot holds of it
	// is read into it. nil when there is none of that name.
	Kept func(name string) Kept
	// Texts, when set, is how texts of the run stand in a snapshot: without secrets.
	Texts Texts

	// AlwaysCopy turns each copy-on-write into a copy, to show that no program
	// can tell the difference.
	AlwaysCopy bool

	// Choose, when set, makes the run repeatable. Requests that wait are then
	// performed one at a time, on the run's goroutine, when no task can go on.
	// Choose gets the waiting requests in the order in which they were made,
	// and gives the index of the next one. Requests whose context has ended
	// come first.
	Choose func([]effect.Request) int

	// Decisions, when set, hears who decided what the run was asked.
	Decisions Decisions

	// Count counts what runs.
	Count Counting

	// Profile, when set, takes samples of where the run is.
	Profile *Profile

	// Observer, when set, hears of tasks and effects.
	Observer Observer
	// Located, when set, is told where in the program a task is that asks for an effect for
	// which it may wait. Awaited emits and what is put to a person then have their place and
	// the schema of answers.
	Located func(Place)
	// Detail puts into output where it comes from: effect.From.
	Detail bool

	// Asks says that a person is asked what a host asks, when neither a handler nor
	// a default of the program answers it.
	Asks bool

	// Application is what is around the run.
	Application Application

	// MaxStack bounds a task's stack, in slots of 16 bytes; 0 means 8 Mi slots.
	// Recursion beyond it is a fault.
	MaxStack int
}

// Counting says what of a run is counted.
type Counting struct {
	Points       bool // what of the program runs: see VM.Covered
	Instructions bool // how often each instruction runs: see VM.Runs
}

// Texts replaces what no snapshot may hold, such as secrets: Reveal gives of what Hide has given
// what it was.
type Texts interface {
	Hide(text string) string
	Reveal(text string) string
}

// Outcome is what a run that went well gave.
type Outcome struct {
	Value value.Slot // what main returned
	Stats Stats
	// Unfinished are the places where those tasks begin that were still running
	// when main returned, in the order of their start. The run has awaited
	// them.
	Unfinished []Place
}

// Stats counts what a run did.
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
	pace     value.Pace // of natives and of other long work
	memory   memory
	texts    textCache
	maxStack int

	sched    sched
	requests requests
	written  written
	ending   ending
	left     leavings
	serving  *serving

	stats  Stats
	counts counts

	own         map[any]any // what natives keep: see Own
	holdings    holdings
	telling     map[*task]*telling // with Config.Decisions
	debug       attention
	hostStreams hostStreams
}

// declared are the values of a program's declarations.
type declared struct {
	agents []value.Slot
	hosts  []value.Slot
	stores []value.Slot
	tools  []*Tool
	whole  bool // the tools have their state
	// replaced are tools in whose place others of their names have come: see Grow.
	replaced map[*toolDecl]bool
}

// counts are the last numbers given.
type counts struct {
	task      int64 // with Config.Observer or Config.Detail
	exchanges int64 // exchanges that have begun, with Config.Detail
}

// ending is what decides how a run ends.
type ending struct {
	panicked   *raised     // ends the run: a task's panic
	fatal      error       // ends the run: a performer's, or a broken invariant
	cut        bool        // the end of the run's context has ended a task
	cutAt      *Stopped    // where the first learnt of it
	lost       []*task     // failed while nobody waited for them
	unfinished []*function // of tasks under way when main returned
}

// New loads a program and makes a run of it. The error names what the program
// needs and the library lacks.
func New(config Config) (*VM, error) {
	i, err := load(&config)
	if err != nil {
		return nil, err
	}
	return newRun(config, i)
}

// Fresh gives a VM for another run of the same program. The two share the
// image; all that a run changes is new. They must not run at the same time.
func (m *VM) Fresh(p effect.Performer, choose func([]effect.Request) int) (*VM, error) {
	config := m.config
	config.Performer, config.Choose = p, choose
	return newRun(config, m.image)
}

// newRun makes a run of an image.
func newRun(config Config, i *image) (*VM, error) {
	m := new(VM)
	m.init(config, i)
	return m, nil
}

// init makes m, which is empty, a run of an image.
func (m *VM) init(config Config, i *image) {
	m.image, m.config, m.maxStack = i, config, config.MaxStack
	m.sched.most = int(config.Program.Limits.MaxTasks)
	m.written.init(&config)
	if m.written.on {
		m.memory.judge = m.judge
	}
	m.requests.init()
	if config.Application.Debugger != nil {
		m.debug.errands, m.image.debug.classes = &errands{}, map[position]ir.Classes{}
	}
	m.pace.Look = m.sched.look
	m.args.vm, m.args.pace = m, &m.pace
	if m.maxStack == 0 {
		m.maxStack = 8 << 20
	}
	m.declare()
}

// ErrNoMain says that a program has no main to run.
var ErrNoMain = errors.New("the program has no function `main`")

// Run runs main. The error is an *Uncaught when the program failed,
// context.Cause(ctx) when ctx ended the run, and else the reason from outside.
// Every goroutine of the run has ended when Run returns.
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

// runTask runs one function as the main task, with all the tasks that it starts,
// and gives its result.
func (m *VM) runTask(ctx context.Context, f *function, args []value.Slot) (value.Slot, error) {
	return m.runClosure(ctx, f, nil, args)
}

// runClosure is runTask for a function that may have captured something.
func (m *VM) runClosure(ctx context.Context, f *function, closure unsafe.Pointer, args []value.Slot) (value.Slot, error) {
	ctx = m.written.begin(ctx, &m.config)
	m.requests.begin(ctx)
	m.ending.lost, m.ending.unfinished = nil, nil
	t := m.newTask(f, closure, args...)
	m.sched.main = t
	m.sched.ready.push(t)
	m.loop()
	return m.outcome(ctx, m.sched.main, m.ending.lost, m.ending.cut) // a snapshot may have put another in its place
}

// outcome is the result of a task that was run for an outside caller, or the
// error why there is none. lost are the tasks that it started and that failed
// while nobody waited for them; cut says that ctx has ended one.
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

// isErr says whether a task gave an Err.
func isErr(v value.Slot) bool { return v.IsResult() && v.Variant() == value.VariantErr }

// uncaughtErr is the Err that a task gave, as an error nobody caught.
func (m *VM) uncaughtErr(t *task) *Uncaught {
	e := &Uncaught{Value: t.result.Fields()[0]}
	e.describe()
	if t.way != nil {
		e.Trace = m.wayPlaces(*t.way, "")
	}
	if len(e.Trace) == 0 { // nothing of the program's own made it
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
