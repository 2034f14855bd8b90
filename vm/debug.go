package vm

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Debugging. With Observer.Debugger the loader puts a stop point before the first instruction of
// each line, after each call, and at the start of each loop iteration. A cleared stop point is a
// jump to the next instruction, which is the cheapest instruction of the dispatch loop. A set stop
// point is an opStop. Without Observer.Debugger there are no stop points, and the dispatch loop
// does not check for any.

// Debugger receives control when the run reaches a set stop point, performs an effect or raises an
// error. Its methods are called on the run's goroutine, and the run is stopped until they return. A
// Scene is valid until the method returns.
type Debugger interface {
	// Library reports whether the files of the library have stop points, too.
	Library() bool
	// Loaded is called before the run begins.
	Loaded(*VM)
	// Reached is called at a stop point that is set.
	Reached(Scene, *StopPoint)
	// BeforeEffect is called before an effect is performed, AfterEffect when its result is
	// available.
	BeforeEffect(Scene, effect.Request)
	AfterEffect(Scene, effect.Request, effect.Result, error)
	// BeforeHandler is called before a handler handles a message of a host.
	BeforeHandler(at Scene, host string, m *effect.HostMessage)
	// Calls is called when a model or a host calls a tool of the program.
	Calls(at Scene, tool, function string)
	// OnError is called when an error is raised, or when `?` propagates an Err.
	OnError(Scene, Raise)
}

// NoDebugger implements Debugger with methods that do nothing.
type NoDebugger struct{}

// Library implements Debugger. It returns false.
func (NoDebugger) Library() bool { return false }

// Loaded implements Debugger.
func (NoDebugger) Loaded(*VM) {}

// Reached implements Debugger.
func (NoDebugger) Reached(Scene, *StopPoint) {}

// BeforeEffect implements Debugger.
func (NoDebugger) BeforeEffect(Scene, effect.Request) {}

// AfterEffect implements Debugger.
func (NoDebugger) AfterEffect(Scene, effect.Request, effect.Result, error) {}

// BeforeHandler implements Debugger.
func (NoDebugger) BeforeHandler(Scene, string, *effect.HostMessage) {}

// Calls implements Debugger.
func (NoDebugger) Calls(Scene, string, string) {}

// OnError implements Debugger.
func (NoDebugger) OnError(Scene, Raise) {}

// StopPoint is a place at which a run can be stopped.
type StopPoint struct {
	Place
	Kind    StopKind
	Handler string // the message type of the handler that contains it; "" for none
	Entry   bool   // the stop point is the first one of its function or handler
	n, pc   int
	at      position
	set     bool
}

// StopKind is the kind of the place of a stop point.
type StopKind uint8

// The kinds of stop points.
const (
	stopNone   StopKind = iota
	StopLine            // before a line
	StopReturn          // after a call
	StopLoop            // at the start of a loop iteration within a line
)

// Raise is an error that is being propagated.
type Raise struct {
	Value      value.Slot
	Panic      bool
	Propagated bool // the value is an Err that `?` propagates
	Caught     bool // the program catches it
}

// debugging is the part of an image that a debugger needs.
type debugging struct {
	stopPoints []*StopPoint
	classes    map[position]ir.Classes
	natives    map[int32]int32 // for natives that only added code uses: index in the image's table, by index in the program's table
}

// pendingCalls are the functions that other goroutines passed to VM.Do.
type pendingCalls struct {
	any  atomic.Bool
	mu   sync.Mutex
	list []func()
}

// stop points returns the kinds of the stop points of a block by the index of the instruction that
// follows the stop point. It returns nil if the block has none.
func (m *loader) stopPoints(f *function, b *ir.Block) map[int]StopKind {
	d := m.debugger
	if d == nil {
		return nil
	}
	at := map[int]StopKind{}
	last, from := 0, -1
	hidden := func(file int) bool {
		return !d.Library() && (file < 0 || file >= len(m.program.Files) || m.program.Files[file].Text == "")
	}
	if file, _ := m.fileAt(f, b, 0); hidden(file) {
		return nil
	}
	for i, in := range b.Code {
		switch in.Op {
		case ir.OpCall, ir.OpCallClosure, ir.OpCallMethod:
			at[i+1] = StopReturn
		case ir.OpLoop, ir.OpForInt, ir.OpForIntTo:
			at[int(in.Imm)] = StopLoop
		}
	}
	for _, p := range b.Positions {
		file, within := m.fileAt(f, b, p.PC)
		if hidden(file) {
			last = 0
			continue
		}
		if p.Line != last || within != from {
			at[p.PC] = StopLine
		}
		last, from = p.Line, within
	}
	delete(at, len(b.Code))
	return at
}

// emitStopPoint puts a stop point before instruction i.
func (m *loader) emitStopPoint(h *handler, kind StopKind, i int) {
	if kind == stopNone {
		return
	}
	k := &StopPoint{Kind: kind, n: len(m.debug.stopPoints), pc: len(m.code)}
	if h != nil {
		k.Handler = h.info.Type
	}
	m.emitIns(ins{op: opStop, imm: int32(len(m.debug.stopPoints))}, i)
	m.debug.stopPoints = append(m.debug.stopPoints, k)
}

// placeStopPoints computes the positions of the stop points from the nth on and clears the stop
// points.
func (m *image) placeStopPoints(n int) {
	seen := int32(-1)
	for _, k := range m.debug.stopPoints[n:] {
		k.Place = m.place(call{pc: int32(k.pc)})
		k.at = position{int32(m.blockNumber(k.pc)), m.origin[k.pc]}
		if k.Kind == StopLine && k.at.block != seen {
			k.Entry, seen = true, k.at.block
		}
		m.code[k.pc] = ins{op: uint8(ir.OpJump)}
	}
}

// StopPoints returns the stop points of the program.
func (m *VM) StopPoints() []*StopPoint { return m.image.debug.stopPoints }

// Set sets or clears a stop point.
func (m *VM) Set(k *StopPoint, on bool) {
	if k.set = on; on {
		m.image.code[k.pc] = ins{op: opStop, imm: int32(k.n)}
	} else {
		m.image.code[k.pc] = ins{op: uint8(ir.OpJump)}
	}
}

// SetAll sets the stop points for which want returns true and clears the others.
func (m *VM) SetAll(want func(*StopPoint) bool) {
	for i, k := range m.image.debug.stopPoints {
		if on := want(k); on != k.set {
			k.set = on
			m.image.code[k.pc] = ins{op: uint8(ir.OpJump)}
			if on {
				m.image.code[k.pc] = ins{op: opStop, imm: int32(i)}
			}
		}
	}
}

// Do calls f on the run's goroutine. If the run waits, it calls f at once, otherwise at the next
// check of the running task. Do may be called from any goroutine. After the end of the run f is not
// called.
func (m *VM) Do(f func()) {
	e := m.debug.calls
	e.mu.Lock()
	e.list = append(e.list, f)
	e.any.Store(true)
	e.mu.Unlock()
	m.requests.inbox.put(completion{do: m.debug.runPendingCalls})
}

// debugState is the part of a run's state that its debugger uses.
type debugState struct {
	calls      *pendingCalls // the calls that other goroutines requested; nil without a debugger
	atStop     *task         // the task that is stopped at a stop point; nil if none
	evaluating *evaluation   // the debugger's expression that is being evaluated; nil if none
}

// runPendingCalls runs the calls that other goroutines requested.
func (a *debugState) runPendingCalls() {
	e := a.calls
	if !e.any.Load() {
		return
	}
	e.mu.Lock()
	list := e.list
	e.list = nil
	e.any.Store(false)
	e.mu.Unlock()
	for _, f := range list {
		f()
	}
}

// doStop calls the debugger at a stop point. It does not consume any of the task's budget.
func doStop(t *task, in *ins) status {
	t.budget += slowCost
	if d := t.debugger(); d != nil {
		t.m.debug.atStop = t
		d.Reached(Scene{t}, t.m.image.debug.stopPoints[in.imm])
		t.m.debug.atStop = nil
		if t.cancelled() { // the run was cancelled while it was stopped here, so that it executes no further line
			return raising
		}
	}
	return running
}

// Ended returns a channel that is closed when the run must end. It is called within Do, or by the
// debugger.
func (m *VM) Ended() <-chan struct{} {
	if t := m.sched.current; t != nil {
		t.budget = 0 // forces a check at the task's next call or loop
	}
	return m.requests.ctx.Done()
}

// debugger returns the run's debugger. It returns nil if there is none, or if the debugger is
// evaluating an expression.
func (t *task) debugger() Debugger {
	if d := t.m.observed.debugger; d != nil && t.m.debug.evaluating == nil {
		return d
	}
	return nil
}

// notifyRaised notifies the debugger of an error that has just been raised.
func (t *task) notifyRaised(r *raised) {
	if d := t.debugger(); d != nil && !r.cancelled {
		d.OnError(Scene{t}, Raise{Value: r.value, Panic: r.panicked, Caught: !r.panicked && t.catches(nil)})
	}
}

// notifyPropagated notifies the debugger of an Err that `?` propagates.
func (t *task) notifyPropagated(err value.Slot) {
	if d := t.debugger(); d != nil {
		_, pc := t.caller(t.fp)
		last := pc == 0 && (t == t.m.sched.main || len(t.watch) == 0 && t.member.group == nil) && len(t.scopes) == 0
		d.OnError(Scene{t}, Raise{Value: err, Propagated: true, Caught: !last})
	}
}

// catches reports whether the program catches an error that the task raises at its current place:
// in a region of one of its frames, or in a task that waits for it.
func (t *task) catches(seen []*task) bool {
	if slices.Contains(seen, t) {
		return false
	}
	for fp, pc := t.frame(), t.pc(); fp != nil && pc > 0; fp, pc = t.caller(fp) {
		if t.m.image.blockAt(pc).regionAt(pc) != nil {
			return true
		}
	}
	for _, s := range t.scopes {
		if s.run != nil && t.m.image.blockAt(s.pc).regionAt(s.pc) != nil {
			return true
		}
	}
	for _, x := range t.awaiting() {
		if x.catches(append(seen, t)) {
			return true
		}
	}
	return false
}

// captures reports whether a variable is captured by a closure's function. Captured variables are
// in the registers after the parameters.
func (f *function) captures(l ir.Local) bool {
	n := len(f.info.Params)
	return l.Slot < 0 && l.Register > n && l.Register <= n+f.info.Captures
}

// Variable returns the variable of the frame with this name.
func (f *Frame) Variable(name string) (v value.Slot, ok bool) {
	for _, x := range f.Locals {
		if x.Name == name {
			return x.Value, true
		}
	}
	if f.around != nil {
		return f.around.Variable(name)
	}
	return v, false
}

// Cell returns the cell that contains the variable with this name. ok is false if the variable is
// not in a cell. Several closures may share the cell.
func (f *Frame) Cell(name string) (cell value.Slot, ok bool) {
	for _, l := range ir.LocalsAt(f.all, f.at.at) {
		if l.Name != name {
			continue
		}
		v, ok := f.at.whole(l)
		return v, ok && v.Kind() == value.KindCell
	}
	if f.around != nil {
		return f.around.Cell(name)
	}
	return cell, false
}

// Assign sets the variable with this name to v, which must have the variable's type. It reports
// whether the variable exists and has a value.
func (f *Frame) Assign(name string, v value.Slot) bool {
	for _, l := range ir.LocalsAt(f.all, f.at.at) {
		if l.Name != name {
			continue
		}
		if !f.at.write(l, v) {
			return false
		}
		for i := range f.Locals {
			if f.Locals[i].Name == name {
				f.Locals[i].Value = v
			}
		}
		return true
	}
	return f.around != nil && f.around.Assign(name, v)
}

// write sets the variable to v. It returns false if the variable has no value yet.
func (r reader) write(l ir.Local, v value.Slot) bool {
	was, ok := r.whole(l)
	switch {
	case !ok:
		return false
	case was.Kind() == value.KindCell:
		was.Fields()[0] = v
		return true
	}
	s := slotAt(r.fp, uint8(l.Register))
	switch c := r.classes[l.Register]; {
	case l.Slot >= 0:
		s.Array().Set(l.Slot, v)
	case c == ir.Int || c == ir.Float || c == ir.Bool:
		s.Bits = v.Bits
	default:
		*s = v
	}
	return true
}

// whole returns the content of a variable's register or slot. For a variable in a cell that is the
// cell, not the cell's content. ok is false if the variable has no value.
func (r reader) whole(l ir.Local) (v value.Slot, ok bool) {
	if l.Register >= len(r.classes) || r.classes[l.Register] == ir.Unset {
		return v, false
	}
	v = boxed(*slotAt(r.fp, uint8(l.Register)), r.classes[l.Register])
	if l.Slot >= 0 {
		a := v.Array()
		if a == nil || l.Slot >= a.Len {
			return v, false
		}
		v = a.At(l.Slot)
	}
	return v, true
}

// Tasks returns the tasks that have begun and not ended, the oldest first. It omits the task of an
// evaluation and the tasks that the evaluation has started so far.
func (m *VM) Tasks() (all []Scene) {
	for t := m.sched.oldest; t != nil; t = t.birth.newer {
		if m.debug.evaluating != nil && t == m.debug.evaluating.task {
			break
		}
		if t.id > 0 && !t.state.ended {
			all = append(all, Scene{t})
		}
	}
	return all
}

// Entry returns the place where the task begins.
func (s Scene) Entry() Place { return s.t.m.image.entryOf(s.t.fn) }

// Main reports whether the task is the run's first.
func (s Scene) Main() bool { return s.t == s.t.m.sched.main }

// Same reports whether two scenes are of the same task.
func (s Scene) Same(o Scene) bool { return s.t == o.t }

// Waiting returns what the task waits for: an effect, another task, or several tasks. It returns
// nil, nil, false if the task does not wait.
func (s Scene) Waiting() (r effect.Request, task *Scene, several bool) {
	w := s.t.wait
	if w == nil {
		return nil, nil, false
	}
	switch w.kind {
	case waitTask:
		return nil, &Scene{w.task}, false
	case waitGroup:
		return nil, nil, true
	case waitMessages, waitContinue, waitClose, waitQuiet, waitUnwind, waitReply:
		return &effect.ExchangeOpen{Host: w.scope.decl.Name}, nil, false
	}
	return w.request, nil, false
}

// Awaits reports whether the task waits for another one, directly or through others.
func (s Scene) Awaits(o Scene) bool {
	for n, all := 0, s.t.awaits(); n < len(all) && n < maxFrames; n++ {
		if all[n] == o.t {
			return true
		}
		if all[n] != nil {
			all = append(all, all[n].awaits()...)
		}
	}
	return false
}

// Depth is the number of stack slots below a task's place, and the number of handlers that the task
// runs.
type Depth struct{ Frame, Handlers int }

// Depth returns the depth of the task's place.
func (s Scene) Depth() Depth {
	d := Depth{}
	_, d.Frame = s.t.parkedSlots()
	for _, x := range s.t.scopes {
		if x.run != nil {
			d.Handlers++
		}
	}
	return d
}

// Above reports whether d is nested deeper than o.
func (d Depth) Above(o Depth) bool {
	return d.Frame > o.Frame || d.Frame == o.Frame && d.Handlers > o.Handlers
}

// Ended reports whether the task has finished.
func (s Scene) Ended() bool { return s.t.state.ended }

// Starts reports whether the task has started o and is suspended until o first waits.
func (s Scene) Starts(o Scene) bool { return s.t.state.starting && s.t.parts.wait.task == o.t }

// Computes reports whether a task is computing, so that it will reach a stop point.
func (m *VM) Computes() bool { return m.sched.current != nil }

// Top returns the innermost frame of Frames.
func (s Scene) Top(whole bool) (f Frame, ok bool) {
	m := s.t.m
	fp, pc := s.t.frame(), s.t.pc()
	for caller := false; fp != nil && pc > 0; caller = true {
		for _, f := range m.image.framesAt(s.t, fp, pc, caller) {
			if whole || f.Text != "" {
				return f, true
			}
		}
		fp, pc = s.t.caller(fp)
	}
	return f, false
}

// Program returns the running program.
func (m *VM) Program() *ir.Program { return m.image.program }

// Stores returns the values of the program's stores, in the order of their declarations.
func (m *VM) Stores() []value.Slot { return m.declared.stores }

// Stepping from line to line. If the Journal is a Stepper, the loader puts an opStep before the
// first instruction of each line of the program's own files. Otherwise there are no such
// instructions.

// Stepper is a Journal that is called before each line of the program's own files.
type Stepper interface {
	Journal
	// Step is called on the run's goroutine. The Scene is valid until it returns. If it returns
	// false, the run stops there with the error ErrSuspended.
	Step(Scene) (goOn bool)
}

// steps returns the instructions of a block before which a line begins.
func (m *loader) steps(f *function, b *ir.Block) map[int]bool {
	if !m.stepped {
		return nil
	}
	at := map[int]bool{}
	last, from := 0, -1
	for _, p := range b.Positions {
		file, within := m.fileAt(f, b, p.PC)
		if file < 0 || file >= len(m.program.Files) || m.program.Files[file].Text == "" {
			last = 0
			continue
		}
		if p.Line != last || within != from {
			at[p.PC] = true
		}
		last, from = p.Line, within
	}
	return at
}

// emitSamples puts the sample point of a profile and the step, as requested, before instruction i.
func (m *loader) emitSamples(i int, sampled, stepped bool) {
	if sampled {
		m.emitIns(ins{op: opSample}, i)
	}
	if stepped {
		m.emitIns(ins{op: opStep}, i)
	}
}

// fileAt returns the file that contains an instruction. within is the index of the inlined call
// that contains the instruction, or -1 if there is none.
func (m *loader) fileAt(f *function, b *ir.Block, pc int) (file, within int) {
	for i, x := range b.Inlined { // inner calls come before outer ones
		if x.From <= pc && pc < x.To && x.Function >= 0 && x.Function < len(m.program.Functions) {
			return m.program.Functions[x.Function].File, i
		}
	}
	return f.info.File, -1
}

// doStep passes the task's position to the Stepper. It does not consume any of the task's budget,
// so that an observer does not change the order of events.
func doStep(t *task, _ *ins) status {
	t.budget += slowCost
	if s, is := t.m.journaled.journal.(Stepper); is && !s.Step(Scene{t}) {
		t.m.ending.fatal = ErrSuspended
		panic(suspending{})
	}
	return running
}
