package diag

import "slices"

// Merge removes diagnostics that follow from another one in the list, so that an error is reported
// once. If an error follows from a warning, Merge removes the warning instead; the error then has
// the hints and fixes of the warning.
func (l *List) Merge() {
	causes := map[string]*Diagnostic{}
	for _, d := range l.all {
		if d.Cause != "" && causes[d.Cause] == nil {
			causes[d.Cause] = d
		}
	}
	if len(causes) == 0 {
		return
	}
	merged := map[*Diagnostic]*Diagnostic{} // the errors by the warnings that they replace
	out := l.all[:0:0]
	for _, d := range l.all {
		cause := causes[d.FollowsFrom]
		if d.FollowsFrom == "" || cause == nil || cause == d {
			out = append(out, d)
			continue
		}
		if d.Severity() == Error && cause.Severity() == Warning && merged[cause] == nil {
			x := *d
			x.Hints, x.Fixes, x.Labels = cause.Hints, nil, slices.Clone(d.Labels)
			for _, f := range cause.Fixes {
				f.Edits = slices.Clone(f.Edits)
				for i := range f.Edits {
					if f.Edits[i].File == nil {
						f.Edits[i].File = cause.File
					}
				}
				x.Fixes = append(x.Fixes, f)
			}
			x.Labels = append(x.Labels, Label{File: cause.File, Span: cause.Span, Text: cause.Message})
			merged[cause] = &x
			out = append(out, &x)
		}
	}
	l.all = slices.DeleteFunc(out, func(d *Diagnostic) bool { return merged[d] != nil })
}
