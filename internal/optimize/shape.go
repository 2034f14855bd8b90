package optimize

import (
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

// shape is what an operation does to registers, drawn from the instruction
// set's table once.
type shape struct {
	reads   []read
	a, b, c bool     // which fields reads has
	writes  ir.Class // what it makes of register A, Unset when it does not write
	modify  bool     // it also reads A
	target  bool     // Imm is a target
	window  bool
	call    bool // leaves nothing behind from its link on
	ends    bool
}

type read struct {
	field ir.Field
	class ir.Class
}

var shapes = func() [256]shape {
	var out [256]shape // by Op, so that no index needs a check
	// Which windows are those of calls does not depend on the program.
	any := &ir.Program{Functions: make([]ir.Function, 1), Types: []ir.TypeInfo{{Variants: make([]ir.VariantInfo, 1)}}}
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
		for _, r := range s.reads {
			s.a, s.b, s.c = s.a || r.field == ir.A, s.b || r.field == ir.B, s.c || r.field == ir.C
		}
		w, ok := ir.WindowOf(any, ir.Instr{Op: ir.Op(op)})
		s.call = ok && w.Call && s.writes == ir.Unset
	}
	return out
}()

func shapeOf(i ir.Instr) *shape { return &shapes[i.Op] }

// regs is a set of registers.
type regs [4]uint64

func (s *regs) add(r int)      { s[r>>6&3] |= 1 << (r & 63) }
func (s *regs) drop(r int)     { s[r>>6&3] &^= 1 << (r & 63) }
func (s *regs) has(r int) bool { return s[r>>6&3]>>(r&63)&1 != 0 }
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

// below counts the registers before r.
func (s *regs) below(r int) (n int32) {
	w := r >> 6 & 3
	for _, x := range s[:w] {
		n += int32(bits.OnesCount64(x))
	}
	return n + int32(bits.OnesCount64(s[w]&(1<<(r&63)-1)))
}

// nowhere is past all registers.
const nowhere = 256

// sets says which register an instruction sets, -1 for none. A call sets its
// link, and leaves nothing behind in the registers from lost on; keeps is the one
// of them that it leaves readable, -1 without.
func (u *unit) sets(i ir.Instr) (r, keeps, lost int) {
	s := shapeOf(i)
	switch {
	case s.writes != ir.Unset:
		return int(i.A), -1, nowhere
	case !s.call:
		return -1, -1, nowhere
	}
	r, keeps = int(i.A), -1
	switch i.Op {
	case ir.OpCall:
		if u.p.Functions[i.Imm].MutSelf {
			keeps = r + 1
		}
	case ir.OpCallNative, ir.OpCallMethod:
		if i.B > 0 {
			keeps = r + 1
		}
	}
	return r, keeps, r
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
	from, n := u.window(i)
	for r := from; r < from+n; r++ {
		visit(r)
	}
}

// window gives the registers that an instruction with a window reads in it; a
// closure that is called lies before its arguments.
func (u *unit) window(i ir.Instr) (from, n int) {
	w, _ := ir.WindowOf(u.p, i)
	if i.Op == ir.OpCallClosure {
		return w.From - 1, w.N + 1
	}
	return w.From, w.N
}
