package vm

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Debugging. With Application.Debugger the loader puts a mark before the first instruction of each line,
// behind each call, and where a loop begins again. A mark that nobody wants is a jump to the next
// instruction, which is the cheapest that the loop has; one that is wanted is an opStop. Without
// Application.Debugger there are no marks, and nothing on the loop's way looks for one.

// Debugger is whom a run stands still for: while it is in one of its functions, which are called
// on the run's goroutine, the run goes no further. A Scene is good until the function returns.
type Debugger interface {
	// Library says that the library's own files have marks, too.
	Library() bool
	// Loaded is called before the run begins.
	Loaded(*VM)
	// Reached is called at a mark that is set.
	Reached(Scene, *Mark)
	// Makes is called when an effect is about to be made, Gave with what has come of it.
	Makes(Scene, effect.Request)
	Gave(Scene, effect.Request, effect.Result, error)
	// Handles is called when a message of a host is about to be handled.
	Handles(at Scene, host string, m *effect.HostMessage)
	// Calls is called when a model or a host calls a tool of the program.
	Calls(at Scene, tool, function string)
	// Raised is called when an error is raised, or an Err handed on by `?`.
	Raised(Scene, Raise)
}

// Mark is a place at which a run can stand still.
type Mark struct {
	Place
	Kind    MarkKind
	Handler string // the message type of the handler that it stands in; "" for none
	Entry   bool   // it is the first of its function or handler
	n, pc   int
	at      position
	set     bool
}

// MarkKind says where a mark stands.
type MarkKind uint8

// The kinds of marks.
const (
	markNone   MarkKind = iota
	MarkLine            // before a line
	MarkReturn          // behind a call
	MarkLoop            // where a loop begins again, on a line that has begun
)

// Raise is an error that goes its way.
type Raise struct {
	Value  value.Slot
	Panic  bool
	Handed bool // an Err, which `?` hands on
	Caught bool // something in the program takes it
}

// debugging is what an image needs for its debugger.
type debugging struct {
	marks   []*Mark
	classes map[position]ir.Classes
	natives map[int32]int32 // of grafts: where those are that the program had not
}

// calls from other goroutines: see VM.Do.
type errands struct {
	any  atomic.Bool
	mu   sync.Mutex
	list []func()
}

// room for grafts.
const (
	graftCode      = 1 << 18
	graftConstants = 1 << 14
)

// debugs says whether a block has marks, and makes them by their instructions.
func (m *loader) debugMarks(f *function, b *ir.Block) map[int]MarkKind {
	d := m.config.Application.Debugger
	if d == nil {
		return nil
	}
	at := map[int]MarkKind{}
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
			at[i+1] = MarkReturn
		case ir.OpLoop, ir.OpForInt, ir.OpForIntTo:
			at[int(in.Imm)] = MarkLoop
		}
	}
	for _, p := range b.Positions {
		file, within := m.fileAt(f, b, p.PC)
		if hidden(file) {
			last = 0
			continue
		}
		if p.Line != last || within != from {
			at[p.PC] = MarkLine
		}
		last, from = p.Line, within
	}
	delete(at, len(b.Code))
	return at
}

// emitDebugMark puts a mark before instruction i.
func (m *loader) emitDebugMark(h *handler, kind MarkKind, i int) {
	if kind == markNone {
		return
	}
	k := &Mark{Kind: kind, n: len(m.debug.marks), pc: len(m.code)}
	if h != nil {
		k.Handler = h.info.Type
	}
	m.emitIns(ins{op: opStop, imm: int32(len(m.debug.marks))}, i)
	m.debug.marks = append(m.debug.marks, k)
}

// placeMarks completes the marks from the nth on, and lets them rest.
func (m *image) placeMarks(n int) {
	seen := int32(-1)
	for _, k := range m.debug.marks[n:] {
		k.Place = m.place(call{pc: int32(k.pc)})
		k.at = position{int32(m.blockNumber(k.pc)), m.origin[k.pc]}
		if k.Kind == MarkLine && k.at.block != seen {
			k.Entry, seen = true, k.at.block
		}
		m.code[k.pc] = ins{op: uint8(ir.OpJump)}
	}
}

// makeRoom lets code and constants grow without being moved.
func (m *loader) makeRoom() {
	m.code = slices.Grow(m.code, graftCode)
	m.constants = slices.Grow(m.constants, graftConstants)
}

// Marks are those of the program.
func (m *VM) Marks() []*Mark { return m.image.debug.marks }

// Set has the run stand still at a mark, or not.
func (m *VM) Set(k *Mark, on bool) {
	if k.set = on; on {
		m.image.code[k.pc] = ins{op: opStop, imm: int32(k.n)}
	} else {
		m.image.code[k.pc] = ins{op: uint8(ir.OpJump)}
	}
}

// SetAll sets the marks for which want says so.
func (m *VM) SetAll(want func(*Mark) bool) {
	for i, k := range m.image.debug.marks {
		if on := want(k); on != k.set {
			k.set = on
			m.image.code[k.pc] = ins{op: uint8(ir.OpJump)}
			if on {
				m.image.code[k.pc] = ins{op: opStop, imm: int32(i)}
			}
		}
	}
}

// Do has f called on the run's goroutine, soon: at once where it waits, and where it computes when
// it next looks up. It can be called from any goroutine. When the run has ended nothing is called.
func (m *VM) Do(f func()) {
	e := m.debug.errands
	e.mu.Lock()
	e.list = append(e.list, f)
	e.any.Store(true)
	e.mu.Unlock()
	m.requests.inbox.put(completion{do: m.debug.serveErrands})
}

// attention is how a run is bound to its debugger.
type attention struct {
	errands    *errands    // what other goroutines want of it; nil without a debugger
	atMark     *task       // it stands at a mark in this task; nil elsewhere
	evaluating *evaluation // what runs is an expression of the debugger's; nil otherwise
}

// serveErrands does what other goroutines have asked for.
func (a *attention) serveErrands() {
	e := a.errands
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

// doStop stands still at a mark. It takes nothing of the budget.
func doStop(t *task, in *ins) status {
	t.budget += slowCost
	if d := t.debugger(); d != nil {
		t.m.debug.atMark = t
		d.Reached(Scene{t}, t.m.image.debug.marks[in.imm])
		t.m.debug.atMark = nil
		if t.cancelled() { // the run was ended while it stood here: no line more of it runs
			return raising
		}
	}
	return running
}

// Ended is closed when the run is to end. It is called by Do, or by who debugs.
func (m *VM) Ended() <-chan struct{} {
	if t := m.sched.current; t != nil {
		t.budget = 0 // it looks up at the next call or loop
	}
	return m.requests.ctx.Done()
}

// debugger gives whoever debugs the run; nil without one, and within what it evaluates.
func (t *task) debugger() Debugger {
	if d := t.m.config.Application.Debugger; d != nil && t.m.debug.evaluating == nil {
		return d
	}
	return nil
}

// tellRaised tells the debugger of an error that has just been raised.
func (t *task) tellRaised(r *raised) {
	if d := t.debugger(); d != nil && !r.cancelled {
		d.Raised(Scene{t}, Raise{Value: r.value, Panic: r.panicked, Caught: !r.panicked && t.catches(nil)})
	}
}

// tellHanded tells the debugger of an Err that `?` hands on.
func (t *task) tellHanded(err value.Slot) {
	if d := t.debugger(); d != nil {
		_, pc := t.caller(t.fp)
		last := pc == 0 && (t == t.m.sched.main || len(t.watch) == 0 && t.member.group == nil) && len(t.scopes) == 0
		d.Raised(Scene{t}, Raise{Value: err, Handed: true, Caught: !last})
	}
}

// catches says whether something takes an error that the task raises where it stands: a region of
// one of its frames, or of a task that waits for it.
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

// captures says whether a variable is one that a closure's function has captured: those follow the
// parameters.
func (f *function) captures(l ir.Local) bool {
	n := len(f.info.Params)
	return l.Slot < 0 && l.Register > n && l.Register <= n+f.info.Captures
}

// Variable finds the variable that a name stands for in the frame.
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

// Cell gives the cell that a variable is in, when it is in one: others may have it, too.
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

// Assign gives a variable of the frame another value, which is of its type. It says whether there
// is a variable of the name that has a value.
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

// write is the other way of read.
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

// whole returns what a variable's register or slot holds: of one in a cell, the cell. ok is false
// where it has no value.
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

// Tasks are those that have begun and not ended, the oldest first.
func (m *VM) Tasks() (all []Scene) {
	for t := m.sched.oldest; t != nil; t = t.birth.newer {
		if t.id > 0 && !t.state.ended && (m.debug.evaluating == nil || t != m.debug.evaluating.task) {
			all = append(all, Scene{t})
		}
	}
	return all
}

// Entry is where the task begins.
func (s Scene) Entry() Place { return s.t.m.image.entryOf(s.t.fn) }

// Main says whether the task is the run's first.
func (s Scene) Main() bool { return s.t == s.t.m.sched.main }

// Same says whether two are of the same task.
func (s Scene) Same(o Scene) bool { return s.t == o.t }

// Waiting says what the task waits for: an effect, or else a task, or several; all nil when it
// does not wait.
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
	case waitMessages, waitClose, waitQuiet, waitUnwind, waitReply:
		return &effect.ExchangeOpen{Host: w.scope.decl.Name}, nil, false
	}
	return w.request, nil, false
}

// Awaits says whether the task waits for another one, itself or through others.
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

// Depth measures how deep in calls, and in handlers within them, the task stands.
type Depth struct{ Frame, Handlers int }

// Depth is that of where the task stands.
func (s Scene) Depth() Depth {
	d := Depth{}
	_, d.Frame = s.t.saved()
	for _, x := range s.t.scopes {
		if x.run != nil {
			d.Handlers++
		}
	}
	return d
}

// Above says whether a place lies further in than another.
func (d Depth) Above(o Depth) bool {
	return d.Frame > o.Frame || d.Frame == o.Frame && d.Handlers > o.Handlers
}

// Ended says whether the task has ended.
func (s Scene) Ended() bool { return s.t.state.ended }

// Starts says whether the task has started another one, and goes on when that one waits.
func (s Scene) Starts(o Scene) bool { return s.t.state.starting && s.t.parts.wait.task == o.t }

// Computes says whether a task computes, so that it comes to a mark.
func (m *VM) Computes() bool { return m.sched.current != nil }

// Top is the innermost frame of Frames.
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

// Program is what runs.
func (m *VM) Program() *ir.Program { return m.image.program }

// Stores are the values of the program's stores, in the order of their declarations.
func (m *VM) Stores() []value.Slot { return m.declared.stores }

// Going from line to line. For a Stepper the loader puts an opStep before the first instruction of
// each line of the program's own files. Without one there is none.

// Stepper is a Journal that is shown each line of the program's own files before it is run.
type Stepper interface {
	Onlooker
	// Step is called on the run's goroutine. The Scene is good until it returns; when it gives
	// false the run is left where it is, and its error is ErrSuspended.
	Step(Scene) (goOn bool)
}

// steps says before which instructions of a block a line begins.
func (m *loader) steps(f *function, b *ir.Block) map[int]bool {
	if _, is := m.config.Journal.(Stepper); !is {
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

// emitMarks puts before instruction i what stops there.
func (m *loader) emitMarks(i int, marked, stepped bool) {
	if marked {
		m.emitIns(ins{op: opMark}, i)
	}
	if stepped {
		m.emitIns(ins{op: opStep}, i)
	}
}

// fileAt is the file in which an instruction stands, and the inlined call, -1 for none.
func (m *loader) fileAt(f *function, b *ir.Block, pc int) (file, within int) {
	for i, x := range b.Inlined { // the inner ones first
		if x.From <= pc && pc < x.To && x.Function >= 0 && x.Function < len(m.program.Functions) {
			return m.program.Functions[x.Function].File, i
		}
	}
	return f.info.File, -1
}

// doStep shows where the run stands. It takes nothing of the budget, so that whoever looks on
// does not change what comes when.
func doStep(t *task, _ *ins) status {
	t.budget += slowCost
	if s, is := t.m.config.Journal.(Stepper); is && !s.Step(Scene{t}) {
		t.m.ending.fatal = ErrSuspended
		panic(suspending{})
	}
	return running
}
