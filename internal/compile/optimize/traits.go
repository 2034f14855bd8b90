package optimize

import "github.com/concerto-lang/concerto/ir"

// This file contains properties of operations that the passes read from the table of the
// instruction set.

// traits contains the traits of the operations. It has 256 elements, so that indexing needs no
// bounds check.
var traits = func() (all [256]ir.Traits) {
	for op := range ir.Table {
		all[op] = ir.Table[op].Traits
	}
	return all
}()

func has(op ir.Op, t ir.Traits) bool { return traits[op].Has(t) }

// changes contains the memory that each operation may change.
var changes = func() (all [256]ir.Memory) {
	for op := range ir.Table {
		all[op] = ir.Table[op].Traits.Changes()
	}
	return all
}()

// rows returns the set of operations for which holds returns true.
func rows(holds func(t ir.Traits, s *ir.Shape) bool) (set [256]bool) {
	for op := range ir.Table {
		set[op] = holds(ir.Table[op].Traits, &ir.Shapes[op])
	}
	return set
}

func isMove(op ir.Op) bool { return op >= ir.OpMove && op <= ir.OpMoveBool }
