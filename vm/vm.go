// Package vm runs programs. It loads IR into its own instructions, represents each task as frames
// on a stack of slots, and performs all effects through an effect.Performer. Neither this package
// nor the natives access files, the network or the clock in any other way.
//
// A VM runs one program once. It is not safe for concurrent use.
package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Config configures a run.
type Config struct {
	Program   *ir.Program              // must have passed ir.Verify
	Natives   func(name string) Native // finds a function of the library by its registered name; returns nil if there is none
	Performer effect.Performer         // performs all effects of the run
	Durable   Durable                  // records the run, replays a recorded one and suspends it; nil for none
	Observer  Observer                 // receives what happens in the run; nil for none

	// AlwaysCopy turns each copy-on-write into a copy. Tests use it to show that no program can
	// observe the difference.
	AlwaysCopy bool

	// Choose, if set, makes the run repeatable. Requests that wait are then performed one at a time
	// on the run's goroutine, when no task can continue. Choose receives the waiting requests in
	// the order in which they were made, and returns the index of the next one to perform. Requests
	// whose context has ended are performed first.
	Choose func([]effect.Request) int

	// Count selects the events that are counted.
	Count Counting

	// Profile, if set, samples the position of the run.
	Profile *Profile

	// RecordOrigins adds effect.From, the origin, to each output.
	RecordOrigins bool

	// AskPerson makes the VM ask a person to answer a host's message if neither a handler nor a
	// default of the program answers it.
	AskPerson bool

	// Application describes the application in which the run is embedded.
	Application Application

	// MaxStack is the maximum size of a task's stack in slots of 16 bytes; 0 means 8 Mi slots. A
	// deeper recursion raises a fault.
	MaxStack int
}

// Counting selects the events that are counted in a run.
type Counting struct {
	Points       bool // coverage: see VM.Covered
	Instructions bool // executions of each instruction: see VM.Runs
}

// Outcome is the result of a successful run.
type Outcome struct {
	Value value.Slot // the result of main
	Stats Stats
	// Unfinished contains the places where those tasks begin that were still running when main
	// returned, in the order of their start. Run has awaited these tasks.
	Unfinished []Place
}

// Stats are the counters of a run.
type Stats struct {
	Copied     int64 // number of containers copied by copy-on-write
	CopiedText int64 // number of bytes copied by joining strings
	Requests   int64 // number of effects performed
}

// VM is one run of an image.
type VM struct {
	image    *image
	config   Config
	declared declared
	methods  methodCache

	args     Args       // arguments of the native that is being called
	pace     value.Pace // pace of natives and of other long operations
	memory   memory
	texts    textCache
	maxStack int

	sched     sched
	requests  requests
	journaled journaled
	observed  observed
	ending    ending
	left      errSteps
	serving   *serving

	stats  Stats
	counts counts

	own           map[any]any // state of natives: see StateOf
	openResources openResources
	planLimits    planLimits
	taskDecisions map[*task]*taskDecisions // used with Observer.Decisions
	debug         debugState
	hostStreams   hostStreams
	uses          *uses // nil if the program does not call UsageNative
}

// declared contains the values of a program's declarations.
type declared struct {
	agents []value.Slot
	hosts  []value.Slot
	stores []value.Slot
	tools  []*Tool
	whole  bool // the state of the tools has been computed
	// replaced contains the tools that Grow has replaced by tools with the same name.
	replaced map[*toolDecl]bool
}

// counts are the numbers assigned last.
type counts struct {
	task      int64 // used with Observer.Activity or Config.RecordOrigins
	exchanges int64 // number of exchanges that have begun; used with Config.RecordOrigins
}

// ending determines how the run ends.
type ending struct {
	panicked   *raised     // panic of a task, which ends the run; nil if there is none
	panicIn    int64       // number of that task
	fatal      error       // error of a performer or of a violated invariant, which ends the run; nil if there is none
	cut        bool        // the end of the run's context has ended a task
	cutAt      *Stopped    // place of the first task that detected the end of the context
	lost       []*task     // tasks that failed while no task waited for them
	unfinished []*function // functions of the tasks that were running when main returned
}

// New loads a program and creates a run of it. The error names the functions that the program
// requires and the library lacks.
func New(config Config) (*VM, error) {
	i, err := load(&config)
	if err != nil {
		return nil, err
	}
	return newRun(config, i)
}

// Fresh returns a VM for another run of the same program. The two VMs share the image and nothing
// else that a run changes. They must not run at the same time. set changes the configuration of the
// run, without its program.
func (m *VM) Fresh(set func(*Config)) (*VM, error) {
	config := m.config
	set(&config)
	return newRun(config, m.image)
}

// newRun creates a run of an image.
func newRun(config Config, i *image) (*VM, error) {
	m := new(VM)
	m.init(config, i)
	return m, nil
}

// init makes the empty VM m a run of an image.
func (m *VM) init(config Config, i *image) {
	m.image, m.config, m.maxStack = i, config, config.MaxStack
	m.sched.most = int(config.Program.Limits.MaxTasks)
	m.journaled.init(config.Durable)
	m.observed = observedBy(config.Observer)
	if m.journaled.on {
		m.memory.judge = m.memoryFits
	}
	m.requests.init()
	if m.observed.debugger != nil {
		m.debug.calls, m.image.debug.classes = &pendingCalls{}, map[position]ir.Classes{}
	}
	m.pace.Check = m.sched.tickLong
	m.args.vm, m.args.pace = m, &m.pace
	if m.maxStack == 0 {
		m.maxStack = 8 << 20
	}
	if config.Application.Grows || slices.Contains(config.Program.Natives, UsageNative) {
		m.uses = newUses()
	}
	m.declare()
}

// ErrNoMain is the error of running a program that has no main.
var ErrNoMain = errors.New("the program has no function `main`")

// Continued is the error of a run that has ended because its successor starts with Inputs.
type Continued struct {
	Inputs json.RawMessage // object
	*effect.Continued
}

func (e *Continued) Error() string { return "the run continues as a new run" }

// ContinueAsNew returns the error by which a native ends the run with a *Continued.
func ContinueAsNew(inputs json.RawMessage, c *effect.Continued) error {
	return &endsRun{&Continued{inputs, c}}
}

// maxExit is the highest exit code of a program. The command uses some of the codes above it.
const maxExit = 63

// Exit is the error of a run that ended with an exit code.
type Exit struct{ Code int }

func (e *Exit) Error() string { return fmt.Sprintf("the program exited with code %d", e.Code) }

// ExitWith returns the error by which a native ends the run with an *Exit, or another error if code
// is not an exit code.
func ExitWith(code int64) error {
	if code < 0 || code > maxExit {
		return fmt.Errorf("an exit code is a number from 0 to %d, not %d", maxExit, code)
	}
	return &endsRun{&Exit{int(code)}}
}

// ExitOf returns the error with which a command ends after main has returned v: an *Exit for an Int
// other than 0, or Ok of one, and an *Uncaught for an Int that is not an exit code. It returns nil
// for every other value.
func ExitOf(m *VM, v value.Slot) error {
	if v.IsResult() {
		v = v.Fields()[0]
	}
	if v.Kind() != value.KindInt || v.AsInt() == 0 {
		return nil
	}
	if n := v.AsInt(); n < 0 || n > maxExit {
		e := &Uncaught{Value: value.NewError("RuntimeError", fmt.Sprintf("`main` returned %d, but an exit code is a number from 0 to %d", n, maxExit)), Number: 1}
		e.describe()
		at := m.image.place(call{pc: int32(m.image.functions[m.image.program.Entry].entry), level: atEntry})
		e.Place, e.Trace = at, []Place{at}
		return e
	}
	return &Exit{int(v.AsInt())}
}

// Run runs main. The error is an *Uncaught if the program failed. It is context.Cause(ctx) if ctx
// ended the run. Otherwise it is the performer's error. Every goroutine of the run has ended when
// Run returns.
func (m *VM) Run(ctx context.Context) (*Outcome, error) {
	if m.image.program.Entry < 0 {
		return nil, ErrNoMain
	}
	return m.Call(ctx, m.image.program.Entry)
}

// Call runs function f of the program with arguments of the class Full. It returns the same results
// as Run.
func (m *VM) Call(ctx context.Context, f int, args ...value.Slot) (*Outcome, error) {
	m.memory.begin(m.image.program.Limits.MaxMemoryMB, &m.pace, m.texts.offsets.Clear)
	if err := m.initTools(ctx); err != nil {
		return nil, err
	}
	m.declared.whole = true
	if d := m.observed.debugger; d != nil {
		m.requests.begin(ctx)
		d.Loaded(m)
	}
	v, err := m.runTask(ctx, &m.image.functions[f], args)
	if err != nil {
		return nil, err
	}
	return &Outcome{Value: v, Stats: m.stats, Unfinished: m.image.entries(m.ending.unfinished)}, nil
}

// runTask runs a function as the main task and awaits all tasks that it starts. It returns the
// function's result.
func (m *VM) runTask(ctx context.Context, f *function, args []value.Slot) (value.Slot, error) {
	return m.runClosure(ctx, f, nil, args)
}

// runClosure runs a function that may have captured variables, like runTask.
func (m *VM) runClosure(ctx context.Context, f *function, closure unsafe.Pointer, args []value.Slot) (value.Slot, error) {
	ctx = m.journaled.begin(ctx)
	m.requests.begin(ctx)
	m.ending.lost, m.ending.unfinished = nil, nil
	t := m.newTask(f, closure, args...)
	m.sched.main = t
	m.sched.ready.push(t)
	m.loop()
	return m.outcome(ctx, t, m.ending.lost, m.ending.cut)
}

// outcome returns the result of a task that an outside caller has started, or the error if it has
// none. lost contains the tasks that it started and that failed while no task waited for them. cut
// is set if the end of ctx has ended a task.
func (m *VM) outcome(ctx context.Context, t *task, lost []*task, cut bool) (value.Slot, error) {
	u := (*Uncaught)(nil)
	switch r := t.raised; {
	case m.ending.fatal != nil:
		return value.Nil, m.ending.fatal
	case m.ending.panicked != nil:
		u = m.uncaught(m.ending.panicked)
		u.Number = m.ending.panicIn
		return value.Nil, u
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

// isErr reports whether v is a Result that is an Err.
func isErr(v value.Slot) bool { return v.IsResult() && v.Variant() == value.VariantErr }

// uncaughtErr returns the Err with which a task ended as an uncaught error.
func (m *VM) uncaughtErr(t *task) *Uncaught {
	e := &Uncaught{Value: t.result.Fields()[0]}
	e.describe()
	if t.way != nil {
		e.Trace = m.wayPlaces(*t.way, "")
	}
	if len(e.Trace) == 0 { // no function of the program created the Err or returned it by `?`
		e.Trace = []Place{m.image.place(call{pc: int32(t.fn.entry), level: atEntry})}
	}
	e.Place, e.Trace = visible(e.Trace), userView(e.Trace)
	return e
}

// boxed converts the content of a register of a class to a value that contains its kind.
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
