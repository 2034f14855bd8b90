package optimize

import "github.com/concerto-lang/concerto/ir"

// classFlow computes the class of each register at each instruction, as the verifier does. After a
// listen, the registers that its handlers may set count as unreadable. This avoids an analysis of
// the handlers.
type classFlow struct {
	u      *unit
	states ir.Forward[ir.Class]
	at     ir.Classes // classes at the visited instruction
	lost   ir.Classes // classes that are left if a call raises an error
}

// classFlow computes the classes up to the instruction end.
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

// Step replaces the classes before an instruction with the classes after it.
func (f *classFlow) Step(pc int, s, raised []ir.Class) {
	in := f.u.code[pc]
	if raised != nil {
		f.raise(in, s, raised)
	}
	f.u.stepClasses(in, s)
}

// raise merges the classes that are left when an instruction raises an error into raised.
func (f *classFlow) raise(in ir.Instr, s, raised ir.Classes) {
	if ir.ShapeOf(in).Frame {
		copy(f.lost, s)
		s = f.lost
		f.u.o.calls.Raised(in, s)
		f.u.dropHandlerRegisters(in, s)
	}
	raised.Meet(s)
}

// Catch makes the register of the error readable at the target of a region.
func (f *classFlow) Catch(s []ir.Class, register int) { s[register] = ir.Full }

// Meet retains the classes of the registers that are readable on both paths.
func (f *classFlow) Meet(s, t []ir.Class) bool { return ir.Classes(s).Meet(t) }

// stepClasses does the same as Step for an instruction that does not raise errors. A deleted
// instruction is a jump without effect.
func (u *unit) stepClasses(in ir.Instr, c ir.Classes) {
	u.o.calls.Step(in, c)
	u.dropHandlerRegisters(in, c)
}

// dropHandlerRegisters removes the classes of the registers that the handlers of a listen may set.
func (u *unit) dropHandlerRegisters(in ir.Instr, c ir.Classes) {
	if in.Op == ir.OpListenBegin {
		u.fixed.each(func(r int) { c[r] = ir.Unset })
	}
}
