package optimize

import "github.com/concerto-lang/concerto/ir"

// removeOwnSteps removes copy-on-write instructions that would copy nothing. Before a program
// changes a container in place, Own ensures that no other variable holds it: it copies a container
// that is marked as shared. OwnElem and OwnField do the same for a part of a container. The
// instructions are unnecessary if the container is known to be unshared. This is the case if an
// earlier instruction has ensured it or the container was created here, and no instruction since
// then has marked a value or replaced the container. It is also unnecessary to mark a value that is
// no container.
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

// isScalar reports whether a register is known to contain no container.
func (k *facts) isScalar(r int, holds bitset) bool {
	_, ok := k.findFact(r, holds, func(in ir.Instr) bool {
		return has(in.Op, ir.Flat) || in.Op == ir.OpMove && int(in.B) != r && k.isFlat(int(in.B), holds)
	})
	return ok
}

// isFlat reports the same as isScalar for a register that was not set by a move.
func (k *facts) isFlat(r int, holds bitset) bool {
	_, ok := k.findFact(r, holds, func(in ir.Instr) bool { return has(in.Op, ir.Flat) })
	return ok
}
