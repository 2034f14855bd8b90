package diag

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// Fix is a correction of an error as data: edits that are applied together and do not overlap.
type Fix struct {
	Title string // description of the change, such as "Insert `;`"
	// Safe reports that this is the only possible correction, and that it cannot change the
	// intended meaning. `concerto check --fix` applies only safe fixes.
	Safe  bool
	Edits []Edit
}

// Edit replaces a span of a file with Text. If File is nil, the span is in the diagnostic's file.
type Edit struct {
	File *source.File
	Span source.Span
	Text string
}

// Insert returns an edit that only inserts text.
func Insert(at source.Pos, text string) Edit {
	return Edit{Span: source.Span{Start: at, End: at}, Text: text}
}

// Replace returns an edit that replaces a span of the diagnostic's own file.
func Replace(s source.Span, text string) Edit { return Edit{Span: s, Text: text} }

// Remove returns an edit that deletes a span of the diagnostic's own file.
func Remove(s source.Span) Edit { return Edit{Span: s} }

// Repair adds a fix together with the hint that describes it.
func (d *Diagnostic) Repair(f Fix, hint string, args ...any) *Diagnostic {
	d.Fixes = append(d.Fixes, f)
	return d.Hint(hint, args...)
}

// WithFixes adds fixes that a hint of the diagnostic describes.
func (d *Diagnostic) WithFixes(fixes ...Fix) *Diagnostic {
	d.Fixes = append(d.Fixes, fixes...)
	return d
}

// SafeFix returns a safe fix with one edit.
func SafeFix(e Edit, title string, args ...any) Fix {
	return Fix{Title: fmt.Sprintf(title, args...), Safe: true, Edits: []Edit{e}}
}

// UnsafeFix returns a fix with one edit that is not safe.
func UnsafeFix(e Edit, title string, args ...any) Fix {
	return Fix{Title: fmt.Sprintf(title, args...), Edits: []Edit{e}}
}

// Advice is what to do about an error: the hint, and the fixes that apply it. It is empty without a
// hint.
type Advice struct {
	Hint  string
	Fixes []Fix
}

// HintAdvice returns advice with only a hint.
func HintAdvice(hint string) Advice { return Advice{Hint: hint} }

// WithFix returns the advice with a fix that applies it.
func (a Advice) WithFix(f Fix) Advice {
	a.Fixes = append(a.Fixes, f)
	return a
}

// Is reports whether the advice is not empty.
func (a Advice) Is() bool { return a.Hint != "" }

// Advise adds the hints and fixes of advice.
func (d *Diagnostic) Advise(all ...Advice) *Diagnostic {
	for _, a := range all {
		if a.Is() {
			d.Fixes = append(d.Fixes, a.Fixes...)
			d.Hint("%s", a.Hint)
		}
	}
	return d
}

// Change returns the fix that replaces a misspelled name by text. It is safe if certain is true.
func Change(at source.Span, near, text string, certain bool) Fix {
	return Fix{Title: fmt.Sprintf("Change to `%s`", near), Safe: certain, Edits: []Edit{Replace(at, text)}}
}

// SuggestName suggests that the name at a span is a misspelling of near.
func (d *Diagnostic) SuggestName(at source.Span, near string, certain bool) *Diagnostic {
	return d.Repair(Change(at, near, near, certain), "did you mean `%s`?", near)
}
