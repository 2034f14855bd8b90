// Package diag contains the catalogue of the compiler's diagnostics, with one definition of each,
// and renders them. The stages of the compiler add diagnostics to a List; none of them prints.
package diag

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// Severity is the severity of a diagnostic. A program with an Error does not run. A program with a
// Warning does.
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

// Info is one entry of the catalogue. Codes start with E (error) or W (warning). Bad is a program
// that causes only this diagnostic, and Good is the corrected program. Tests compile both. The
// programs may omit main. More contains further pairs, for errors that have several forms.
type Info struct {
	Code    string
	Title   string
	Explain string
	Bad     string
	Good    string
	More    []Pair
	// Noise states after which syntax errors the checker omits the diagnostic. Each entry states
	// it, if only as NotNoise.
	Noise Noise
	// NoFix is the reason why the diagnostic has no fix, or "".
	NoFix string
	// Manifest reports that Bad and Good are texts of Concerto.toml.
	Manifest bool
	// Tools reports that Bad and Good are tool files in YAML.
	Tools bool
	// Unnecessary reports that the marked code can be removed. Editors show it faded.
	Unnecessary bool
}

// Pair is a wrong program and its corrected version.
type Pair struct{ Bad, Good string }

// Pairs returns all pairs of an entry. It returns none if no short program causes the diagnostic.
func (i *Info) Pairs() []Pair {
	if i.Bad == "" {
		return i.More
	}
	return append([]Pair{{i.Bad, i.Good}}, i.More...)
}

// Severity returns the severity, which the first letter of the code determines.
func (i *Info) Severity() Severity {
	if i.Code[0] == 'W' {
		return Warning
	}
	return Error
}

// Label is a further span that explains a diagnostic. If File is nil, the span is in the
// diagnostic's file.
type Label struct {
	File *source.File
	Span source.Span
	Text string
}

// Diagnostic is one error or warning: what (Info, Message), where (File, Span), why (Labels) and
// what to do (Hints, and Fixes as data).
type Diagnostic struct {
	Info    *Info
	Message string
	File    *source.File // file of Span; if it is nil, the stage that reports the diagnostic sets it
	Span    source.Span
	Labels  []Label
	Hints   []string
	Fixes   []Fix
	// Cause identifies the error that this diagnostic reports. FollowsFrom is the Cause of another
	// error that leads to this one, or "". List.Merge uses them to report an error only once.
	Cause, FollowsFrom string
	// Denied reports that the diagnostic is a warning that counts as an error.
	Denied bool
}

// At returns a Diagnostic of this kind at the span s.
func (i *Info) At(s source.Span, format string, args ...any) *Diagnostic {
	return &Diagnostic{Info: i, Span: s, Message: fmt.Sprintf(format, args...)}
}

// In sets the file of the diagnostic's span.
func (d *Diagnostic) In(f *source.File) *Diagnostic { d.File = f; return d }

// Label adds a label in the same file.
func (d *Diagnostic) Label(s source.Span, format string, args ...any) *Diagnostic {
	d.Labels = append(d.Labels, Label{Span: s, Text: fmt.Sprintf(format, args...)})
	return d
}

// LabelIn adds a label in another file.
func (d *Diagnostic) LabelIn(f *source.File, s source.Span, format string, args ...any) *Diagnostic {
	d.Labels = append(d.Labels, Label{File: f, Span: s, Text: fmt.Sprintf(format, args...)})
	return d
}

// Hint adds a hint with the correction.
func (d *Diagnostic) Hint(format string, args ...any) *Diagnostic {
	d.Hints = append(d.Hints, fmt.Sprintf(format, args...))
	return d
}

// Severity returns the severity of the diagnostic's kind, or Error if the diagnostic is denied.
func (d *Diagnostic) Severity() Severity {
	if d.Denied {
		return Error
	}
	return d.Info.Severity()
}
