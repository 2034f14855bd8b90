package parser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// FuzzParse parses any text without a panic. It checks that the nodes of the tree nest, and that
// the diagnostics can be printed. If a text has no diagnostics, its tree must use all ids.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/ok/*.txtar", "testdata/errors/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("%s matches %d files (error %v)", pattern, len(paths), err)
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
	})
}
