package vm

import (
	"fmt"
	"testing"

	"github.com/concerto-lang/concerto/ir"
)

// anyConsts adds the constants k0, k1, … that the tests of operations on Any use.
func anyConsts(a *asm) {
	a.int(7)
	a.float(2)
	a.str("a")
	a.str("b")
	a.str("message")
	a.str("kind")
	a.str("source")
	a.int(0)
	intType := a.typ(ir.TypeInfo{Kind: "int"})
	floatType := a.typ(ir.TypeInfo{Kind: "float"})
	a.typ(ir.TypeInfo{Kind: "struct", Name: "P", Fields: []ir.FieldInfo{{Name: "a", Type: intType}}})
	a.typ(ir.TypeInfo{Kind: "schema", Name: "S", Fields: []ir.FieldInfo{{Name: "a", Type: floatType}, {Name: "b", Type: intType, Optional: true}}})
	a.typ(ir.TypeInfo{Kind: "error"})
	a.typ(ir.TypeInfo{Kind: "error", Name: "RuntimeError", Fields: []ir.FieldInfo{{Name: "message", Type: intType}}})
	a.typ(ir.TypeInfo{Kind: "tuple", Args: []int{intType, intType}})
	a.typ(ir.TypeInfo{Kind: "union", Values: []string{"a", "c"}})
}

const (
	anyMap   = "LoadConst r5 k2\nLoadConst r6 k0\nNewMap r2 r5 1\n"         // {"a":7}
	anyArray = "LoadConst r5 k0\nLoadConst r6 k2\nNewArray r2 r5 2\n"       // [7,"a"]
	anyTuple = anyArray + "LoadConst r5 k0\nMove r6 r2\nNewTuple r2 r5 2\n" // (7, [7,"a"])
	anyP     = "LoadConst r5 k0\nNewStruct r2 r5 t2\n"                      // P{a:7}
)

func TestAnyOperators(t *testing.T) {
	for _, c := range []struct {
		x, y string
		op   ir.AnyOp
		want string
	}{
		{"k0", "k0", ir.AnyAdd, "14"}, {"k0", "k1", ir.AnyAdd, "9.0"}, {"k2", "k3", ir.AnyAdd, `"ab"`},
		{"k0", "k1", ir.AnySub, "5.0"}, {"k0", "k0", ir.AnySub, "0"}, {"k0", "k0", ir.AnyMul, "49"}, {"k1", "k0", ir.AnyMul, "14.0"},
		{"k0", "k1", ir.AnyDiv, "3.5"}, {"k0", "k0", ir.AnyDiv, "1"}, {"k0", "k7", ir.AnyDiv, "error division by zero"},
		{"k0", "k1", ir.AnyRem, "1.0"}, {"k0", "k7", ir.AnyRem, "error remainder by zero"},
		{"k0", "k1", ir.AnyLt, "false"}, {"k1", "k0", ir.AnyLe, "true"}, {"k2", "k3", ir.AnyGt, "false"}, {"k0", "k0", ir.AnyGe, "true"},
		{"k0", "k2", ir.AnyAdd, `error cannot apply + to Int 7 and String "a"`},
		{"k2", "k0", ir.AnyLt, `error cannot apply < to String "a" and Int 7`},
	} {
		expr(t, fmt.Sprintf("LoadConst r2 %s\nLoadConst r3 %s\nAnyBinary r1 r2 r3 %d", c.x, c.y, c.op), c.want, anyConsts)
	}
	for _, c := range []struct{ code, want string }{
		{anyArray + "AnyBinary r1 r2 r2 0", `[7,"a",7,"a"]`},
		{"LoadConst r2 k0\nAnyNeg r1 r2", "-7"}, {"LoadConst r2 k1\nAnyNeg r1 r2", "-2.0"},
		{"LoadConst r2 k2\nAnyNeg r1 r2", `error cannot negate String "a"`},
		{"LoadBool r2 1\nBoxBool r2 r2\nAnyBool r3 r2\nBoxBool r1 r3", "true"},
		{"LoadNil r2\nAnyBool r3 r2\nBoxBool r1 r3", "error expected a Bool, got nil"},
	} {
		expr(t, c.code, c.want, anyConsts)
	}
}

func TestAnyMembers(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{anyMap + "AnyField r1 r2 k2", "7"}, {anyMap + "AnyField r1 r2 k3", "null"},
		{anyP + "AnyField r1 r2 k2", "7"}, {anyP + "AnyField r1 r2 k3", "error P has no member b"},
		{"LoadNil r2\nAnyField r1 r2 k2", "error nil has no member a"},
		{"LoadConst r2 k0\nAnyField r1 r2 k2", "error Int has no member a"},
		{anyMap + "AnyIndex r1 r2 r5", "7"}, {anyMap + "AnyIndex r1 r2 r6", "error the map has no key 7"},
		{anyMap + "LoadNil r6\nAnyIndex r1 r2 r6", "error nil cannot be a key: keys must be Strings, Ints or Bools"},
		{anyArray + "LoadConst r3 k7\nAnyIndex r1 r2 r3", "7"}, {anyArray + "AnyIndex r1 r2 r5", "error index 7 is out of range: the length is 2"},
		{anyArray + "AnyIndex r1 r2 r6", `error an index must be an Int, not String "a"`},
		{"LoadConst r2 k2\nLoadConst r3 k7\nAnyIndex r1 r2 r3", `"a"`}, {"LoadConst r2 k2\nLoadConst r3 k0\nAnyIndex r1 r2 r3", "error index 7 is out of range: the length is 1"},
		{"LoadConst r2 k0\nAnyIndex r1 r2 r2", "error cannot index Int 7"},
		{anyTuple + "LoadConst r3 k7\nAnyIndex r1 r2 r3", "7"}, {anyTuple + "LoadConst r3 k0\nAnyIndex r1 r2 r3", "error index 7 is out of range: the length is 2"},
		{anyTuple + "LoadConst r3 k7\nAnySetIndex r2 r3 r3\nMove r1 r2", `[0,[7,"a"]]`},
		{anyTuple + "Share r2\nMove r6 r2\nOwn r2\nLoadInt r4 1\nBoxInt r4 r4\nAnyOwnIndex r5 r2 r4\nArrayPush r5 r4\nMove r7 r2\nNewTuple r1 r6 2", `[[7,[7,"a"]],[7,[7,"a",1]]]`},
		{anyArray + "LoadInt r3 0\nLoadInt r4 1\nNewRange r3 r3 r4 0\nAnyIndex r1 r2 r3", "[7]"},
		{anyP + "LoadConst r3 k7\nAnySetField r2 k2 r3\nMove r1 r2", `{"a":0}`},
		{anyP + "LoadConst r3 k2\nAnySetField r2 k2 r3\nMove r1 r2", `error field a: expected Int, got "a"`},
		{anyP + "AnySetField r2 k3 r2\nMove r1 r2", "error P has no field b"},
		{anyMap + "AnySetField r2 k3 r2\nMove r1 r2", `error set a map's entry with m["b"] = …`},
		{anyMap + "AnySetIndex r2 r6 r6\nMove r1 r2", `{"a":7,"7":7}`},
		{anyArray + "LoadConst r3 k7\nAnySetIndex r2 r3 r6\nMove r1 r2", `["a","a"]`},
		{anyArray + "AnySetIndex r2 r5 r6\nMove r1 r2", "error index 7 is out of range: the length is 2"},
		{"LoadConst r2 k0\nAnySetIndex r2 r2 r2\nMove r1 r2", "error cannot assign to an element of Int 7"},
		{anyMap + "Share r2\nMove r3 r2\nOwn r2\nAnyOwnField r4 r2 k2\nMove r1 r4", "7"},
		{anyP + "AnyOwnField r1 r2 k2", "7"}, {anyArray + "AnyOwnField r1 r2 k2", "error Array has no member a"},
		{anyArray + "NewArray r2 r2 1\nLoadConst r3 k7\nAnyOwnIndex r4 r2 r3\nArrayPush r4 r3\nMove r1 r2", `[[7,"a",0]]`},
		{anyMap + "AnyOwnIndex r1 r2 r5", "7"}, {"LoadConst r2 k0\nAnyOwnIndex r1 r2 r2", "error cannot index Int 7"},
		{"LoadConst r2 k2\nErrorField r3 r2 k4\nErrorField r4 r2 k5\nErrorField r5 r2 k6\nNewTuple r1 r3 3", `["a","String",null]`},
	} {
		expr(t, c.code, c.want, anyConsts)
	}
}

func TestCheckAndIsType(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"LoadConst r2 k0\nCheck r1 r2 t1", "7.0"},
		{"LoadConst r2 k1\nCheck r1 r2 t0", "error expected Int, got 2.0"},
		{anyMap + "Check r1 r2 t3", `{"a":7.0}`},
		{"LoadConst r2 k2\nCheck r1 r2 t7", `"a"`},
		{"LoadConst r2 k3\nCheck r1 r2 t7", `error expected one of "a" | "c", got "b"`},
		{anyArray + "Check r1 r2 t6", `error this is not (Int, Int): [1]: expected Int, got "a"`},
		{"NewMap r2 r2 0\nCheck r1 r2 t3", "error a: missing, expected Float"},
		{"LoadConst r2 k0\nIsType r3 r2 t0\nBoxBool r1 r3", "true"}, {"LoadConst r2 k0\nIsType r3 r2 t1\nBoxBool r1 r3", "false"},
		{"LoadConst r2 k0\nIsType r3 r2 t4\nBoxBool r1 r3", "true"}, {"LoadConst r2 k0\nIsType r3 r2 t5\nBoxBool r1 r3", "false"},
		{anyP + "IsType r3 r2 t2\nBoxBool r1 r3", "true"}, {anyP + "IsType r3 r2 t3\nBoxBool r1 r3", "false"},
		{"LoadConst r5 k0\nLoadConst r6 k0\nNewTuple r2 r5 2\nIsType r3 r2 t6\nBoxBool r1 r3", "true"},
		{"LoadConst r5 k0\nLoadConst r6 k2\nNewTuple r2 r5 2\nIsType r3 r2 t6\nBoxBool r1 r3", "false"},
		{"LoadConst r2 k3\nIsType r3 r2 t7\nBoxBool r1 r3", "false"},
	} {
		expr(t, c.code, c.want, anyConsts)
	}
	a := newAsm()
	anyConsts(a)
	a.fn("main() Full 4", "NewMap r2 r2 0\nCheck r1 r2 t3\nReturn r1")
	if u := a.wantError(t, "a: missing, expected Float"); u != nil && u.Kind != "SchemaError" {
		t.Error(u.Kind)
	}
}
