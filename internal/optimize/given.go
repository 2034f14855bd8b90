package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// callee is what matters of a function when it is called: small says that it
// is inlined wherever it is, given which parameters are closures that it calls,
// so that it is inlined where one of them is known. Neither is so of one that
// stays a call.
type callee struct {
	known, small bool
	loops        bool
	given        uint64 // parameters from 1 on, by bit; later ones do not count
}

// callee looks at a function, once it does not change any more.
func (o *optimizer) callee(n int) *callee {
	c := &o.callees[n]
	if c.known || !o.ready[n] {
		return c
	}
	c.known = true
	f := &o.p.Functions[n]
	if len(f.Listens) > 0 || f.Body || f.Captures > 0 || len(f.Code) > closureCode || callsItself(f, n) {
		return c
	}
	c.small = len(f.Code) <= smallCode
	c.loops = slices.ContainsFunc(f.Code, loops)
	if slices.ContainsFunc(f.Code, func(in ir.Instr) bool { return in.Op == ir.OpCallClosure }) {
		for r := 1; r <= min(len(f.Params), 63); r++ {
			if callsParam(f, r) {
				c.given |= 1 << r
			}
		}
	}
	return c
}

func callsItself(f *ir.Function, n int) bool {
	return slices.ContainsFunc(f.Code, func(in ir.Instr) bool { return in.Op == ir.OpCall && int(in.Imm) == n })
}

// callsParam says whether a function calls its parameter r as it came.
func callsParam(f *ir.Function, r int) bool {
	calls := false
	for pc, in := range f.Code {
		if ir.ShapeOf(in).Writes != ir.Unset && int(in.A) == r {
			return false
		}
		if in.Op == ir.OpCallClosure {
			calls = calls || int(in.A) == r
			for at := pc - 1; at >= 0 && !calls; at-- {
				if x := f.Code[at]; x.Op == ir.OpMove && x.A == in.A {
					calls = int(x.B) == r
					break
				}
			}
		}
	}
	return calls
}

// closureFinder gives the function of a closure in a register, and its captured
// values, as they still lie where they were captured.
type closureFinder func(r int) (g, base int, ok bool)

// known is a closure that lies in a register all through [from, to), the code of a
// function that was inlined, as its captured values do.
type known struct {
	from, to       int
	register       int
	function, base int
}

// closuresNear says whether the closures that a call is given are found without
// the facts. That there is none at all is found so too.
func (u *unit) closuresNear(pc int, c *callee) bool {
	for given := c.given; given != 0; given &= given - 1 {
		if _, _, ok := u.nearClosure(pc, int(u.code[pc].A)+trailing(given)); !ok {
			return !slices.ContainsFunc(u.code, func(in ir.Instr) bool { return in.Op == ir.OpNewClosure || in.Op == ir.OpLoadFunction })
		}
	}
	return true
}

// closureCallsNear says the same of all calls of closures.
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

// nearClosure looks for a closure that is known around the instruction at pc, or
// has been made in the same block before it.
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
		if k := u.knownAt(at, r); k != nil {
			return k.function, k.base, true
		}
	}
	return 0, 0, false
}

// knownAt finds what is known of a register at an instruction.
func (u *unit) knownAt(pc, r int) *known {
	for i := range u.known {
		if k := &u.known[i]; k.register == r && k.from <= pc && pc < k.to {
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

// closure finds the function of a closure in a register, and its captured
// values, as they still lie where they were captured.
func (k *facts) closure(r int, holds bitset) (g, base int, ok bool) {
	for range 8 {
		in, ok := k.known(r, holds, func(in ir.Instr) bool {
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
