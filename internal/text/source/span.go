package source

import "fmt"

// Pos is a byte offset into a File's text.
type Pos int32

// Span is a range of a File's text. Start is the offset of its first byte, and End the offset after
// its last byte.
type Span struct{ Start, End Pos }

// Join returns the smallest span that covers a and b.
func Join(a, b Span) Span { return Span{min(a.Start, b.Start), max(a.End, b.End)} }

// Contains reports whether t is inside s.
func (s Span) Contains(t Span) bool { return s.Start <= t.Start && t.End <= s.End }

// IsZero reports whether s is the zero Span, which represents an unknown position.
func (s Span) IsZero() bool { return s == Span{} }

// Position is a position for display. Line and Column are counted from 1, Column in code points.
type Position struct{ Line, Column int }

func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }
