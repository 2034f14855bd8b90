package parser

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Archives of valid programs contain the tree, those of wrong ones the rendered diagnostics.
func TestTrees(t *testing.T) {
	golden.Run(t, "testdata/ok/*.txtar", func(t *testing.T, a *golden.Archive) {
		f := source.NewFile("main.conc", []byte(a.Input("main.conc")))
		file, list := Parse(f)
		if list.Len() > 0 {
			t.Fatalf("diagnostics:\n%s", render(list.Sorted()))
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
			t.Error("no diagnostics")
		}
		a.Check("diagnostics", render(list.Sorted()))
	})
}

// Archives of incomplete programs contain the resulting tree and the diagnostics.
func TestBroken(t *testing.T) {
	golden.Run(t, "testdata/broken/*.txtar", func(t *testing.T, a *golden.Archive) {
		f := source.NewFile("main.conc", []byte(a.Input("main.conc")))
		file, list := Parse(f)
		checkTree(t, file)
		if len(file.Flaws) == 0 {
			t.Error("no flaws")
		}
		var b strings.Builder
		if err := ast.Dump(&b, file); err != nil {
			t.Fatal(err)
		}
		a.Check("ast", b.String())
		a.Check("diagnostics", render(list.Sorted()))
	})
}
