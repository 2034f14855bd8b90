package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/seeds"
)

// reference is how the guides name what stands in a file: `sema/stmt.go:let`.
var reference = regexp.MustCompile("`([a-zA-Z0-9_./-]+\\.(?:go|conc))(?::([A-Za-z0-9_]+))?`")

// TestGuides checks the references in the guides for newcomers: each file
// exists, and declares the names that the guide says it does.
func TestGuides(t *testing.T) {
	seeds.InOneGoroutine(t)
	root := filepath.Join("..", "..")
	named := 0
	for _, guide := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join(root, guide))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range reference.FindAllStringSubmatch(string(text), -1) {
			file, name := m[1], m[2]
			if strings.Contains(file, "NAME") || !strings.Contains(file, "/") && name == "" {
				continue // one that is yet to be written, or whose place is clear from the sentence
			}
			source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
			if err != nil {
				t.Errorf("%s speaks of %s, which is not there", guide, file)
				continue
			}
			if name == "" {
				continue
			}
			named++
			if !declares(t, file, source, name) {
				t.Errorf("%s speaks of %s in %s, which is not declared there", guide, name, file)
			}
		}
	}
	if named < 15 {
		t.Errorf("only %d references were found: has their form changed?", named)
	}
}

// declares says whether a source file declares a name at its top level: a
// function, a method of any type, a type, a value.
func declares(t *testing.T, name string, source []byte, want string) bool {
	t.Helper()
	if strings.HasSuffix(name, ".conc") {
		return regexp.MustCompile(`\b(fn|struct|enum|trait) ` + want + `\b`).Match(source)
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == want {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.Name == want {
						return true
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.Name == want {
							return true
						}
					}
				}
			}
		}
	}
	return false
}
