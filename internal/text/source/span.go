package source

import "fmt"

// Pos is a byte offset into a File's text.
type Pos int32

// Span is a range of a File's text, from the byte Start to the byte before End.
type Span struct{ Start, End Pos }

// Join returns the smallest span that covers a and b.
func Join(a, b Span) Span { return Span{min(a.Start, b.Start), max(a.End, b.End)} }

// Contains reports whether t is within s.
func (s Span) Contains(t Span) bool { return s.Start <= t.Start && t.End <= s.End }

// IsZero reports whether s is the zero Span, which means "nowhere".
func (s Span) IsZero() bool { return s == Span{} }

// Position is a place in display form: line and column from 1, the column in code points.
type Position struct{ Line, Column int }

func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }
