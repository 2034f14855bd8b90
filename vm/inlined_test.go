package vm

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ir"
)

// TestInlinedTrace checks that an error inside inlined calls has the same trace as without
// inlining. The same applies to an error in a function that inlined code calls.
func TestInlinedTrace(t *testing.T) {
	a := newAsm()
	a.str("boom")
	a.fn("main() Full 6", "LoadNil r1\nCall r2 f3\nFault k0")
	a.fn("outer() Full 2", "ReturnNil")
	a.fn("inner() Full 2", "ReturnNil")
	a.fn("thrower() Full 2", "Fault k0")
	a.Functions[0].Inlined = []ir.Inlined{{From: 1, To: 2, Function: 2, Line: 8, Column: 1}, {From: 0, To: 2, Function: 1, Line: 9, Column: 1}}
	a.Entry = 0
	trace := func(want string) {
		t.Helper()
		u := a.wantError(t, "boom")
		if u == nil {
			return
		}
		var got []string
		for _, p := range u.Trace {
			got = append(got, p.Function+":"+string(rune('0'+p.Line)))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("got %s, want %s", s, want)
		}
	}
	trace("thrower:1 inner:2 outer:8 main:9")
	a.Functions[0].Code[1] = ir.Instr{Op: ir.OpFault}
	trace("inner:2 outer:8 main:9")
	a.Functions[0].Code[0], a.Functions[0].Code[1] = ir.Instr{Op: ir.OpFault}, ir.Instr{Op: ir.OpFault}
	trace("outer:1 main:9")
	a.Functions[0].Code[0], a.Functions[0].Code[1] = ir.Instr{Op: ir.OpLoadNil, A: 1}, ir.Instr{Op: ir.OpLoadNil, A: 1}
	trace("main:3")
}
