package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// store computes a value where it is wanted: `x = a + b; y = x` becomes
// `y = a + b` when x is not read again. Then it takes out what nobody reads.
func store(u *unit) {
	dead(u)
	if !slices.ContainsFunc(u.code, func(in ir.Instr) bool { return isMove(in.Op) }) {
		return
	}
	l, g, again := u.liveness(), u.graph(), false
	for i := range g.blocks {
		around := l.around(&g.blocks[i])
		l.backwards(i, func(pc int, after *regs) {
			again = u.forward(i, pc, after, &around) || again
		})
	}
	if again {
		dead(u)
	}
}

// forward lets the instruction that computes what a move at pc takes set the
// move's register itself. Nothing in between may read or set that one, or raise
// to where its old value is wanted.
func (u *unit) forward(i, pc int, after, around *regs) bool {
	move := u.code[pc]
	if move == nop || !isMove(move.Op) || move.A == move.B || after.has(int(move.B)) || around.has(int(move.A)) {
		return false
	}
	from, to := int(move.B), int(move.A)
	for at := pc - 1; at >= u.graph().blocks[i].from; at-- {
		in := u.code[at]
		if in == nop {
			continue
		}
		r, keeps := u.written(in)
		if r == from {
			s := shapeOf(in)
			if s.writes != shapeOf(move).writes || s.modify {
				return false
			}
			if u.f.MutSelf && (to == 1 || from == 1) {
				return false
			}
			in.A = uint8(to)
			u.set(at, in)
			u.renameReads(at+1, pc, from, to)
			u.remove(pc)
			return true
		}
		if r == to || keeps == to || keeps == from || u.lost(in) <= max(to, from) || u.reads(in, to) || u.pinned(in, from) {
			return false
		}
	}
	return false
}

// reads says whether an instruction reads a register.
func (u *unit) reads(in ir.Instr, r int) bool {
	found := false
	u.eachRead(in, func(x int) { found = found || x == r })
	return found
}

// pinned says whether an instruction reads a register as a part of a window, or
// changes it.
func (u *unit) pinned(in ir.Instr, r int) bool {
	s := shapeOf(in)
	if s.modify && int(in.A) == r {
		return true
	}
	if w, ok := ir.WindowOf(u.p, in); s.window && ok {
		return r >= w.From-1 && r < w.From+w.N
	}
	return false
}

// renameReads lets the instructions in [from, to) read another register.
func (u *unit) renameReads(from, to, old, now int) {
	for pc := from; pc < to; pc++ {
		in := u.code[pc]
		if in == nop {
			continue
		}
		for _, o := range shapeOf(in).reads {
			if in.Get(o.field) == old {
				in.Set(o.field, int64(now))
			}
		}
		u.set(pc, in)
	}
}
