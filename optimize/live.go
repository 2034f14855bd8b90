package optimize

import "github.com/concerto-lang/concerto/ir"

// liveness says which registers are read again behind the end of each block. A
// region's target may come after any instruction in the region, so what it
// reads is live all through. The receiver of a mutself function is given back
// however it ends: it always lives.
type liveness struct {
	u   *unit
	out []regs
	in  []regs
}

func (u *unit) liveness() *liveness {
	g := u.graph()
	l := &liveness{u: u, out: make([]regs, len(g.blocks)), in: make([]regs, len(g.blocks))}
	for again := true; again; {
		again = false
		for i := len(g.blocks) - 1; i >= 0; i-- {
			b := &g.blocks[i]
			out := l.out[i]
			for _, s := range b.succ {
				out.join(&l.in[s])
			}
			l.out[i] = out
			in := out
			around := l.around(b)
			for pc := b.to - 1; pc >= b.from; pc-- {
				l.before(u.code[pc], &in)
				in.join(&around)
			}
			if in != l.in[i] {
				l.in[i] = in
				again = true
			}
		}
	}
	return l
}

// around are the registers that live all through a block.
func (l *liveness) around(b *block) regs {
	var s regs
	for k, c := range b.catches {
		t := l.in[c]
		t.drop(b.caught[k].Register)
		s.join(&t)
	}
	if l.u.f.MutSelf {
		s.add(1)
	}
	return s
}

// before makes of the registers that live behind an instruction those that live
// before it.
func (l *liveness) before(i ir.Instr, s *regs) {
	if i == nop {
		return
	}
	u := l.u
	if r, _ := u.written(i); r >= 0 {
		s.drop(r)
		if at := u.lost(i); at < 256 {
			s.dropFrom(at)
		}
	}
	u.eachRead(i, s.add)
}

// backwards visits the instructions of a block from its end, each with what
// lives behind it.
func (l *liveness) backwards(i int, visit func(pc int, after *regs)) {
	b := &l.u.graph().blocks[i]
	s := l.out[i]
	around := l.around(b)
	for pc := b.to - 1; pc >= b.from; pc-- {
		s.join(&around)
		visit(pc, &s)
		l.before(l.u.code[pc], &s)
	}
}
