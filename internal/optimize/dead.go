package optimize

import "github.com/concerto-lang/concerto/ir"

// removable are the operations that do nothing but set their register: they
// raise nothing, whatever they read, and nobody sees them. What makes an Err is
// none: its place is remembered, and how many are does not depend on the passes.
var removable = func() (set [256]bool) {
	for _, op := range []ir.Op{
		ir.OpMove, ir.OpMoveInt, ir.OpMoveFloat, ir.OpMoveBool, ir.OpLoadInt, ir.OpLoadBool, ir.OpLoadNil, ir.OpLoadConst,
		ir.OpLoadIntConst, ir.OpLoadFloatConst, ir.OpLoadFunction, ir.OpLoadAgent, ir.OpLoadHost, ir.OpLoadTool, ir.OpLoadStore,
		ir.OpLoadType, ir.OpBoxInt, ir.OpBoxFloat, ir.OpBoxBool,
		ir.OpAddFloat, ir.OpSubFloat, ir.OpMulFloat, ir.OpDivFloat, ir.OpRemFloat, ir.OpNegFloat, ir.OpSqrtFloat, ir.OpIntToFloat,
		ir.OpEqInt, ir.OpLtInt, ir.OpLeInt, ir.OpEqFloat, ir.OpLtFloat, ir.OpLeFloat, ir.OpEqBool, ir.OpNot, ir.OpIsNil,
		ir.OpStringLen, ir.OpNewArray, ir.OpArrayLen, ir.OpMapLen, ir.OpRangeLo, ir.OpRangeHi, ir.OpRangeLast,
		ir.OpNewTuple, ir.OpNewStruct, ir.OpNewVariant, ir.OpNewOk, ir.OpWrapSome, ir.OpUnwrap,
		ir.OpField, ir.OpFieldInt, ir.OpFieldFloat, ir.OpFieldBool, ir.OpVariant, ir.OpIsType,
		ir.OpNewClosure, ir.OpCaptured, ir.OpNewCell, ir.OpCellGet,
	} {
		set[op] = true
	}
	return set
}()

// dead says whether an instruction sets a register that nobody reads again: what
// the other passes leave behind, and stores that are overwritten.
func (u *unit) dead(pc int, after *regs) bool {
	in := u.code[pc]
	return removable[in.Op] && (!after.has(int(in.A)) || in.Op == ir.OpMove && in.A == in.B)
}

func isMove(op ir.Op) bool { return op >= ir.OpMove && op <= ir.OpMoveBool }
