package optimize

import "github.com/concerto-lang/concerto/ir"

// deadStores removes an instruction whose result is overwritten before it is read. If a value is
// only moved, it computes the value directly in the target of the move: `x = a + b; y = x` becomes
// `y = a + b` if x is not read again.
//
// It does not remove a value that only the next iteration of a loop would read. A program may use
// `list = Node { next: list }` to fill the memory.
func deadStores(u *unit) {
	l, g := u.liveness(), u.graph()
	for i := u.blocks() - 1; i >= 0; i-- {
		b := &g.Runs[i]
		around := l.around(b)
		l.lead(b, i)
		l.in[i] = l.backwards(b, i, func(pc int, after *regs) {
			if u.isDead(pc, after) {
				u.dropSetter(pc)
				u.remove(pc)
			} else {
				u.forward(b.From, pc, after, &around)
			}
		})
	}
}

// removable contains the operations that only set their result register and never raise an error.
var removable = rows(func(t ir.Traits, s *ir.Shape) bool {
	return s.Writes != ir.Unset && !s.Modify && t.Changes() == 0 && t&(ir.Raises|ir.Acts|ir.Noted) == 0
})

// isDead reports whether an instruction only sets a register, and no later instruction reads it.
func (u *unit) isDead(pc int, after *regs) bool {
	in := u.code[pc]
	return removable[in.Op] && (!after.has(int(in.A)) && !u.isReadable(pc) || in.Op == ir.OpMove && in.A == in.B)
}

// forward removes the move at pc: the instruction that computes the value then sets the move's
// target. This is correct only if no instruction between the two reads or sets the target, and no
// error between them leads to code that reads the target's old value.
func (u *unit) forward(first, pc int, after, around *regs) {
	move := u.code[pc]
	if move == nop || !isMove(move.Op) || move.A == move.B || after.has(int(move.B)) || around.has(int(move.A)) {
		return
	}
	from, to := int(move.B), int(move.A)
	for at := pc - 1; at >= first; at-- {
		in := u.code[at]
		if in == nop {
			continue
		}
		r, preserved, lost := u.sets(in)
		if r == from {
			s := ir.ShapeOf(in)
			if s.Writes != ir.ShapeOf(move).Writes || s.Modify {
				return
			}
			if u.fixed.has(to) || u.fixed.has(from) || u.isReadable(at) {
				return
			}
			u.transferLocals(pc, at)
			in.A = uint8(to)
			u.set(at, in)
			u.renameReads(at+1, pc, from, to)
			u.remove(pc)
			return
		}
		if r == to || preserved == to || preserved == from || lost <= max(to, from) || u.reads(in, to) || u.isPinned(in, from) {
			return
		}
	}
}

// reads reports whether an instruction reads a register.
func (u *unit) reads(in ir.Instr, r int) bool {
	s := ir.ShapeOf(in)
	for _, o := range s.Reads {
		if in.Get(o.Field) == r {
			return true
		}
	}
	from, n := u.window(in)
	return r >= from && r < from+n
}

// isPinned reports whether an instruction modifies a register, or reads it as a part of a window.
// The value then cannot be in another register.
func (u *unit) isPinned(in ir.Instr, r int) bool {
	s := ir.ShapeOf(in)
	if s.Modify && int(in.A) == r {
		return true
	}
	from, n := u.window(in)
	return r >= from && r < from+n || s.Frame && r == int(in.A)
}

// renameReads replaces register old with register now in the operands of the instructions [from,
// to).
func (u *unit) renameReads(from, to, old, now int) {
	for pc := from; pc < to; pc++ {
		in := u.code[pc]
		if in == nop {
			continue
		}
		for _, o := range ir.ShapeOf(in).Reads {
			if in.Get(o.Field) == old {
				in.Set(o.Field, int64(now))
			}
		}
		u.set(pc, in)
	}
}
