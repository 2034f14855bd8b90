package vm

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

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

// whole is read, where a cell counts as itself.
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
		if t.id > 0 && !t.ended && (m.evaluating == nil || t != m.evaluating.task) {
			all = append(all, Scene{t})
		}
	}
	return all
}

// Entry is where the task begins.
func (s Scene) Entry() Place { return s.t.m.entryOf(s.t.fn) }

// Main says whether the task is the run's first.
func (s Scene) Main() bool { return s.t == s.t.m.main }

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
func (s Scene) Ended() bool { return s.t.ended }

// Starts says whether the task has started another one, and goes on when that one waits.
func (s Scene) Starts(o Scene) bool { return s.t.starting && s.t.parts.wait.task == o.t }

// Computes says whether a task computes, so that it comes to a mark.
func (m *VM) Computes() bool { return m.current != nil }

// Top is the innermost frame of Frames.
func (s Scene) Top(whole bool) (f Frame, ok bool) {
	m := s.t.m
	fp, pc := s.t.frame(), s.t.pc()
	for caller := false; fp != nil && pc > 0; caller = true {
		for _, f := range m.framesAt(s.t, fp, pc, caller) {
			if whole || f.Text != "" {
				return f, true
			}
		}
		fp, pc = s.t.caller(fp)
	}
	return f, false
}

// Program is what runs.
func (m *VM) Program() *ir.Program { return m.program }

// Stores are the values of the program's stores, in the order of their declarations.
func (m *VM) Stores() []value.Slot { return m.stores }
