// Package repair applies the fixes of diagnostics. It selects the fixes that can be applied
// together and returns the resulting texts. It reads and writes no files.
package repair

import (
	"cmp"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// Change contains the edits that fixes make in a file.
type Change struct {
	File  *source.File
	Edits []diag.Edit // in the order of the text, without overlaps
	Fixes int
}

// Safe returns the changes of the safe fixes in found that can be applied together. If two fixes
// overlap, or replace different names with the same name, it applies only the first. The next check
// may report the other again. The changes are in the order of the file names.
func Safe(found []*diag.Diagnostic) []*Change {
	var all []*Change
	instead := map[string]string{} // replaced name by its replacement
	for _, d := range found {
		for _, f := range d.Fixes {
			if f.Safe {
				if !merges(d.File, f, instead) {
					all = add(all, d.File, f)
				}
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b *Change) int { return cmp.Compare(a.File.Name, b.File.Name) })
	return all
}

// merges reports whether a fix replaces a name with a name that replaces a different name
// elsewhere. Two declarations could then have the same name. merges adds the replacements of the
// fix to instead.
func merges(own *source.File, f diag.Fix, instead map[string]string) bool {
	for _, e := range f.Edits {
		if e.Text == "" || e.Span.Start == e.Span.End {
			continue
		}
		was := cmp.Or(e.File, own).Slice(e.Span)
		if before, ok := instead[e.Text]; ok && before != was {
			return true
		}
		instead[e.Text] = was
	}
	return false
}

// add adds a fix to the changes, unless one of its edits overlaps an edit in them.
func add(all []*Change, own *source.File, f diag.Fix) []*Change {
	touched := map[*Change][]diag.Edit{}
	for _, e := range f.Edits {
		file := cmp.Or(e.File, own)
		i := slices.IndexFunc(all, func(c *Change) bool { return c.File.Name == file.Name })
		if i < 0 {
			i = len(all)
			all = append(all, &Change{File: file})
		}
		touched[all[i]] = append(touched[all[i]], e)
	}
	both := map[*Change][]diag.Edit{}
	for c, edits := range touched {
		merged, apart := Merge(c.Edits, edits)
		if !apart {
			return slices.DeleteFunc(all, func(c *Change) bool { return c.Fixes == 0 })
		}
		both[c] = merged
	}
	for c, edits := range both {
		c.Edits = edits
		c.Fixes++
	}
	return all
}

// Merge returns the edits of two fixes of a file in the order of the text. apart is false if the
// fixes overlap and cannot be applied together.
func Merge(a, b []diag.Edit) (edits []diag.Edit, apart bool) {
	for _, x := range a {
		if slices.ContainsFunc(b, func(y diag.Edit) bool { return overlap(x.Span, y.Span) }) {
			return nil, false
		}
	}
	edits = append(slices.Clone(a), b...)
	slices.SortFunc(edits, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return edits, true
}

// overlap reports whether two edits cannot be applied together, because they change the same text
// or their order is undetermined.
func overlap(a, b source.Span) bool {
	return a.Start < b.End && b.Start < a.End || a.Start == b.Start || a.Start == a.End && (a.Start == b.End) || b.Start == b.End && b.Start == a.End
}

// Apply applies edits, which are in the order of the text, to the original text of f, and returns
// the result.
func Apply(f *source.File, edits []diag.Edit) []byte { return apply(f.Original(), edits) }

// Show applies edits like Apply does, for a text that is shown to users: secrets that f hides stay
// hidden.
func Show(f *source.File, edits []diag.Edit) []byte { return apply(f.Text, edits) }

func apply(text []byte, edits []diag.Edit) (out []byte) {
	at := source.Pos(0)
	for _, e := range edits {
		out = append(append(out, text[at:e.Span.Start]...), e.Text...)
		at = e.Span.End
	}
	return append(out, text[at:]...)
}

// Diff returns a unified diff between two versions of a file, or nil if they are equal.
func Diff(name string, was, is []byte) []byte { return diff.Diff("a/"+name, was, "b/"+name, is) }

// Worse reports whether the new version of a source file has more syntax errors than the old one.
func Worse(was, is *source.File) bool { return syntaxErrors(is) > syntaxErrors(was) }

func syntaxErrors(f *source.File) (n int) {
	_, found := parser.Parse(f)
	for _, d := range found.Sorted() {
		if d.Severity() == diag.Error {
			n++
		}
	}
	return n
}
