package optimize

import "github.com/concerto-lang/concerto/ir"

// removeOwnSteps removes copy-on-write steps that would copy nothing. Before a container
// is changed in place, Own makes sure that no other variable holds it, by a
// copy when it is marked as shared; OwnElem and OwnField do that for a part of
// it. They are not needed where the container is known to be unshared: an
// earlier step has ensured that, or the container was made here, and since then
// nothing has been marked and nothing else has been put in its place. Marking a
// value that is no container is not needed either.
func (k *facts) removeOwnSteps(pc int, holds bitset) {
	in := k.u.code[pc]
	switch in.Op {
	case ir.OpOwn:
		if n := k.lookup(ir.Instr{Op: ir.OpOwn, A: in.A}); n >= 0 && holds.has(n) {
			k.u.remove(pc)
		}
	case ir.OpOwnElem, ir.OpOwnField:
		if n := k.lookup(in); n >= 0 && holds.has(n) {
			k.u.remove(pc)
		} else if d, ok := k.equal(in, holds); ok {
			k.u.set(pc, ir.Instr{Op: ir.OpMove, A: in.A, B: d})
		}
	case ir.OpShare:
		if k.isScalar(int(in.A), holds) {
			k.u.remove(pc)
		}
	}
}

// isScalar reports whether a register is known to hold no container.
func (k *facts) isScalar(r int, holds bitset) bool {
	_, ok := k.findFact(r, holds, func(in ir.Instr) bool {
		return has(in.Op, ir.Flat) || in.Op == ir.OpMove && int(in.B) != r && k.isFlat(int(in.B), holds)
	})
	return ok
}

// isFlat is scalar for a register that was not set by a move.
func (k *facts) isFlat(r int, holds bitset) bool {
	_, ok := k.findFact(r, holds, func(in ir.Instr) bool { return has(in.Op, ir.Flat) })
	return ok
}
