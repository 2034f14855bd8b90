package ast

import "github.com/concerto-lang/concerto/internal/text/source"

// Flaw is a syntax error that makes a part of the tree incomplete. An error with a single fix, such
// as a missing `;`, is not a Flaw.
type Flaw struct {
	Kind FlawKind
	Node Node        // that is broken, open, or has a guessed end; nil if there is none
	Span source.Span // of the text that is not in the tree, or of the position where it is missing
	// Names are the names in that text: they may be declared there, and count as used.
	Names []*Ident
}

// FlawKind is the kind of a Flaw.
type FlawKind uint8

// The kinds of flaws.
const (
	Broken  FlawKind = iota // a part has syntax errors
	Open                    // a list without its closing bracket
	Guessed                 // a block without its `}`: the indentation determines its end
)

func (k FlawKind) String() string { return [...]string{"Broken", "Open", "Guessed"}[k] }

// Missing reports whether the name is missing in the text. It is then "", at the position of the
// missing name.
func (n *Ident) Missing() bool { return n.Name == "" }

// IsFlawed reports whether a part of node n, or its end, has syntax errors.
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
