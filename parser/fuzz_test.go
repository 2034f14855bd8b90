package parser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// FuzzParse checks that any text parses, without a panic, to a tree whose nodes nest, with
// diagnostics that can be printed. A text without diagnostics uses all ids.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/ok/*.txtar", "testdata/errors/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			a := golden.Open(f, path)
			f.Add(a.Input("main.conc"))
			a.Close()
		}
	}
	seeds, _ := filepath.Glob("testdata/seeds/*.conc")
	for _, path := range seeds {
		if text, err := os.ReadFile(path); err == nil {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := source.NewFile("main.conc", []byte(text))
		file, list := Parse(src)
		checkTree(t, file)
		if list.Len() == 0 {
			checkIDs(t, file)
		}
		for _, d := range list.Sorted() {
			checkDiagnostic(t, src, d)
		}
		if x, _, list := ParseExpr(src); (x == nil) && list.Len() == 0 {
			t.Error("no expression and no diagnostic")
		}
		if fn, _, list := ParseSignature(src); fn == nil && list.Len() == 0 {
			t.Error("no signature and no diagnostic")
		}
	})
}
