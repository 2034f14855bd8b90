package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// unknown is the location of a variable whose register is not known. unseen is the location before
// the analysis has reached the instruction.
const (
	unknown int16 = -1
	unseen  int16 = -2
)

// whereabouts contains the register of each variable.
type whereabouts []int16

// meet retains the locations that are equal in both. It reports whether w has changed.
func (w whereabouts) meet(o whereabouts) (changed bool) {
	for i := range w {
		switch {
		case o[i] == unseen || w[i] == o[i] || w[i] == unknown:
		case w[i] == unseen:
			w[i], changed = o[i], true
		default:
			w[i], changed = unknown, true
		}
	}
	return changed
}

// located computes the location of each variable at each instruction by a dataflow analysis.
func (u *unit) located() [][]ir.Local {
	g := u.graph()
	in := make([]whereabouts, len(g.Runs))
	for i := range in {
		in[i] = slices.Repeat(whereabouts{unseen}, len(u.names.vars))
	}
	for n, v := range u.names.vars {
		in[0][n] = unknown
		if v.param > 0 {
			in[0][n] = int16(v.param)
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range g.Runs {
			b := &g.Runs[i]
			now := slices.Clone(in[i])
			lead := func(to int32) {
				if in[to].meet(now) && int(to) <= i {
					changed = true
				}
			}
			for pc := b.From; pc < b.To; pc++ {
				for _, c := range g.Around(b) {
					lead(c.To)
				}
				u.follow(pc, now)
			}
			for _, c := range g.Around(b) {
				lead(c.To)
			}
			for _, s := range b.Succs() {
				lead(s)
			}
		}
	}
	out := make([][]ir.Local, len(u.names.vars))
	for i := range g.Runs {
		b := &g.Runs[i]
		now := slices.Clone(in[i])
		for pc := b.From; pc < b.To; pc++ {
			for n, r := range now {
				u.addLocal(&out[n], n, pc, r)
			}
			u.follow(pc, now)
		}
	}
	return out
}

// follow updates the locations after an instruction.
func (u *unit) follow(pc int, now whereabouts) {
	p, in := u.places[pc], u.code[pc]
	for _, n := range u.names.of(p.lost) {
		now[n] = unknown
	}
	if in == nop {
		return
	}
	r, preserved, lost := u.sets(in)
	if r < 0 {
		return
	}
	same := ir.ShapeOf(in).Modify || isMove(in.Op) && in.A == in.B
	for n, at := range now {
		if at >= 0 && (int(at) == r && !same || int(at) >= lost && int(at) != preserved) {
			now[n] = unknown
		}
	}
	for _, n := range u.names.of(p.defs) {
		now[n] = int16(r)
	}
}

// addLocal adds the instruction at pc to the ranges in which variable n is in register r.
func (u *unit) addLocal(out *[]ir.Local, n, pc int, r int16) {
	v := &u.names.vars[n]
	if r <= 0 || pc < v.from || pc >= v.to {
		return
	}
	if k := len(*out) - 1; k >= 0 && (*out)[k].Register == int(r) && (*out)[k].To == pc {
		(*out)[k].To++
		return
	}
	*out = append(*out, ir.Local{Name: v.name, Slot: v.slot, Register: int(r), From: pc, To: pc + 1, Reserved: pc})
}
