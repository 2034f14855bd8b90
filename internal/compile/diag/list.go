package diag

import (
	"cmp"
	"slices"
)

// List collects diagnostics. The zero List is empty and ready to use. It is not safe for concurrent
// use.
type List struct {
	all []*Diagnostic
}

// Add appends d.
func (l *List) Add(d *Diagnostic) { l.all = append(l.all, d) }

// Append appends all diagnostics of m.
func (l *List) Append(m List) { l.all = append(l.all, m.all...) }

// Len returns the number of diagnostics, errors and warnings.
func (l *List) Len() int { return len(l.all) }

// HasErrors reports whether the list contains an error.
func (l *List) HasErrors() bool {
	return slices.ContainsFunc(l.all, func(d *Diagnostic) bool { return d.Severity() == Error })
}

// Errors returns the number of errors.
func (l *List) Errors() int {
	n := 0
	for _, d := range l.all {
		if d.Severity() == Error {
			n++
		}
	}
	return n
}

// Since returns the diagnostics after the first n.
func (l *List) Since(n int) []*Diagnostic { return l.all[n:] }

// Truncate removes all but the first n diagnostics.
func (l *List) Truncate(n int) { l.all = slices.Delete(l.all, n, len(l.all)) }

// Remove removes the diagnostics for which drop returns true.
func (l *List) Remove(drop func(*Diagnostic) bool) { l.all = slices.DeleteFunc(l.all, drop) }

// Sorted returns the diagnostics sorted by file, position and code, without duplicates.
func (l *List) Sorted() []*Diagnostic {
	out := slices.Clone(l.all)
	slices.SortStableFunc(out, func(a, b *Diagnostic) int {
		return cmp.Or(cmp.Compare(fileName(a), fileName(b)), cmp.Compare(a.Span.Start, b.Span.Start),
			cmp.Compare(a.Span.End, b.Span.End), cmp.Compare(a.Info.Code, b.Info.Code), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(out, func(a, b *Diagnostic) bool {
		return a.File == b.File && a.Span == b.Span && a.Info == b.Info && a.Message == b.Message
	})
}

func fileName(d *Diagnostic) string {
	if d.File == nil {
		return ""
	}
	return d.File.Name
}
