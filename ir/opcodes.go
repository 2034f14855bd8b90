// Code generated from ops.go by "make gen"; DO NOT EDIT.

package ir

// The operations, by the names of their rows.
const (
	OpMove Op = iota
	OpMoveInt
	OpMoveFloat
	OpMoveBool
	OpLoadInt
	OpLoadBool
	OpLoadNil
	OpLoadConst
	OpLoadIntConst
	OpLoadFloatConst
	OpLoadFunction
	OpLoadAgent
	OpLoadHost
	OpLoadTool
	OpLoadStore
	OpLoadType
	OpBoxInt
	OpBoxFloat
	OpBoxBool
	OpAddInt
	OpSubInt
	OpMulInt
	OpDivInt
	OpRemInt
	OpAddIntK
	OpSubIntK
	OpMulIntK
	OpDivIntK
	OpRemIntK
	OpNegInt
	OpAndInt
	OpOrInt
	OpXorInt
	OpShlInt
	OpShrInt
	OpAndIntK
	OpShlIntK
	OpShrIntK
	OpAddFloat
	OpSubFloat
	OpMulFloat
	OpDivFloat
	OpRemFloat
	OpNegFloat
	OpSqrtFloat
	OpIntToFloat
	OpFloatToInt
	OpEqInt
	OpLtInt
	OpLeInt
	OpEqFloat
	OpLtFloat
	OpLeFloat
	OpEqBool
	OpLtString
	OpLeString
	OpEqual
	OpNot
	OpIsNil
	OpJump
	OpJumpIf
	OpJumpIfNot
	OpJumpEqInt
	OpJumpNeInt
	OpJumpLtInt
	OpJumpLeInt
	OpJumpEqIntK
	OpJumpNeIntK
	OpJumpLtIntK
	OpJumpLeIntK
	OpJumpGtIntK
	OpJumpGeIntK
	OpJumpLtFloat
	OpJumpLeFloat
	OpJumpNotLtFloat
	OpJumpNotLeFloat
	OpJumpEqual
	OpJumpNotEqual
	OpJumpEqualK
	OpJumpNotEqualK
	OpJumpNil
	OpJumpNotNil
	OpJumpVariant
	OpJumpNotVariant
	OpForInt
	OpForIntTo
	OpLoop
	OpConcat
	OpInterpolate
	OpStringLen
	OpStringAt
	OpSlice
	OpNewArray
	OpNewMap
	OpArrayLen
	OpArrayGet
	OpArrayGetInt
	OpArrayGetFloat
	OpArrayGetBool
	OpArraySet
	OpArraySetInt
	OpArraySetFloat
	OpArraySetBool
	OpArraySwap
	OpArrayPush
	OpArrayPushInt
	OpArrayPushFloat
	OpArrayPushBool
	OpMapLen
	OpMapGet
	OpMapFind
	OpMapSet
	OpIterate
	OpNewRange
	OpRangeLo
	OpRangeHi
	OpRangeLast
	OpNewTuple
	OpNewStruct
	OpNewVariant
	OpRenewVariant
	OpNewOk
	OpNewErr
	OpNewErrOf
	OpLeave
	OpCaught
	OpWrapSome
	OpUnwrap
	OpField
	OpFieldInt
	OpFieldFloat
	OpFieldBool
	OpSetField
	OpSetFieldInt
	OpSetFieldFloat
	OpSetFieldBool
	OpVariant
	OpShare
	OpOwn
	OpOwnField
	OpOwnElem
	OpOwnKey
	OpOwnCell
	OpAnyBinary
	OpAnyNeg
	OpAnyBool
	OpAnyField
	OpAnyIndex
	OpAnySetField
	OpAnySetIndex
	OpAnyOwnField
	OpAnyOwnIndex
	OpCheck
	OpIsType
	OpErrorField
	OpCall
	OpCallClosure
	OpCallNative
	OpCallMethod
	OpReturn
	OpReturnInt
	OpReturnFloat
	OpReturnBool
	OpReturnNil
	OpNewClosure
	OpCaptured
	OpNewCell
	OpCellGet
	OpCellSet
	OpThrow
	OpRethrow
	OpFault
	OpPanic
	OpSpawn
	OpAwait
	OpJoinAll
	OpRace
	OpParallelFor
	OpReturnLeft
	OpEmit
	OpEmitBare
	OpAwaitEmit
	OpAwaitEmitAs
	OpPerform
	OpDispatchTool
	OpListenBegin
	OpBlockEnd
	OpBlockReply
)

// opNamed returns the operation with a name.
func opNamed(name string) (op Op, ok bool) {
	switch name {
	case "Move":
		return 0, true
	case "MoveInt":
		return 1, true
	case "MoveFloat":
		return 2, true
	case "MoveBool":
		return 3, true
	case "LoadInt":
		return 4, true
	case "LoadBool":
		return 5, true
	case "LoadNil":
		return 6, true
	case "LoadConst":
		return 7, true
	case "LoadIntConst":
		return 8, true
	case "LoadFloatConst":
		return 9, true
	case "LoadFunction":
		return 10, true
	case "LoadAgent":
		return 11, true
	case "LoadHost":
		return 12, true
	case "LoadTool":
		return 13, true
	case "LoadStore":
		return 14, true
	case "LoadType":
		return 15, true
	case "BoxInt":
		return 16, true
	case "BoxFloat":
		return 17, true
	case "BoxBool":
		return 18, true
	case "AddInt":
		return 19, true
	case "SubInt":
		return 20, true
	case "MulInt":
		return 21, true
	case "DivInt":
		return 22, true
	case "RemInt":
		return 23, true
	case "AddIntK":
		return 24, true
	case "SubIntK":
		return 25, true
	case "MulIntK":
		return 26, true
	case "DivIntK":
		return 27, true
	case "RemIntK":
		return 28, true
	case "NegInt":
		return 29, true
	case "AndInt":
		return 30, true
	case "OrInt":
		return 31, true
	case "XorInt":
		return 32, true
	case "ShlInt":
		return 33, true
	case "ShrInt":
		return 34, true
	case "AndIntK":
		return 35, true
	case "ShlIntK":
		return 36, true
	case "ShrIntK":
		return 37, true
	case "AddFloat":
		return 38, true
	case "SubFloat":
		return 39, true
	case "MulFloat":
		return 40, true
	case "DivFloat":
		return 41, true
	case "RemFloat":
		return 42, true
	case "NegFloat":
		return 43, true
	case "SqrtFloat":
		return 44, true
	case "IntToFloat":
		return 45, true
	case "FloatToInt":
		return 46, true
	case "EqInt":
		return 47, true
	case "LtInt":
		return 48, true
	case "LeInt":
		return 49, true
	case "EqFloat":
		return 50, true
	case "LtFloat":
		return 51, true
	case "LeFloat":
		return 52, true
	case "EqBool":
		return 53, true
	case "LtString":
		return 54, true
	case "LeString":
		return 55, true
	case "Equal":
		return 56, true
	case "Not":
		return 57, true
	case "IsNil":
		return 58, true
	case "Jump":
		return 59, true
	case "JumpIf":
		return 60, true
	case "JumpIfNot":
		return 61, true
	case "JumpEqInt":
		return 62, true
	case "JumpNeInt":
		return 63, true
	case "JumpLtInt":
		return 64, true
	case "JumpLeInt":
		return 65, true
	case "JumpEqIntK":
		return 66, true
	case "JumpNeIntK":
		return 67, true
	case "JumpLtIntK":
		return 68, true
	case "JumpLeIntK":
		return 69, true
	case "JumpGtIntK":
		return 70, true
	case "JumpGeIntK":
		return 71, true
	case "JumpLtFloat":
		return 72, true
	case "JumpLeFloat":
		return 73, true
	case "JumpNotLtFloat":
		return 74, true
	case "JumpNotLeFloat":
		return 75, true
	case "JumpEqual":
		return 76, true
	case "JumpNotEqual":
		return 77, true
	case "JumpEqualK":
		return 78, true
	case "JumpNotEqualK":
		return 79, true
	case "JumpNil":
		return 80, true
	case "JumpNotNil":
		return 81, true
	case "JumpVariant":
		return 82, true
	case "JumpNotVariant":
		return 83, true
	case "ForInt":
		return 84, true
	case "ForIntTo":
		return 85, true
	case "Loop":
		return 86, true
	case "Concat":
		return 87, true
	case "Interpolate":
		return 88, true
	case "StringLen":
		return 89, true
	case "StringAt":
		return 90, true
	case "Slice":
		return 91, true
	case "NewArray":
		return 92, true
	case "NewMap":
		return 93, true
	case "ArrayLen":
		return 94, true
	case "ArrayGet":
		return 95, true
	case "ArrayGetInt":
		return 96, true
	case "ArrayGetFloat":
		return 97, true
	case "ArrayGetBool":
		return 98, true
	case "ArraySet":
		return 99, true
	case "ArraySetInt":
		return 100, true
	case "ArraySetFloat":
		return 101, true
	case "ArraySetBool":
		return 102, true
	case "ArraySwap":
		return 103, true
	case "ArrayPush":
		return 104, true
	case "ArrayPushInt":
		return 105, true
	case "ArrayPushFloat":
		return 106, true
	case "ArrayPushBool":
		return 107, true
	case "MapLen":
		return 108, true
	case "MapGet":
		return 109, true
	case "MapFind":
		return 110, true
	case "MapSet":
		return 111, true
	case "Iterate":
		return 112, true
	case "NewRange":
		return 113, true
	case "RangeLo":
		return 114, true
	case "RangeHi":
		return 115, true
	case "RangeLast":
		return 116, true
	case "NewTuple":
		return 117, true
	case "NewStruct":
		return 118, true
	case "NewVariant":
		return 119, true
	case "RenewVariant":
		return 120, true
	case "NewOk":
		return 121, true
	case "NewErr":
		return 122, true
	case "NewErrOf":
		return 123, true
	case "Leave":
		return 124, true
	case "Caught":
		return 125, true
	case "WrapSome":
		return 126, true
	case "Unwrap":
		return 127, true
	case "Field":
		return 128, true
	case "FieldInt":
		return 129, true
	case "FieldFloat":
		return 130, true
	case "FieldBool":
		return 131, true
	case "SetField":
		return 132, true
	case "SetFieldInt":
		return 133, true
	case "SetFieldFloat":
		return 134, true
	case "SetFieldBool":
		return 135, true
	case "Variant":
		return 136, true
	case "Share":
		return 137, true
	case "Own":
		return 138, true
	case "OwnField":
		return 139, true
	case "OwnElem":
		return 140, true
	case "OwnKey":
		return 141, true
	case "OwnCell":
		return 142, true
	case "AnyBinary":
		return 143, true
	case "AnyNeg":
		return 144, true
	case "AnyBool":
		return 145, true
	case "AnyField":
		return 146, true
	case "AnyIndex":
		return 147, true
	case "AnySetField":
		return 148, true
	case "AnySetIndex":
		return 149, true
	case "AnyOwnField":
		return 150, true
	case "AnyOwnIndex":
		return 151, true
	case "Check":
		return 152, true
	case "IsType":
		return 153, true
	case "ErrorField":
		return 154, true
	case "Call":
		return 155, true
	case "CallClosure":
		return 156, true
	case "CallNative":
		return 157, true
	case "CallMethod":
		return 158, true
	case "Return":
		return 159, true
	case "ReturnInt":
		return 160, true
	case "ReturnFloat":
		return 161, true
	case "ReturnBool":
		return 162, true
	case "ReturnNil":
		return 163, true
	case "NewClosure":
		return 164, true
	case "Captured":
		return 165, true
	case "NewCell":
		return 166, true
	case "CellGet":
		return 167, true
	case "CellSet":
		return 168, true
	case "Throw":
		return 169, true
	case "Rethrow":
		return 170, true
	case "Fault":
		return 171, true
	case "Panic":
		return 172, true
	case "Spawn":
		return 173, true
	case "Await":
		return 174, true
	case "JoinAll":
		return 175, true
	case "Race":
		return 176, true
	case "ParallelFor":
		return 177, true
	case "ReturnLeft":
		return 178, true
	case "Emit":
		return 179, true
	case "EmitBare":
		return 180, true
	case "AwaitEmit":
		return 181, true
	case "AwaitEmitAs":
		return 182, true
	case "Perform":
		return 183, true
	case "DispatchTool":
		return 184, true
	case "ListenBegin":
		return 185, true
	case "BlockEnd":
		return 186, true
	case "BlockReply":
		return 187, true
	}
	return 0, false
}

// Shapes contains the shape of each Op. The array has an entry for every value of an Op, so that
// indexing needs no bounds check.
var Shapes = [256]Shape{
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}}, A: false, B: true, C: false, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x3}}, A: false, B: true, C: false, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x3}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}, Read{Field: 0x2, Class: 0x2}}, A: false, B: true, C: true, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}, Read{Field: 0x2, Class: 0x2}}, A: false, B: true, C: true, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}, Read{Field: 0x2, Class: 0x2}}, A: false, B: true, C: true, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}, Read{Field: 0x2, Class: 0x2}}, A: false, B: true, C: true, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}, Read{Field: 0x2, Class: 0x2}}, A: false, B: true, C: true, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}}, A: false, B: true, C: false, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}}, A: false, B: true, C: false, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}}, A: false, B: true, C: false, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}, Read{Field: 0x2, Class: 0x2}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}, Read{Field: 0x2, Class: 0x2}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x2}, Read{Field: 0x2, Class: 0x2}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x3}, Read{Field: 0x2, Class: 0x3}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x3}}, A: false, B: true, C: false, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x3}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x3}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}, Read{Field: 0x1, Class: 0x1}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}, Read{Field: 0x1, Class: 0x1}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}, Read{Field: 0x1, Class: 0x1}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}, Read{Field: 0x1, Class: 0x1}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x2}, Read{Field: 0x1, Class: 0x2}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x2}, Read{Field: 0x1, Class: 0x2}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x2}, Read{Field: 0x1, Class: 0x2}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x2}, Read{Field: 0x1, Class: 0x2}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x4}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x4}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}, Read{Field: 0x1, Class: 0x1}}, A: true, B: true, C: false, Writes: 0x1, Modify: true, Window: false, Frame: false, Target: true, Back: true, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}, Read{Field: 0x1, Class: 0x1}}, A: true, B: true, C: false, Writes: 0x1, Modify: true, Window: false, Frame: false, Target: true, Back: true, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: true, Back: true, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -2, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x2, Count: 2, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -2, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -3, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x4}}, A: true, B: true, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: true, B: true, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x2}}, A: true, B: true, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x3}}, A: true, B: true, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: true, B: true, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x4}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x1}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x2}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x3}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: true, B: true, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x1}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -2, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -4, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -5, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x4, Modify: true, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -5, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x2, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: true, B: false, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x2, Class: 0x1}}, A: true, B: false, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x2, Class: 0x2}}, A: true, B: false, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x2, Class: 0x3}}, A: true, B: false, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x1, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x4, Modify: true, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x1}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x4}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: true, B: true, C: true, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}, Read{Field: 0x2, Class: 0x4}}, A: false, B: true, C: true, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x3, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: true, Frame: true, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: -6, Preserve: 0x2}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: true, Frame: true, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: -7, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: true, Frame: true, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: -1, Preserve: 0x1}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: true, Frame: true, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: -1, Preserve: 0x3}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x1}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x2}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x3}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -2, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x4}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -2, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x1, Class: 0x4}}, A: false, B: true, C: false, Writes: 0x4, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -2, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: -2, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x4, Modify: false, Window: true, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x1, Count: 3, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}, Read{Field: 0x1, Class: 0x4}}, A: true, B: true, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: true, Frame: true, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: -1, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: true, Frame: true, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: -1, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: true, Frame: true, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: -1, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: true, Frame: true, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 3, Preserve: 0x0}},
	{Reads: nil, A: false, B: false, C: false, Writes: 0x0, Modify: false, Window: true, Frame: true, Target: false, Back: false, Ends: false, window: frameShape{Field: 0x0, Count: 3, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
	{Reads: []Read{Read{Field: 0x0, Class: 0x4}}, A: true, B: false, C: false, Writes: 0x0, Modify: false, Window: false, Frame: false, Target: false, Back: false, Ends: true, window: frameShape{Field: 0x0, Count: 0, Preserve: 0x0}},
}
