package spec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestJournalKindsAreDescribed checks that the chapter about journals describes each kind of
// record.
func TestJournalKindsAreDescribed(t *testing.T) {
	chapter, err := os.ReadFile("journal.md")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "../internal/record/journal/record.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "K") {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		kinds++
		if kind, err := strconv.Unquote(lit.Value); err != nil || !strings.Contains(string(chapter), "\n| `"+kind+"` |") {
			t.Errorf("spec/journal.md does not describe the kind %s (%s)", lit.Value, spec.Names[0].Name)
		}
		return true
	})
	if kinds < 10 {
		t.Errorf("number of kinds of records = %d, want at least 10", kinds)
	}
}
