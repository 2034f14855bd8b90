package repair

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

var info = &diag.Info{Code: "E9999"}

// found returns a diagnostic with one safe fix.
func found(f *source.File, edits ...diag.Edit) *diag.Diagnostic {
	return info.At(source.Span{}, "x").In(f).Repair(diag.Fix{Title: "x", Safe: true, Edits: edits}, "x")
}

func span(start, end source.Pos) source.Span { return source.Span{Start: start, End: end} }

func TestSafeFixes(t *testing.T) {
	f, g := source.NewFile("f.conc", []byte("0123456789")), source.NewFile("e.conc", []byte("abc"))
	unsafe := info.At(source.Span{}, "x").In(f).Repair(diag.Fix{Title: "x", Edits: []diag.Edit{diag.Insert(0, "!")}}, "x")
	for name, c := range map[string]struct {
		found []*diag.Diagnostic
		want  map[string]string
		fixes int
	}{
		"none":                          {nil, nil, 0},
		"not safe":                      {[]*diag.Diagnostic{unsafe}, nil, 0},
		"in any order":                  {[]*diag.Diagnostic{found(f, diag.Insert(9, "b")), found(f, diag.Insert(1, "a"))}, map[string]string{"f.conc": "0a12345678b9"}, 2},
		"side by side":                  {[]*diag.Diagnostic{found(f, diag.Replace(span(0, 2), "x")), found(f, diag.Replace(span(2, 4), "y"))}, map[string]string{"f.conc": "xy456789"}, 2},
		"the first of two that overlap": {[]*diag.Diagnostic{found(f, diag.Remove(span(2, 5))), found(f, diag.Remove(span(4, 8)))}, map[string]string{"f.conc": "0156789"}, 1},
		"the same twice":                {[]*diag.Diagnostic{found(f, diag.Insert(3, "x")), found(f, diag.Insert(3, "x"))}, map[string]string{"f.conc": "012x3456789"}, 1},
		"an insertion at an edge":       {[]*diag.Diagnostic{found(f, diag.Remove(span(2, 5))), found(f, diag.Insert(5, "x"))}, map[string]string{"f.conc": "0156789"}, 1},
		"all edits of a fix, or none":   {[]*diag.Diagnostic{found(f, diag.Insert(3, "x")), found(f, diag.Insert(1, "y"), diag.Insert(3, "y"))}, map[string]string{"f.conc": "012x3456789"}, 1},
		"two files, in the order of names": {[]*diag.Diagnostic{found(f, diag.Insert(0, "x"), diag.Edit{File: g, Span: span(1, 2)})},
			map[string]string{"e.conc": "ac", "f.conc": "x0123456789"}, 2},
		"none of one that overlaps in another file": {[]*diag.Diagnostic{found(g, diag.Insert(1, "x")), found(f, diag.Insert(0, "y"), diag.Edit{File: g, Span: span(0, 2)})},
			map[string]string{"e.conc": "axbc"}, 1},
	} {
		got, fixes, last := map[string]string{}, 0, ""
		for _, x := range Safe(c.found) {
			if x.File.Name < last {
				t.Errorf("%s: the change of %s comes after that of %s", name, x.File.Name, last)
			}
			last = x.File.Name
			got[last] = string(Apply(x.File, x.Edits))
			fixes += x.Fixes
		}
		if len(got) != len(c.want) || fixes != c.fixes {
			t.Errorf("%s: %d fixes produce %v, want %d and %v", name, fixes, got, c.fixes, c.want)
		}
		for file, want := range c.want {
			if got[file] != want {
				t.Errorf("%s: text of %s = %q, want %q", name, file, got[file], want)
			}
		}
	}
}

func TestFixThatAddsErrors(t *testing.T) {
	for _, c := range []struct {
		was, is string
		worse   bool
	}{
		{"fn main() { f() }", "fn main() { f(); }", false},
		{"fn main() { f( }", "fn main() { f() }", false},
		{"fn main() { f() }", "fn main() { f( }", true},
	} {
		if got := Worse(source.NewFile("a.conc", []byte(c.was)), source.NewFile("a.conc", []byte(c.is))); got != c.worse {
			t.Errorf("Worse(%q, %q) = %v", c.was, c.is, got)
		}
	}
}
