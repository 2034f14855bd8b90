package driver

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/ir"
)

const looped = "-- main.conc --\nfn main() { let mut n = 0; for i in 0..9 { n += i; } println(n); }\n"

// TestFailedOptimisationIsUndone checks that Build returns the unoptimised code with a warning if
// an optimisation produces invalid code or panics.
func TestFailedOptimisationIsUndone(t *testing.T) {
	for name, c := range map[string]struct {
		pass func(p *ir.Program, on optimize.Set)
		want string
	}{
		"unset register": {func(p *ir.Program, on optimize.Set) {
			optimize.Program(p, on)
			p.Functions[p.Entry].Code[0] = ir.Instr{Op: ir.OpMove, A: 2, B: 1}
		}, "function 0 (main), @0 Move r2 r1: "},
		"panic": {func(*ir.Program, optimize.Set) { panic("no such register") }, "an optimisation pass failed: no such register"},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := Load(Request{Path: "main.conc", Dir: tree(t, looped)})
			if err != nil {
				t.Fatal(err)
			}
			plain := *in
			plain.Passes = optimize.None
			want, _ := Build(&plain)
			in.passes = c.pass
			p, found := Build(in)
			if p == nil || string(ir.Encode(p)) != string(ir.Encode(want)) {
				t.Error("Build returned optimised code, want the code before the passes")
			}
			if found.Len() != 1 {
				t.Fatalf("Build returned %d diagnostics, want 1", found.Len())
			}
			if d := found.Sorted()[0]; d.Info != diag.Unoptimised || !strings.Contains(d.Message, c.want) || !strings.Contains(d.Hints[0], "please report it") {
				t.Errorf("diagnostic = %s: %s %s, want the warning of a failed optimisation", d.Info.Code, d.Message, d.Hints)
			}
			Strict = true
			defer func() {
				Strict = false
				if recover() == nil {
					t.Error("Build did not panic in strict mode")
				}
			}()
			Build(in)
		})
	}
}

// TestCheckVerifies checks that Check generates and verifies a short program, but not a long one.
func TestCheckVerifies(t *testing.T) {
	for text, verified := range map[string]bool{
		looped: true,
		looped + strings.Repeat("\n", mostVerified): false,
	} {
		in, err := Load(Request{Path: "main.conc", Dir: tree(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		in.generated = func(p *ir.Program) { p.Functions[p.Entry].Code[0] = ir.Instr{Op: ir.OpMove, A: 2, B: 1} }
		stopped := func() (stopped bool) {
			defer func() { stopped = recover() != nil }()
			Check(in)
			return false
		}()
		if stopped != verified {
			t.Errorf("check of %d lines with invalid code: panicked = %v, want %v", strings.Count(text, "\n"), stopped, verified)
		}
	}
}
