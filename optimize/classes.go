package optimize

import "github.com/concerto-lang/concerto/ir"

// classes is what each register may be read as at a point, as the verifier finds
// it: where ways meet with different classes it may not be read.
type classes [256]ir.Class

func (c *classes) meet(d *classes) (changed bool) {
	for r := range c {
		if c[r] != d[r] && c[r] != ir.Unset {
			c[r], changed = ir.Unset, true
		}
	}
	return changed
}

// fits says whether a register may be read as a class.
func (c *classes) fits(r int, as ir.Class) bool { return c[r] == as || c[r] == ir.Full }

// classesIn finds the classes at the beginning of each block; nil for one that
// is not reached.
func (u *unit) classesIn() []*classes {
	g := u.graph()
	in := make([]*classes, len(g.blocks))
	entry := &classes{}
	copy(entry[1:], u.f.Params)
	in[0] = entry
	arrive := func(to int, c *classes, from int) bool {
		if in[to] == nil {
			d := *c
			in[to] = &d
			return to <= from
		}
		return in[to].meet(c) && to <= from
	}
	for again := true; again; {
		again = false
		for i := range g.blocks {
			b := &g.blocks[i]
			if in[i] == nil {
				continue
			}
			c := *in[i]
			raised := c
			for pc := b.from; pc < b.to; pc++ {
				if len(b.catches) > 0 {
					u.raiseClasses(u.code[pc], c, &raised)
				}
				u.stepClasses(u.code[pc], &c)
			}
			for _, s := range b.succ {
				again = arrive(s, &c, i) || again
			}
			for k, s := range b.catches {
				r := raised
				r[b.caught[k].Register] = ir.Full
				again = arrive(s, &r, i) || again
			}
		}
	}
	return in
}

// raiseClasses adds what an instruction leaves when it raises.
func (u *unit) raiseClasses(in ir.Instr, c classes, raised *classes) {
	if at := 256; in != nop {
		if at = u.lost(in); at < 256 {
			clear(c[at:])
			if _, keeps := u.written(in); keeps >= 0 {
				c[keeps] = ir.Full
			}
		}
	}
	raised.meet(&c)
}

// stepClasses makes of the classes before an instruction those behind it.
func (u *unit) stepClasses(in ir.Instr, c *classes) {
	if in == nop {
		return
	}
	r, keeps := u.written(in)
	if r < 0 {
		return
	}
	class := shapeOf(in).writes
	if class == ir.Unset {
		class = ir.Full
		if in.Op == ir.OpCall {
			class = u.p.Functions[in.Imm].Result
		}
	}
	if at := u.lost(in); at < 256 {
		clear(c[at:])
	}
	c[r] = class
	if keeps >= 0 {
		c[keeps] = ir.Full
	}
}
