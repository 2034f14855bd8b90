package optimize

import (
	"github.com/concerto-lang/concerto/ir"
)

// shape is what an operation does to registers, drawn from the instruction
// set's table once.
type shape struct {
	reads  []read
	writes ir.Class // what it makes of register A, Unset when it does not write
	modify bool     // it also reads A
	target bool     // Imm is a target
	window bool
	ends   bool
}

type read struct {
	field ir.Field
	class ir.Class
}

var shapes = func() []shape {
	out := make([]shape, len(ir.Table))
	for op := range ir.Table {
		s := &out[op]
		s.ends = ir.Table[op].Ends
		for _, o := range ir.Table[op].Operands {
			switch o.Role {
			case ir.RoleRead:
				s.reads = append(s.reads, read{o.Field, o.Class})
			case ir.RoleWrite, ir.RoleModify:
				if o.Field != ir.A {
					panic("optimize: an operation that writes another register than A")
				}
				s.writes = o.Class
				if o.Role == ir.RoleModify {
					s.modify = true
					s.reads = append(s.reads, read{o.Field, o.Class})
				}
			case ir.RoleWindow:
				s.window = true
			case ir.RoleTarget:
				s.target = true
			}
		}
	}
	return out
}()

func shapeOf(i ir.Instr) *shape { return &shapes[i.Op] }

// regs is a set of registers.
type regs [4]uint64

func (s *regs) add(r int)      { s[r>>6] |= 1 << (r & 63) }
func (s *regs) drop(r int)     { s[r>>6] &^= 1 << (r & 63) }
func (s *regs) has(r int) bool { return s[r>>6]>>(r&63)&1 != 0 }
func (s *regs) join(t *regs)   { s[0] |= t[0]; s[1] |= t[1]; s[2] |= t[2]; s[3] |= t[3] }

// dropFrom takes out all registers from r on.
func (s *regs) dropFrom(r int) {
	for w := range s {
		switch lo := w << 6; {
		case r <= lo:
			s[w] = 0
		case r < lo+64:
			s[w] &= 1<<(r-lo) - 1
		}
	}
}

// written says which register an instruction sets, -1 for none. A call sets its
// link; keeps is the register behind it that a call leaves readable, -1 without.
func (u *unit) written(i ir.Instr) (r, keeps int) {
	s := shapeOf(i)
	if s.writes != ir.Unset {
		return int(i.A), -1
	}
	if s.window {
		if w, ok := ir.WindowOf(u.p, i); ok && w.Call {
			switch i.Op {
			case ir.OpCall:
				if u.p.Functions[i.Imm].MutSelf {
					return int(i.A), int(i.A) + 1
				}
			case ir.OpCallNative, ir.OpCallMethod:
				if i.B > 0 {
					return int(i.A), int(i.A) + 1
				}
			}
			return int(i.A), -1
		}
	}
	return -1, -1
}

// lost is the register from which on an instruction leaves nothing behind: a
// call's link; past all registers for anything else.
func (u *unit) lost(i ir.Instr) int {
	if s := shapeOf(i); s.window && s.writes == ir.Unset {
		if w, ok := ir.WindowOf(u.p, i); ok && w.Call {
			return w.From - 1
		}
	}
	return 256
}

// eachRead visits the registers that an instruction reads, windows included.
func (u *unit) eachRead(i ir.Instr, visit func(r int)) {
	s := shapeOf(i)
	for _, o := range s.reads {
		visit(i.Get(o.field))
	}
	if !s.window {
		return
	}
	if w, ok := ir.WindowOf(u.p, i); ok {
		for k := range w.N {
			visit(w.From + k)
		}
		if i.Op == ir.OpCallClosure {
			visit(int(i.A))
		}
	}
}
