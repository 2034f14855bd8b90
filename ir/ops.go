package ir

// To add an operation, add a row here, a case to the VM's dispatch loop (package vm) and a test of
// that case. The verifier, the optimiser and the reference need only the row. "make gen" writes the
// constants (opcodes.go) from the names. Rows are never removed or moved, because files of older
// minor versions must keep their meaning.

type ops []Operand

func r(name string, f Field, c Class) Operand {
	return Operand{Name: name, Role: RoleRead, Field: f, Class: c}
}
func w(name string, f Field, c Class) Operand {
	return Operand{Name: name, Role: RoleWrite, Field: f, Class: c}
}
func m(name string, f Field, c Class) Operand {
	return Operand{Name: name, Role: RoleModify, Field: f, Class: c}
}
func lit(name string, f Field) Operand   { return Operand{Name: name, Role: RoleLiteral, Field: f} }
func ref(name string, role Role) Operand { return Operand{Name: name, Role: role, Field: Imm} }
func win(name string, f Field, n Count) Operand {
	return Operand{Name: name, Role: RoleWindow, Field: f, Class: Full, Count: n}
}
func frame(n Count, k Preserve) Operand {
	return Operand{Name: "w", Role: RoleFrame, Field: A, Class: Full, Count: n, Preserve: k}
}
func (o Operand) must(rule rule) Operand { o.rule = rule; return o }

// Table is the instruction set: one row per operation, indexed by Op. Operands are listed in the
// order of the text form. spec/bytecode.md is generated from the table.
var Table = [...]Info{
	// Moves and constants.
	{"Move", ops{w("d", A, Full), r("s", B, Full)}, Fact | Cheap, 0, "d = s, both halves"},
	{"MoveInt", ops{w("d", A, Int), r("s", B, Int)}, Fact | Cheap, 0, "d = s, bits only"},
	{"MoveFloat", ops{w("d", A, Float), r("s", B, Float)}, Fact | Cheap, 0, "d = s, bits only"},
	{"MoveBool", ops{w("d", A, Bool), r("s", B, Bool)}, Fact | Cheap, 0, "d = s, bits only"},
	{"LoadInt", ops{w("d", A, Int), lit("n", Imm)}, Fact | Cheap, 0, "d = n"},
	{"LoadBool", ops{w("d", A, Bool), lit("n", Imm).must(checkFlag)}, Fact | Cheap, 0, "d = n, 0 or 1"},
	{"LoadNil", ops{w("d", A, Full)}, Fact | Cheap | Flat, 0, "d = nil"},
	{"LoadConst", ops{w("d", A, Full), ref("k", RoleConstant)}, Fact | Cheap | Flat, 0, "d = constant k, boxed"},
	{"LoadIntConst", ops{w("d", A, Int), ref("k", RoleConstant).must(checkInt)}, Fact | Cheap, 0, "d = constant k, an Int"},
	{"LoadFloatConst", ops{w("d", A, Float), ref("k", RoleConstant).must(checkFloat)}, Fact | Cheap, 0, "d = constant k, a Float"},
	{"LoadFunction", ops{w("d", A, Full), ref("f", RoleFunction).must(checkIndirectCall)}, Fact | Cheap | Flat, 0, "d = function f (abi full) as a closure without captures"},
	{"LoadAgent", ops{w("d", A, Full), ref("x", RoleAgent)}, Plain, 0, "d = the agent declared as Agents[x]"},
	{"LoadHost", ops{w("d", A, Full), ref("x", RoleHost)}, Plain, 0, "d = the host declared as Hosts[x]"},
	{"LoadTool", ops{w("d", A, Full), ref("x", RoleTool)}, Plain, 0, "d = the tool declared as Tools[x]"},
	{"LoadStore", ops{w("d", A, Full), ref("x", RoleStore)}, Plain, 0, "d = the store declared as Stores[x]"},
	{"LoadType", ops{w("d", A, Full), ref("t", RoleType)}, Plain, 0, "d = type t as a value, for library code"},
	{"BoxInt", ops{w("d", A, Full), r("s", B, Int)}, Fact | Cheap | Flat, 0, "d = s as a self-describing Int"},
	{"BoxFloat", ops{w("d", A, Full), r("s", B, Float)}, Fact | Cheap | Flat, 0, "d = s as a self-describing Float"},
	{"BoxBool", ops{w("d", A, Full), r("s", B, Bool)}, Fact | Cheap | Flat, 0, "d = s as a self-describing Bool"},

	// Int.
	{"AddInt", ops{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, Raises | Fact, 0, "d = a + b; overflow faults"},
	{"SubInt", ops{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, Raises | Fact, 0, "d = a - b; overflow faults"},
	{"MulInt", ops{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, Raises | Fact, 0, "d = a * b; overflow faults"},
	{"DivInt", ops{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, Raises | Fact, 0, "d = a / b, truncated; zero and overflow fault"},
	{"RemInt", ops{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, Raises | Fact, 0, "d = a % b, sign of a; zero faults"},
	{"AddIntK", ops{w("d", A, Int), r("a", B, Int), lit("n", Imm)}, Raises | Fact, 0, "d = a + n; overflow faults"},
	{"SubIntK", ops{w("d", A, Int), r("a", B, Int), lit("n", Imm)}, Raises | Fact, 0, "d = a - n; overflow faults"},
	{"MulIntK", ops{w("d", A, Int), r("a", B, Int), lit("n", Imm)}, Raises | Fact, 0, "d = a * n; overflow faults"},
	{"DivIntK", ops{w("d", A, Int), r("a", B, Int), lit("n", Imm).must(checkDivisor)}, Raises | Fact, 0, "d = a / n; n is not 0; overflow faults"},
	{"RemIntK", ops{w("d", A, Int), r("a", B, Int), lit("n", Imm).must(checkDivisor)}, Fact, 0, "d = a % n; n is not 0"},
	{"NegInt", ops{w("d", A, Int), r("a", B, Int)}, Raises | Fact, 0, "d = -a; overflow faults"},
	{"AndInt", ops{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, Fact, 14, "d = a & b, bit by bit"},
	{"OrInt", ops{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, Fact, 14, "d = a | b, bit by bit"},
	{"XorInt", ops{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, Fact, 14, "d = a ^ b, bit by bit"},
	{"ShlInt", ops{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, Raises | Fact, 14, "d = a << b; bits that are shifted out are lost; faults unless b is 0 to 63"},
	{"ShrInt", ops{w("d", A, Int), r("a", B, Int), r("b", C, Int)}, Raises | Fact, 14, "d = a >> b, with the sign; faults unless b is 0 to 63"},
	{"AndIntK", ops{w("d", A, Int), r("a", B, Int), lit("n", Imm)}, Fact, 14, "d = a & n, bit by bit"},
	{"ShlIntK", ops{w("d", A, Int), r("a", B, Int), lit("n", Imm).must(shift)}, Fact, 14, "d = a << n; n is 0 to 63"},
	{"ShrIntK", ops{w("d", A, Int), r("a", B, Int), lit("n", Imm).must(shift)}, Fact, 14, "d = a >> n, with the sign; n is 0 to 63"},

	// Float.
	{"AddFloat", ops{w("d", A, Float), r("a", B, Float), r("b", C, Float)}, Fact, 0, "d = a + b"},
	{"SubFloat", ops{w("d", A, Float), r("a", B, Float), r("b", C, Float)}, Fact, 0, "d = a - b"},
	{"MulFloat", ops{w("d", A, Float), r("a", B, Float), r("b", C, Float)}, Fact, 0, "d = a * b"},
	{"DivFloat", ops{w("d", A, Float), r("a", B, Float), r("b", C, Float)}, Fact, 0, "d = a / b"},
	{"RemFloat", ops{w("d", A, Float), r("a", B, Float), r("b", C, Float)}, Plain, 0, "d = a % b, sign of a"},
	{"NegFloat", ops{w("d", A, Float), r("a", B, Float)}, Fact, 0, "d = -a"},
	{"SqrtFloat", ops{w("d", A, Float), r("a", B, Float)}, Fact, 1, "d = the square root of a; NaN below 0"},
	{"IntToFloat", ops{w("d", A, Float), r("s", B, Int)}, Fact, 0, "d = s as a Float"},
	{"FloatToInt", ops{w("d", A, Int), r("s", B, Float)}, Raises | Fact, 0, "d = s truncated; NaN and out of range fault"},

	// Comparison and logic.
	{"EqInt", ops{w("d", A, Bool), r("a", B, Int), r("b", C, Int)}, Fact, 0, "d = a == b"},
	{"LtInt", ops{w("d", A, Bool), r("a", B, Int), r("b", C, Int)}, Fact, 0, "d = a < b"},
	{"LeInt", ops{w("d", A, Bool), r("a", B, Int), r("b", C, Int)}, Fact, 0, "d = a <= b"},
	{"EqFloat", ops{w("d", A, Bool), r("a", B, Float), r("b", C, Float)}, Fact, 0, "d = a == b"},
	{"LtFloat", ops{w("d", A, Bool), r("a", B, Float), r("b", C, Float)}, Fact, 0, "d = a < b"},
	{"LeFloat", ops{w("d", A, Bool), r("a", B, Float), r("b", C, Float)}, Fact, 0, "d = a <= b"},
	{"EqBool", ops{w("d", A, Bool), r("a", B, Bool), r("b", C, Bool)}, Fact, 0, "d = a == b"},
	{"LtString", ops{w("d", A, Bool), r("a", B, Full), r("b", C, Full)}, Plain, 0, "d = a < b by code point"},
	{"LeString", ops{w("d", A, Bool), r("a", B, Full), r("b", C, Full)}, Plain, 0, "d = a <= b by code point"},
	{"Equal", ops{w("d", A, Bool), r("a", B, Full), r("b", C, Full)}, Plain, 0, "d = a == b, deep and structural; references by identity"},
	{"Not", ops{w("d", A, Bool), r("a", B, Bool)}, Fact, 0, "d = !a"},
	{"IsNil", ops{w("d", A, Bool), r("a", B, Full)}, Fact, 0, "d = a is nil (or None)"},

	// Jumps.
	{"Jump", ops{ref("to", RoleTarget)}, Ends, 0, "go to `to`"},
	{"JumpIf", ops{r("a", A, Bool), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a"},
	{"JumpIfNot", ops{r("a", A, Bool), ref("to", RoleTarget)}, Plain, 0, "go to `to` unless a"},
	{"JumpEqInt", ops{r("a", A, Int), r("b", B, Int), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a == b"},
	{"JumpNeInt", ops{r("a", A, Int), r("b", B, Int), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a != b"},
	{"JumpLtInt", ops{r("a", A, Int), r("b", B, Int), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a < b"},
	{"JumpLeInt", ops{r("a", A, Int), r("b", B, Int), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a <= b"},
	{"JumpEqIntK", ops{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a == n"},
	{"JumpNeIntK", ops{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a != n"},
	{"JumpLtIntK", ops{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a < n"},
	{"JumpLeIntK", ops{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a <= n"},
	{"JumpGtIntK", ops{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a > n"},
	{"JumpGeIntK", ops{r("a", A, Int), lit("n", BC), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a >= n"},
	{"JumpLtFloat", ops{r("a", A, Float), r("b", B, Float), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a < b"},
	{"JumpLeFloat", ops{r("a", A, Float), r("b", B, Float), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a <= b"},
	{"JumpNotLtFloat", ops{r("a", A, Float), r("b", B, Float), ref("to", RoleTarget)}, Plain, 0, "go to `to` unless a < b (so also on NaN)"},
	{"JumpNotLeFloat", ops{r("a", A, Float), r("b", B, Float), ref("to", RoleTarget)}, Plain, 0, "go to `to` unless a <= b (so also on NaN)"},
	{"JumpEqual", ops{r("a", A, Full), r("b", B, Full), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a == b, deep"},
	{"JumpNotEqual", ops{r("a", A, Full), r("b", B, Full), ref("to", RoleTarget)}, Plain, 0, "go to `to` unless a == b, deep"},
	{"JumpEqualK", ops{r("a", A, Full), {Name: "k", Role: RoleConstant, Field: BC}, ref("to", RoleTarget)}, Plain, 2, "go to `to` if a == constant k, deep"},
	{"JumpNotEqualK", ops{r("a", A, Full), {Name: "k", Role: RoleConstant, Field: BC}, ref("to", RoleTarget)}, Plain, 2, "go to `to` unless a == constant k, deep"},
	{"JumpNil", ops{r("a", A, Full), ref("to", RoleTarget)}, Plain, 0, "go to `to` if a is nil or None"},
	{"JumpNotNil", ops{r("a", A, Full), ref("to", RoleTarget)}, Plain, 0, "go to `to` unless a is nil or None"},
	{"JumpVariant", ops{r("a", A, Full), lit("n", B), ref("to", RoleTarget)}, Plain, 0, "go to `to` if enum value a is variant n (Result: Ok is 0, Err is 1)"},
	{"JumpNotVariant", ops{r("a", A, Full), lit("n", B), ref("to", RoleTarget)}, Plain, 0, "go to `to` unless enum value a is variant n"},
	{"ForInt", ops{m("i", A, Int), r("limit", B, Int), ref("to", RoleBack)}, Plain, 0, "i += 1; go to `to` if i < limit (a back-edge: checks limits and cancellation)"},
	{"ForIntTo", ops{m("i", A, Int), r("last", B, Int), ref("to", RoleBack)}, Plain, 2, "if i < last: i += 1, go to `to` (a back-edge, as in ForInt)"},
	{"Loop", ops{ref("to", RoleBack)}, Ends, 0, "go back to `to` (a back-edge: checks limits and cancellation)"},

	// Strings.
	{"Concat", ops{w("d", A, Full), r("a", B, Full), r("b", C, Full)}, Plain, 0, "d = String a + String b"},
	{"Interpolate", ops{w("d", A, Full), win("base", B, countC), lit("n", C)}, Plain, 0, "d = the texts (to_string) of n Full registers from base, joined"},
	{"StringLen", ops{w("d", A, Int), r("s", B, Full)}, Fact, 1, "d = number of code points of String s"},
	{"StringAt", ops{w("d", A, Full), r("s", B, Full), r("i", C, Int)}, Raises, 0, "d = the one-character String at code point i; out of range faults"},
	{"Slice", ops{w("d", A, Full), r("s", B, Full), win("base", C, 2), lit("n", Imm).must(checkFlag)}, Raises | changes(Marks), 0, "d = s[lo..hi] of a String or Array; lo, hi in base, base+1 (Full, nil is open); n is 1 if hi is included; out of range faults"},

	// Arrays and maps.
	{"NewArray", ops{w("d", A, Full), win("base", B, countC), lit("n", C)}, New, 0, "d = array of n Full registers from base"},
	{"NewMap", ops{w("d", A, Full), win("base", B, countTwiceC), lit("n", C)}, Raises | New, 0, "d = map of n pairs key, value from base; a later equal key replaces the value"},
	{"ArrayLen", ops{w("d", A, Int), r("a", B, Full)}, Fact | reads(Lens), 0, "d = length of array a"},
	{"ArrayGet", ops{w("d", A, Full), r("a", B, Full), r("i", C, Int)}, Raises | Fact | reads(Elems), 0, "d = a[i]; out of range faults"},
	{"ArrayGetInt", ops{w("d", A, Int), r("a", B, Full), r("i", C, Int)}, Raises | Fact | reads(Elems), 0, "d = a[i], bits only, any representation"},
	{"ArrayGetFloat", ops{w("d", A, Float), r("a", B, Full), r("i", C, Int)}, Raises | Fact | reads(Elems), 0, "d = a[i], bits only, any representation"},
	{"ArrayGetBool", ops{w("d", A, Bool), r("a", B, Full), r("i", C, Int)}, Raises | Fact | reads(Elems), 0, "d = a[i], bits only, any representation"},
	{"ArraySet", ops{r("a", A, Full), r("i", B, Int), r("s", C, Full)}, Raises | changes(Elems), 0, "a[i] = s in place; a is owned; out of range faults"},
	{"ArraySetInt", ops{r("a", A, Full), r("i", B, Int), r("s", C, Int)}, Raises | changes(Elems), 0, "a[i] = s in place; a is owned"},
	{"ArraySetFloat", ops{r("a", A, Full), r("i", B, Int), r("s", C, Float)}, Raises | changes(Elems), 0, "a[i] = s in place; a is owned"},
	{"ArraySetBool", ops{r("a", A, Full), r("i", B, Int), r("s", C, Bool)}, Raises | changes(Elems), 0, "a[i] = s in place; a is owned"},
	{"ArraySwap", ops{r("a", A, Full), r("i", B, Int), r("j", C, Int)}, Raises | changes(Elems), 15, "exchanges a[i] and a[j] in place; a is owned; out of range faults"},
	{"ArrayPush", ops{r("a", A, Full), r("s", B, Full)}, changes(Lens), 0, "appends s in place; a is owned"},
	{"ArrayPushInt", ops{r("a", A, Full), r("s", B, Int)}, changes(Lens), 0, "appends s in place; a is owned"},
	{"ArrayPushFloat", ops{r("a", A, Full), r("s", B, Float)}, changes(Lens), 0, "appends s in place; a is owned"},
	{"ArrayPushBool", ops{r("a", A, Full), r("s", B, Bool)}, changes(Lens), 0, "appends s in place; a is owned"},
	{"MapLen", ops{w("d", A, Int), r("m", B, Full)}, Fact | reads(Entries), 0, "d = number of entries"},
	{"MapGet", ops{w("d", A, Full), r("m", B, Full), r("k", C, Full)}, Raises | Fact | reads(Entries), 0, "d = m[k]; absent faults, naming the key"},
	{"MapFind", ops{w("d", A, Full), r("m", B, Full), r("k", C, Full)}, Plain, 0, "d = m.get(k) as an Option"},
	{"MapSet", ops{r("m", A, Full), r("k", B, Full), r("s", C, Full)}, Raises | changes(Entries), 0, "m[k] = s in place; m is owned"},
	{"Iterate", ops{w("d", A, Full), r("s", B, Full)}, Raises | changes(Marks), 0, "d = an array of the elements that `for` iterates over: an Array itself (marked shared), a Map's (key, value) tuples, a Range's Ints; any other value faults"},
	{"NewRange", ops{w("d", A, Full), r("lo", B, Int), r("hi", C, Int), lit("n", Imm).must(checkFlag)}, Plain, 0, "d = lo..hi, or lo..=hi when n is 1"},
	{"RangeLo", ops{w("d", A, Int), r("a", B, Full)}, Fact, 0, "d = the first Int of range a"},
	{"RangeHi", ops{w("d", A, Int), r("a", B, Full)}, Fact, 0, "d = the Int after the last of range a, or the greatest Int if that is its last"},
	{"RangeLast", ops{w("d", A, Int), r("a", B, Full)}, Fact, 3, "d = the last Int of range a; for an empty range an Int less than its first"},

	// Blocks: tuples, structs, enums, options, results.
	{"NewTuple", ops{w("d", A, Full), win("base", B, countC), lit("n", C)}, New, 0, "d = tuple of n Full registers from base"},
	{"NewStruct", ops{w("d", A, Full), win("base", B, countFields), ref("t", RoleType).must(checkStruct)}, New, 0, "d = struct or schema value of type t from as many Full registers as it has fields"},
	{"NewVariant", ops{w("d", A, Full), win("base", B, countPayload), lit("n", C), ref("t", RoleType).must(checkVariant)}, New, 0, "d = variant n of enum t from as many Full registers as it has payload slots"},
	{"RenewVariant", ops{m("d", A, Full), win("base", B, countPayload), lit("n", C), ref("t", RoleType).must(checkVariant)}, changes(Fields), 16, "d = the same as with NewVariant; if d is an unshared value of this variant, its payload changes in place"},
	{"NewOk", ops{w("d", A, Full), r("s", B, Full)}, Fact | New | reads(Fields), 0, "d = Ok(s)"},
	{"NewErr", ops{w("d", A, Full), r("s", B, Full)}, Noted | Fact | New | reads(Fields), 0, "d = Err(s)"},
	{"NewErrOf", ops{w("d", A, Full), r("s", B, Full), r("e", C, Full)}, Noted | Fact | New | reads(Fields), 5, "d = Err(s), converted from the Err e that leaves the function here; records the origin of e"},
	{"Leave", ops{r("e", A, Full)}, Noted | changes(Marks), 5, "the Err e leaves the function here; records the position; marks its content shared"},
	{"Caught", ops{r("e", A, Full), lit("n", Imm).must(checkFlag)}, Noted, 13, "a try of this function catches error e, which is raised here; n is 1 if it was in an Err. Only in programs compiled for a debugger"},
	{"WrapSome", ops{w("d", A, Full), r("s", B, Full)}, Plain, 0, "d = Some(s): s itself unless it is nil or a Some box"},
	{"Unwrap", ops{w("d", A, Full), r("s", B, Full)}, Plain, 0, "d = the content of Some s (s is not None)"},
	{"Field", ops{w("d", A, Full), r("o", B, Full), lit("n", C)}, Fact | reads(Fields), 0, "d = slot n of block o"},
	{"FieldInt", ops{w("d", A, Int), r("o", B, Full), lit("n", C)}, Fact | reads(Fields), 0, "d = slot n of block o, bits only"},
	{"FieldFloat", ops{w("d", A, Float), r("o", B, Full), lit("n", C)}, Fact | reads(Fields), 0, "d = slot n of block o, bits only"},
	{"FieldBool", ops{w("d", A, Bool), r("o", B, Full), lit("n", C)}, Fact | reads(Fields), 0, "d = slot n of block o, bits only"},
	{"SetField", ops{r("o", A, Full), lit("n", B), r("s", C, Full)}, changes(Fields), 0, "slot n of block o = s in place; o is owned (or a tool)"},
	{"SetFieldInt", ops{r("o", A, Full), lit("n", B), r("s", C, Int)}, changes(Fields), 0, "slot n of o = s, bits only; the slot already holds an Int"},
	{"SetFieldFloat", ops{r("o", A, Full), lit("n", B), r("s", C, Float)}, changes(Fields), 0, "slot n of o = s, bits only; the slot already holds a Float"},
	{"SetFieldBool", ops{r("o", A, Full), lit("n", B), r("s", C, Bool)}, changes(Fields), 0, "slot n of o = s, bits only; the slot already holds a Bool"},
	{"Variant", ops{w("d", A, Int), r("o", B, Full)}, Fact, 0, "d = the variant number of enum value o"},

	// Copy-on-write.
	{"Share", ops{r("a", A, Full)}, changes(Marks), 0, "marks the container in a as possibly shared; does nothing for scalars, strings and references"},
	{"Own", ops{m("a", A, Full)}, Fact | reads(Marks), 0, "if the container in a is shared: a = a shallow copy, its children marked shared"},
	{"OwnField", ops{w("d", A, Full), r("o", B, Full), lit("n", C)}, Fact | reads(Marks) | changes(Fields), 0, "d = slot n of owned block o, made owned and written back"},
	{"OwnElem", ops{w("d", A, Full), r("a", B, Full), r("i", C, Int)}, Raises | Fact | reads(Marks) | changes(Elems), 0, "d = element i of owned array a, made owned and written back; out of range faults"},
	{"OwnKey", ops{w("d", A, Full), r("m", B, Full), r("k", C, Full)}, Raises | changes(Entries), 0, "d = the value of key k in owned map m, made owned and written back; absent faults"},
	{"OwnCell", ops{w("d", A, Full), r("c", B, Full)}, changes(Cells), 0, "d = the content of cell c, made owned and written back"},

	// Any.
	{"AnyBinary", ops{w("d", A, Full), r("a", B, Full), r("b", C, Full), lit("op", Imm).must(checkOperator)}, Raises | changes(Marks), 0, "d = a op b, checked at run time; op is an AnyOp"},
	{"AnyNeg", ops{w("d", A, Full), r("a", B, Full)}, Raises, 0, "d = -a; not a number faults"},
	{"AnyBool", ops{w("d", A, Bool), r("a", B, Full)}, Raises, 0, "d = a; not a Bool faults"},
	{"AnyField", ops{w("d", A, Full), r("o", B, Full), ref("k", RoleConstant).must(checkText)}, Raises | changes(Marks), 0, "d = o.k: Map lookup (nil if absent), struct, schema or error field; a member of nil faults"},
	{"AnyIndex", ops{w("d", A, Full), r("o", B, Full), r("i", C, Full)}, Raises | changes(Marks), 0, "d = o[i] of Array, Map, String; wrong key type, out of range and absent fault"},
	{"AnySetField", ops{r("o", A, Full), ref("k", RoleConstant).must(checkText), r("s", B, Full)}, Raises | changes(Fields), 0, "field k of owned struct o = s; no such field faults"},
	{"AnySetIndex", ops{r("o", A, Full), r("i", B, Full), r("s", C, Full)}, Raises | changes(Elems|Fields|Entries), 0, "o[i] = s in place of owned Array or Map"},
	{"AnyOwnField", ops{w("d", A, Full), r("o", B, Full), ref("k", RoleConstant).must(checkText)}, Raises | changes(Fields|Entries), 0, "d = field k of owned o, made owned and written back"},
	{"AnyOwnIndex", ops{w("d", A, Full), r("o", B, Full), r("i", C, Full)}, Raises | changes(Elems|Fields|Entries), 0, "d = o[i] of owned o, made owned and written back"},
	{"Check", ops{w("d", A, Full), r("s", B, Full), ref("t", RoleType)}, Raises | changes(Marks), 0, "d = s converted to type t (an Int becomes a Float, a Map a schema value); a value that does not fit raises SchemaError for a schema, otherwise RuntimeError"},
	{"IsType", ops{w("d", A, Bool), r("s", B, Full), ref("t", RoleType)}, Plain, 0, "d = s is a t at run time (every value is an Error)"},
	{"ErrorField", ops{w("d", A, Full), r("e", B, Full), ref("k", RoleConstant).must(checkErrorField)}, changes(Marks), 0, "d = message, kind or source of any value as an error; k is one of these names"},

	// Calls.
	{"Call", ops{frame(countParams, preserveMutSelf), ref("f", RoleFunction).must(checkNoCaptures)}, Acts | Raises, 0, "calls function f; arguments in w+1…; result in w, in the callee's result class; w+1 stays readable (Full) after a callee with mutself, also when an error unwinds from it"},
	{"CallClosure", ops{frame(countCallee, preserveNone), lit("n", B)}, Acts | Raises, 0, "calls the closure in w with n Full arguments in w+1…; result Full in w; not a function, or wrong arity, faults"},
	{"CallNative", ops{frame(countB, preserveFirst), lit("n", B), lit("wrap", C).must(checkFlag), ref("x", RoleNative)}, Acts | Raises, 0, "calls native x with n Full arguments in w+1…; result Full in w; natives that mutate their first argument leave it in w+1; wrap 1: the result becomes Ok, a program error (not a fault) Err"},
	{"CallMethod", ops{frame(countB, preserveByName), lit("n", B).must(countReceiver), ref("k", RoleConstant).must(checkText)}, Acts | Raises, 0, "calls the method named k of the value in w+1 found at run time (Program.Methods), with n Full arguments including the receiver; result Full in w; w+1 stays readable as after Call if every method of that name is mutself; no such method faults"},
	{"Return", ops{r("a", A, Full)}, Ends | Returns, 0, "returns a"},
	{"ReturnInt", ops{r("a", A, Int)}, Ends | Returns, 0, "returns a, bits only; the function's result is Int"},
	{"ReturnFloat", ops{r("a", A, Float)}, Ends | Returns, 0, "returns a, bits only; the function's result is Float"},
	{"ReturnBool", ops{r("a", A, Bool)}, Ends | Returns, 0, "returns a, bits only; the function's result is Bool"},
	{"ReturnNil", nil, Ends | Returns, 0, "returns nil; the function's result is Full"},
	{"NewClosure", ops{w("d", A, Full), win("base", B, countC), lit("n", C), ref("f", RoleFunction).must(checkCaptures)}, Fact | New, 0, "d = closure of function f (abi full) with n captured Full registers from base"},
	{"Captured", ops{w("d", A, Full), lit("n", B).must(checkCaptured)}, Fact, 0, "d = captured value n of the running closure"},
	{"NewCell", ops{w("d", A, Full), r("s", B, Full)}, New, 0, "d = a cell that contains s"},
	{"CellGet", ops{w("d", A, Full), r("c", B, Full)}, Fact | reads(Cells), 0, "d = the content of cell c"},
	{"CellSet", ops{r("c", A, Full), r("s", B, Full)}, changes(Cells), 0, "the content of cell c = s"},

	// Errors.
	{"Throw", ops{r("a", A, Full)}, Ends | Raises, 0, "raises a as a program error"},
	{"Rethrow", ops{r("a", A, Full)}, Ends | Raises, 0, "raises a again as a region's target received it: with its original position and trace"},
	{"Fault", ops{ref("k", RoleConstant).must(checkText)}, Ends | Raises, 0, "raises RuntimeError with message k"},
	{"Panic", ops{r("a", A, Full)}, Ends | Raises, 0, "ends the program with message a, a String; not catchable"},

	// Tasks.
	{"Spawn", ops{w("d", A, Full), win("base", B, countC), lit("n", C), ref("f", RoleFunction).must(checkSpawned)}, Acts | Raises, 0, "d = a Task that runs function f (abi full) with n Full arguments from base; the task has run to its first wait"},
	{"Await", ops{w("d", A, Full), r("a", B, Full)}, Acts | Raises, 0, "d = the result of Task a, once it has ended; raises its error here; any other value is returned as it is"},
	{"JoinAll", ops{w("d", A, Full), win("base", B, countC), lit("n", C)}, Acts | Raises, 0, "runs n elements from base concurrently: a closure of a body function as a task, a Task is awaited, any other value is its own result; d = Ok(tuple of the results), or Err((site, error)) of the first body that ReturnLeft ended; the first error raised in an element is raised here; in both cases the others are cancelled and awaited"},
	{"Race", ops{w("d", A, Full), win("base", B, countC), lit("n", C).must(checkRaceTasks)}, Acts | Raises, 0, "as JoinAll, but d = Ok(the first result); the others are cancelled and awaited"},
	{"ParallelFor", ops{w("d", A, Full), win("base", B, 3)}, Acts | Raises, 0, "as JoinAll, with body closure base+1 once for each element of array base, at most base+2 (Int above 0, or nil for no limit) concurrently; d = Ok(array in the order of the elements)"},
	{"ReturnLeft", ops{r("a", A, Full), lit("n", Imm).must(checkInBody)}, Ends | Acts, 0, "ends a body function with error a, which occurred at site n of its expression"},

	// Effects.
	{"Emit", ops{r("channel", A, Full), r("s", B, Full)}, Acts | Raises, 0, "emit(channel, s)"},
	{"EmitBare", ops{r("channel", A, Full)}, Acts | Raises, 0, "emit(channel)"},
	{"AwaitEmit", ops{frame(countB, preserveNone), lit("n", B).must(checkOneOrTwo)}, Acts | Raises, 0, "await emit(w+1, w+2): w = Result<Any, EmitError>; n is 1 if there is no payload"},
	{"AwaitEmitAs", ops{frame(countB, preserveNone), lit("n", B).must(checkOneOrTwo), ref("t", RoleType)}, Acts | Raises, 4, "AwaitEmit with the answer converted to type t: w = Result<t, EmitError>; an answer that does not fit is an Err with reason \"invalid\""},
	{"Perform", ops{frame(countB, preserveNone), lit("n", B), lit("wrap", C).must(checkFlag), ref("k", RoleConstant).must(checkText)}, Acts | Raises, 0, "performs the effect named k with n Full arguments in w+1…; result Full in w; wrap as in CallNative"},
	{"DispatchTool", ops{frame(3, preserveNone)}, Acts | Raises, 0, "calls the tool function named w+2 (String) with the arguments w+3 (Map) among the tools w+1 (Array of Tool, or nil for all declared): checks arguments, fills in defaults; w = its result, an Ok unwrapped; failures raise ToolError"},
	{"ListenBegin", ops{frame(3, preserveNone), ref("l", RoleListen)}, Acts | Raises, 0, "opens an exchange with host w+1, prompt w+2 (String), JSON Schema w+3 (String or nil) and runs the handler blocks of listen l until a terminal message; w = Result<Map<String, Any>, Error>"},
	{"BlockEnd", ops{r("a", A, Full).must(checkInHandler)}, Ends | Acts | Raises, 0, "ends a handler block with value a: nil sends nothing, Ok(v) and v send v, Err(e) ends the listen with e"},
	{"BlockReply", ops{r("a", A, Full).must(checkInHandler)}, Ends | Acts | Raises, 0, "ends a handler block with Result a: Ok(v) sends v (nil as null), Err(e) sends an error reply and the listen continues"},
}

// AnyOp is the operator of AnyBinary.
type AnyOp int32

// The operators on Any values. Comparisons return a boxed Bool.
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
