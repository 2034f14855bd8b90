package optimize

import "github.com/concerto-lang/concerto/ir"

// unbox finds values in Full registers that are always numbers, and keeps them
// plain: boxes become moves, elements are read and stored by the typed
// operations. A value is known to be an Int when it has just been boxed or is a
// constant, or when it is read as an Int before anything could have told it from
// another value, which takes a jump: the checker vouches for such a read. Where
// nothing but such reads remain, it does not matter what it is.
func unbox(u *unit, w *webs) {
	for _, c := range []ir.Class{ir.Int, ir.Float, ir.Bool} {
		b := &unboxer{u: u, class: c}
		if !b.met() {
			continue
		}
		if w == nil {
			w = u.webs()
		}
		b.w = w
		if b.candidates() {
			b.settle()
			if b.rewrite() {
				w = nil
			}
		}
	}
}

// met says whether the function has to do with the class at all. Most have not
// with most, and finding the webs is what costs: without this question all the
// passes together take a quarter longer.
func (b *unboxer) met() bool {
	for _, in := range b.u.code {
		if in == nop {
			continue
		}
		if in.Op == boxOf[b.class] || in.Op == ir.OpLoadConst && b.constant(in) {
			return true
		}
		for _, r := range shapeOf(in).reads {
			if r.class == b.class {
				return true
			}
		}
	}
	return false
}

// boxes says whether an instruction gives a number in a Full register that
// could be plain.
func boxes(in ir.Instr) bool {
	return in.Op == ir.OpBoxInt || in.Op == ir.OpBoxFloat || in.Op == ir.OpBoxBool || in.Op == ir.OpArrayGet
}

type unboxer struct {
	u     *unit
	w     *webs
	class ir.Class
	// in says of each web whether it may become plain, known whether its values
	// are all of the class.
	in, known []bool
	of        map[usedAt]int32 // the web that an operand reads
}

type usedAt struct {
	pc    int
	field ir.Field
}

var boxOf = map[ir.Class]ir.Op{ir.Int: ir.OpBoxInt, ir.Float: ir.OpBoxFloat, ir.Bool: ir.OpBoxBool}

// typed are the operations on elements, by class.
var (
	typedGet  = map[ir.Class]ir.Op{ir.Int: ir.OpArrayGetInt, ir.Float: ir.OpArrayGetFloat, ir.Bool: ir.OpArrayGetBool}
	typedSet  = map[ir.Class]ir.Op{ir.Int: ir.OpArraySetInt, ir.Float: ir.OpArraySetFloat, ir.Bool: ir.OpArraySetBool}
	typedPush = map[ir.Class]ir.Op{ir.Int: ir.OpArrayPushInt, ir.Float: ir.OpArrayPushFloat, ir.Bool: ir.OpArrayPushBool}
	typedRead = map[ir.Class]ir.Op{ir.Int: ir.OpFieldInt, ir.Float: ir.OpFieldFloat, ir.Bool: ir.OpFieldBool}
)

// candidates marks the webs all of whose settings and readers have a plain form.
func (b *unboxer) candidates() bool {
	b.in = make([]bool, len(b.w.all))
	b.known = make([]bool, len(b.w.all))
	b.of = map[usedAt]int32{}
	any := false
	for n, x := range b.w.all {
		for _, s := range x.uses {
			if !s.window {
				b.of[usedAt{s.pc, s.field}] = int32(n)
			}
		}
		ok := !x.fixed && len(x.defs) > 0
		for _, pc := range x.defs {
			ok = ok && b.plainDef(b.u.code[pc])
		}
		for _, s := range x.uses {
			ok = ok && b.plainUse(b.u.code[s.pc], s)
		}
		b.in[n] = ok
		any = any || ok
	}
	return any
}

// plainDef says whether an instruction can set a plain register instead.
func (b *unboxer) plainDef(in ir.Instr) bool {
	switch in.Op {
	case ir.OpMove, ir.OpArrayGet, ir.OpField:
		return true
	case ir.OpLoadConst:
		return b.constant(in)
	}
	return in.Op == boxOf[b.class]
}

// constant says whether a constant is of the class.
func (b *unboxer) constant(in ir.Instr) bool {
	k := b.u.p.Constants[in.Imm]
	return b.class == ir.Int && k.Int != nil || b.class == ir.Float && k.Float != nil
}

// plainUse says whether an operand can read a plain register instead.
func (b *unboxer) plainUse(in ir.Instr, s use) bool {
	if s.window {
		return false
	}
	switch in.Op {
	case ir.OpShare:
		return true
	case ir.OpMove:
		return true // settled with the web that it sets
	}
	return s.class == b.class || isElement(in, s)
}

// isElement says whether an operand is what is put into an array.
func isElement(in ir.Instr, s use) bool {
	return in.Op == ir.OpArrayPush && s.field == ir.B || in.Op == ir.OpArraySet && s.field == ir.C
}

// settle drops candidates until what is left fits together.
func (b *unboxer) settle() {
	for changed := true; changed; {
		changed = false
		b.learn()
		for n, x := range b.w.all {
			if b.in[n] && !b.fits(x, b.known[n]) {
				b.in[n], changed = false, true
			}
		}
	}
}

// learn finds the webs whose values are all known to be of the class.
func (b *unboxer) learn() {
	for n := range b.known {
		b.known[n] = b.in[n]
	}
	for changed := true; changed; {
		changed = false
		for n, x := range b.w.all {
			if !b.known[n] {
				continue
			}
			for _, pc := range x.defs {
				if !b.ofClass(pc, n) {
					b.known[n], changed = false, true
					break
				}
			}
		}
	}
}

// ofClass says whether what an instruction gives is known to be of the class.
func (b *unboxer) ofClass(pc, n int) bool {
	in := b.u.code[pc]
	switch in.Op {
	case ir.OpLoadConst:
		return b.constant(in)
	case boxOf[b.class]:
		return true
	case ir.OpMove:
		if from, ok := b.of[usedAt{pc, ir.B}]; ok && b.known[from] {
			return true
		}
	}
	return b.readSoon(pc, n)
}

// readSoon says whether what is set at pc is read as the class before control
// could go anywhere else, itself or through moves.
func (b *unboxer) readSoon(pc, n int) bool {
	u, g := b.u, b.u.graph()
	end := g.blocks[g.at[pc]].to
	holders := []int{n}
	for at := pc + 1; at < end; at++ {
		in := u.code[at]
		if in == nop {
			continue
		}
		for _, o := range shapeOf(in).reads {
			from, ok := b.of[usedAt{at, o.field}]
			if !ok || !contains(holders, int(from)) {
				continue
			}
			if o.class == b.class {
				return true
			}
			if in.Op == ir.OpMove && b.w.def[at] >= 0 {
				holders = append(holders, int(b.w.def[at]))
			}
		}
		for k, h := range holders {
			if b.w.def[at] == int32(h) && !(in.Op == ir.OpMove && k == len(holders)-1) {
				return false // set anew
			}
		}
	}
	return false
}

func contains(s []int, n int) bool {
	for _, x := range s {
		if x == n {
			return true
		}
	}
	return false
}

// fits says whether a web can become plain beside the others that do. What is
// not known to be of the class may only be read as such.
func (b *unboxer) fits(x *web, known bool) bool {
	gains := false
	for _, pc := range x.defs {
		op := b.u.code[pc].Op
		gains = gains || op != ir.OpMove && op != ir.OpLoadConst && !(op == ir.OpField && !known)
	}
	for _, s := range x.uses {
		in := b.u.code[s.pc]
		switch {
		case in.Op == ir.OpMove: // into a Full register it becomes a box
			if !known && !b.in[b.w.def[s.pc]] {
				return false
			}
		case isElement(in, s) && !known:
			return false
		default:
			gains = true
		}
	}
	return gains
}

// rewrite makes the webs plain.
func (b *unboxer) rewrite() (changed bool) {
	u := b.u
	for n, x := range b.w.all {
		if !b.in[n] {
			continue
		}
		changed = true
		for _, pc := range x.defs {
			in := u.code[pc]
			switch in.Op {
			case ir.OpMove, boxOf[b.class]:
				in.Op = moveOf[b.class]
			case ir.OpArrayGet:
				in.Op = typedGet[b.class]
			case ir.OpField:
				in.Op = typedRead[b.class]
			case ir.OpLoadConst:
				if k := u.p.Constants[in.Imm]; k.Int != nil {
					in, _ = u.o.loadInt(in.A, *k.Int)
				} else {
					in.Op = ir.OpLoadFloatConst
				}
			}
			u.set(pc, in)
		}
		for _, s := range x.uses {
			in := u.code[s.pc]
			switch {
			case in.Op == ir.OpShare:
				u.remove(s.pc)
			case in.Op == ir.OpMove && !b.in[b.w.def[s.pc]]:
				in.Op = boxOf[b.class]
				u.set(s.pc, in)
			case isElement(in, s) && in.Op == ir.OpArrayPush:
				in.Op = typedPush[b.class]
				u.set(s.pc, in)
			case isElement(in, s):
				in.Op = typedSet[b.class]
				u.set(s.pc, in)
			}
		}
	}
	u.g = nil
	return changed
}
