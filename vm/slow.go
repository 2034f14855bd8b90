package vm

import "github.com/concerto-lang/concerto/ir"

// slow contains, by opcode, the operations that the dispatch loop does not execute, or executes
// only in frequent cases.
var slow = [256]func(*task, *ins) status{
	// arith.go
	ir.OpAddInt:     intRest(ir.AnyAdd, false),
	ir.OpAddIntK:    intRest(ir.AnyAdd, true),
	ir.OpSubInt:     intRest(ir.AnySub, false),
	ir.OpSubIntK:    intRest(ir.AnySub, true),
	ir.OpMulInt:     intRest(ir.AnyMul, false),
	ir.OpMulIntK:    intRest(ir.AnyMul, true),
	ir.OpDivInt:     intRest(ir.AnyDiv, false),
	ir.OpDivIntK:    intRest(ir.AnyDiv, true),
	ir.OpRemInt:     intRest(ir.AnyRem, false),
	ir.OpRemIntK:    intRest(ir.AnyRem, true),
	ir.OpRemFloat:   opRemFloat,
	ir.OpFloatToInt: opFloatToInt,
	ir.OpNegInt:     opNegInt,
	ir.OpShlInt:     opShift,
	ir.OpShrInt:     opShift,
	// await.go
	ir.OpSpawn: opSpawn,
	ir.OpAwait: opAwait,
	// call.go
	ir.OpCall:        opCall,
	ir.OpCallClosure: opCallClosure,
	ir.OpCallNative:  opCallNative,
	ir.OpCallMethod:  opCallMethod,
	ir.OpNewClosure:  opNewClosure,
	ir.OpNewCell:     opNewCell,
	// collection.go
	ir.OpArrayGetInt:    opArrayGetScalar,
	ir.OpArrayGetFloat:  opArrayGetScalar,
	ir.OpArrayGetBool:   opArrayGetScalar,
	ir.OpArrayGet:       opArrayGet,
	ir.OpArraySet:       opArraySet,
	ir.OpArraySetInt:    opArraySetInt,
	ir.OpArraySetFloat:  opArraySetFloat,
	ir.OpArraySetBool:   opArraySetBool,
	ir.OpArraySwap:      opArraySwap,
	ir.OpArrayPush:      opArrayPush,
	ir.OpArrayPushInt:   opArrayPushInt,
	ir.OpArrayPushFloat: opArrayPushFloat,
	ir.OpArrayPushBool:  opArrayPushBool,
	ir.OpMapLen:         opMapLen,
	ir.OpMapGet:         opMapGet,
	ir.OpMapFind:        opMapFind,
	ir.OpMapSet:         opMapSet,
	ir.OpIterate:        opIterate,
	// compare.go
	ir.OpLtString:      opLtString,
	ir.OpLeString:      opLeString,
	ir.OpEqual:         opEqual,
	ir.OpJumpEqual:     opJumpEqual,
	ir.OpJumpNotEqual:  opJumpNotEqual,
	ir.OpJumpEqualK:    opJumpEqualK,
	ir.OpJumpNotEqualK: opJumpNotEqualK,
	// construct.go
	ir.OpRangeLo:      rangeBound(rangeLo),
	ir.OpRangeHi:      rangeBound(rangeHi),
	ir.OpRangeLast:    rangeBound(rangeLast),
	ir.OpNewArray:     opNewArray,
	ir.OpNewMap:       opNewMap,
	ir.OpNewTuple:     opNewTuple,
	ir.OpNewStruct:    opNewStruct,
	ir.OpNewVariant:   opNewVariant,
	ir.OpRenewVariant: opRenewVariant,
	ir.OpNewOk:        opNewOk,
	ir.OpNewErr:       opNewErr,
	ir.OpNewErrOf:     opNewErrOf,
	ir.OpLeave:        opLeave,
	ir.OpCaught:       opCaught,
	ir.OpWrapSome:     opWrapSome,
	ir.OpUnwrap:       opUnwrap,
	ir.OpNewRange:     opNewRange,
	// count.go
	opCount: doCount,
	// cover.go
	opCover: doCover,
	// dynamic.go
	ir.OpAnyBinary:   opAnyBinary,
	ir.OpAnyNeg:      opAnyNeg,
	ir.OpAnyBool:     opAnyBool,
	ir.OpAnyField:    opAnyField,
	ir.OpAnyIndex:    opAnyIndex,
	ir.OpAnySetField: opAnySetField,
	ir.OpAnySetIndex: opAnySetIndex,
	ir.OpAnyOwnField: opAnyOwnField,
	ir.OpAnyOwnIndex: opAnyOwnIndex,
	ir.OpErrorField:  opErrorField,
	// emit.go
	ir.OpEmit:        opEmit,
	ir.OpEmitBare:    opEmitBare,
	ir.OpAwaitEmit:   opAwaitEmit,
	ir.OpAwaitEmitAs: opAwaitEmitAs,
	// fault.go
	ir.OpThrow:   opThrow,
	ir.OpRethrow: opRethrow,
	ir.OpFault:   opFault,
	ir.OpPanic:   opPanic,
	opTrap:       doTrap,
	// fuse.go
	opSubIntKCall:      doSubIntKCall,
	opShareMove:        doShareMove,
	opArrayGetGetFloat: opArrayGetGet,
	opArrayGetGetInt:   opArrayGetGet,
	opGetAddInt:        doGetAddInt,
	opFieldGet:         doFieldGet,
	opAddIntReturn:     doAddIntReturn,
	opMulAddRemInt:     mulAdd,
	opMulAddInt:        mulAdd,
	// group.go
	ir.OpJoinAll:     opGroup,
	ir.OpRace:        opGroup,
	ir.OpParallelFor: opParallelFor,
	ir.OpReturnLeft:  opReturnLeft,
	// handler.go
	ir.OpBlockEnd:   opBlockEnd,
	ir.OpBlockReply: opBlockReply,
	// listen.go
	ir.OpListenBegin: opListenBegin,
	// load.go
	ir.OpLoadAgent:    opLoadAgent,
	ir.OpLoadHost:     opLoadHost,
	ir.OpLoadStore:    opLoadStore,
	ir.OpLoadType:     opLoadType,
	opFrameEnd:        doFrameEnd,
	opEnter:           doEnter,
	ir.OpLoadTool:     opLoadTool,
	ir.OpLoadFunction: opLoadFunction,
	// match.go
	ir.OpIsType: opIsType,
	ir.OpCheck:  opCheck,
	// perform.go
	ir.OpPerform: opPerform,
	// place.go
	ir.OpShare:       opShare,
	ir.OpOwn:         opOwn,
	opOwnAlways:      opOwn,
	ir.OpOwnField:    opOwnField,
	opOwnFieldAlways: opOwnField,
	ir.OpOwnElem:     opOwnElem,
	opOwnElemAlways:  opOwnElem,
	ir.OpOwnKey:      opOwnKey,
	ir.OpOwnCell:     opOwnCell,
	// profile.go
	opSample: doSample,
	// step.go
	opStep: doStep,
	opStop: doStop,
	// text.go
	ir.OpConcat:      opConcat,
	ir.OpInterpolate: opInterpolate,
	ir.OpStringAt:    opStringAt,
	ir.OpStringLen:   opStringLen,
	ir.OpSlice:       opSlice,
	// tool.go
	opSkipPresent:     doSkipPresent,
	opToolResult:      doToolResult,
	opToolError:       doToolError,
	ir.OpDispatchTool: opDispatchTool,
}

// step does what the loop leaves over: an operation outside it, or the fault of one
// inside. It unwinds an error to where it is caught.
//
//go:noinline
func (t *task) step(in *ins) status {
	t.budget -= slowCost
	st := raising
	if op := slow[in.op]; op != nil {
		st = op(t, in)
	} else {
		t.badOperand(in)
	}
	if st == raising {
		st = t.unwind()
	}
	return st
}
