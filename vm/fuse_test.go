package vm

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// TestFusedFaults checks that each part of a fused instruction faults at its own place, and that a
// caller in the trace has the place of its call.
func TestFusedFaults(t *testing.T) {
	consts := func(a *asm) { a.int(-9223372036854775807); a.int(9223372036854775807); a.int(4294967296) }
	for _, c := range []struct {
		code string
		line int
	}{
		{"LoadIntConst r2 k0\nSubIntK r4 r2 5\nCall r3 f1\nReturnNil", 2},
		{"LoadIntConst r2 k1\nLoadInt r3 1\nCall r5 f1\nMulInt r4 r2 r2\nAddInt r4 r4 r3\nReturnNil", 4},
		{"LoadIntConst r2 k1\nLoadInt r3 1\nMulInt r4 r2 r3\nAddInt r5 r4 r3\nReturnNil", 4},
		{"LoadIntConst r2 k2\nLoadIntConst r3 k2\nMulInt r4 r2 r3\nAddInt r5 r3 r4\nReturnNil", 3},
		{"LoadIntConst r6 k1\nSubIntK r4 r6 1\nCall r3 f2\nReturnNil", 2},
	} {
		a := newAsm()
		consts(a)
		a.fn("main() Full 8", c.code)
		a.fn("same(Int) Int 3", "ReturnInt r1")
		a.fn("over(Int) Int 4", "LoadInt r2 7\nAddInt r3 r1 r2\nReturnInt r3")
		if c.code[:18] == "LoadIntConst r2 k1" {
			a.Functions[0].Block = assemble("LoadInt r6 0\n" + c.code) // r6 is Call's argument
			c.line++
		}
		u := a.wantError(t, "integer overflow")
		if u != nil && u.Line != c.line {
			t.Errorf("%s: at line %d, want %d", c.code, u.Line, c.line)
		}
	}
	// the caller of a fused call is at the call, which is line 3
	a := newAsm()
	consts(a)
	a.fn("main() Full 8", "LoadIntConst r6 k1\nSubIntK r4 r6 1\nCall r3 f1\nReturnNil")
	a.fn("over(Int) Int 4", "LoadInt r2 7\nAddInt r3 r1 r2\nReturnInt r3")
	if u := a.wantError(t, "integer overflow"); u != nil && (len(u.Trace) != 2 || u.Trace[0].Line != 2 || u.Trace[1].Line != 3) {
		t.Error(u.Trace)
	}
}

// TestFusionBounds checks that a fusion never crosses a jump target or the edge of a region.
func TestFusionBounds(t *testing.T) {
	a := newAsm()
	a.fn("main() Full 8", `
		LoadInt r1 2
		LoadInt r2 3
		JumpEqIntK r1 5 @add
		MulInt r3 r1 r2
		@add: AddInt r4 r1 r2
		BoxInt r4 r4
		Return r4`)
	a.want(t, "5")
	b := assemble("MulInt r3 r1 r2\n@a: AddInt r4 r3 r2\n@b: ReturnInt r4\n@c: ReturnInt r4\ncatch @a @b @c r5")
	inside := fusable(&b)
	for i := range b.Code {
		if _, n := fuse(b.Code, i, inside); n != 0 {
			t.Errorf("fused %s", b.Code[i])
		}
	}
	if in, n := fuse([]ir.Instr{b.Code[0], b.Code[1]}, 0, []bool{true, true, true}); n != 2 || in.op != opMulAddInt {
		t.Error(in, n)
	}
}

// TestFusedRuns compares a fused instruction with its parts, which run one by one because Count
// disables fusion. The result and the values in the parts' registers must be the same, also in the
// cases that the dispatch loop does not handle. Each part must fault at its own place.
func TestFusedRuns(t *testing.T) {
	const head = "LoadFloatConst r2 k0\nLoadFloatConst r3 k1\nBoxFloat r4 r2\nBoxFloat r5 r3\nNewTuple r6 r4 2\nNewTuple r7 r4 1\n" +
		"LoadConst r4 k2\nLoadConst r5 k3\nNewArray r8 r4 2\nMove r9 r8\nNewArray r8 r8 2\nLoadInt r10 0\nLoadInt r11 1\nLoadInt r12 7\n"
	for _, c := range []struct {
		code string
		line int // line of the error, counted from 0 after head; -1 if no error is expected
	}{
		{"FieldFloat r13 r6 1\nFieldFloat r14 r7 0\nSubFloat r15 r13 r14\nBoxFloat r1 r15\nBoxFloat r2 r13\nBoxFloat r3 r14", -1},
		{"FieldFloat r13 r6 1\nMulFloat r14 r2 r3\nAddFloat r15 r13 r14\nSetFieldFloat r6 1 r15\nField r1 r6 1\nBoxFloat r2 r13\nBoxFloat r3 r14", -1},
		{"FieldFloat r13 r6 0\nMulFloat r14 r3 r3\nSubFloat r15 r13 r14\nSetFieldFloat r6 0 r15\nField r1 r6 0\nBoxFloat r2 r15\nBoxFloat r3 r14", -1},
		{"MulFloat r13 r2 r3\nAddFloat r14 r2 r13\nBoxFloat r1 r14\nBoxFloat r2 r13", -1},
		{"MulFloat r13 r2 r3\nAddFloat r14 r13 r3\nBoxFloat r1 r14\nBoxFloat r2 r13", -1},
		{"ArrayGet r13 r8 r11\nArrayGetInt r14 r13 r10\nBoxInt r1 r14\nMove r2 r13", -1},
		{"ArrayGet r13 r8 r12\nArrayGetInt r14 r13 r10\nBoxInt r1 r14\nLoadNil r2", 0},
		{"ArrayGet r13 r8 r11\nArrayGetFloat r14 r13 r12\nBoxFloat r1 r14\nLoadNil r2", 1},
		{"LoadConst r4 k4\nLoadConst r5 k2\nNewArray r13 r4 2\nNewArray r8 r13 1\nArrayGet r13 r8 r10\nArrayGetInt r14 r13 r11\nBoxInt r1 r14\nMove r2 r13", -1},
		{"ArrayGetInt r13 r9 r11\nAddInt r14 r12 r13\nBoxInt r1 r14\nBoxInt r2 r13", -1},
		{"MoveInt r13 r11\nArrayGetInt r13 r9 r13\nAddInt r13 r13 r12\nBoxInt r1 r13\nLoadNil r2", -1},
		{"ArrayGetInt r13 r9 r12\nAddInt r14 r12 r13\nBoxInt r1 r14\nLoadNil r2", 0},
		{"LoadIntConst r12 k5\nMoveInt r13 r11\nArrayGetInt r13 r9 r13\nAddInt r14 r12 r13\nBoxInt r1 r14\nLoadNil r2", 3},
		{"LoadConst r4 k4\nLoadConst r5 k2\nNewArray r8 r4 2\nArrayGetInt r13 r8 r11\nAddInt r14 r13 r12\nBoxInt r1 r14\nBoxInt r2 r13", -1},
		{"NewTuple r6 r8 2\nField r13 r6 0\nArrayGet r14 r13 r11\nMove r1 r14\nMove r2 r13", -1},
		{"NewTuple r6 r8 2\nField r13 r6 1\nArrayGet r13 r13 r11\nMove r1 r13\nLoadNil r2", -1},
		{"NewTuple r6 r8 2\nField r13 r6 0\nArrayGet r14 r13 r12\nMove r1 r14\nMove r2 r13", 2},
		{"AddInt r13 r12 r11\nRemIntK r12 r13 3\nBoxInt r1 r12\nBoxInt r2 r13", -1},
		{"LoadInt r11 -9\nAddInt r13 r12 r11\nRemIntK r12 r13 3\nBoxInt r1 r12\nBoxInt r2 r13", -1},
		{"LoadIntConst r11 k5\nAddInt r13 r12 r11\nRemIntK r12 r13 3\nBoxInt r1 r12\nLoadNil r2", 1},
		{"NewArray r13 r4 2\nShare r13\nMove r14 r13\nOwn r14\nArrayPush r14 r4\nNewTuple r1 r13 2\nLoadNil r2", -1},
		{"Share r8\nMove r14 r8\nShare r8\nMove r15 r8\nOwn r15\nArrayPush r15 r4\nMove r1 r8\nMove r2 r15", -1},
		{"Share r4\nMove r1 r4\nLoadNil r3\nShare r3\nMove r2 r3", -1},
		{"Call r15 f1\nMove r1 r15\nCall r15 f1\nMove r2 r15", -1},
		{"@top: JumpLtInt r12 r11 @out\nAddIntK r11 r11 2\nLoop @top\n@out: BoxInt r1 r11\nLoadNil r2", -1},
		{"@top: JumpLeInt r12 r11 @out\nAddIntK r11 r11 2\nLoop @top\n@out: BoxInt r1 r11\nLoadNil r2", -1},
	} {
		var got [2]string
		for i, plain := range []bool{false, true} {
			a := newAsm()
			a.float(1.25)
			a.float(-3)
			a.int(4)
			a.int(5)
			a.str("s")
			a.int(9223372036854775807)
			a.fn("main() Full 20", head+c.code+"\nBoxInt r4 r10\nLoadNil r3\nNewTuple r1 r1 2\nReturn r1")
			a.fn("boxed() Full 3", "LoadInt r2 -7\nBoxInt r1 r2\nReturn r1")
			out, err := a.run(t, Config{Count: Counting{Instructions: plain}})
			u, failed := err.(*Uncaught)
			switch {
			case failed && c.line >= 0:
				got[i] = u.Message
				if want := 15 + c.line; u.Line != want {
					t.Errorf("%s (plain %v): at line %d, want %d", c.code, plain, u.Line, want)
				}
			case err != nil || c.line >= 0:
				t.Errorf("%s (plain %v): %v", c.code, plain, err)
			default:
				got[i] = value.Text(out.Value)
			}
		}
		if got[0] != got[1] {
			t.Errorf("%s: fused %s, plain %s", c.code, got[0], got[1])
		}
	}
}
