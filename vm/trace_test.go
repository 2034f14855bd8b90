package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
