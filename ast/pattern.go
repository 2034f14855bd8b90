package ast

// Pattern is a pattern.
//
//sumtype:decl
type Pattern interface {
	Node
	ID() ID
	pattern()
}

// WildPat is `_`.
type WildPat struct{ IDBase }

// NamePat is a single name. The checker decides whether it is a binding, a const or an imported
// unit variant.
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

// LitPat is a literal: IntLit, FloatLit, StringLit, BoolLit, NilLit, or a Unary minus before a
// number.
type LitPat struct {
	IDBase
	Value Expr
}

// RangePat is `lo..hi` or `lo..=hi`, whose ends are literals or consts. An end that is not written
// is nil.
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

// ArrayPat is `[a, b, ..rest, c]`. Rest is the number of elements before the `..`, or -1 without a
// `..`. RestName is nil if the `..` has no name.
type ArrayPat struct {
	IDBase
	Elems    []Pattern
	Rest     int
	RestName *NamePat
}

// FieldPat is `name: pattern`. In the short form `name`, the pattern is a NamePat.
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

// VariantPat is `Path(a, .., b)`. The path may also be Ok, Err or Some. Rest is the number of
// elements before the `..`, or -1 without a `..`.
type VariantPat struct {
	IDBase
	Path  *PathExpr
	Elems []Pattern
	Rest  int
}

// Parts returns the pattern of each of the count values in the variant's payload. The values that a
// `..` covers have the pattern Skipped. Without a `..`, Parts returns the written elements and
// ignores count.
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

// Skipped is the pattern that Parts returns for a value that a `..` covers.
var Skipped = new(WildPat)

// PathPat is a path with two or more segments, which refers to a unit variant or a const.
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
