package ast

// Type is a type in the source text.
//
//sumtype:decl
type Type interface {
	Node
	ID() ID
	typ()
}

// NamedType is `a::Name<T>`.
type NamedType struct {
	IDBase
	Segments []*Ident
	Args     []Type
}

// OptionType is `T?`.
type OptionType struct {
	IDBase
	Elem Type
}

// TupleType is `(A, B)`.
type TupleType struct {
	IDBase
	Elems []Type
}

// FnType is `fn(A) -> B`. Result is nil if the function returns Nil.
type FnType struct {
	IDBase
	Params []Type
	Result Type
}

// LitType is a string literal that is used as a type.
type LitType struct {
	IDBase
	Value string
}

// UnionType is `"a" | "b"`.
type UnionType struct {
	IDBase
	Alts []Type
}

// BadType replaces a type that is missing or has syntax errors.
type BadType struct{ IDBase }

func (*NamedType) typ()  {}
func (*OptionType) typ() {}
func (*TupleType) typ()  {}
func (*FnType) typ()     {}
func (*LitType) typ()    {}
func (*UnionType) typ()  {}
func (*BadType) typ()    {}
