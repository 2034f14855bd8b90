package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// unbox finds values in Full registers that are always numbers, and stores them as plain scalars:
// boxes become moves, and elements are read and stored by the typed operations. There are two ways
// to know that a value is an Int. It has just been boxed or is a constant; or it is read as an Int,
// which the checker guarantees, before a jump could have distinguished it from another value. A
// value that has only such reads may be plain whatever it is.
//
// A change for one class does not affect the webs of the others.
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

// hasClass reports whether the class occurs in the function at all. Most classes do
// not.
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

// boxes reports whether an instruction puts a number into a Full register that
// could hold it plain.
func boxes(in ir.Instr) bool {
	return in.Op == ir.OpBoxInt || in.Op == ir.OpBoxFloat || in.Op == ir.OpBoxBool || in.Op == ir.OpArrayGet
}

// mayUnbox searches for a number whose first nearby reader could read it plain. It avoids finding
// the webs, which is expensive, for the many functions that have none.
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
			return false // it is never read
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
	// in has for each web whether it may become plain, known whether all its values are of the
	// class.
	in, ofClassOnly []bool
	some            []int32 // the webs that may
	holders         []int32 // of the value that readSoon follows
}

// byClass is an operation for each class.
type byClass [ir.Full + 1]ir.Op

var boxOf = byClass{ir.Int: ir.OpBoxInt, ir.Float: ir.OpBoxFloat, ir.Bool: ir.OpBoxBool}

// typed are the operations on elements, by class.
var (
	typedGet  = byClass{ir.Int: ir.OpArrayGetInt, ir.Float: ir.OpArrayGetFloat, ir.Bool: ir.OpArrayGetBool}
	typedSet  = byClass{ir.Int: ir.OpArraySetInt, ir.Float: ir.OpArraySetFloat, ir.Bool: ir.OpArraySetBool}
	typedPush = byClass{ir.Int: ir.OpArrayPushInt, ir.Float: ir.OpArrayPushFloat, ir.Bool: ir.OpArrayPushBool}
	typedRead = byClass{ir.Int: ir.OpFieldInt, ir.Float: ir.OpFieldFloat, ir.Bool: ir.OpFieldBool}
)

// candidates marks the webs all of whose settings and readers have a plain form.
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

// source is the web that an operand reads, -1 for none.
func (b *unboxer) source(pc int, field ir.Field) int32 { return b.w.of[operands*pc+int(field)] }

// plainDef reports whether an instruction can set a plain register instead.
func (b *unboxer) plainDef(in ir.Instr) bool {
	switch in.Op {
	case ir.OpMove, ir.OpArrayGet, ir.OpField:
		return true
	case ir.OpLoadConst:
		return b.constant(in)
	}
	return in.Op == boxOf[b.class]
}

// constant reports whether a constant is of the class.
func (b *unboxer) constant(in ir.Instr) bool {
	k := b.u.p.Constants[in.Imm]
	return b.class == ir.Int && k.Int != nil || b.class == ir.Float && k.Float != nil
}

// plainUse reports whether an operand can read a plain register instead.
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

// isElement reports whether an operand is what is put into an array.
func isElement(in ir.Instr, s use) bool {
	return in.Op == ir.OpArrayPush && s.field == ir.B || in.Op == ir.OpArraySet && s.field == ir.C
}

// dropUnfit drops candidates until what is left fits together.
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

// learn finds the webs whose values are all known to be of the class.
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

// ofClass reports whether the result of an instruction is known to be of the class.
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

// soon bounds the distance, in instructions, over which readSoon searches for the reader of a
// value: it does so for each value.
const soon = 100

// readSoon reports whether the value set at pc is read as the class, directly or
// through moves, before control could go anywhere else.
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
				return false // set again
			}
		}
	}
	return false
}

// fits reports whether a web can become plain together with the others that do. A
// web not known to be of the class may only be read as that class.
func (b *unboxer) fits(x *web, proven bool) bool {
	gains := false
	for _, pc := range x.defs {
		op := b.u.code[pc].Op
		gains = gains || op != ir.OpMove && op != ir.OpLoadConst && !(op == ir.OpField && !proven)
	}
	for _, s := range x.uses {
		in := b.u.code[s.pc]
		switch {
		case in.Op == ir.OpMove: // into a Full register it becomes a box
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

// rewrite makes the webs plain.
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
