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
func (m *VM) Marks() []*Mark { return m.debug.marks }

// Set has the run stand still at a mark, or not.
func (m *VM) Set(k *Mark, on bool) {
	if k.set = on; on {
		m.code[k.pc] = ins{op: opStop, imm: int32(k.n)}
	} else {
		m.code[k.pc] = ins{op: uint8(ir.OpJump)}
	}
}

// SetAll sets the marks for which want says so.
func (m *VM) SetAll(want func(*Mark) bool) {
	for i, k := range m.debug.marks {
		if on := want(k); on != k.set {
			k.set = on
			m.code[k.pc] = ins{op: uint8(ir.OpJump)}
			if on {
				m.code[k.pc] = ins{op: opStop, imm: int32(i)}
			}
		}
	}
}

// Do has f called on the run's goroutine, soon: at once where it waits, and where it computes when
// it next looks up. It can be called from any goroutine. When the run has ended nothing is called.
func (m *VM) Do(f func()) {
	e := m.errands
	e.mu.Lock()
	e.list = append(e.list, f)
	e.any.Store(true)
	e.mu.Unlock()
	m.inbox.put(completion{do: m.serveErrands})
}

// serveErrands does what other goroutines have asked for.
func (m *VM) serveErrands() {
	e := m.errands
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
		t.m.atMark = t
		d.Reached(Scene{t}, t.m.debug.marks[in.imm])
		t.m.atMark = nil
		if t.cancelled() { // the run was ended while it stood here: no line more of it runs
			return raising
		}
	}
	return running
}

// Ended is closed when the run is to end. It is called by Do, or by who debugs.
func (m *VM) Ended() <-chan struct{} {
	if t := m.current; t != nil {
		t.budget = 0 // it looks up at the next call or loop
	}
	return m.ctx.Done()
}

// debugger gives whoever debugs the run; nil without one, and within what it evaluates.
func (t *task) debugger() Debugger {
	if d := t.m.config.Application.Debugger; d != nil && t.m.evaluating == nil {
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
		last := pc == 0 && (t == t.m.main || len(t.watch) == 0 && t.group == nil) && len(t.scopes) == 0
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
		if t.m.blockAt(pc).regionAt(pc) != nil {
			return true
		}
	}
	for _, s := range t.scopes {
		if s.run != nil && t.m.blockAt(s.pc).regionAt(s.pc) != nil {
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
