package vm

import (
	"fmt"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Scene is the position of a task and the values of its variables.
type Scene struct{ t *task }

// Frame is an active call, or a handler of a listen. For a handler, Function is `listen HOST
// "TYPE"`, and the frame of the call that contains it comes next.
type Frame struct {
	Place
	Locals []Variable // in the order of their declaration

	all []ir.Local // all variables of the function; Locals contains those that have a value here
	at  reader
	in  *function // function that the frame executes; nil for a function of the library
	// around is the frame of the function that contains the handler, whose variables the handler
	// can use.
	around *Frame
}

// Variable is a variable of a program that has a value.
type Variable struct {
	Name     string
	Value    value.Slot // must not be modified
	Captured bool       // the variable is captured by the closure that the frame executes
}

// Task returns the number of the task. The task of main is 1.
func (s Scene) Task() int64 { return s.t.id }

// Place returns the innermost place in the program's own files. If there is none, it returns a
// place in the library.
func (s Scene) Place() Place { return visible(s.Places()) }

// Places returns the places of the active calls, the innermost first.
func (s Scene) Places() []Place { return s.t.frames(nil, s.t.pc()) }

// Frames returns the active calls in the program's own files, the innermost first, at most 500. If
// whole is set, it also returns the calls in the library. The variables of the library have no
// names.
func (s Scene) Frames(whole bool) (all []Frame) {
	m := s.t.m
	fp, pc := s.t.frame(), s.t.pc()
	for caller := false; fp != nil && pc > 0 && len(all) < maxFrames; caller = true {
		for _, f := range m.image.framesAt(s.t, fp, pc, caller) {
			if whole || f.Text != "" {
				all = append(all, f)
			}
		}
		fp, pc = s.t.caller(fp)
	}
	return all
}

// framesAt returns the frames of one stack frame, the innermost first: those of inlined calls, of a
// handler, and of the function. If caller is set, the stack frame is suspended in a call.
func (i *image) framesAt(t *task, fp unsafe.Pointer, pc int, caller bool) (all []Frame) {
	x, part := i.positionMap().of(pc, 0), 0
	if caller {
		x = i.positionMap().ofCall(pc)
		part = int(x.at - i.origin[pc])
	}
	b := &i.blocks[x.block]
	if b.fn == nil {
		return nil
	}
	if b.ir == nil || int(x.block) >= i.positionMap().size {
		return []Frame{{Place: i.place(call{pc: int32(pc)})}}
	}
	r := i.reader(fp, x)
	at := call{int32(pc), int32(part), 0}
	for n := range b.inlined {
		if in := &b.inlined[n]; i.isInlinedIn(in, at) {
			all = append(all, i.frame(i.place(at), r, in.Locals, nil))
			at.level++
		}
	}
	own := i.frame(i.place(at), r, b.ir.Locals, b.fn)
	if s := t.handles(fp, x.block); s != nil {
		handler := own
		handler.Function = fmt.Sprintf("listen %s %q", s.decl.Name, s.run.message.Type)
		y := i.positionMap().of(s.pc, 0)
		own = i.frame(i.place(call{pc: int32(s.pc)}), i.reader(fp, y), i.blocks[y.block].ir.Locals, b.fn)
		handler.around = &own
		all = append(all, handler)
	}
	return append(all, own)
}

// frame returns the frame of a place, with those variables of all that have a value there.
func (m *image) frame(p Place, r reader, all []ir.Local, in *function) Frame {
	return Frame{Place: p, Locals: r.locals(all, in), all: all, at: r, in: in}
}

// handles returns the listen whose handler, block number, runs in the stack frame fp. It returns
// nil if there is none.
func (t *task) handles(fp unsafe.Pointer, number int32) *scope {
	slots, _ := t.parkedSlots()
	depth := int((uintptr(fp) - uintptr(unsafe.Pointer(unsafe.SliceData(slots)))) / slotSize)
	for i := len(t.scopes) - 1; i >= 0; i-- {
		s := t.scopes[i]
		if s.depth != depth || s.run == nil {
			continue
		}
		for j := range s.l.handlers {
			if int32(t.m.image.blockNumber(s.l.handlers[j].entry)) == number {
				return s
			}
		}
	}
	return nil
}

// reader reads the registers of a stack frame at a position.
type reader struct {
	fp      unsafe.Pointer
	at      int
	classes ir.Classes // nil if unknown
}

func (m *image) reader(fp unsafe.Pointer, x position) reader {
	r := reader{fp: fp, at: int(x.at)}
	if c, found := m.debug.classes[x]; found {
		r.classes = c
		return r
	}
	p := m.positionMap()
	p.states.Walk(m.blocks[x.block].fn.number, func(b *ir.Block, pc int, c ir.Classes) {
		if p.blocks[b] == x.block && pc == int(x.at) {
			r.classes = append(r.classes[:0], c...)
		}
	})
	if m.debug.classes != nil {
		m.debug.classes[x] = r.classes
	}
	return r
}

// locals returns those variables of all that exist at the position and have a value.
func (r reader) locals(all []ir.Local, in *function) (out []Variable) {
	for _, l := range ir.LocalsAt(all, r.at) {
		if v, ok := r.read(l); ok {
			out = append(out, Variable{l.Name, v, in != nil && in.captures(l)})
		}
	}
	return out
}

// read returns the value of a variable; of a variable in a cell, the content of the cell. ok is
// false if it has no value.
func (r reader) read(l ir.Local) (v value.Slot, ok bool) {
	if v, ok = r.whole(l); ok && v.Kind() == value.KindCell {
		v = v.Fields()[0]
	}
	return v, ok
}

// parkedSlots returns the slots of a parked task, and the index of its innermost frame in them.
func (t *task) parkedSlots() (slots []value.Slot, depth int) {
	if t.stack != nil {
		return t.stack, t.depth()
	}
	return t.parked.slots, int(t.parked.depth)
}
