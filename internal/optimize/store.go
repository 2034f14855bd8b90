package optimize

import "github.com/concerto-lang/concerto/ir"

// store computes a value where it is wanted: `x = a + b; y = x` becomes
// `y = a + b` when x is not read again. And it takes out what nobody reads, but
// for what only the next round of a loop would read: `list = Node { next: list }`
// may be there to fill the memory.
func store(u *unit) {
	l, g := u.liveness(), u.graph()
	for i := u.blocks() - 1; i >= 0; i-- {
		b := &g.Runs[i]
		around := l.around(b)
		l.lead(b, i)
		l.in[i] = l.backwards(b, i, func(pc int, after *regs) {
			if u.dead(pc, after) {
				u.remove(pc)
			} else {
				u.forward(b.From, pc, after, &around)
			}
		})
	}
}

// forward lets the instruction that computes what a move at pc takes set the
// move's register itself. Nothing in between may read or set that one, or raise
// to where its old value is wanted.
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
		r, keeps, lost := u.sets(in)
		if r == from {
			s := ir.ShapeOf(in)
			if s.Writes != ir.ShapeOf(move).Writes || s.Modify {
				return
			}
			if u.kept.has(to) || u.kept.has(from) {
				return
			}
			in.A = uint8(to)
			u.set(at, in)
			u.renameReads(at+1, pc, from, to)
			u.remove(pc)
			return
		}
		if r == to || keeps == to || keeps == from || lost <= max(to, from) || u.reads(in, to) || u.pinned(in, from) {
			return
		}
	}
}

// reads says whether an instruction reads a register.
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

// pinned says whether an instruction reads a register as a part of a window, or
// changes it.
func (u *unit) pinned(in ir.Instr, r int) bool {
	s := ir.ShapeOf(in)
	if s.Modify && int(in.A) == r {
		return true
	}
	from, n := u.window(in)
	return r >= from && r < from+n || s.Frame && r == int(in.A)
}

// renameReads lets the instructions in [from, to) read another register.
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
