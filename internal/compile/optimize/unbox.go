package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// unbox finds values in Full registers that are always numbers, and stores them as scalars. Boxing
// instructions become moves, and typed operations read and store elements. There are two ways to
// know that a value is an Int. Either it is a constant or has just been boxed, or it is read as an
// Int, which the checker guarantees, before a jump could distinguish it from another value. If all
// uses of a value read it as an Int, it may be a scalar in any case.
//
// The change for one class does not affect the webs of other classes.
func unbox(u *unit, w *webs) {
	for _, c := range [...]ir.Class{ir.Int, ir.Float, ir.Bool} {
		b := &u.s.unbox
		b.u, b.w, b.class = u, w, c
		if b.hasClass() && b.candidates() {
			b.dropUnfit()
			b.rewrite()
		}
	}
}

// hasClass reports whether the function contains operations of the class. Most classes do not
// occur.
func (b *unboxer) hasClass() bool {
	for _, in := range b.u.code[:len(b.w.def)] {
		if in == nop {
			continue
		}
		if in.Op == boxOf[b.class] || in.Op == ir.OpLoadConst && b.constant(in) {
			return true
		}
		for _, r := range ir.ShapeOf(in).Reads {
			if r.Class == b.class {
				return true
			}
		}
	}
	return false
}

// boxes reports whether an instruction puts a number into a Full register that could contain a
// scalar instead.
func boxes(in ir.Instr) bool {
	return in.Op == ir.OpBoxInt || in.Op == ir.OpBoxFloat || in.Op == ir.OpBoxBool || in.Op == ir.OpArrayGet
}

// mayUnbox searches for a number whose first use could read a scalar. The search avoids finding the
// webs, which takes long, in the many functions without such a number.
func (u *unit) mayUnbox() bool {
	some, plain := false, false
	for pc, in := range u.code[:u.graph().Runs[u.blocks()-1].To] {
		some = some || boxes(in)
		plain = plain || (boxes(in) || in.Op == ir.OpField) && u.plainSoon(pc)
		if some && plain {
			return true
		}
	}
	return false
}

func (u *unit) plainSoon(pc int) bool {
	r := int(u.code[pc].A)
	for at := pc + 1; at < min(pc+soon, len(u.code)); at++ {
		in := u.code[at]
		if in == nop {
			continue
		}
		s := ir.ShapeOf(in)
		for _, o := range s.Reads {
			if in.Get(o.Field) == r {
				return o.Class != ir.Full || in.Op == ir.OpMove || in.Op == ir.OpShare || isElement(in, use{field: o.Field})
			}
		}
		if s.Window {
			if from, n := u.window(in); r >= from && r < from+n {
				return false
			}
		}
		if set, _, lost := u.sets(in); set == r || lost <= r {
			return false // the value is never read
		}
		if s.Target || s.Ends {
			break
		}
	}
	return true
}

type unboxer struct {
	u     *unit
	w     *webs
	class ir.Class
	// in contains for each web whether it may become a scalar. ofClassOnly contains whether all
	// values of the web are known to have the class.
	in, ofClassOnly []bool
	some            []int32 // webs that may become scalars
	holders         []int32 // registers that contain the value which readSoon follows
}

// byClass contains one operation for each class.
type byClass [ir.Full + 1]ir.Op

var boxOf = byClass{ir.Int: ir.OpBoxInt, ir.Float: ir.OpBoxFloat, ir.Bool: ir.OpBoxBool}

// typed contains the operations on elements by class.
var (
	typedGet  = byClass{ir.Int: ir.OpArrayGetInt, ir.Float: ir.OpArrayGetFloat, ir.Bool: ir.OpArrayGetBool}
	typedSet  = byClass{ir.Int: ir.OpArraySetInt, ir.Float: ir.OpArraySetFloat, ir.Bool: ir.OpArraySetBool}
	typedPush = byClass{ir.Int: ir.OpArrayPushInt, ir.Float: ir.OpArrayPushFloat, ir.Bool: ir.OpArrayPushBool}
	typedRead = byClass{ir.Int: ir.OpFieldInt, ir.Float: ir.OpFieldFloat, ir.Bool: ir.OpFieldBool}
)

// candidates marks the webs for which all instructions that set or read them have a scalar form. It
// returns false if there are none.
func (b *unboxer) candidates() bool {
	zeroed(&b.in, len(b.w.all))
	zeroed(&b.ofClassOnly, len(b.w.all))
	b.some = b.some[:0]
	for n := range b.w.all {
		if x := &b.w.all[n]; !x.fixed && len(x.defs) > 0 && b.plain(x) {
			b.in[n] = true
			b.some = append(b.some, int32(n))
		}
	}
	return len(b.some) > 0
}

func (b *unboxer) plain(x *web) bool {
	for _, pc := range x.defs {
		if !b.plainDef(b.u.code[pc]) {
			return false
		}
	}
	for _, s := range x.uses {
		if !b.plainUse(b.u.code[s.pc], s) {
			return false
		}
	}
	return true
}

// source returns the web that an operand reads, or -1.
func (b *unboxer) source(pc int, field ir.Field) int32 { return b.w.of[operands*pc+int(field)] }

// plainDef reports whether an instruction can set a scalar register instead.
func (b *unboxer) plainDef(in ir.Instr) bool {
	switch in.Op {
	case ir.OpMove, ir.OpArrayGet, ir.OpField:
		return true
	case ir.OpLoadConst:
		return b.constant(in)
	}
	return in.Op == boxOf[b.class]
}

// constant reports whether an instruction loads a constant of the class.
func (b *unboxer) constant(in ir.Instr) bool {
	k := b.u.p.Constants[in.Imm]
	return b.class == ir.Int && k.Int != nil || b.class == ir.Float && k.Float != nil
}

// plainUse reports whether an operand can read a scalar register instead.
func (b *unboxer) plainUse(in ir.Instr, s use) bool {
	if s.window {
		return false
	}
	switch in.Op {
	case ir.OpShare:
		return true
	case ir.OpMove:
		return true // the web that the move sets decides
	}
	return s.class == b.class || isElement(in, s)
}

// isElement reports whether an operand is a value that is stored in an array.
func isElement(in ir.Instr, s use) bool {
	return in.Op == ir.OpArrayPush && s.field == ir.B || in.Op == ir.OpArraySet && s.field == ir.C
}

// dropUnfit removes candidates until the remaining ones are consistent.
func (b *unboxer) dropUnfit() {
	for changed := true; changed; {
		changed = false
		b.learn()
		for _, n := range b.some {
			if b.in[n] && !b.fits(&b.w.all[n], b.ofClassOnly[n]) {
				b.in[n], changed = false, true
			}
		}
	}
}

// learn finds the webs whose values are all known to have the class.
func (b *unboxer) learn() {
	for _, n := range b.some {
		b.ofClassOnly[n] = b.in[n]
	}
	for changed := true; changed; {
		changed = false
		for _, n := range b.some {
			if !b.ofClassOnly[n] {
				continue
			}
			for _, pc := range b.w.all[n].defs {
				if !b.ofClass(int(pc), n) {
					b.ofClassOnly[n], changed = false, true
					break
				}
			}
		}
	}
}

// ofClass reports whether the result of an instruction is known to have the class.
func (b *unboxer) ofClass(pc int, n int32) bool {
	in := b.u.code[pc]
	switch in.Op {
	case ir.OpLoadConst:
		return b.constant(in)
	case boxOf[b.class]:
		return true
	case ir.OpMove:
		if from := b.source(pc, ir.B); from >= 0 && b.ofClassOnly[from] {
			return true
		}
	}
	return b.readSoon(pc, n)
}

// soon is the maximum number of instructions that readSoon examines for each value.
const soon = 100

// readSoon reports whether the value that is set at pc is read as the class, directly or after
// moves, before control may branch.
func (b *unboxer) readSoon(pc int, n int32) bool {
	u, g := b.u, b.u.graph()
	end := min(g.Runs[g.At[pc]].To, pc+soon)
	holders := append(b.holders[:0], n)
	defer func() { b.holders = holders }()
	for at := pc + 1; at < end; at++ {
		in := u.code[at]
		if in == nop {
			continue
		}
		for _, o := range ir.ShapeOf(in).Reads {
			from := b.source(at, o.Field)
			if from < 0 || !slices.Contains(holders, from) {
				continue
			}
			if o.Class == b.class {
				return true
			}
			if in.Op == ir.OpMove && b.w.def[at] >= 0 {
				holders = append(holders, b.w.def[at])
			}
		}
		for k, h := range holders {
			if b.w.def[at] == h && !(in.Op == ir.OpMove && k == len(holders)-1) {
				return false // the value is overwritten
			}
		}
	}
	return false
}

// fits reports whether a web can become a scalar if the other candidates do. A web that is not
// known to have the class may be read only as this class.
func (b *unboxer) fits(x *web, proven bool) bool {
	gains := false
	for _, pc := range x.defs {
		op := b.u.code[pc].Op
		gains = gains || op != ir.OpMove && op != ir.OpLoadConst && !(op == ir.OpField && !proven)
	}
	for _, s := range x.uses {
		in := b.u.code[s.pc]
		switch {
		case in.Op == ir.OpMove: // a move to a Full register becomes a boxing instruction
			if !proven && !b.in[b.w.def[s.pc]] {
				return false
			}
		case isElement(in, s) && !proven:
			return false
		default:
			gains = true
		}
	}
	return gains
}

// rewrite converts the webs to scalars.
func (b *unboxer) rewrite() {
	u := b.u
	for _, n := range b.some {
		if !b.in[n] {
			continue
		}
		x := &b.w.all[n]
		for _, at := range x.defs {
			pc := int(at)
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
				u.remove(int(s.pc))
			case in.Op == ir.OpMove && !b.in[b.w.def[s.pc]]:
				in.Op = boxOf[b.class]
				u.set(int(s.pc), in)
			case isElement(in, s) && in.Op == ir.OpArrayPush:
				in.Op = typedPush[b.class]
				u.set(int(s.pc), in)
			case isElement(in, s):
				in.Op = typedSet[b.class]
				u.set(int(s.pc), in)
			}
		}
	}
}
