package ast

import "github.com/concerto-lang/concerto/internal/text/source"

// Flaw is a place where a file breaks the grammar so that its tree lacks
// something there. A mistake that has one repair, such as a missing `;`, is none.
type Flaw struct {
	Kind FlawKind
	Node Node        // that is broken, open, or ends where it was guessed; nil where none was made
	Span source.Span // of the text that is not in the tree, or of the place where it is missing
	// Names are the names in that text: what they declare is unknown, and what
	// they use is used.
	Names []*Ident
}

// FlawKind says what is wrong with a node.
type FlawKind uint8

// The kinds of Flaw.
const (
	Broken  FlawKind = iota // a part could not be read
	Open                    // a list whose bracket is never closed
	Guessed                 // a block whose `}` is missing: it ends where the indentation says
)

func (k FlawKind) String() string { return [...]string{"Broken", "Open", "Guessed"}[k] }

// Missing says that the name is missing in the text: it is "", and stands where
// the name would.
func (n *Ident) Missing() bool { return n.Name == "" }

// IsFlawed says whether a part of the very node n could not be read, or its end.
func (f *File) IsFlawed(n Node) bool {
	for i := range f.Flaws {
		if f.Flaws[i].Node == n {
			return true
		}
	}
	return false
}

// Flawed says whether the text in a span breaks the grammar.
func (f *File) Flawed(s source.Span) bool {
	for i := range f.Flaws {
		if at := f.Flaws[i].Span; at.Start >= s.Start && at.End <= s.End {
			return true
		}
	}
	return false
}
