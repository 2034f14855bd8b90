package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// closureFinder returns the closure in register r. g is its function; base is the first of the
// registers from which its values were captured, all of which still contain them. ok is false if
// the closure is not known.
type closureFinder func(r int) (g, base int, ok bool)

// knownClosure means that a register contains a certain closure throughout the instructions [from,
// to), which are the code of an inlined function. The registers from base on, from which the
// closure's values were captured, contain these values as long.
type knownClosure struct {
	from, to       int
	register       int
	function, base int
}

// closuresNear reports whether the dataflow of facts can be skipped for the
// closures that a call is given: nearClosure finds each of them, or the
// function makes no closures at all.
func (u *unit) closuresNear(pc int, c *callee) bool {
	for rest := c.applies; rest != 0; rest &= rest - 1 {
		if _, _, ok := u.nearClosure(pc, int(u.code[pc].A)+trailing(rest)); !ok {
			return !slices.ContainsFunc(u.code, func(in ir.Instr) bool { return in.Op == ir.OpNewClosure || in.Op == ir.OpLoadFunction })
		}
	}
	return true
}

// closureCallsNear reports the same for the closures that the function calls itself.
func (u *unit) closureCallsNear() bool {
	made := false
	for pc := range u.code {
		switch in := &u.code[pc]; in.Op {
		case ir.OpNewClosure, ir.OpLoadFunction:
			made = true
		}
	}
	if !made {
		return true
	}
	for pc := range u.code {
		if in := &u.code[pc]; in.Op == ir.OpCallClosure {
			if _, _, ok := u.nearClosure(pc, int(in.A)); !ok {
				return false
			}
		}
	}
	return true
}

// nearClosure is a closureFinder that looks only at the instructions before pc
// in the same run.
func (u *unit) nearClosure(pc, r int) (g, base int, ok bool) {
	b := &u.graph().Runs[u.s.graph.At[pc]]
	var written regs
	for at := pc; at >= b.From; at-- {
		in := u.code[at]
		set, _, lost := u.sets(in)
		switch {
		case at == pc:
			set = -1
		case in.Op == ir.OpListenBegin:
			return 0, 0, false // its handlers may set any register
		case lost <= r:
			return 0, 0, false
		case set != r:
			for ; lost < ir.Nowhere; lost++ {
				written.add(lost)
			}
		case in.Op == ir.OpMove:
			r = int(in.B)
		case in.Op == ir.OpLoadFunction:
			return int(in.Imm), 0, true
		case in.Op == ir.OpNewClosure:
			for k := range int(in.C) {
				if written.has(int(in.B) + k) {
					return 0, 0, false
				}
			}
			return int(in.Imm), int(in.B), true
		default:
			return 0, 0, false
		}
		if set >= 0 {
			written.add(set)
		}
		if k := u.closureAt(at, r); k != nil {
			return k.function, k.base, true
		}
	}
	return 0, 0, false
}

// closureAt finds what is known of a register at an instruction.
func (u *unit) closureAt(pc, r int) *knownClosure {
	for i := range u.closures {
		if k := &u.closures[i]; k.register == r && k.from <= pc && pc < k.to {
			return k
		}
	}
	return nil
}

// eachWithClosures visits the instructions with what is known of closures there.
func (u *unit) eachWithClosures(visit func(pc int, closure closureFinder)) {
	k := u.facts(onlyClosures, len(u.code))
	var holds bitset
	find := func(r int) (int, int, bool) { return k.closure(r, holds) }
	k.each(func(pc int, now bitset) {
		holds = now
		visit(pc, find)
	})
}

// closure is a closureFinder that goes by the facts.
func (k *facts) closure(r int, holds bitset) (g, base int, ok bool) {
	for range 8 {
		in, ok := k.findFact(r, holds, func(in ir.Instr) bool {
			return in.Op == ir.OpNewClosure || in.Op == ir.OpLoadFunction || in.Op == ir.OpMove
		})
		switch {
		case !ok:
			return 0, 0, false
		case in.Op == ir.OpMove:
			r = int(in.B)
		case in.Op == ir.OpNewClosure:
			for r := range int(in.C) {
				if k.classes[int(in.B)+r] != ir.Full {
					return 0, 0, false
				}
			}
			return int(in.Imm), int(in.B), true
		default:
			return int(in.Imm), 0, true
		}
	}
	return 0, 0, false
}
