package vm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/ir"
)

// TestTraceOmitsLibraryCalls checks that the trace for a user omits the calls within the library,
// except the function that the program calls.
func TestTraceOmitsLibraryCalls(t *testing.T) {
	own := func(name string) Place { return Place{Function: name, Text: "its file"} }
	lib := func(name string) Place { return Place{Function: name} }
	cycle := func(n int, p Place) Place {
		p.Cycle, p.Times = n, 5
		return p
	}
	main := own("main")
	for _, c := range []struct {
		name        string
		trace, want []Place
	}{
		{"the program's own", []Place{own("f"), main}, []Place{own("f"), main}},
		{"the library's for itself", []Place{lib("inner"), lib("sort"), main}, []Place{lib("sort"), main}},
		{"one call into the library", []Place{lib("sort"), main}, []Place{lib("sort"), main}},
		{"a closure that the library calls", []Place{own("closure"), lib("inner"), lib("map"), main}, []Place{own("closure"), lib("map"), main}},
		{"what nobody can have called", []Place{lib("__order"), main}, []Place{main}},
		{"nothing but that", []Place{lib("__order")}, []Place{lib("__order")}},
		{"calls that are left out", []Place{own("f"), {Left: 3}, main}, []Place{own("f"), {Left: 3}, main}},
		{"behind the library", []Place{lib("sort"), {Left: 3}, main}, []Place{lib("sort"), {Left: 3}, main}},
		{"a cycle", []Place{cycle(2, own("f")), own("g"), main}, []Place{cycle(2, own("f")), own("g"), main}},
		{"a cycle through the library", []Place{cycle(3, own("f")), lib("inner"), lib("map"), main}, []Place{cycle(2, own("f")), lib("map"), main}},
		{"a cycle that begins in it", []Place{cycle(3, lib("inner")), lib("map"), own("f"), main}, []Place{{Function: "map", Cycle: 2}, own("f"), main}},
	} {
		if diff := cmp.Diff(c.want, userView(c.trace)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

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
