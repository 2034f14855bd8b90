package optimize

import (
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

// regs is a set of registers.
type regs [4]uint64

func (s *regs) add(r int)      { s[r>>6&3] |= 1 << (r & 63) }
func (s *regs) drop(r int)     { s[r>>6&3] &^= 1 << (r & 63) }
func (s *regs) has(r int) bool { return s[r>>6&3]>>(r&63)&1 != 0 }
func (s *regs) join(t *regs)   { s[0] |= t[0]; s[1] |= t[1]; s[2] |= t[2]; s[3] |= t[3] }

// dropFrom removes the registers from r on.
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

// countBefore returns the number of registers in the set before r.
func (s *regs) countBefore(r int) (n int32) {
	w := r >> 6 & 3
	for _, x := range s[:w] {
		n += int32(bits.OnesCount64(x))
	}
	return n + int32(bits.OnesCount64(s[w]&(1<<(r&63)-1)))
}

// sets returns the register that an instruction sets, or -1. A call sets its link. It makes the
// registers from lost on unreadable, except one, the second result, which may be -1.
func (u *unit) sets(i ir.Instr) (r, keeps, lost int) {
	x := u.o.calls.Sets(i)
	return x.Register, x.Preserved, x.Lost
}

// eachRead calls visit for each register that an instruction reads, including those of its window.
func (u *unit) eachRead(i ir.Instr, visit func(r int)) {
	for _, o := range ir.ShapeOf(i).Reads {
		visit(i.Get(o.Field))
	}
	from, n := u.window(i)
	for r := from; r < from+n; r++ {
		visit(r)
	}
}

// window returns the first register and the number of registers that an instruction reads in its
// window.
func (u *unit) window(i ir.Instr) (from, n int) {
	from, n, _ = u.p.Window(i)
	return from, n
}
