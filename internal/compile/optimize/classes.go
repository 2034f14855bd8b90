package optimize

import "github.com/concerto-lang/concerto/ir"

// classFlow finds the class of each register, as the verifier does. Registers that the handlers of
// a listen may have set count as unreadable after the listen, without an analysis of the handlers.
type classFlow struct {
	u      *unit
	states ir.Forward[ir.Class]
	at     ir.Classes // for each visit
	lost   ir.Classes // what the error of a call leaves
}

// classFlow finds the classes before pc end.
func (u *unit) classFlow(end int) *classFlow {
	g, f := u.graph(), &u.s.classes
	f.u = u
	room((*[]ir.Class)(&f.at), u.f.Registers)
	room((*[]ir.Class)(&f.lost), u.f.Registers)
	entry := f.states.Start(g.Until(end), u.f.Registers)
	clear(entry)
	copy(entry[1:], u.f.Params)
	f.states.Solve(g, f)
	return f
}

// Step changes the classes before an instruction into those after it.
func (f *classFlow) Step(pc int, s, raised []ir.Class) {
	in := f.u.code[pc]
	if raised != nil {
		f.raise(in, s, raised)
	}
	f.u.stepClasses(in, s)
}

// raise meets what an instruction leaves when it raises.
func (f *classFlow) raise(in ir.Instr, s, raised ir.Classes) {
	if ir.ShapeOf(in).Frame {
		copy(f.lost, s)
		s = f.lost
		f.u.o.calls.Raised(in, s)
		f.u.dropHandlerRegisters(in, s)
	}
	raised.Meet(s)
}

// Catch lets the target of a region read the error.
func (f *classFlow) Catch(s []ir.Class, register int) { s[register] = ir.Full }

// Meet retains what may be read on both paths.
func (f *classFlow) Meet(s, t []ir.Class) bool { return ir.Classes(s).Meet(t) }

// stepClasses is Step for an instruction that does not raise. A deleted
// instruction does nothing, being a jump.
func (u *unit) stepClasses(in ir.Instr, c ir.Classes) {
	u.o.calls.Step(in, c)
	u.dropHandlerRegisters(in, c)
}

// dropHandlerRegisters removes the registers that the handlers of a listen may have set.
func (u *unit) dropHandlerRegisters(in ir.Instr, c ir.Classes) {
	if in.Op == ir.OpListenBegin {
		u.fixed.each(func(r int) { c[r] = ir.Unset })
	}
}
