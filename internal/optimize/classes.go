package optimize

import "github.com/concerto-lang/concerto/ir"

// classFlow are the classes at the beginning of each block.
type classFlow struct {
	u       *unit
	reached []bool
	all     []ir.Class // by block, then register
	at      ir.Classes // within the block under way
	raised  ir.Classes // what its errors leave
	lost    ir.Classes
	landed  ir.Classes
}

func (f *classFlow) in(block int) ir.Classes {
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
	for _, s := range []*ir.Classes{&f.at, &f.raised, &f.lost, &f.landed} {
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

func (f *classFlow) arrive(to int, c ir.Classes) (changed bool) {
	if to >= len(f.reached) {
		return false
	}
	if !f.reached[to] {
		f.reached[to] = true
		copy(f.in(to), c)
		return true
	}
	return f.in(to).Meet(c)
}

// raise adds what an instruction leaves when it raises.
func (f *classFlow) raise(in ir.Instr) {
	if in == nop || !ir.ShapeOf(in).Frame {
		f.raised.Meet(f.at)
		return
	}
	copy(f.lost, f.at)
	f.u.o.calls.Raised(in, f.lost)
	f.u.heard(in, f.lost)
	f.raised.Meet(f.lost)
}

// stepClasses makes of the classes before an instruction those behind it. A
// deleted one does nothing, being a jump.
func (u *unit) stepClasses(in ir.Instr, c ir.Classes) {
	u.o.calls.Step(in, c)
	u.heard(in, c)
}

// heard forgets the registers that the handlers of a listen may have set.
func (u *unit) heard(in ir.Instr, c ir.Classes) {
	if in.Op == ir.OpListenBegin {
		u.kept.each(func(r int) { c[r] = ir.Unset })
	}
}
