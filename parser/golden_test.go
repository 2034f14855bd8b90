package parser

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestGoldenTrees compares the tree of each valid program, and the rendered diagnostics of each
// invalid program, with the golden archives.
func TestGoldenTrees(t *testing.T) {
	golden.Run(t, "testdata/ok/*.txtar", func(t *testing.T, a *golden.Archive) {
		f := source.NewFile("main.conc", []byte(a.Input("main.conc")))
		file, list := Parse(f)
		if list.Len() > 0 {
			t.Fatalf("a valid program has diagnostics:\n%s", render(list.Sorted()))
		}
		checkTree(t, file)
		checkIDs(t, file)
		var b strings.Builder
		if err := ast.Dump(&b, file); err != nil {
			t.Fatal(err)
		}
		a.Check("ast", b.String())
	})
}

func TestErrors(t *testing.T) {
	golden.Run(t, "testdata/errors/*.txtar", func(t *testing.T, a *golden.Archive) {
		f := source.NewFile("main.conc", []byte(a.Input("main.conc")))
		file, list := Parse(f)
		checkTree(t, file)
		for _, d := range list.Sorted() {
			checkDiagnostic(t, f, d)
		}
		if list.Len() == 0 {
			t.Error("a program with syntax errors has no diagnostics")
		}
		a.Check("diagnostics", render(list.Sorted()))
	})
}

// TestGoldenBroken compares the tree and the diagnostics of each incomplete program with the golden
// archives.
func TestGoldenBroken(t *testing.T) {
	golden.Run(t, "testdata/broken/*.txtar", func(t *testing.T, a *golden.Archive) {
		f := source.NewFile("main.conc", []byte(a.Input("main.conc")))
		file, list := Parse(f)
		checkTree(t, file)
		if len(file.Flaws) == 0 {
			t.Error("the tree of an incomplete program has no flaws")
		}
		var b strings.Builder
		if err := ast.Dump(&b, file); err != nil {
			t.Fatal(err)
		}
		a.Check("ast", b.String())
		a.Check("diagnostics", render(list.Sorted()))
	})
}
