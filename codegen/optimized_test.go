package codegen_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/ir"
)

// choices returns the sets of passes to test, by name: all passes, each pass alone, and all passes
// but one. The last sets also omit the pass "hot", which restricts other passes to hot functions.
func choices() map[string]optimize.Set {
	out := map[string]optimize.Set{"all": optimize.All}
	for n, p := range optimize.Passes {
		out[p.Name] = optimize.Only(n)
		if out["-"+p.Name], _ = optimize.Parse("-hot,-" + p.Name); out["-"+p.Name] == optimize.None {
			panic("no pass is called hot or " + p.Name)
		}
	}
	return out
}

// TestOptimized runs the archives' programs with each set of passes. It also runs them with
// AlwaysCopy, which makes the machine copy a container at each change. The results must be the
// same.
func TestOptimized(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var text, script string
		for _, f := range txtar.Parse(data).Files {
			switch f.Name {
			case "main.conc":
				text = string(f.Data)
			case "host":
				script = string(f.Data)
			}
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			sameOptimized(t, compiletest.Compile(t, text), script, choices())
		})
	}
}

// sameOptimized checks that a program has the same results with each set of passes as without
// passes.
func sameOptimized(t *testing.T, p *ir.Program, script string, choices map[string]optimize.Set) {
	t.Helper()
	want := ""
	if p.Entry >= 0 {
		want = run(t, p, script, false)
	}
	plain := ir.Encode(p)
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		q, err := ir.Decode(plain)
		if err != nil {
			t.Fatal(err)
		}
		optimize.Program(q, choices[name])
		if err := ir.Verify(q); err != nil {
			t.Errorf("with the passes %s: %v", name, err)
			continue
		}
		if q.Entry < 0 {
			continue
		}
		for _, copies := range []bool{false, true} {
			if got := run(t, q, script, copies); got != want {
				t.Errorf("with the passes %s (AlwaysCopy %v) the program prints\n%swant\n%s", name, copies, got, want)
			}
		}
	}
}
