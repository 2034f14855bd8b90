// Package repair makes the fixes that diagnostics bring: it picks those that can be made together,
// and returns the texts that come of them. It reads and writes no files.
package repair

import (
	"cmp"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// Change is what fixes do to a file.
type Change struct {
	File  *source.File
	Edits []diag.Edit // in the order of the text; none overlaps another
	Fixes int
}

// Safe picks the safe fixes of what was found that can be made in one pass. Of two that overlap, or
// that write the same name in place of different ones, it takes the first; the other is found again
// after the first is made, if it is safe still. The files are in the order of their names.
func Safe(found []*diag.Diagnostic) []*Change {
	var all []*Change
	instead := map[string]string{} // what names are replaced by, and the name that was there
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

// merges reports whether a fix writes a name that another fix writes in place of a different one:
// after both, two things would have one name. It notes the names that the fix replaces.
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

// add makes a fix part of changes, unless one of its edits overlaps what is part of them.
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

// Merge returns the edits of two fixes of one file in the order of the text; apart is false when
// they cannot be made together.
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

// overlap reports whether two edits cannot be applied together: they share text, or their order is
// undetermined.
func overlap(a, b source.Span) bool {
	return a.Start < b.End && b.Start < a.End || a.Start == b.Start || a.Start == a.End && (a.Start == b.End) || b.Start == b.End && b.Start == a.End
}

// Apply returns the text of f as it was read with edits made, which are in the order of the text.
func Apply(f *source.File, edits []diag.Edit) []byte { return apply(f.Original(), edits) }

// Show is Apply for a text that people see: what f hides is hidden.
func Show(f *source.File, edits []diag.Edit) []byte { return apply(f.Text, edits) }

func apply(text []byte, edits []diag.Edit) (out []byte) {
	at := source.Pos(0)
	for _, e := range edits {
		out = append(append(out, text[at:e.Span.Start]...), e.Text...)
		at = e.Span.End
	}
	return append(out, text[at:]...)
}

// Diff is a unified diff of a file before and after; nil when nothing is different.
func Diff(name string, was, is []byte) []byte { return diff.Diff("a/"+name, was, "b/"+name, is) }

// Worse reports whether a source file has more syntax errors than before.
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
