package vm

import (
	"fmt"
	"math"
	"testing"

	"github.com/concerto-lang/concerto/ir"
)

// expr runs code that stores a Full value in r1, and compares the value with want, which is JSON.
func expr(t *testing.T, code, want string, prepare ...func(*asm)) {
	t.Helper()
	a := newAsm()
	for _, p := range prepare {
		p(a)
	}
	a.fn("main() Full 16", code+"\nReturn r1")
	a.Entry = len(a.Functions) - 1
	if len(want) > 6 && want[:6] == "error " {
		a.wantError(t, want[6:])
	} else {
		a.want(t, want)
	}
}

func TestIntArithmetic(t *testing.T) {
	ops := map[string]func(x, y int64) string{}
	show := func(n int64) string { return fmt.Sprint(n) }
	const over = "error integer overflow"
	ops["Add"] = func(x, y int64) string {
		if s := x + y; (s > x) == (y > 0) || y == 0 {
			return show(s)
		}
		return over
	}
	ops["Sub"] = func(x, y int64) string {
		if s := x - y; (s < x) == (y > 0) || y == 0 {
			return show(s)
		}
		return over
	}
	ops["Mul"] = func(x, y int64) string {
		s := x * y
		if x != 0 && (s/x != y || x == -1 && y == math.MinInt64) {
			return over
		}
		return show(s)
	}
	ops["Div"] = func(x, y int64) string {
		if y == 0 {
			return "error division by zero"
		}
		if y == -1 && x == math.MinInt64 {
			return over
		}
		return show(x / y)
	}
	ops["Rem"] = func(x, y int64) string {
		if y == 0 {
			return "error remainder by zero"
		}
		return show(x % y)
	}
	numbers := []int64{0, 1, -1, 2, 7, -7, math.MaxInt32, math.MinInt32, 1 << 32, -(1 << 32) + 3, 3037000500, math.MaxInt64, math.MinInt64, math.MinInt64 + 1}
	for name, want := range ops {
		for _, x := range numbers {
			for _, y := range numbers {
				consts := func(a *asm) { a.int(x); a.int(y) }
				expr(t, "LoadIntConst r2 k0\nLoadIntConst r3 k1\n"+name+"Int r1 r2 r3\nBoxInt r1 r1", want(x, y), consts)
				if y == int64(int32(y)) && !(y == 0 && (name == "Div" || name == "Rem")) {
					expr(t, fmt.Sprintf("LoadIntConst r2 k0\n%sIntK r1 r2 %d\nBoxInt r1 r1", name, y), want(x, y), consts)
				}
			}
		}
	}
	bits := map[string]func(x, y int64) int64{
		"And": func(x, y int64) int64 { return x & y }, "Or": func(x, y int64) int64 { return x | y }, "Xor": func(x, y int64) int64 { return x ^ y },
	}
	shifts := map[string]func(x, y int64) int64{"Shl": func(x, y int64) int64 { return x << y }, "Shr": func(x, y int64) int64 { return x >> y }}
	for _, x := range numbers {
		for _, y := range numbers {
			consts := func(a *asm) { a.int(x); a.int(y) }
			for name, of := range bits {
				expr(t, "LoadIntConst r2 k0\nLoadIntConst r3 k1\n"+name+"Int r1 r2 r3\nBoxInt r1 r1", fmt.Sprint(of(x, y)), consts)
			}
			if y == int64(int32(y)) {
				expr(t, fmt.Sprintf("LoadIntConst r2 k0\nAndIntK r1 r2 %d\nBoxInt r1 r1", y), fmt.Sprint(x&y), consts)
			}
			// The registers of the parts of a fused pair are set, too.
			expr(t, "LoadIntConst r2 k0\nLoadIntConst r3 k1\nXorInt r4 r2 r3\nAndIntK r1 r4 65535\nXorInt r1 r1 r4\nBoxInt r1 r1", fmt.Sprint((x^y)&65535^(x^y)), consts)
			for _, n := range []int64{0, 1, 31, 63} {
				expr(t, fmt.Sprintf("LoadIntConst r2 k0\nLoadIntConst r3 k1\nShrIntK r4 r2 %d\nXorInt r1 r3 r4\nXorInt r1 r1 r4\nAndIntK r1 r1 -1\nBoxInt r1 r1", n),
					fmt.Sprint(y^x>>n^x>>n), consts)
			}
		}
		for name, of := range shifts {
			for _, n := range []int64{0, 1, 31, 63, 64, -1, math.MaxInt64} {
				consts := func(a *asm) { a.int(x); a.int(n) }
				want := fmt.Sprintf("error shift by %d: must be 0 to 63", n)
				if 0 <= n && n <= 63 {
					want = fmt.Sprint(of(x, n))
					expr(t, fmt.Sprintf("LoadIntConst r2 k0\n%sIntK r1 r2 %d\nBoxInt r1 r1", name, n), want, consts)
				}
				expr(t, "LoadIntConst r2 k0\nLoadIntConst r3 k1\n"+name+"Int r1 r2 r3\nBoxInt r1 r1", want, consts)
			}
		}
	}
	for _, x := range numbers {
		want := fmt.Sprint(-x)
		if x == math.MinInt64 {
			want = over
		}
		expr(t, "LoadIntConst r2 k0\nNegInt r1 r2\nBoxInt r1 r1", want, func(a *asm) { a.int(x) })
	}
}

func TestFloatArithmetic(t *testing.T) {
	for _, c := range []struct {
		x, y float64
		op   string
		want string
	}{
		{1.5, 2, "Add", "3.5"}, {1.5, 2, "Sub", "-0.5"}, {1.5, 2, "Mul", "3.0"}, {1, 0, "Div", "null"}, {3, 2, "Div", "1.5"},
		{-7.5, 2, "Rem", "-1.5"},
	} {
		expr(t, "LoadFloatConst r2 k0\nLoadFloatConst r3 k1\n"+c.op+"Float r1 r2 r3\nBoxFloat r1 r1", c.want,
			func(a *asm) { a.float(c.x); a.float(c.y) })
	}
	expr(t, "LoadFloatConst r2 k0\nNegFloat r1 r2\nMoveFloat r4 r1\nBoxFloat r1 r4", "-2.5", func(a *asm) { a.float(2.5) })
	for f, want := range map[float64]string{2.25: "1.5", -1: "null", 0: "0.0"} {
		expr(t, "LoadFloatConst r2 k0\nSqrtFloat r1 r2\nBoxFloat r1 r1", want, func(a *asm) { a.float(f) })
	}
	expr(t, "LoadInt r2 7\nIntToFloat r1 r2\nBoxFloat r1 r1", "7.0")
	for f, want := range map[float64]string{2.9: "2", -2.9: "-2", 9.3e18: "error cannot convert 9300000000000000000.0 to Int",
		math.NaN(): "error cannot convert NaN to Int", -9223372036854775808: "-9223372036854775808", 9223372036854775808: "error cannot convert 9223372036854776000.0 to Int"} {
		expr(t, "LoadFloatConst r2 k0\nFloatToInt r1 r2\nBoxInt r1 r1", want, func(a *asm) { a.float(f) })
	}
}

func TestComparisons(t *testing.T) {
	for _, c := range []struct {
		op   string
		want [3]string // 1 ? 2, 2 ? 2, 3 ? 2
	}{
		{"Eq", [3]string{"false", "true", "false"}}, {"Lt", [3]string{"true", "false", "false"}}, {"Le", [3]string{"true", "true", "false"}},
	} {
		for i, want := range c.want {
			expr(t, fmt.Sprintf("LoadInt r2 %d\nLoadInt r3 2\n%sInt r1 r2 r3\nBoxBool r1 r1", i+1, c.op), want)
			expr(t, fmt.Sprintf("LoadFloatConst r2 k%d\nLoadFloatConst r3 k1\n%sFloat r1 r2 r3\nBoxBool r1 r1", i, c.op), want,
				func(a *asm) { a.float(1); a.float(2); a.float(3) })
			if c.op != "Eq" {
				expr(t, fmt.Sprintf("LoadConst r2 k%d\nLoadConst r3 k1\n%sString r1 r2 r3\nBoxBool r1 r1", i, c.op), want,
					func(a *asm) { a.str("a"); a.str("é"); a.str("😀") })
			}
		}
	}
	expr(t, "LoadBool r2 1\nLoadBool r3 0\nEqBool r1 r2 r3\nNot r1 r1\nMoveBool r4 r1\nBoxBool r1 r4", "true")
	expr(t, "LoadNil r2\nIsNil r1 r2\nBoxBool r1 r1", "true")
	expr(t, "LoadConst r2 k0\nIsNil r1 r2\nBoxBool r1 r1", "false", func(a *asm) { a.int(1) })
	expr(t, "LoadConst r2 k0\nLoadConst r3 k1\nEqual r1 r2 r3\nBoxBool r1 r1", "true", func(a *asm) { a.str("xy"); a.str("xy") })
}

// TestJumps runs each conditional jump with operands for which it jumps and with operands for which
// it does not. The result is 1 if it jumped.
func TestJumps(t *testing.T) {
	nan := func(a *asm) { a.float(1); a.float(2); a.float(math.NaN()); a.str("s"); a.typ(ir.TypeInfo{Kind: "nil"}) }
	for _, c := range []struct{ setup, jump, want string }{
		{"LoadBool r2 1", "JumpIf r2", "1"}, {"LoadBool r2 0", "JumpIf r2", "0"},
		{"LoadBool r2 1", "JumpIfNot r2", "0"}, {"LoadBool r2 0", "JumpIfNot r2", "1"},
		{"LoadInt r2 1\nLoadInt r3 2", "JumpEqInt r2 r3", "0"}, {"LoadInt r2 2\nLoadInt r3 2", "JumpEqInt r2 r3", "1"},
		{"LoadInt r2 1\nLoadInt r3 2", "JumpNeInt r2 r3", "1"}, {"LoadInt r2 2\nLoadInt r3 2", "JumpNeInt r2 r3", "0"},
		{"LoadInt r2 1\nLoadInt r3 2", "JumpLtInt r2 r3", "1"}, {"LoadInt r2 2\nLoadInt r3 2", "JumpLtInt r2 r3", "0"},
		{"LoadInt r2 3\nLoadInt r3 2", "JumpLeInt r2 r3", "0"}, {"LoadInt r2 2\nLoadInt r3 2", "JumpLeInt r2 r3", "1"},
		{"LoadInt r2 -5", "JumpEqIntK r2 -5", "1"}, {"LoadInt r2 -5", "JumpEqIntK r2 5", "0"},
		{"LoadInt r2 -5", "JumpNeIntK r2 -5", "0"}, {"LoadInt r2 -5", "JumpNeIntK r2 5", "1"},
		{"LoadInt r2 -5", "JumpLtIntK r2 -4", "1"}, {"LoadInt r2 -5", "JumpLtIntK r2 -5", "0"},
		{"LoadInt r2 -5", "JumpLeIntK r2 -6", "0"}, {"LoadInt r2 -5", "JumpLeIntK r2 -5", "1"},
		{"LoadInt r2 300", "JumpGtIntK r2 299", "1"}, {"LoadInt r2 300", "JumpGtIntK r2 300", "0"},
		{"LoadInt r2 300", "JumpGeIntK r2 301", "0"}, {"LoadInt r2 300", "JumpGeIntK r2 300", "1"},
		{"LoadFloatConst r2 k0\nLoadFloatConst r3 k1", "JumpLtFloat r2 r3", "1"}, {"LoadFloatConst r2 k0\nLoadFloatConst r3 k2", "JumpLtFloat r2 r3", "0"},
		{"LoadFloatConst r2 k0\nLoadFloatConst r3 k0", "JumpLeFloat r2 r3", "1"}, {"LoadFloatConst r2 k1\nLoadFloatConst r3 k0", "JumpLeFloat r2 r3", "0"},
		{"LoadFloatConst r2 k0\nLoadFloatConst r3 k2", "JumpNotLtFloat r2 r3", "1"}, {"LoadFloatConst r2 k0\nLoadFloatConst r3 k1", "JumpNotLtFloat r2 r3", "0"},
		{"LoadFloatConst r2 k0\nLoadFloatConst r3 k2", "JumpNotLeFloat r2 r3", "1"}, {"LoadFloatConst r2 k0\nLoadFloatConst r3 k0", "JumpNotLeFloat r2 r3", "0"},
		{"LoadConst r2 k3\nLoadConst r3 k3", "JumpEqual r2 r3", "1"}, {"LoadConst r2 k3\nLoadConst r3 k0", "JumpEqual r2 r3", "0"},
		{"LoadConst r2 k3\nLoadConst r3 k3", "JumpNotEqual r2 r3", "0"}, {"LoadConst r2 k3\nLoadConst r3 k0", "JumpNotEqual r2 r3", "1"},
		{"LoadConst r2 k3", "JumpEqualK r2 k3", "1"}, {"LoadConst r2 k3", "JumpEqualK r2 k0", "0"},
		{"LoadConst r2 k3", "JumpNotEqualK r2 k3", "0"}, {"LoadConst r2 k3", "JumpNotEqualK r2 k0", "1"},
		{"LoadNil r2", "JumpNil r2", "1"}, {"LoadConst r2 k0", "JumpNil r2", "0"},
		{"LoadNil r2", "JumpNotNil r2", "0"}, {"LoadConst r2 k0", "JumpNotNil r2", "1"},
		{"LoadConst r2 k0\nNewOk r2 r2", "JumpVariant r2 0", "1"}, {"LoadConst r2 k0\nNewErr r2 r2", "JumpVariant r2 0", "0"},
		{"LoadConst r2 k0\nNewOk r2 r2", "JumpNotVariant r2 0", "0"}, {"LoadConst r2 k0\nNewErr r2 r2", "JumpNotVariant r2 0", "1"},
	} {
		expr(t, c.setup+"\nLoadInt r4 1\n"+c.jump+" @out\nLoadInt r4 0\n@out: BoxInt r1 r4", c.want, nan)
	}
	expr(t, "LoadInt r2 0\nLoadInt r3 4\nLoadInt r4 0\n@l: AddInt r4 r4 r2\nForInt r2 r3 @l\nBoxInt r1 r4", "6")
	expr(t, "LoadInt r2 0\nLoadInt r3 4\nLoadInt r4 0\n@l: AddInt r4 r4 r2\nForIntTo r2 r3 @l\nBoxInt r1 r4", "10")
	expr(t, "LoadInt r2 0\n@l: JumpGeIntK r2 5 @out\nAddIntK r2 r2 1\nLoop @l\n@out: MoveInt r3 r2\nBoxInt r1 r3", "5")
	expr(t, "LoadInt r2 1\nJump @out\nLoadInt r2 2\n@out: BoxInt r1 r2", "1")
}

func TestStrings(t *testing.T) {
	consts := func(a *asm) {
		a.str("né")
		a.str("😀x")
		a.str("")
		a.int(1)
		a.float(2)
		a.int(2)
	}
	// Equal texts in separate objects, and different texts, with lengths of one byte and more.
	texts := []string{"", "a", "b", "é", "ab", "ac", "abc"}
	for _, x := range texts {
		for _, y := range texts {
			both := func(a *asm) { a.str(x); a.str(y); a.int(1) }
			expr(t, "LoadConst r2 k0\nLoadConst r3 k1\nLoadInt r4 1\nJumpEqual r2 r3 @out\nLoadInt r4 0\n@out: BoxInt r1 r4", map[bool]string{true: "1", false: "0"}[x == y], both)
			expr(t, "LoadConst r2 k0\nLoadConst r3 k1\nLoadInt r4 1\nJumpNotEqual r2 r3 @out\nLoadInt r4 0\n@out: BoxInt r1 r4", map[bool]string{true: "1", false: "0"}[x != y], both)
			expr(t, "LoadConst r2 k0\nLoadConst r3 k2\nLoadInt r4 1\nJumpEqual r2 r3 @out\nLoadInt r4 0\n@out: BoxInt r1 r4", "0", both)
		}
	}
	for _, c := range []struct{ code, want string }{
		{"LoadConst r2 k0\nLoadConst r3 k1\nConcat r1 r2 r3", `"né😀x"`},
		{"LoadConst r2 k2\nLoadConst r3 k1\nConcat r1 r2 r3", `"😀x"`},
		{"LoadConst r2 k1\nLoadConst r3 k2\nConcat r1 r2 r3", `"😀x"`},
		{"LoadConst r2 k0\nLoadConst r3 k3\nLoadConst r4 k4\nLoadNil r5\nInterpolate r1 r2 4", `"né12.0nil"`},
		{"LoadConst r2 k1\nStringLen r3 r2\nBoxInt r1 r3", "2"},
		{"LoadNil r2\nStringLen r3 r2\nBoxInt r1 r3", "error broken program: operand of StringLen"},
		{"LoadConst r2 k1\nLoadInt r3 0\nStringAt r1 r2 r3", `"😀"`},
		{"LoadConst r2 k1\nLoadInt r3 1\nStringAt r1 r2 r3", `"x"`},
		{"LoadConst r2 k1\nLoadInt r3 2\nStringAt r1 r2 r3", "error index 2 is out of range: the length is 2"},
		{"LoadConst r2 k1\nLoadInt r3 -1\nStringAt r1 r2 r3", "error index -1 is out of range: the length is 2"},
		{"LoadConst r2 k1\nLoadConst r3 k3\nLoadNil r4\nSlice r1 r2 r3 0", `"x"`},
		{"LoadConst r2 k1\nLoadNil r3\nLoadConst r4 k3\nSlice r1 r2 r3 0", `"😀"`},
		{"LoadConst r2 k1\nLoadNil r3\nLoadConst r4 k3\nSlice r1 r2 r3 1", `"😀x"`},
		{"LoadConst r2 k1\nLoadConst r3 k5\nLoadConst r4 k3\nSlice r1 r2 r3 0", "error slice 2..1 begins after its end"},
		{"LoadConst r2 k1\nLoadNil r3\nLoadConst r4 k5\nSlice r1 r2 r3 1", "error slice 0..3 is out of range: the length is 2"},
	} {
		expr(t, c.code, c.want, consts)
	}
}

func TestArrays(t *testing.T) {
	consts := func(a *asm) { a.int(1); a.int(2); a.float(1.5); a.str("s"); a.typ(ir.TypeInfo{Kind: "nil"}) }
	ints := "LoadConst r2 k0\nLoadConst r3 k1\nNewArray r1 r2 2\n"
	mixed := "LoadConst r2 k0\nLoadConst r3 k3\nNewArray r1 r2 2\n"
	floats := "LoadConst r2 k2\nNewArray r1 r2 1\n"
	bools := "LoadBool r2 1\nBoxBool r2 r2\nNewArray r1 r2 1\n"
	for _, c := range []struct{ code, want string }{
		{"NewArray r1 r2 0", "[]"},
		{ints, "[1,2]"}, {mixed, `[1,"s"]`}, {floats, "[1.5]"}, {bools, "[true]"},
		{ints + "ArrayLen r2 r1\nBoxInt r1 r2", "2"},
		{ints + "LoadInt r2 1\nArrayGet r1 r1 r2", "2"},
		{mixed + "LoadInt r2 1\nArrayGet r1 r1 r2", `"s"`},
		{ints + "LoadInt r2 2\nArrayGet r1 r1 r2", "error index 2 is out of range: the length is 2"},
		{ints + "LoadInt r2 1\nArrayGetInt r3 r1 r2\nBoxInt r1 r3", "2"},
		{mixed + "LoadInt r2 0\nArrayGetInt r3 r1 r2\nBoxInt r1 r3", "1"},
		{ints + "LoadInt r2 -1\nArrayGetInt r3 r1 r2\nBoxInt r1 r3", "error index -1 is out of range: the length is 2"},
		{floats + "LoadInt r2 0\nArrayGetFloat r3 r1 r2\nBoxFloat r1 r3", "1.5"},
		{bools + "LoadInt r2 0\nArrayGetBool r3 r1 r2\nBoxBool r1 r3", "true"},
		{ints + "LoadInt r2 0\nLoadConst r3 k3\nArraySet r1 r2 r3", `["s",2]`},
		{mixed + "LoadInt r2 0\nLoadConst r3 k3\nArraySet r1 r2 r3", `["s","s"]`},
		{ints + "LoadInt r2 0\nLoadInt r3 9\nArraySetInt r1 r2 r3", "[9,2]"},
		{mixed + "LoadInt r2 0\nLoadInt r3 9\nArraySetInt r1 r2 r3", `[9,"s"]`},
		{ints + "LoadInt r2 2\nLoadInt r3 9\nArraySetInt r1 r2 r3", "error index 2 is out of range: the length is 2"},
		{floats + "LoadInt r2 0\nLoadFloatConst r3 k2\nAddFloat r3 r3 r3\nArraySetFloat r1 r2 r3", "[3.0]"},
		{bools + "LoadInt r2 0\nLoadBool r3 0\nArraySetBool r1 r2 r3", "[false]"},
		{ints + "LoadInt r2 0\nLoadInt r3 1\nArraySwap r1 r2 r3", "[2,1]"},
		{mixed + "LoadInt r2 0\nLoadInt r3 1\nArraySwap r1 r2 r3\nArraySwap r1 r2 r2", `["s",1]`},
		{mixed + "LoadInt r2 0\nLoadInt r3 2\nArraySwap r1 r2 r3", "error index 2 is out of range: the length is 2"},
		{mixed + "LoadInt r2 -1\nLoadInt r3 2\nArraySwap r1 r2 r3", "error index -1 is out of range: the length is 2"},
		{"NewArray r1 r2 0\nLoadInt r2 5\nArrayPushInt r1 r2\nArrayPushInt r1 r2\nLoadConst r3 k3\nArrayPush r1 r3\nArrayPushInt r1 r2", `[5,5,"s",5]`},
		{"NewArray r1 r2 0\nLoadFloatConst r2 k2\nArrayPushFloat r1 r2\nArrayPushFloat r1 r2", "[1.5,1.5]"},
		{"NewArray r1 r2 0\nLoadBool r2 1\nArrayPushBool r1 r2\nArrayPushBool r1 r2", "[true,true]"},
		{mixed + "LoadConst r2 k0\nArrayPush r1 r2\nArrayPush r1 r2", `[1,"s",1,1]`},
		{"NewArray r1 r2 0\nLoadInt r2 5\nArrayPushInt r1 r2\nArrayPushInt r1 r2\nLoadConst r3 k0\nArrayPush r1 r3\nLoadConst r3 k2\nArrayPush r1 r3", `[5,5,1,1.5]`},
		{"NewArray r1 r2 0\nLoadFloatConst r2 k2\nArrayPushFloat r1 r2\nLoadInt r2 0\nArrayGet r1 r1 r2", "1.5"},
		{ints + "Iterate r1 r1", "[1,2]"},
		{ints + "LoadConst r3 k0\nLoadNil r4\nSlice r1 r1 r3 0", "[2]"},
		{"LoadInt r2 1\nLoadInt r3 4\nNewRange r1 r2 r3 0\nIterate r1 r1", "[1,2,3]"},
		{"LoadInt r2 1\nLoadInt r3 4\nNewRange r1 r2 r3 1\nRangeLo r2 r1\nRangeHi r3 r1\nBoxInt r2 r2\nBoxInt r3 r3\nNewTuple r1 r2 2", "[1,5]"},
		{"LoadInt r2 1\nLoadInt r3 4\nNewRange r1 r2 r3 0", `"1..4"`},
		{"LoadInt r2 1\nLoadInt r3 4\nNewRange r1 r2 r3 0\nRangeLast r2 r1\nBoxInt r1 r2", "3"},
		{"LoadConst r1 k0\nIterate r1 r1", "error cannot iterate over Int 1"},
	} {
		expr(t, c.code, c.want, consts)
	}
}

func TestMaps(t *testing.T) {
	consts := func(a *asm) { a.str("a"); a.int(1); a.str("b"); a.float(2.5) }
	m := "LoadConst r2 k0\nLoadConst r3 k1\nLoadConst r4 k2\nLoadConst r5 k1\nNewMap r1 r2 2\n"
	for _, c := range []struct{ code, want string }{
		{m, `{"a":1,"b":1}`},
		{"NewMap r1 r2 0", "{}"},
		{m + "MapLen r2 r1\nBoxInt r1 r2", "2"},
		{m + "MapGet r1 r1 r4", "1"},
		{m + "MapGet r1 r1 r3", "error the map has no key 1"},
		{m + "MapFind r1 r1 r3", "null"},
		{m + "MapFind r1 r1 r4", "1"},
		{m + "LoadNil r6\nMapSet r1 r3 r6\nMapFind r7 r1 r3\nIsNil r8 r7\nBoxBool r8 r8\nUnwrap r7 r7\nMapLen r9 r1\nBoxInt r9 r9\nNewTuple r1 r7 3", "[null,false,3]"},
		{m + "LoadConst r3 k3\nMapSet r1 r3 r3", "error Float 2.5 cannot be a key: keys must be Strings, Ints or Bools"},
		{m + "Iterate r1 r1", `[["a",1],["b",1]]`},
		{"LoadConst r2 k3\nLoadConst r3 k1\nNewMap r1 r2 1\n", "error Float 2.5 cannot be a key: keys must be Strings, Ints or Bools"},
	} {
		expr(t, c.code, c.want, consts)
	}
}

func TestBlocks(t *testing.T) {
	prepare := func(a *asm) {
		a.int(1)
		a.float(2.5)
		a.str("s")
		any := a.typ(ir.TypeInfo{Kind: "any"})
		a.typ(ir.TypeInfo{Kind: "struct", Name: "P", Fields: []ir.FieldInfo{{Name: "x", Type: any}, {Name: "y", Type: any}}})
		a.typ(ir.TypeInfo{Kind: "enum", Name: "E", Variants: []ir.VariantInfo{{Name: "U"}, {Name: "One", Fields: []ir.FieldInfo{{Name: "0", Type: any}}},
			{Name: "Named", Named: true, Fields: []ir.FieldInfo{{Name: "a", Type: any}, {Name: "b", Type: any}}}}})
		a.typ(ir.TypeInfo{Kind: "error", Name: "ToolError", Fields: []ir.FieldInfo{{Name: "message", Type: any}, {Name: "tool", Type: any}}})
		a.typ(ir.TypeInfo{Kind: "error", Name: "ToolError", Fields: []ir.FieldInfo{{Name: "message", Type: any}}})
	}
	p := "LoadConst r2 k0\nLoadConst r3 k1\nNewStruct r1 r2 t1\n"
	for _, c := range []struct{ code, want string }{
		{"LoadConst r2 k0\nLoadConst r3 k1\nNewTuple r1 r2 2", "[1,2.5]"},
		{p, `{"x":1,"y":2.5}`},
		{p + "Field r1 r1 1", "2.5"},
		{p + "FieldInt r2 r1 0\nBoxInt r1 r2", "1"},
		{p + "FieldFloat r2 r1 1\nBoxFloat r1 r2", "2.5"},
		{p + "LoadConst r2 k2\nSetField r1 0 r2", `{"x":"s","y":2.5}`},
		{p + "LoadInt r2 7\nSetFieldInt r1 0 r2", `{"x":7,"y":2.5}`},
		{p + "LoadFloatConst r2 k1\nAddFloat r2 r2 r2\nSetFieldFloat r1 1 r2", `{"x":1,"y":5.0}`},
		{"LoadBool r2 1\nBoxBool r2 r2\nNewTuple r1 r2 1\nFieldBool r2 r1 0\nNot r2 r2\nSetFieldBool r1 0 r2", "[false]"},
		{p + "Field r1 r1 2", "error broken program: operand of Field"},
		{"LoadConst r1 k2\nField r1 r1 0", "error broken program: operand of Field"},
		{"NewVariant r1 r2 0 t2", `"U"`},
		{"LoadConst r2 k0\nNewVariant r1 r2 1 t2", `{"variant":"One","data":1}`},
		{"LoadConst r2 k0\nLoadConst r3 k1\nNewVariant r1 r2 2 t2", `{"variant":"Named","data":{"a":1,"b":2.5}}`},
		{"LoadConst r2 k0\nNewVariant r1 r2 1 t2\nMove r4 r1\nLoadConst r3 k1\nRenewVariant r1 r3 1 t2\nMove r1 r4", `{"variant":"One","data":2.5}`},
		{"LoadConst r2 k0\nNewVariant r1 r2 1 t2\nMove r4 r1\nShare r1\nLoadConst r3 k1\nRenewVariant r1 r3 1 t2\nNewTuple r1 r1 0\nMove r1 r4", `{"variant":"One","data":1}`},
		{"LoadConst r1 k0\nLoadConst r3 k1\nRenewVariant r1 r3 1 t2", `{"variant":"One","data":2.5}`},
		{"LoadConst r2 k0\nLoadConst r3 k1\nNewVariant r1 r2 2 t2\nRenewVariant r1 r3 1 t2", `{"variant":"One","data":2.5}`},
		{"LoadConst r2 k0\nNewVariant r1 r2 1 t2\nVariant r2 r1\nBoxInt r1 r2", "1"},
		{"LoadConst r2 k0\nNewErr r2 r2\nNewOk r1 r2", `{"ok":{"err":1}}`},
		{"LoadNil r2\nWrapSome r1 r2\nWrapSome r1 r1\nUnwrap r1 r1\nIsNil r2 r1\nBoxBool r1 r2", "false"},
		{"LoadNil r2\nWrapSome r1 r2\nUnwrap r1 r1\nIsNil r2 r1\nBoxBool r1 r2", "true"},
		{"LoadConst r2 k2\nLoadConst r3 k2\nNewStruct r1 r2 t3", `{"message":"s","kind":"ToolError","tool":"s"}`},
		{"LoadConst r2 k2\nLoadConst r3 k2\nNewStruct r1 r2 t4", `{"message":"s","kind":"ToolError","tool":""}`}, // of an older version
	} {
		expr(t, c.code, c.want, prepare)
	}
}

// TestCopyBeforeMutation checks copy-on-write. A container that is marked as shared is copied
// before it is mutated, at every step of a path. Its other holder does not see the change.
func TestCopyBeforeMutation(t *testing.T) {
	prepare := func(a *asm) { a.int(1); a.str("k"); a.int(2) }
	// r2 = [[1]], and r3 refers to the same array
	nested := "LoadConst r4 k0\nNewArray r4 r4 1\nNewArray r2 r4 1\nShare r2\nMove r3 r2\nLoadInt r5 0\n"
	for _, c := range []struct{ code, want string }{
		{nested + "Own r2\nOwnElem r6 r2 r5\nLoadConst r7 k2\nArrayPush r6 r7\nNewTuple r1 r2 2", "[[[1,2]],[[1]]]"},
		{nested + "Own r2\nOwnElem r6 r2 r5\nOwnElem r6 r2 r5\nLoadConst r7 k2\nArrayPush r6 r7\nMove r1 r2", "[[1,2]]"},
		{"LoadConst r5 k0\nNewArray r5 r5 1\nNewTuple r2 r5 1\nOwn r2\nOwnField r6 r2 0\nLoadConst r7 k2\nArrayPush r6 r7\nMove r1 r2", "[[1,2]]"},
		{nested + "LoadInt r5 1\nOwn r2\nOwnElem r6 r2 r5\nMove r1 r2", "error index 1 is out of range: the length is 1"},
		// {"k": [1]}
		{"LoadConst r4 k1\nLoadConst r5 k0\nNewArray r5 r5 1\nNewMap r2 r4 1\nShare r2\nMove r3 r2\nOwn r2\nOwnKey r6 r2 r4\nArrayPush r6 r4\nNewTuple r1 r2 2",
			`[{"k":[1,"k"]},{"k":[1]}]`},
		{"LoadConst r4 k1\nNewMap r2 r4 0\nOwnKey r6 r2 r4\nMove r1 r2", `error the map has no key "k"`},
		// ([1],)
		{"LoadConst r5 k0\nNewArray r5 r5 1\nNewTuple r2 r5 1\nShare r2\nMove r3 r2\nOwn r2\nOwnField r6 r2 0\nArrayPush r6 r5\nNewTuple r1 r2 2",
			"[[[1,[1]]],[[1]]]"},
		// a cell
		{"LoadConst r5 k0\nNewArray r5 r5 1\nNewCell r2 r5\nShare r5\nMove r3 r5\nOwnCell r6 r2\nLoadConst r7 k2\nArrayPush r6 r7\nCellGet r2 r2\nNewTuple r1 r2 2", "[[1,2],[1]]"},
		{"LoadConst r2 k0\nShare r2\nOwn r2\nMove r1 r2", "1"},
		{"LoadConst r2 k0\nNewCell r3 r2\nLoadConst r4 k1\nCellSet r3 r4\nCellGet r1 r3", `"k"`},
	} {
		expr(t, c.code, c.want, prepare)
	}
}
