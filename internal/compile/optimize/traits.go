package optimize

import "github.com/concerto-lang/concerto/ir"

// Properties of operations that the passes read from the rows of the instruction set.

// traits are those of the operations, by number, so that no index needs a check.
var traits = func() (all [256]ir.Traits) {
	for op := range ir.Table {
		all[op] = ir.Table[op].Traits
	}
	return all
}()

func has(op ir.Op, t ir.Traits) bool { return traits[op].Has(t) }

// changes is the memory that each operation may change.
var changes = func() (all [256]ir.Memory) {
	for op := range ir.Table {
		all[op] = ir.Table[op].Traits.Changes()
	}
	return all
}()

// rows are the operations whose rows a condition holds for.
func rows(holds func(t ir.Traits, s *ir.Shape) bool) (set [256]bool) {
	for op := range ir.Table {
		set[op] = holds(ir.Table[op].Traits, &ir.Shapes[op])
	}
	return set
}

func isMove(op ir.Op) bool { return op >= ir.OpMove && op <= ir.OpMoveBool }
