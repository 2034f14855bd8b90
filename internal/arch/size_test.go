package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// The maximum numbers of lines, including comments.
const (
	maxFileLines     = 800
	maxFunctionLines = 80
)

// larger lists the files and functions that may exceed a limit, with their individual limit and the
// reason.
var larger = map[string]struct {
	lines  int
	reason string
}{
	"vm/run.go":                             {864, "the dispatch loop and its own helpers"},
	"vm/run.go:run":                         {841, "the dispatch loop is one function, so that its state stays in registers"},
	"internal/testkit/program/kind.go:init": {140, "a table of kinds that refer to one another, which literals cannot"},
}

// TestSizes checks that files and functions that are not generated do not exceed the maximum
// numbers of lines. If a table or literal makes a function too long, declare a variable for it
// instead of splitting the function.
func TestSizes(t *testing.T) {
	randtest.InOneGoroutine(t)
	used := map[string]bool{}
	check := func(what string, lines, most int) {
		if x, ok := larger[what]; ok && lines > most {
			most, used[what] = x.lines, true
		}
		if lines > most {
			t.Errorf("%s has %d lines; the maximum is %d", what, lines, most)
		}
	}
	for name, source := range goFiles(t) {
		if generated.Match(source) {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		line := func(p token.Pos) int { return fset.Position(p).Line }
		check(name, line(f.FileEnd)-1, maxFileLines)
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && !strings.HasSuffix(name, "_test.go") {
				check(name+":"+d.Name.Name, line(d.End())-line(d.Pos())+1, maxFunctionLines)
			}
		}
	}
	for what := range larger {
		if !used[what] {
			t.Errorf("%s no longer exceed the limit: remove them from larger", what)
		}
	}
}

// goFiles reads every Go file of the module, including tests and benchmarks.
func goFiles(t *testing.T) map[string][]byte {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(rel)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 300 {
		t.Fatalf("only %d files were found", len(out))
	}
	return out
}
