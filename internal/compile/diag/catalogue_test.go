package diag

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestCatalogue checks that the catalogue lists every definition exactly once.
func TestCatalogue(t *testing.T) {
	defined, listed := map[string]bool{}, map[string]int{}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	collect := func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		switch x := v.Values[0].(type) {
		case *ast.UnaryExpr:
			if lit, ok := x.X.(*ast.CompositeLit); ok {
				if name, ok := lit.Type.(*ast.Ident); ok && name.Name == "Info" {
					defined[v.Names[0].Name] = true
				}
			}
		case *ast.CompositeLit:
			if v.Names[0].Name == "catalogue" {
				for _, e := range x.Elts {
					listed[e.(*ast.Ident).Name]++
				}
			}
		}
		return true
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, collect)
	}
	if len(defined) < 100 {
		t.Fatalf("number of definitions = %d, want at least 100", len(defined))
	}
	for name := range defined {
		if listed[name] != 1 {
			t.Errorf("number of entries of %s in the catalogue = %d, want 1", name, listed[name])
		}
	}
	codes := map[string]bool{}
	for _, i := range Catalogue() {
		if codes[i.Code] {
			t.Errorf("code %s has two definitions", i.Code)
		}
		codes[i.Code] = true
	}
}

// TestNoise checks that each entry states after which syntax errors it is noise.
func TestNoise(t *testing.T) {
	for _, i := range Catalogue() {
		switch {
		case i.Noise == 0:
			t.Errorf("%s (%s) has no Noise: state after which syntax errors the checker omits it, or NotNoise", i.Code, i.Title)
		case i.Noise.Has(NotNoise) && i.Noise != NotNoise:
			t.Errorf("%s (%s) has NotNoise together with other reasons", i.Code, i.Title)
		}
	}
}
