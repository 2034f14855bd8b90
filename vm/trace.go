package vm

import (
	"runtime"
	"runtime/debug"
	"sort"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Uncaught is the error of a failed run. Its cause is an error that the program did not catch, or a
// panic.
type Uncaught struct {
	Value   value.Slot
	Kind    string // type of the error
	Message string
	Hint    string // earlier problem that may explain the error; "" for none
	Panic   bool
	Place           // place where the error was raised
	Trace   []Place // that place, followed by the calls that led to it, without calls within the library; shortened if it is long
	Task    bool    // the error ended a task that no other task awaited, not main
	Number  int64   // number of the task, from 1, which is main; 0 if tasks are not numbered
	// Others contains the errors of further tasks that failed while no task awaited them, in the
	// order in which the tasks ended.
	Others []*Uncaught
}

// Place is a place in the program's source. File is the name in ir.Program.Files. Line and Column
// count from 1, or are 0 if unknown.
type Place struct {
	Function string
	File     string
	Text     string // text of the file, for an excerpt; "" for library files
	Line     int
	Column   int

	// The following fields are only set in a shortened trace.
	Left  int // number of calls that the trace omits here; the other fields are zero
	Times int // number of repetitions of the call, or of its cycle; 0 means once
	Cycle int // for the first call of a repeated cycle: number of calls in the cycle
}

func (e *Uncaught) Error() string { return e.Message }

// Source returns the error that the error wraps, without its place, or nil.
func (e *Uncaught) Source() *Uncaught {
	v := value.Source(e.Value)
	if v.IsNil() {
		return nil
	}
	source := &Uncaught{Value: v}
	source.describe()
	return source
}

func (m *VM) uncaught(r *raised) *Uncaught {
	e := &Uncaught{Value: r.value, Panic: r.panicked}
	e.describe()
	e.Trace = m.raisedPlaces(r)
	e.Place = visible(e.Trace)
	e.Trace = userView(e.Trace)
	return e
}

// raisedPlaces returns the places of an error's trace. If `?` raised the error from an Err, the
// places of that Err come first.
func (m *VM) raisedPlaces(r *raised) []Place {
	places := r.trace.places(m.image.place)
	if way := m.left.pathOf(r); len(way) > 0 {
		places = append(m.wayPlaces(way, places[0].Function), places...)
	}
	return places
}

// userView returns the trace without the calls within the library. Of adjacent library places it
// retains the place that the program called, unless that function is internal to the library.
func userView(trace []Place) []Place {
	var out []Place
	for i := 0; i < len(trace); {
		size := max(trace[i].Cycle, 1)
		from := len(out)
		for k := i; k < i+size; k++ {
			if shown(trace, k) {
				out = append(out, trace[k])
				out[len(out)-1].Cycle = 0
			}
		}
		if trace[i].Cycle > 0 && len(out) > from {
			out[from].Cycle = len(out) - from
		}
		i += size
	}
	if len(out) == 0 {
		return trace
	}
	return out
}

func shown(trace []Place, i int) bool {
	within := trace[i].library() && i+1 < len(trace) && trace[i+1].library()
	return !within && !strings.HasPrefix(trace[i].Function, "__")
}

func (p *Place) library() bool { return p.Text == "" && p.Left == 0 }

// visible returns the first place of a trace whose text the user can read. For an error in the
// library that is the program's call of the library.
func visible(trace []Place) Place {
	for _, p := range trace {
		if p.Text != "" {
			return p
		}
	}
	if len(trace) > 0 {
		return trace[0]
	}
	return Place{}
}

// describe sets Kind and Message. If the value cannot be converted to text, it sets Message to the
// reason.
func (e *Uncaught) describe() {
	defer func() {
		if f, ok := recover().(*value.Fault); ok {
			e.Message = f.Message
		}
	}()
	e.Kind = value.ErrorKind(e.Value)
	e.Message = value.Message(e.Value)
}

// positions are the source positions of a block's instructions.
type positions = []ir.Position

// place returns the source position of a call in a trace.
func (m *image) place(c call) Place {
	b := m.blockAt(int(c.pc))
	if b.fn == nil {
		return Place{}
	}
	if c.level == atEntry {
		return m.entryOf(b.fn)
	}
	at := int(m.origin[c.pc] + c.part)
	fn, line, column := b.fn.info, b.fn.info.Line, 0
	if i := sort.Search(len(b.info), func(i int) bool { return b.info[i].PC > at }) - 1; i >= 0 {
		line, column = b.info[i].Line, b.info[i].Column
	}
	level := c.level
	for i := range b.inlined {
		x := &b.inlined[i]
		switch {
		case !m.isInlinedIn(x, c):
			continue
		case level == 0: // the place is in this inlined call
			fn = &m.program.Functions[x.Function]
		case level == 1: // the place is where this inlined call was made
			line, column = x.Line, x.Column
		}
		level--
	}
	p := Place{Function: fn.Name, Line: line, Column: column}
	if f := fn.File; f >= 0 && f < len(m.program.Files) {
		p.File, p.Text = m.program.Files[f].Name, m.program.Files[f].Text
	}
	return p
}

// entryOf returns the place where a function begins in its source, independent of inlining and of
// optimisation.
func (m *image) entryOf(f *function) Place {
	c := call{pc: int32(f.entry)}
	for _, x := range m.blockAt(f.entry).inlined {
		if m.isInlinedIn(&x, call{pc: int32(f.entry)}) {
			c.level++
		}
	}
	p := m.place(c)
	if p.Function == ir.TaskEntry {
		p.Function = "main"
	}
	if at := f.info.Start; at != nil {
		p.Line, p.Column = at.Line, at.Column
	}
	return p
}

// Stopped is the error of a run that ended because its performer rejected a request with an error
// that no program may catch. Err is the performer's error.
type Stopped struct {
	Err   error
	Place         // place that made the request
	Trace []Place // that place, followed by the calls that led to it; shortened if it is long
}

func (e *Stopped) Error() string { return e.Err.Error() }

// Unwrap returns the performer's error.
func (e *Stopped) Unwrap() error { return e.Err }

// stopped returns a *Stopped with the error err and the current place and calls of the task.
func (t *task) stopped(err error) *Stopped { return t.stoppedAt(t.pc(), err) }

func (t *task) stoppedAt(pc int, err error) *Stopped {
	e := &Stopped{Err: err}
	var trace calls
	for fp := t.frame(); pc > 0; { // the task may be parked and have no stack
		t.m.image.addCaller(&trace, pc)
		fp, pc = t.caller(fp)
	}
	e.Trace = trace.places(t.m.image.place)
	e.Place = visible(e.Trace)
	e.Trace = userView(e.Trace)
	return e
}

// Broken is the error of an invalid program: an instruction reads a value of the wrong kind. The
// verifier proves that registers are set, but not which values they contain, because the format
// does not contain the types for such a proof. The causes are a modified file or a bug in the
// compiler. The VM detects the error when the instruction runs, and ends the run.
type Broken struct {
	Stack string // Go's stack at the detection
}

func (e *Broken) Error() string {
	return ir.ErrInvalid.Error() + ": an instruction reads a missing operand"
}
func (e *Broken) Unwrap() error { return ir.ErrInvalid }

// missingOperand returns a *Broken if the VM has panicked because an operand of an instruction is
// nil. Otherwise it returns nil. The dispatch loop does not check for nil, since a check would take
// time in every instruction. The memory fault of the processor is the check.
func missingOperand(panicked any) *Broken {
	if _, ok := panicked.(runtime.Error); !ok || !strings.Contains(panicked.(error).Error(), "nil pointer") {
		return nil
	}
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function == "runtime.sigpanic" {
			if f, _ = frames.Next(); strings.HasSuffix(f.Function, "vm.(*task).run") {
				return &Broken{Stack: string(debug.Stack())}
			}
			return nil
		}
		if !more {
			return nil
		}
	}
}
