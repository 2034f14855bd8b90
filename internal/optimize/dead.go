package optimize

import "github.com/concerto-lang/concerto/ir"

// removable are the operations that do nothing but set their register: they
// raise nothing, whatever they read, and nobody sees them.
var removable = rows(func(t ir.Traits, s *ir.Shape) bool {
	return s.Writes != ir.Unset && !s.Modify && t.Changes() == 0 && t&(ir.Raises|ir.Acts|ir.Noted) == 0
})

// rows are the operations whose rows a condition holds for.
func rows(holds func(t ir.Traits, s *ir.Shape) bool) (set [256]bool) {
	for op := range ir.Table {
		set[op] = holds(ir.Table[op].Traits, &ir.Shapes[op])
	}
	return set
}

// dead says whether an instruction sets a register that nobody reads again: what
// the other passes leave behind, and stores that are overwritten.
func (u *unit) dead(pc int, after *regs) bool {
	in := u.code[pc]
	return removable[in.Op] && (!after.has(int(in.A)) || in.Op == ir.OpMove && in.A == in.B)
}

func isMove(op ir.Op) bool { return op >= ir.OpMove && op <= ir.OpMoveBool }
