package driver

import (
	"go/token"
	"slices"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// TestSuggestedNamesExist checks that each name exists that the table of names from other languages
// suggests.
func TestSuggestedNamesExist(t *testing.T) {
	var keys []string
	for _, k := range manifest.Keys() {
		keys = append(keys, k.Name())
	}
	want := map[foreign.Place][]string{
		foreign.Member:    methods(t),
		foreign.Decorator: sema.Decorators(),
		foreign.Manifest:  keys,
		foreign.Type:      {"Nil", "String", "Int", "Float", "Bool", "Array", "Map", "Any", "Option", "Result", "Task", "Error", "Never", "Self"},
		foreign.Value:     append(stdlib.Library().Names(), "nil", "true", "false", "self", "Some", "Ok", "Err"),
	}
	for _, r := range foreign.Rows() {
		names, known := want[r.Place]
		for _, ours := range r.Ours {
			switch r.Place {
			case foreign.Declaration, foreign.Start, foreign.Between:
				if token.IsIdentifier(ours) && !reserved(ours) && !slices.Contains(want[foreign.Value], ours) {
					t.Errorf("the suggested name `%s` is neither reserved nor a declared value", ours)
				}
			default:
				if known && !slices.Contains(names, ours) {
					t.Errorf("the suggested name `%s` for place %s does not exist", ours, r.Place)
				}
			}
		}
	}
}

// methods returns the names of the library's methods.
func methods(t *testing.T) (names []string) {
	t.Helper()
	for _, typ := range []string{"Int", "Float", "Bool", "String", "Array", "Map", "Option", "Result", "Range", "Error", "Task", "Memory",
		"HashMap", "Ledger", "Agent", "Host", "Tool", "Any"} {
		names = append(names, declared(stdlib.Library().Methods(typ, ""))...)
	}
	names = append(names, declared(stdlib.Library().Module("collections"))...)
	if len(names) < 150 {
		t.Fatalf("found %d methods, want at least 150", len(names))
	}
	return names
}

func declared(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		if im, ok := d.(*ast.ImplDecl); ok {
			for _, m := range im.Methods {
				names = append(names, m.Name.Name)
			}
		}
	}
	return names
}

// reserved reports whether a program cannot use a word as a name.
func reserved(word string) bool {
	in := &Input{Entry: source.NewFile("word.conc", []byte("fn "+word+"() { }"))}
	_, found := Parse(in)
	return found.HasErrors()
}
