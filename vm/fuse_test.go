package vm

import (
	"testing"

	"github.com/concerto-lang/concerto/ir"
)

// TestFusedFaults: each part of a fused instruction faults at its own place,
// and a caller's place is its call.
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

// TestFusionBounds: nothing is fused across a jump target or a region's edge.
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
