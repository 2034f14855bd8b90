package ir

// The operations. Faults are RuntimeErrors that the program can catch.
const (

	// Moves and constants.
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

	// Int.
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

	// Float.
	OpAddFloat
	OpSubFloat
	OpMulFloat
	OpDivFloat
	OpRemFloat
	OpNegFloat
	OpSqrtFloat
	OpIntToFloat
	OpFloatToInt

	// Comparison and logic.
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

	// Jumps.
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

	// Strings.
	OpConcat
	OpInterpolate
	OpStringLen
	OpStringAt
	OpSlice

	// Arrays and maps.
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

	// Blocks: tuples, structs, enums, options, results.
	OpNewTuple
	OpNewStruct
	OpNewVariant
	OpNewOk
	OpNewErr
	OpNewErrOf
	OpLeave
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

	// Copy-on-write.
	OpShare
	OpOwn
	OpOwnField
	OpOwnElem
	OpOwnKey
	OpOwnCell

	// Any.
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

	// Calls.
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

	// Errors.
	OpThrow
	OpRethrow
	OpFault
	OpPanic

	// Tasks.
	OpSpawn
	OpAwait
	OpJoinAll
	OpRace
	OpParallelFor
	OpReturnLeft

	// Effects.
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

func r(name string, f Field, c Class) Operand { return Operand{name, RoleRead, f, c} }
func w(name string, f Field, c Class) Operand { return Operand{name, RoleWrite, f, c} }
func m(name string, f Field, c Class) Operand { return Operand{name, RoleModify, f, c} }
func win(name string, f Field) Operand        { return Operand{name, RoleWindow, f, Full} }
func lit(name string, f Field) Operand        { return Operand{Name: name, Role: RoleLiteral, Field: f} }
func ref(name string, role Role) Operand      { return Operand{Name: name, Role: role, Field: Imm} }

// Table is the instruction set: one row an op, indexed by Op. Operands are
// listed in the order of the text; spec/bytecode.md is written from it.
var Table = [...]Info{
	// Moves and constants.
	OpMove:           {OpMove, "Move", []Operand{w("d", A, Full), r("s", B, Full)}, "d = s, both halves", false},
	OpMoveInt:        {OpMoveInt, "MoveInt", []Operand{w("d", A, Int), r("s", B, Int)}, "d = s, bits only", false},
	OpMoveFloat:      {OpMoveFloat, "MoveFloat", []Operand{w("d", A, Float), r("s", B, Float)}, "d = s, bits only", false},
	OpMoveBool:       {OpMoveBool, "MoveBool", []Operand{w("d", A, Bool), r("s", B, Bool)}, "d = s, bits only", false},
	OpLoadInt:        {OpLoadInt, "LoadInt", []Operand{w("d", A, Int), lit("n", Imm)}, "d = n", false},
	OpLoadBool:       {OpLoadBool, "LoadBool", []Operand{w("d", A, Bool), lit("n", Imm)}, "d = n, 0 or 1", false},
	OpLoadNil:        {OpLoadNil, "LoadNil", []Operand{w("d", A, Full)}, "d = nil", false},
	OpLoadConst:      {OpLoadConst, "LoadConst", []Operand{w("d", A, Full), ref("k", RoleConstant)}, "d = constant k, boxed", false},
	OpLoadIntConst:   {OpLoadIntConst, "LoadIntConst", []Operand{w("d", A, Int), ref("k", RoleConstant)}, "d = constant k, an Int", false},
	OpLoadFloatConst: {OpLoadFloatConst, "LoadFloatConst", []Operand{w("d", A, Float), ref("k", RoleConstant)}, "d = constant k, a Float", false},
	OpLoadFunction:   {OpLoadFunction, "LoadFunction", []Operand{w("d", A, Full), ref("f", RoleFunction)}, "d = function f (abi full) as a closure without captures", false},
	OpLoadAgent:      {OpLoadAgent, "LoadAgent", []Operand{w("d", A, Full), ref("x", RoleDeclared)}, "d = the agent declared as Agents[x]", false},
	OpLoadHost:       {OpLoadHost, "LoadHost", []Operand{w("d", A, Full), ref("x", RoleDeclared)}, "d = the host declared as Hosts[x]", false},
	OpLoadTool:       {OpLoadTool, "LoadTool", []Operand{w("d", A, Full), ref("x", RoleDeclared)}, "d = the tool declared as Tools[x]", false},
	OpLoadStore:      {OpLoadStore, "LoadStore", []Operand{w("d", A, Full), ref("x", RoleDeclared)}, "d = the store declared as Stores[x]", false},
	OpLoadType:       {OpLoadType, "LoadType", []Operand{w("d", A, Full), ref("t", RoleType)}, "d = type t as a value, for library code", false},
	OpBoxInt:         {OpBoxInt, "BoxInt", []Operand{w("d", A, Full), r("s", B, Int)}, "d = s as a self-describing Int", false},
	OpBoxFloat:       {OpBoxFloat, "BoxFloat", []Operand{w("d", A, Full), r("s", B, Float)}, "d = s as a self-describing Float", false},
	OpBoxBool:        {OpBoxBool, "BoxBool", []Operand{w("d", A, Full), r("s", B, Bool)}, "d = s as a self-describing Bool", false},
	// Int.
	OpAddInt:  {OpAddInt, "AddInt", []Operand{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, "d = a + b; overflow faults", false},
	OpSubInt:  {OpSubInt, "SubInt", []Operand{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, "d = a - b; overflow faults", false},
	OpMulInt:  {OpMulInt, "MulInt", []Operand{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, "d = a * b; overflow faults", false},
	OpDivInt:  {OpDivInt, "DivInt", []Operand{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, "d = a / b, truncated; zero and overflow fault", false},
	OpRemInt:  {OpRemInt, "RemInt", []Operand{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, "d = a % b, sign of a; zero faults", false},
	OpAddIntK: {OpAddIntK, "AddIntK", []Operand{w("d", A, Int), r("a", B, Int), lit("n", Imm)}, "d = a + n; overflow faults", false},
	OpSubIntK: {OpSubIntK, "SubIntK", []Operand{w("d", A, Int), r("a", B, Int), lit("n", Imm)}, "d = a - n; overflow faults", false},
	OpMulIntK: {OpMulIntK, "MulIntK", []Operand{w("d", A, Int), r("a", B, Int), lit("n", Imm)}, "d = a * n; overflow faults", false},
	OpDivIntK: {OpDivIntK, "DivIntK", []Operand{w("d", A, Int), r("a", B, Int), lit("n", Imm)}, "d = a / n; n is not 0; overflow faults", false},
	OpRemIntK: {OpRemIntK, "RemIntK", []Operand{w("d", A, Int), r("a", B, Int), lit("n", Imm)}, "d = a % n; n is not 0", false},
	OpNegInt:  {OpNegInt, "NegInt", []Operand{w("d", A, Int), r("a", B, Int)}, "d = -a; overflow faults", false},
	// Float.
	OpAddFloat:   {OpAddFloat, "AddFloat", []Operand{w("d", A, Float), r("a", B, Float), r("b", C, Float)}, "d = a + b", false},
	OpSubFloat:   {OpSubFloat, "SubFloat", []Operand{w("d", A, Float), r("a", B, Float), r("b", C, Float)}, "d = a - b", false},
	OpMulFloat:   {OpMulFloat, "MulFloat", []Operand{w("d", A, Float), r("a", B, Float), r("b", C, Float)}, "d = a * b", false},
	OpDivFloat:   {OpDivFloat, "DivFloat", []Operand{w("d", A, Float), r("a", B, Float), r("b", C, Float)}, "d = a / b", false},
	OpRemFloat:   {OpRemFloat, "RemFloat", []Operand{w("d", A, Float), r("a", B, Float), r("b", C, Float)}, "d = a % b, sign of a", false},
	OpNegFloat:   {OpNegFloat, "NegFloat", []Operand{w("d", A, Float), r("a", B, Float)}, "d = -a", false},
	OpSqrtFloat:  {OpSqrtFloat, "SqrtFloat", []Operand{w("d", A, Float), r("a", B, Float)}, "d = the square root of a; NaN below 0", false},
	OpIntToFloat: {OpIntToFloat, "IntToFloat", []Operand{w("d", A, Float), r("s", B, Int)}, "d = s as a Float", false},
	OpFloatToInt: {OpFloatToInt, "FloatToInt", []Operand{w("d", A, Int), r("s", B, Float)}, "d = s truncated; NaN and out of range fault", false},
	// Comparison and logic.
	OpEqInt:    {OpEqInt, "EqInt", []Operand{w("d", A, Bool), r("a", B, Int), r("b", C, Int)}, "d = a == b", false},
	OpLtInt:    {OpLtInt, "LtInt", []Operand{w("d", A, Bool), r("a", B, Int), r("b", C, Int)}, "d = a < b", false},
	OpLeInt:    {OpLeInt, "LeInt", []Operand{w("d", A, Bool), r("a", B, Int), r("b", C, Int)}, "d = a <= b", false},
	OpEqFloat:  {OpEqFloat, "EqFloat", []Operand{w("d", A, Bool), r("a", B, Float), r("b", C, Float)}, "d = a == b", false},
	OpLtFloat:  {OpLtFloat, "LtFloat", []Operand{w("d", A, Bool), r("a", B, Float), r("b", C, Float)}, "d = a < b", false},
	OpLeFloat:  {OpLeFloat, "LeFloat", []Operand{w("d", A, Bool), r("a", B, Float), r("b", C, Float)}, "d = a <= b", false},
	OpEqBool:   {OpEqBool, "EqBool", []Operand{w("d", A, Bool), r("a", B, Bool), r("b", C, Bool)}, "d = a == b", false},
	OpLtString: {OpLtString, "LtString", []Operand{w("d", A, Bool), r("a", B, Full), r("b", C, Full)}, "d = a < b by code point", false},
	OpLeString: {OpLeString, "LeString", []Operand{w("d", A, Bool), r("a", B, Full), r("b", C, Full)}, "d = a <= b by code point", false},
	OpEqual:    {OpEqual, "Equal", []Operand{w("d", A, Bool), r("a", B, Full), r("b", C, Full)}, "d = a == b, deep and structural; references by identity", false},
	OpNot:      {OpNot, "Not", []Operand{w("d", A, Bool), r("a", B, Bool)}, "d = !a", false},
	OpIsNil:    {OpIsNil, "IsNil", []Operand{w("d", A, Bool), r("a", B, Full)}, "d = a is nil (or None)", false},
	// Jumps.
	OpJump:           {OpJump, "Jump", []Operand{ref("to", RoleTarget)}, "go to `to`", true},
	OpJumpIf:         {OpJumpIf, "JumpIf", []Operand{r("a", A, Bool), ref("to", RoleTarget)}, "go to `to` when a", false},
	OpJumpIfNot:      {OpJumpIfNot, "JumpIfNot", []Operand{r("a", A, Bool), ref("to", RoleTarget)}, "go to `to` unless a", false},
	OpJumpEqInt:      {OpJumpEqInt, "JumpEqInt", []Operand{r("a", A, Int), r("b", B, Int), ref("to", RoleTarget)}, "go to `to` when a == b", false},
	OpJumpNeInt:      {OpJumpNeInt, "JumpNeInt", []Operand{r("a", A, Int), r("b", B, Int), ref("to", RoleTarget)}, "go to `to` when a != b", false},
	OpJumpLtInt:      {OpJumpLtInt, "JumpLtInt", []Operand{r("a", A, Int), r("b", B, Int), ref("to", RoleTarget)}, "go to `to` when a < b", false},
	OpJumpLeInt:      {OpJumpLeInt, "JumpLeInt", []Operand{r("a", A, Int), r("b", B, Int), ref("to", RoleTarget)}, "go to `to` when a <= b", false},
	OpJumpEqIntK:     {OpJumpEqIntK, "JumpEqIntK", []Operand{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, "go to `to` when a == n", false},
	OpJumpNeIntK:     {OpJumpNeIntK, "JumpNeIntK", []Operand{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, "go to `to` when a != n", false},
	OpJumpLtIntK:     {OpJumpLtIntK, "JumpLtIntK", []Operand{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, "go to `to` when a < n", false},
	OpJumpLeIntK:     {OpJumpLeIntK, "JumpLeIntK", []Operand{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, "go to `to` when a <= n", false},
	OpJumpGtIntK:     {OpJumpGtIntK, "JumpGtIntK", []Operand{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, "go to `to` when a > n", false},
	OpJumpGeIntK:     {OpJumpGeIntK, "JumpGeIntK", []Operand{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, "go to `to` when a >= n", false},
	OpJumpLtFloat:    {OpJumpLtFloat, "JumpLtFloat", []Operand{r("a", A, Float), r("b", B, Float), ref("to", RoleTarget)}, "go to `to` when a < b", false},
	OpJumpLeFloat:    {OpJumpLeFloat, "JumpLeFloat", []Operand{r("a", A, Float), r("b", B, Float), ref("to", RoleTarget)}, "go to `to` when a <= b", false},
	OpJumpNotLtFloat: {OpJumpNotLtFloat, "JumpNotLtFloat", []Operand{r("a", A, Float), r("b", B, Float), ref("to", RoleTarget)}, "go to `to` unless a < b (so also on NaN)", false},
	OpJumpNotLeFloat: {OpJumpNotLeFloat, "JumpNotLeFloat", []Operand{r("a", A, Float), r("b", B, Float), ref("to", RoleTarget)}, "go to `to` unless a <= b (so also on NaN)", false},
	OpJumpEqual:      {OpJumpEqual, "JumpEqual", []Operand{r("a", A, Full), r("b", B, Full), ref("to", RoleTarget)}, "go to `to` when a == b, deep", false},
	OpJumpNotEqual:   {OpJumpNotEqual, "JumpNotEqual", []Operand{r("a", A, Full), r("b", B, Full), ref("to", RoleTarget)}, "go to `to` unless a == b, deep", false},
	OpJumpEqualK:     {OpJumpEqualK, "JumpEqualK", []Operand{r("a", A, Full), {"k", RoleConstant, BC, Full}, ref("to", RoleTarget)}, "go to `to` when a == constant k, deep", false},
	OpJumpNotEqualK:  {OpJumpNotEqualK, "JumpNotEqualK", []Operand{r("a", A, Full), {"k", RoleConstant, BC, Full}, ref("to", RoleTarget)}, "go to `to` unless a == constant k, deep", false},
	OpJumpNil:        {OpJumpNil, "JumpNil", []Operand{r("a", A, Full), ref("to", RoleTarget)}, "go to `to` when a is nil or None", false},
	OpJumpNotNil:     {OpJumpNotNil, "JumpNotNil", []Operand{r("a", A, Full), ref("to", RoleTarget)}, "go to `to` unless a is nil or None", false},
	OpJumpVariant:    {OpJumpVariant, "JumpVariant", []Operand{r("a", A, Full), lit("n", B), ref("to", RoleTarget)}, "go to `to` when enum value a is variant n (Result: Ok is 0, Err is 1)", false},
	OpJumpNotVariant: {OpJumpNotVariant, "JumpNotVariant", []Operand{r("a", A, Full), lit("n", B), ref("to", RoleTarget)}, "go to `to` unless enum value a is variant n", false},
	OpForIntTo:       {OpForIntTo, "ForIntTo", []Operand{m("i", A, Int), r("last", B, Int), ref("to", RoleTarget)}, "when i < last: i += 1, go to `to` (a back-edge, as of ForInt)", false},
	OpForInt:         {OpForInt, "ForInt", []Operand{m("i", A, Int), r("limit", B, Int), ref("to", RoleTarget)}, "i += 1; go to `to` when i < limit (a back-edge: limits and cancellation are looked at)", false},
	OpLoop:           {OpLoop, "Loop", []Operand{ref("to", RoleTarget)}, "go back to `to` (a back-edge: limits and cancellation are looked at)", true},
	// Strings.
	OpConcat:      {OpConcat, "Concat", []Operand{w("d", A, Full), r("a", B, Full), r("b", C, Full)}, "d = String a + String b", false},
	OpInterpolate: {OpInterpolate, "Interpolate", []Operand{w("d", A, Full), win("base", B), lit("n", C)}, "d = the texts (to_string) of n Full registers from base, joined", false},
	OpStringLen:   {OpStringLen, "StringLen", []Operand{w("d", A, Int), r("s", B, Full)}, "d = number of code points of String s", false},
	OpStringAt:    {OpStringAt, "StringAt", []Operand{w("d", A, Full), r("s", B, Full), r("i", C, Int)}, "d = the one-character String at code point i; out of range faults", false},
	OpSlice:       {OpSlice, "Slice", []Operand{w("d", A, Full), r("s", B, Full), win("base", C), lit("n", Imm)}, "d = s[lo..hi] of a String or Array; lo, hi in base, base+1 (Full, nil is open); n is 1 when hi is included; out of range faults", false},
	// Arrays and maps.
	OpNewArray:       {OpNewArray, "NewArray", []Operand{w("d", A, Full), win("base", B), lit("n", C)}, "d = array of n Full registers from base", false},
	OpNewMap:         {OpNewMap, "NewMap", []Operand{w("d", A, Full), win("base", B), lit("n", C)}, "d = map of n pairs key, value from base; a later equal key replaces the value", false},
	OpArrayLen:       {OpArrayLen, "ArrayLen", []Operand{w("d", A, Int), r("a", B, Full)}, "d = length of array a", false},
	OpArrayGet:       {OpArrayGet, "ArrayGet", []Operand{w("d", A, Full), r("a", B, Full), r("i", C, Int)}, "d = a[i]; out of range faults", false},
	OpArrayGetInt:    {OpArrayGetInt, "ArrayGetInt", []Operand{w("d", A, Int), r("a", B, Full), r("i", C, Int)}, "d = a[i], bits only, any representation", false},
	OpArrayGetFloat:  {OpArrayGetFloat, "ArrayGetFloat", []Operand{w("d", A, Float), r("a", B, Full), r("i", C, Int)}, "d = a[i], bits only, any representation", false},
	OpArrayGetBool:   {OpArrayGetBool, "ArrayGetBool", []Operand{w("d", A, Bool), r("a", B, Full), r("i", C, Int)}, "d = a[i], bits only, any representation", false},
	OpArraySet:       {OpArraySet, "ArraySet", []Operand{r("a", A, Full), r("i", B, Int), r("s", C, Full)}, "a[i] = s in place; a is owned; out of range faults", false},
	OpArraySetInt:    {OpArraySetInt, "ArraySetInt", []Operand{r("a", A, Full), r("i", B, Int), r("s", C, Int)}, "a[i] = s in place; a is owned", false},
	OpArraySetFloat:  {OpArraySetFloat, "ArraySetFloat", []Operand{r("a", A, Full), r("i", B, Int), r("s", C, Float)}, "a[i] = s in place; a is owned", false},
	OpArraySetBool:   {OpArraySetBool, "ArraySetBool", []Operand{r("a", A, Full), r("i", B, Int), r("s", C, Bool)}, "a[i] = s in place; a is owned", false},
	OpArrayPush:      {OpArrayPush, "ArrayPush", []Operand{r("a", A, Full), r("s", B, Full)}, "appends s in place; a is owned", false},
	OpArrayPushInt:   {OpArrayPushInt, "ArrayPushInt", []Operand{r("a", A, Full), r("s", B, Int)}, "appends s in place; a is owned", false},
	OpArrayPushFloat: {OpArrayPushFloat, "ArrayPushFloat", []Operand{r("a", A, Full), r("s", B, Float)}, "appends s in place; a is owned", false},
	OpArrayPushBool:  {OpArrayPushBool, "ArrayPushBool", []Operand{r("a", A, Full), r("s", B, Bool)}, "appends s in place; a is owned", false},
	OpMapLen:         {OpMapLen, "MapLen", []Operand{w("d", A, Int), r("m", B, Full)}, "d = number of entries", false},
	OpMapGet:         {OpMapGet, "MapGet", []Operand{w("d", A, Full), r("m", B, Full), r("k", C, Full)}, "d = m[k]; absent faults, naming the key", false},
	OpMapFind:        {OpMapFind, "MapFind", []Operand{w("d", A, Full), r("m", B, Full), r("k", C, Full)}, "d = m.get(k) as an Option", false},
	OpMapSet:         {OpMapSet, "MapSet", []Operand{r("m", A, Full), r("k", B, Full), r("s", C, Full)}, "m[k] = s in place; m is owned", false},
	OpIterate:        {OpIterate, "Iterate", []Operand{w("d", A, Full), r("s", B, Full)}, "d = an array snapshot of what `for` goes over: an Array itself (marked shared), a Map's (key, value) tuples, a Range's Ints; anything else faults", false},
	OpNewRange:       {OpNewRange, "NewRange", []Operand{w("d", A, Full), r("lo", B, Int), r("hi", C, Int), lit("n", Imm)}, "d = lo..hi, or lo..=hi when n is 1", false},
	OpRangeLo:        {OpRangeLo, "RangeLo", []Operand{w("d", A, Int), r("a", B, Full)}, "d = the first Int of range a", false},
	OpRangeHi:        {OpRangeHi, "RangeHi", []Operand{w("d", A, Int), r("a", B, Full)}, "d = the Int after the last of range a, or the greatest Int when that is its last", false},
	OpRangeLast:      {OpRangeLast, "RangeLast", []Operand{w("d", A, Int), r("a", B, Full)}, "d = the last Int of range a; of an empty one, an Int less than its first", false},
	// Blocks: tuples, structs, enums, options, results.
	OpNewTuple:      {OpNewTuple, "NewTuple", []Operand{w("d", A, Full), win("base", B), lit("n", C)}, "d = tuple of n Full registers from base", false},
	OpNewStruct:     {OpNewStruct, "NewStruct", []Operand{w("d", A, Full), win("base", B), ref("t", RoleType)}, "d = struct or schema value of type t from as many Full registers as it has fields", false},
	OpNewVariant:    {OpNewVariant, "NewVariant", []Operand{w("d", A, Full), win("base", B), lit("n", C), ref("t", RoleType)}, "d = variant n of enum t from as many Full registers as it has payload slots", false},
	OpNewOk:         {OpNewOk, "NewOk", []Operand{w("d", A, Full), r("s", B, Full)}, "d = Ok(s)", false},
	OpNewErr:        {OpNewErr, "NewErr", []Operand{w("d", A, Full), r("s", B, Full)}, "d = Err(s)", false},
	OpNewErrOf:      {OpNewErrOf, "NewErrOf", []Operand{w("d", A, Full), r("s", B, Full), r("e", C, Full)}, "d = Err(s), made of the Err e that leaves here: where that came from is remembered", false},
	OpLeave:         {OpLeave, "Leave", []Operand{r("e", A, Full)}, "the Err e leaves the function here, which is remembered; what it holds is marked shared", false},
	OpWrapSome:      {OpWrapSome, "WrapSome", []Operand{w("d", A, Full), r("s", B, Full)}, "d = Some(s): s itself unless it is nil or a Some box", false},
	OpUnwrap:        {OpUnwrap, "Unwrap", []Operand{w("d", A, Full), r("s", B, Full)}, "d = what Some s holds (s is not None)", false},
	OpField:         {OpField, "Field", []Operand{w("d", A, Full), r("o", B, Full), lit("n", C)}, "d = slot n of block o", false},
	OpFieldInt:      {OpFieldInt, "FieldInt", []Operand{w("d", A, Int), r("o", B, Full), lit("n", C)}, "d = slot n of block o, bits only", false},
	OpFieldFloat:    {OpFieldFloat, "FieldFloat", []Operand{w("d", A, Float), r("o", B, Full), lit("n", C)}, "d = slot n of block o, bits only", false},
	OpFieldBool:     {OpFieldBool, "FieldBool", []Operand{w("d", A, Bool), r("o", B, Full), lit("n", C)}, "d = slot n of block o, bits only", false},
	OpSetField:      {OpSetField, "SetField", []Operand{r("o", A, Full), lit("n", B), r("s", C, Full)}, "slot n of block o = s in place; o is owned (or a tool)", false},
	OpSetFieldInt:   {OpSetFieldInt, "SetFieldInt", []Operand{r("o", A, Full), lit("n", B), r("s", C, Int)}, "slot n of o = s, bits only; the slot already holds an Int", false},
	OpSetFieldFloat: {OpSetFieldFloat, "SetFieldFloat", []Operand{r("o", A, Full), lit("n", B), r("s", C, Float)}, "slot n of o = s, bits only; the slot already holds a Float", false},
	OpSetFieldBool:  {OpSetFieldBool, "SetFieldBool", []Operand{r("o", A, Full), lit("n", B), r("s", C, Bool)}, "slot n of o = s, bits only; the slot already holds a Bool", false},
	OpVariant:       {OpVariant, "Variant", []Operand{w("d", A, Int), r("o", B, Full)}, "d = the variant number of enum value o", false},
	// Copy-on-write.
	OpShare:    {OpShare, "Share", []Operand{r("a", A, Full)}, "marks the container in a as perhaps held twice; scalars, strings and references are left alone", false},
	OpOwn:      {OpOwn, "Own", []Operand{m("a", A, Full)}, "when the container in a is shared: a = a shallow copy, its children marked shared", false},
	OpOwnField: {OpOwnField, "OwnField", []Operand{w("d", A, Full), r("o", B, Full), lit("n", C)}, "d = slot n of owned block o, made owned and written back", false},
	OpOwnElem:  {OpOwnElem, "OwnElem", []Operand{w("d", A, Full), r("a", B, Full), r("i", C, Int)}, "d = element i of owned array a, made owned and written back; out of range faults", false},
	OpOwnKey:   {OpOwnKey, "OwnKey", []Operand{w("d", A, Full), r("m", B, Full), r("k", C, Full)}, "d = the value of key k in owned map m, made owned and written back; absent faults", false},
	OpOwnCell:  {OpOwnCell, "OwnCell", []Operand{w("d", A, Full), r("c", B, Full)}, "d = the content of cell c, made owned and written back", false},
	// Any.
	OpAnyBinary:   {OpAnyBinary, "AnyBinary", []Operand{w("d", A, Full), r("a", B, Full), r("b", C, Full), lit("op", Imm)}, "d = a op b, checked at run time; op is an AnyOp", false},
	OpAnyNeg:      {OpAnyNeg, "AnyNeg", []Operand{w("d", A, Full), r("a", B, Full)}, "d = -a; not a number faults", false},
	OpAnyBool:     {OpAnyBool, "AnyBool", []Operand{w("d", A, Bool), r("a", B, Full)}, "d = a; not a Bool faults", false},
	OpAnyField:    {OpAnyField, "AnyField", []Operand{w("d", A, Full), r("o", B, Full), ref("k", RoleConstant)}, "d = o.k: Map lookup (nil when absent), struct, schema or error field; a member of nil faults", false},
	OpAnyIndex:    {OpAnyIndex, "AnyIndex", []Operand{w("d", A, Full), r("o", B, Full), r("i", C, Full)}, "d = o[i] of Array, Map, String; wrong key type, out of range, absent fault", false},
	OpAnySetField: {OpAnySetField, "AnySetField", []Operand{r("o", A, Full), ref("k", RoleConstant), r("s", B, Full)}, "field k of owned struct o = s; no such field faults", false},
	OpAnySetIndex: {OpAnySetIndex, "AnySetIndex", []Operand{r("o", A, Full), r("i", B, Full), r("s", C, Full)}, "o[i] = s in place of owned Array or Map", false},
	OpAnyOwnField: {OpAnyOwnField, "AnyOwnField", []Operand{w("d", A, Full), r("o", B, Full), ref("k", RoleConstant)}, "d = field k of owned o, made owned and written back", false},
	OpAnyOwnIndex: {OpAnyOwnIndex, "AnyOwnIndex", []Operand{w("d", A, Full), r("o", B, Full), r("i", C, Full)}, "d = o[i] of owned o, made owned and written back", false},
	OpCheck:       {OpCheck, "Check", []Operand{w("d", A, Full), r("s", B, Full), ref("t", RoleType)}, "d = s converted to type t (an Int becomes a Float, a Map a schema value); misfit raises SchemaError for a schema, else RuntimeError", false},
	OpIsType:      {OpIsType, "IsType", []Operand{w("d", A, Bool), r("s", B, Full), ref("t", RoleType)}, "d = s is a t at run time (Error takes everything)", false},
	OpErrorField:  {OpErrorField, "ErrorField", []Operand{w("d", A, Full), r("e", B, Full), ref("k", RoleConstant)}, "d = message, kind or source of any value as an error; k is one of these names", false},
	// Calls.
	OpCall:        {OpCall, "Call", []Operand{win("w", A), ref("f", RoleFunction)}, "calls function f; arguments in w+1…; result in w, in the callee's result class; w+1 stays readable (Full) after a callee with mutself, also when an error unwinds from it", false},
	OpCallClosure: {OpCallClosure, "CallClosure", []Operand{win("w", A), lit("n", B)}, "calls the closure in w with n Full arguments in w+1…; result Full in w; not a function, or wrong arity, faults", false},
	OpCallNative:  {OpCallNative, "CallNative", []Operand{win("w", A), lit("n", B), lit("wrap", C), ref("x", RoleNative)}, "calls native x with n Full arguments in w+1…; result Full in w; natives that mutate their first argument leave it in w+1; wrap 1: the result becomes Ok, a program error (not a fault) Err", false},
	OpCallMethod:  {OpCallMethod, "CallMethod", []Operand{win("w", A), lit("n", B), ref("k", RoleConstant)}, "calls the method named k of the value in w+1 as found at run time (Program.Methods), n Full arguments counting the receiver; result Full in w; w+1 stays readable as after Call when every method of that name is mutself; no such method faults", false},
	OpReturn:      {OpReturn, "Return", []Operand{r("a", A, Full)}, "returns a", true},
	OpReturnInt:   {OpReturnInt, "ReturnInt", []Operand{r("a", A, Int)}, "returns a, bits only; the function's result is Int", true},
	OpReturnFloat: {OpReturnFloat, "ReturnFloat", []Operand{r("a", A, Float)}, "returns a, bits only; the function's result is Float", true},
	OpReturnBool:  {OpReturnBool, "ReturnBool", []Operand{r("a", A, Bool)}, "returns a, bits only; the function's result is Bool", true},
	OpReturnNil:   {OpReturnNil, "ReturnNil", nil, "returns nil; the function's result is Full", true},
	OpNewClosure:  {OpNewClosure, "NewClosure", []Operand{w("d", A, Full), win("base", B), lit("n", C), ref("f", RoleFunction)}, "d = closure of function f (abi full) over n captured Full registers from base", false},
	OpCaptured:    {OpCaptured, "Captured", []Operand{w("d", A, Full), lit("n", B)}, "d = captured value n of the running closure", false},
	OpNewCell:     {OpNewCell, "NewCell", []Operand{w("d", A, Full), r("s", B, Full)}, "d = a cell that holds s", false},
	OpCellGet:     {OpCellGet, "CellGet", []Operand{w("d", A, Full), r("c", B, Full)}, "d = the content of cell c", false},
	OpCellSet:     {OpCellSet, "CellSet", []Operand{r("c", A, Full), r("s", B, Full)}, "the content of cell c = s", false},
	// Errors.
	OpThrow:   {OpThrow, "Throw", []Operand{r("a", A, Full)}, "raises a as a program error", true},
	OpRethrow: {OpRethrow, "Rethrow", []Operand{r("a", A, Full)}, "raises a again, as a region's target got it: with its first place and trace", true},
	OpFault:   {OpFault, "Fault", []Operand{ref("k", RoleConstant)}, "raises RuntimeError with message k", true},
	OpPanic:   {OpPanic, "Panic", []Operand{r("a", A, Full)}, "ends the program with String a; not catchable", true},
	// Tasks.
	OpSpawn:       {OpSpawn, "Spawn", []Operand{w("d", A, Full), win("base", B), lit("n", C), ref("f", RoleFunction)}, "d = a Task that runs function f (abi full) with n Full arguments from base; it has run up to its first wait", false},
	OpAwait:       {OpAwait, "Await", []Operand{w("d", A, Full), r("a", B, Full)}, "d = what Task a gives, once it has ended; its error is raised here; of any other value that value itself", false},
	OpJoinAll:     {OpJoinAll, "JoinAll", []Operand{w("d", A, Full), win("base", B), lit("n", C)}, "runs n elements from base beside each other: a closure of a body function as a task, a Task is awaited, any other value is itself; d = Ok(tuple of what they give), or Err((site, error)) of the first body that ReturnLeft ended; the first error raised in one is raised here; either way the others are cancelled and awaited", false},
	OpRace:        {OpRace, "Race", []Operand{w("d", A, Full), win("base", B), lit("n", C)}, "as JoinAll, but d = Ok(what the first to end gives); the others are cancelled and awaited", false},
	OpParallelFor: {OpParallelFor, "ParallelFor", []Operand{w("d", A, Full), win("base", B)}, "as JoinAll, running body closure base+1 once for each element of array base, at most base+2 (Int above 0, or nil for no bound) at once; d = Ok(array in the order of the elements)", false},
	OpReturnLeft:  {OpReturnLeft, "ReturnLeft", []Operand{r("a", A, Full), lit("n", Imm)}, "ends a body function by error a, born at site n of its expression", true},
	// Effects.
	OpEmit:         {OpEmit, "Emit", []Operand{r("channel", A, Full), r("s", B, Full)}, "emit(channel, s)", false},
	OpEmitBare:     {OpEmitBare, "EmitBare", []Operand{r("channel", A, Full)}, "emit(channel)", false},
	OpAwaitEmit:    {OpAwaitEmit, "AwaitEmit", []Operand{win("w", A), lit("n", B)}, "await emit(w+1, w+2): w = Result<Any, EmitError>; n is 1 without payload", false},
	OpAwaitEmitAs:  {OpAwaitEmitAs, "AwaitEmitAs", []Operand{win("w", A), lit("n", B), ref("t", RoleType)}, "AwaitEmit whose answer is read as type t: w = Result<t, EmitError>; an answer that does not fit is an Err with reason \"invalid\"", false},
	OpPerform:      {OpPerform, "Perform", []Operand{win("w", A), lit("n", B), lit("wrap", C), ref("k", RoleConstant)}, "performs the effect named k with n Full arguments in w+1…; result Full in w; wrap as in CallNative", false},
	OpDispatchTool: {OpDispatchTool, "DispatchTool", []Operand{win("w", A)}, "calls the tool function named w+2 (String) with the arguments w+3 (Map) among the tools w+1 (Array of Tool, or nil for all declared): checks arguments, fills defaults; w = its result, an Ok unwrapped; failures raise ToolError", false},
	OpListenBegin:  {OpListenBegin, "ListenBegin", []Operand{win("w", A), ref("l", RoleListen)}, "opens an exchange with host w+1, prompt w+2 (String), JSON Schema w+3 (String or nil) and runs the handler blocks of listen l until a terminal message; w = Result<Map<String, Any>, Error>", false},
	OpBlockEnd:     {OpBlockEnd, "BlockEnd", []Operand{r("a", A, Full)}, "ends a handler block with value a: nil sends nothing, Ok(v) and v send v, Err(e) ends the listen with e", true},
	OpBlockReply:   {OpBlockReply, "BlockReply", []Operand{r("a", A, Full)}, "ends a handler block with Result a: Ok(v) sends v (nil as null), Err(e) sends an error reply and the listen goes on", true},
}

// AnyOp is the operator of AnyBinary.
type AnyOp int32

// The operators on Any values; comparisons give a boxed Bool.
const (
	AnyAdd AnyOp = iota
	AnySub
	AnyMul
	AnyDiv
	AnyRem
	AnyLt
	AnyLe
	AnyGt
	AnyGe
)
