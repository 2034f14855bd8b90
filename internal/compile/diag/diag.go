// Package diag holds what Concerto tells the author of a program: the catalogue
// of diagnostics, with one definition of each, and their rendering. A stage of
// the compiler reports into a List and goes on; no stage prints.
package diag

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// Severity ranks a diagnostic. An Error stops the program from running, a
// Warning does not.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Info is one entry of the catalogue. Codes begin with E (error) or W (warning).
// Bad is a program that gives this diagnostic and no other, Good the same
// program repaired; tests compile both. A program here may leave out main. More
// has further pairs, for a mistake that takes several forms.
type Info struct {
	Code    string
	Title   string
	Explain string
	Bad     string
	Good    string
	More    []Pair
	// NoFix says why no fix is offered, where none is: a mistake whose repair takes its author's mind.
	NoFix string
	// Manifest says that Bad and Good are Concerto.toml texts.
	Manifest bool
	// Tools says that they are files of tools, in YAML.
	Tools bool
	// Unnecessary says that what it points at may as well not stand there: editors show it faded.
	Unnecessary bool
}

// Pair is a wrong program and the same one repaired.
type Pair struct{ Bad, Good string }

// Pairs are all pairs of an entry. There are none when no short program shows
// the mistake.
func (i *Info) Pairs() []Pair {
	if i.Bad == "" {
		return i.More
	}
	return append([]Pair{{i.Bad, i.Good}}, i.More...)
}

// Severity follows from the code's first letter.
func (i *Info) Severity() Severity {
	if i.Code[0] == 'W' {
		return Warning
	}
	return Error
}

// Label points at a further place that explains a diagnostic. A nil File means
// the diagnostic's own file.
type Label struct {
	File *source.File
	Span source.Span
	Text string
}

// Diagnostic is one finding: what (Info, Message), where (File, Span), why
// (Labels) and what to type next (Hints, and as data Fixes).
type Diagnostic struct {
	Info    *Info
	Message string
	File    *source.File // set by the reporter when nil
	Span    source.Span
	Labels  []Label
	Hints   []string
	Fixes   []Fix
	// Cause names the mistake that this reports, and FollowsFrom the one without which this would not be
	// reported. List.Merge compares them; "" stands for a mistake of its own.
	Cause, FollowsFrom string
}

// At makes a Diagnostic of this kind at a span.
func (i *Info) At(s source.Span, format string, args ...any) *Diagnostic {
	return &Diagnostic{Info: i, Span: s, Message: fmt.Sprintf(format, args...)}
}

// In sets the file.
func (d *Diagnostic) In(f *source.File) *Diagnostic { d.File = f; return d }

// Label adds an explaining place in the same file.
func (d *Diagnostic) Label(s source.Span, format string, args ...any) *Diagnostic {
	d.Labels = append(d.Labels, Label{Span: s, Text: fmt.Sprintf(format, args...)})
	return d
}

// LabelIn adds an explaining place in another file.
func (d *Diagnostic) LabelIn(f *source.File, s source.Span, format string, args ...any) *Diagnostic {
	d.Labels = append(d.Labels, Label{File: f, Span: s, Text: fmt.Sprintf(format, args...)})
	return d
}

// Hint adds the next keystroke: what to write instead.
func (d *Diagnostic) Hint(format string, args ...any) *Diagnostic {
	d.Hints = append(d.Hints, fmt.Sprintf(format, args...))
	return d
}

// Severity is the severity of the diagnostic's kind.
func (d *Diagnostic) Severity() Severity { return d.Info.Severity() }
