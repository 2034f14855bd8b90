package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// closureFinder returns the closure in register r. g is the closure's function. The captured values
// are copies of the registers from base on, which still contain these values. ok is false if the
// closure is unknown.
type closureFinder func(r int) (g, base int, ok bool)

// knownClosure records that a register contains a certain closure in the instructions [from, to),
// which are the code of an inlined function. The registers from base on contain the closure's
// captured values during these instructions.
type knownClosure struct {
	from, to       int
	register       int
	function, base int
}

// closuresNear reports whether the dataflow analysis of facts is unnecessary for the closures that
// a call receives. This is the case if nearClosure finds each of them, or if the function creates
// no closures.
func (u *unit) closuresNear(pc int, c *callee) bool {
	for rest := c.applies; rest != 0; rest &= rest - 1 {
		if _, _, ok := u.nearClosure(pc, int(u.code[pc].A)+trailing(rest)); !ok {
			return !slices.ContainsFunc(u.code, func(in ir.Instr) bool { return in.Op == ir.OpNewClosure || in.Op == ir.OpLoadFunction })
		}
	}
	return true
}

// closureCallsNear reports whether the analysis is unnecessary for the closures that the function
// itself calls.
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

// nearClosure is a closureFinder that examines only the preceding instructions in the same basic
// block.
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
			return 0, 0, false // the handlers of a listen may set any register
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
			written.add(set) // the closure may replace a value that it captures
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

// closureAt returns the known closure in register r at an instruction, or nil.
func (u *unit) closureAt(pc, r int) *knownClosure {
	for i := range u.closures {
		if k := &u.closures[i]; k.register == r && k.from <= pc && pc < k.to {
			return k
		}
	}
	return nil
}

// eachWithClosures calls visit for each instruction. closure finds the closures that are known
// there.
func (u *unit) eachWithClosures(visit func(pc int, closure closureFinder)) {
	k := u.facts(onlyClosures, len(u.code))
	var holds bitset
	find := func(r int) (int, int, bool) { return k.closure(r, holds) }
	k.each(func(pc int, now bitset) {
		holds = now
		visit(pc, find)
	})
}

// closure is a closureFinder that uses the facts in holds.
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
