package optimize

import "github.com/concerto-lang/concerto/ir"

// liveness contains the registers that are live at the start and the end of each block. A live
// register is read before it is set again. Control may go from any instruction of a region to the
// region's target. Therefore the registers that are live at the target are live in the whole
// region.
type liveness struct {
	u   *unit
	out []regs
	in  []regs
}

func (u *unit) liveness() *liveness {
	g := u.graph()
	l := &u.s.live
	l.u = u
	zeroed(&l.out, len(g.Runs))
	zeroed(&l.in, len(g.Runs))
	for changed := true; changed; {
		changed = false
		for i := len(g.Runs) - 1; i >= 0; i-- {
			b := &g.Runs[i]
			out := &l.out[i]
			for _, s := range b.Succs() {
				out.join(&l.in[s])
			}
			in := *out
			around := l.around(b)
			in.join(&around)
			for pc := b.To - 1; pc >= b.From; pc-- {
				l.before(u.code[pc], &in)
				if around != (regs{}) {
					in.join(&around)
				}
			}
			// Later blocks have been processed, so only a block at the head of a loop requires
			// another iteration.
			changed = changed || b.Head && in != l.in[i]
			l.in[i] = in
		}
	}
	return l
}

// around returns the registers that are live in the whole block.
func (l *liveness) around(b *ir.Run) regs {
	var s regs
	for _, c := range l.u.s.graph.Around(b) {
		t := l.in[c.To]
		t.drop(c.Register)
		s.join(&t)
	}
	s.join(&l.u.fixed)
	return s
}

// before replaces the registers that are live after an instruction with those that are live before
// it. A deleted instruction is a jump and changes nothing.
func (l *liveness) before(i ir.Instr, s *regs) {
	shape := &ir.Shapes[i.Op]
	if shape.Writes != ir.Unset {
		s.drop(int(i.A))
	} else if shape.Frame {
		s.dropFrom(int(i.A))
	}
	if shape.A {
		s.add(int(i.A))
	}
	if shape.B {
		s.add(int(i.B))
	}
	if shape.C {
		s.add(int(i.C))
	}
	if shape.Window {
		from, n := l.u.window(i)
		for r := from; r < from+n; r++ {
			s.add(r)
		}
	}
}

// backwards visits the instructions of a block from the last to the first. after contains the
// registers that are live after the instruction. visit may delete the instruction. backwards
// returns the registers that are then live before the block.
func (l *liveness) backwards(b *ir.Run, i int, visit func(pc int, after *regs)) regs {
	s := l.out[i]
	around := l.around(b)
	s.join(&around)
	for pc := b.To - 1; pc >= b.From; pc-- {
		visit(pc, &s)
		l.before(l.u.code[pc], &s)
		s.join(&around)
	}
	return s
}

// lead computes the registers that are live at the end of a block from the blocks that follow it.
func (l *liveness) lead(b *ir.Run, i int) {
	l.out[i] = regs{}
	for _, s := range b.Succs() {
		l.out[i].join(&l.in[s])
	}
}
