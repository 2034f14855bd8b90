package ast

import "github.com/concerto-lang/concerto/internal/text/source"

// Flaw is a syntax error that makes a part of the tree incomplete. The parser records no Flaw for
// an error that has a single fix, such as a missing `;`.
type Flaw struct {
	Kind FlawKind
	Node Node        // node that is incomplete; nil if no node contains the error
	Span source.Span // text that the tree does not contain, or the position where a part is missing
	// Names are the names in the text of Span. The checker assumes that this text declares or uses
	// them.
	Names []*Ident
}

// FlawKind is the kind of a Flaw.
type FlawKind uint8

// The kinds of flaws.
const (
	Broken  FlawKind = iota // a part of the node has syntax errors
	Open                    // a list has no closing bracket
	Guessed                 // a block has no `}`; the indentation determines its end
)

func (k FlawKind) String() string { return [...]string{"Broken", "Open", "Guessed"}[k] }

// Missing reports whether the source text lacks a required name. Name is then "", and the span is
// the position of the missing name.
func (n *Ident) Missing() bool { return n.Name == "" }

// IsFlawed reports whether n, or the text at the end of n, has syntax errors.
func (f *File) IsFlawed(n Node) bool {
	for i := range f.Flaws {
		if f.Flaws[i].Node == n {
			return true
		}
	}
	return false
}

// Flawed reports whether the text in a span has syntax errors.
func (f *File) Flawed(s source.Span) bool {
	for i := range f.Flaws {
		if at := f.Flaws[i].Span; at.Start >= s.Start && at.End <= s.End {
			return true
		}
	}
	return false
}
