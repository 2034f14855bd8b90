package ast

// Pattern is a pattern.
type Pattern interface {
	Node
	ID() ID
	pattern()
}

// WildPat is `_`.
type WildPat struct{ IDBase }

// NamePat is a single name: a binding, or a const or imported unit variant
// that the checker resolves.
type NamePat struct {
	IDBase
	Name *Ident
}

// BindPat is `name @ pattern`.
type BindPat struct {
	IDBase
	Name    *Ident
	Pattern Pattern
}

// LitPat is a literal: IntLit, FloatLit, StringLit, BoolLit, NilLit or a
// Unary minus on a number.
type LitPat struct {
	IDBase
	Value Expr
}

// RangePat is `lo..hi` or `lo..=hi` over literals or consts. An open end is nil.
type RangePat struct {
	IDBase
	Lo, Hi    Expr
	Inclusive bool
}

// OrPat is `a | b`.
type OrPat struct {
	IDBase
	Alts []Pattern
}

// TuplePat is `(a, b)`.
type TuplePat struct {
	IDBase
	Elems []Pattern
}

// ArrayPat is `[a, b, ..rest, c]`. Rest is the index in Elems before which the rest is, or -1.
// RestName is nil for a bare `..`.
type ArrayPat struct {
	IDBase
	Elems    []Pattern
	Rest     int
	RestName *NamePat
}

// FieldPat is `name: pattern` or the short form `name`, a NamePat.
type FieldPat struct {
	Base
	Name    *Ident
	Pattern Pattern
	Short   bool
}

// StructPat is `Path { x, y: p, .. }`, also for named enum variants.
type StructPat struct {
	IDBase
	Path   *PathExpr
	Fields []*FieldPat
	Rest   bool
}

// VariantPat is `Path(a, .., b)`; Ok, Err and Some are such paths, too. Rest is the index of `..`
// among the elements, or -1.
type VariantPat struct {
	IDBase
	Path  *PathExpr
	Elems []Pattern
	Rest  int
}

// Parts returns a pattern for each of the count values of a variant's payload: Skipped for those
// that a `..` covers. Without a `..` it returns the elements, whatever count is.
func (n *VariantPat) Parts(count int) []Pattern {
	if n.Rest < 0 || len(n.Elems) > count {
		return n.Elems
	}
	parts := make([]Pattern, 0, count)
	parts = append(parts, n.Elems[:n.Rest]...)
	for range count - len(n.Elems) {
		parts = append(parts, Skipped)
	}
	return append(parts, n.Elems[n.Rest:]...)
}

// Skipped is the pattern in Parts for a value that a `..` skips.
var Skipped = new(WildPat)

// PathPat is a path with two or more segments: a unit variant or a const.
type PathPat struct {
	IDBase
	Path *PathExpr
}

// BadPat replaces a pattern that is missing or has syntax errors.
type BadPat struct{ IDBase }

func (*WildPat) pattern()    {}
func (*NamePat) pattern()    {}
func (*BindPat) pattern()    {}
func (*LitPat) pattern()     {}
func (*RangePat) pattern()   {}
func (*OrPat) pattern()      {}
func (*TuplePat) pattern()   {}
func (*ArrayPat) pattern()   {}
func (*StructPat) pattern()  {}
func (*VariantPat) pattern() {}
func (*PathPat) pattern()    {}
func (*BadPat) pattern()     {}
