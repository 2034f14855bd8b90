package optimize

import "github.com/concerto-lang/concerto/ir"

// classes is what each register may be read as at a point, as the verifier finds
// it: where ways meet with different classes it may not be read.
type classes []ir.Class

func (c classes) meet(d classes) (changed bool) {
	for r := range c {
		if c[r] != d[r] && c[r] != ir.Unset {
			c[r], changed = ir.Unset, true
		}
	}
	return changed
}

// fits says whether a register may be read as a class.
func (c classes) fits(r int, as ir.Class) bool { return c[r] == as || c[r] == ir.Full }

// classFlow are the classes at the beginning of each block.
type classFlow struct {
	u       *unit
	reached []bool
	all     []ir.Class // by block, then register
	at      classes    // within the block under way
	raised  classes    // what its errors leave
	lost    classes
	landed  classes
}

func (f *classFlow) in(block int) classes {
	n := f.u.f.Registers
	return f.all[block*n : (block+1)*n]
}

// classFlow finds the classes before pc end.
func (u *unit) classFlow(end int) *classFlow {
	g, f := u.graph(), &u.s.classes
	f.u = u
	n := g.until(end)
	zeroed(&f.reached, n)
	room(&f.all, n*u.f.Registers)
	for _, s := range []*classes{&f.at, &f.raised, &f.lost, &f.landed} {
		room((*[]ir.Class)(s), u.f.Registers)
	}
	f.reached[0] = true
	entry := f.in(0)
	clear(entry)
	copy(entry[1:], u.f.Params)
	for again := true; again; {
		again = false
		for i := range n {
			if f.reached[i] {
				again = f.block(g, i) || again
			}
		}
	}
	return f
}

// block follows the classes through a block and says whether a block before it
// must be looked at again.
func (f *classFlow) block(g *graph, i int) (again bool) {
	b, u := &g.blocks[i], f.u
	copy(f.at, f.in(i))
	around := g.around(b)
	copy(f.raised, f.at)
	for pc := b.from; pc < b.to; pc++ {
		if len(around) > 0 {
			f.raise(u.code[pc])
		}
		u.stepClasses(u.code[pc], f.at)
	}
	for _, s := range b.succs() {
		again = f.arrive(int(s), f.at) && int(s) <= i || again
	}
	for _, c := range around {
		copy(f.landed, f.raised)
		f.landed[c.register] = ir.Full
		f.arrive(int(c.to), f.landed) // it stands behind
	}
	return again
}

func (f *classFlow) arrive(to int, c classes) (changed bool) {
	if to >= len(f.reached) {
		return false
	}
	if !f.reached[to] {
		f.reached[to] = true
		copy(f.in(to), c)
		return true
	}
	return f.in(to).meet(c)
}

// raise adds what an instruction leaves when it raises.
func (f *classFlow) raise(in ir.Instr) {
	if in == nop || !shapeOf(in).call {
		f.raised.meet(f.at)
		return
	}
	_, keeps, lost := f.u.sets(in)
	copy(f.lost, f.at)
	clear(f.lost[lost:])
	if keeps >= 0 {
		f.lost[keeps] = ir.Full
	}
	if in.Op == ir.OpListenBegin {
		f.u.kept.each(func(r int) { f.lost[r] = ir.Unset })
	}
	f.raised.meet(f.lost)
}

// stepClasses makes of the classes before an instruction those behind it. A
// deleted one does nothing, being a jump.
func (u *unit) stepClasses(in ir.Instr, c classes) {
	if s := &shapes[in.Op]; s.writes != ir.Unset {
		c[in.A] = s.writes
	} else if s.call {
		u.callClasses(in, c)
	}
}

func (u *unit) callClasses(in ir.Instr, c classes) {
	r, keeps, lost := u.sets(in)
	clear(c[lost:])
	if in.Op == ir.OpListenBegin {
		u.kept.each(func(r int) { c[r] = ir.Unset })
	}
	c[r] = ir.Full
	if in.Op == ir.OpCall {
		c[r] = u.p.Functions[in.Imm].Result
	}
	if keeps >= 0 {
		c[keeps] = ir.Full
	}
}
