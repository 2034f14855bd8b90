package vm

import (
	"fmt"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Onlooker is a Journal that is shown where each task stands when it makes an effect, for those
// who look at a run.
type Onlooker interface {
	Journal
	// Makes is called just before Began. The Scene is good until it returns.
	Makes(e int64, r effect.Request, at Scene)
}

// tellStanding shows a journal that looks on where the task stands.
func (m *VM) tellStanding(e int64, t *task, r effect.Request) {
	if o, looks := m.config.Journal.(Onlooker); looks && t != nil {
		o.Makes(e, r, Scene{t})
	}
}

// Scene is where a task stands, and what its variables hold.
type Scene struct{ t *task }

// Frame is a call under way, or the handler of a listen that runs in it. Function is then
// `listen HOST "TYPE"`, and the call's own frame comes next.
type Frame struct {
	Place
	Locals []Variable // in the order of their declaration

	all []ir.Local // of which Locals are those that have a value here
	at  reader
	in  *function // nil of the library's
	// around is that of the function, of a handler, which has its variables, too.
	around *Frame
}

// Variable is a variable of a program that has a value.
type Variable struct {
	Name     string
	Value    value.Slot // it must not be changed
	Captured bool       // by the closure that the frame is of
}

// Task is the number of the task, from 1, which is main.
func (s Scene) Task() int64 { return s.t.id }

// Place is the innermost place in the program's own files, or else in the library.
func (s Scene) Place() Place { return visible(s.places()) }

// places are those of the calls under way, the innermost first.
func (s Scene) places() (all []Place) {
	fp, pc := s.t.frame(), s.t.pc()
	for ; fp != nil && pc > 0 && len(all) < maxFrames; fp, pc = s.t.caller(fp) {
		all = s.t.m.image.placesAt(all, pc)
	}
	return all
}

// Frames are the calls under way in the program's own files, the innermost first, but for what
// lies beyond 500. With whole they are those of the library, too, whose variables have no names.
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

// framesAt are those of one frame of the stack: of inlined calls, of a handler, and its own.
// caller says that it has called the frame before.
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
	if b.ir == nil || int(x.block) >= len(i.positionMap().loaded) {
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

// frame makes one of a place, and of the variables that may have a value there.
func (m *image) frame(p Place, r reader, all []ir.Local, in *function) Frame {
	return Frame{Place: p, Locals: r.locals(all, in), all: all, at: r, in: in}
}

// handles finds the listen one of whose handlers runs in a frame, which stands in a block; nil
// when none does.
func (t *task) handles(fp unsafe.Pointer, number int32) *scope {
	slots, _ := t.saved()
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

// reader reads the registers of a frame at a position.
type reader struct {
	fp      unsafe.Pointer
	at      int
	classes ir.Classes // nil where nothing is known
}

func (m *image) reader(fp unsafe.Pointer, x position) reader {
	r := reader{fp: fp, at: int(x.at)}
	if c, known := m.debug.classes[x]; known {
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

// locals reads those that are there and have a value.
func (r reader) locals(all []ir.Local, in *function) (out []Variable) {
	for _, l := range ir.LocalsAt(all, r.at) {
		if v, ok := r.read(l); ok {
			out = append(out, Variable{l.Name, v, in != nil && in.captures(l)})
		}
	}
	return out
}

// read returns the value of a variable: of one in a cell, what the cell holds. ok is false
// where it has no value.
func (r reader) read(l ir.Local) (v value.Slot, ok bool) {
	if v, ok = r.whole(l); ok && v.Kind() == value.KindCell {
		v = v.Fields()[0]
	}
	return v, ok
}
