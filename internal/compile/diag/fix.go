package diag

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// Fix is a repair of a mistake as data: edits that are made together and do not overlap.
type Fix struct {
	Title string // what it does: "Insert `;`"
	// Safe says that there is no other repair, and that the program then means what was meant
	// beyond doubt. `concerto check --fix` makes these alone.
	Safe  bool
	Edits []Edit
}

// Edit puts Text in the place of a stretch of a file. A nil File means the diagnostic's own.
type Edit struct {
	File *source.File
	Span source.Span
	Text string
}

// Insert is an edit that removes nothing.
func Insert(at source.Pos, text string) Edit {
	return Edit{Span: source.Span{Start: at, End: at}, Text: text}
}

// Replace is an edit of the diagnostic's own file.
func Replace(s source.Span, text string) Edit { return Edit{Span: s, Text: text} }

// Remove is an edit of the diagnostic's own file.
func Remove(s source.Span) Edit { return Edit{Span: s} }

// Repair adds a fix together with the hint that says the same in words.
func (d *Diagnostic) Repair(f Fix, hint string, args ...any) *Diagnostic {
	d.Fixes = append(d.Fixes, f)
	return d.Hint(hint, args...)
}

// By adds fixes that do what a hint of the diagnostic says.
func (d *Diagnostic) By(fixes ...Fix) *Diagnostic {
	d.Fixes = append(d.Fixes, fixes...)
	return d
}

// Sure is a safe fix of one edit.
func Sure(e Edit, title string, args ...any) Fix {
	return Fix{Title: fmt.Sprintf(title, args...), Safe: true, Edits: []Edit{e}}
}

// Offer is a fix of one edit that is one of several repairs.
func Offer(e Edit, title string, args ...any) Fix {
	return Fix{Title: fmt.Sprintf(title, args...), Edits: []Edit{e}}
}

// Advice is what to do about a mistake: the hint, in words, and the fixes that do it. Without a hint there is none.
type Advice struct {
	Hint  string
	Fixes []Fix
}

// Say is advice in words alone.
func Say(hint string) Advice { return Advice{Hint: hint} }

// By is the advice with a fix that does what it says.
func (a Advice) By(f Fix) Advice {
	a.Fixes = append(a.Fixes, f)
	return a
}

// Is says whether there is any.
func (a Advice) Is() bool { return a.Hint != "" }

// Advise adds what there is of advice.
func (d *Diagnostic) Advise(all ...Advice) *Diagnostic {
	for _, a := range all {
		if a.Is() {
			d.Fixes = append(d.Fixes, a.Fixes...)
			d.Hint("%s", a.Hint)
		}
	}
	return d
}

// Change is the fix of a name that was probably meant to be another, which is written as text; certain
// says that it was beyond doubt.
func Change(at source.Span, near, text string, certain bool) Fix {
	return Fix{Title: fmt.Sprintf("Change to `%s`", near), Safe: certain, Edits: []Edit{Replace(at, text)}}
}

// Meant adds that a name, which stands at a place, was probably meant to be another.
func (d *Diagnostic) Meant(at source.Span, near string, certain bool) *Diagnostic {
	return d.Repair(Change(at, near, near, certain), "did you mean `%s`?", near)
}
