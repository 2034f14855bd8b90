// Package types defines the types of the checker and the relations between them. One file defines
// the types, and one file each defines identity and subtyping, joins, bounds and printing. The
// package does not depend on syntax or diagnostics.
package types

// Type is a type. Types must be compared with Identical, because only basic types are singletons.
// Resolve returns the type to which an inference variable is bound.
type Type interface {
	// String returns the type as a program writes it.
	String() string
	typ()
}

// Basic is a type without parts.
type Basic struct{ name string }

// The basic types. Bad is the type of an expression with a reported error. It converts to and from
// every type, so that no further errors are reported. Error is the type of any error. Shape is a
// run-time type as a value, for library code. Agent, Host and Tool are the types of parameters and
// fields whose values are such declarations; the name of a declaration has a *Declared type.
var (
	Int    = &Basic{"Int"}
	Float  = &Basic{"Float"}
	String = &Basic{"String"}
	Bool   = &Basic{"Bool"}
	Nil    = &Basic{"Nil"}
	Any    = &Basic{"Any"}
	Never  = &Basic{"Never"}
	Error  = &Basic{"Error"}
	Range  = &Basic{"Range"}
	Agent  = &Basic{"Agent"}
	Host   = &Basic{"Host"}
	Tool   = &Basic{"Tool"}
	Memory = &Basic{"Memory"}
	Ledger = &Basic{"Ledger"}
	Shape  = &Basic{"Shape"}
	Bad    = &Basic{"_"}
)

// Array is Array<Elem>.
type Array struct{ Elem Type }

// Map is Map<Key, Value>.
type Map struct {
	Key, Value Type
	// Message is the schema of the message that the map contains, which may have further members.
	// It is nil for other maps, and does not affect which types are identical.
	Message Type
}

// Tuple is (A, B). There is no empty tuple; Nil replaces it.
type Tuple struct{ Elems []Type }

// Option is Option<Elem>.
type Option struct{ Elem Type }

// Result is Result<Ok, Err>.
type Result struct{ Ok, Err Type }

// Func is fn(Params) -> Result.
type Func struct {
	Params []Type
	Result Type
}

// Task is Task<Elem>.
type Task struct{ Elem Type }

// HashMap is the store HashMap<Key, Value>.
type HashMap struct{ Key, Value Type }

// Queue is the store Queue<Elem>. The library's std::collections::Queue is a Named type instead.
type Queue struct{ Elem Type }

// Union is a union of string literals. It is a subtype of String. Values are in written order,
// without duplicates.
type Union struct{ Values []string }

// Param is a type parameter of a generic declaration. Two Params are identical only if they are the
// same object.
type Param struct {
	Name   string
	Bounds []*Bound
	// Ordered reports the bound Ord: the types are Int, Float and String, whose values `<`
	// compares.
	Ordered bool
	// Admits reports whether a type implements the trait, if the Param is a trait that is used as a
	// type: the type of all values whose type implements it. It is nil for a type parameter.
	Admits func(Type) bool
}

// IsTrait reports whether t is a trait that is used as a type.
func IsTrait(t Type) bool {
	p, ok := Resolve(t).(*Param)
	return ok && p.Admits != nil
}

// OrderedBound is the name of the bound that makes a Param ordered.
const OrderedBound = "Ord"

// IsOrdered reports whether `<` compares two values of type t. A type that is not known yet may
// be ordered.
func IsOrdered(t Type) bool {
	switch x := Resolve(t).(type) {
	case *Param:
		return x.Ordered
	case *Var:
		return true
	case *Basic:
		if x == Any || x == Bad || x == Never {
			return true
		}
	}
	return IsNumeric(Resolve(t)) || IsString(Resolve(t))
}

// Named is a struct, schema, enum or built-in error type with its type arguments.
type Named struct {
	Decl *Decl
	Args []Type
}

// DeclKind is the kind of declaration of a Named type.
type DeclKind uint8

// The kinds of Decl.
const (
	Struct DeclKind = iota
	Schema
	Enum
	ErrorStruct // a built-in error type, which is a struct that prints as its message
)

func (k DeclKind) String() string { return [...]string{"struct", "schema", "enum", "error type"}[k] }

// Decl is the declaration of a Named type. Fields and Variants are set when all names of the module
// are known.
type Decl struct {
	Name     string
	Kind     DeclKind
	Doc      string
	Params   []*Param
	Fields   []*Field
	Variants []*Variant
	Library  bool // the library declares the type
	Elements bool // in JSON, the value is the array of the elements of its first field
	Members  bool // in JSON, the value is the map in its last field; the entries of the map count as fields
	// Origin is the object of the checker that describes the declaration.
	Origin any
}

// Field is a field of a struct, a schema or a variant with named fields.
type Field struct {
	Name     string
	Type     Type // Option<T> for an optional field of type T
	Optional bool // `name?:` in a schema
	Default  bool // a literal may omit the field
	Pub      bool
	Doc      string
	Index    int
}

// Variant is a variant of an enum. The fields of a tuple payload have the names "0", "1" and so on.
type Variant struct {
	Name   string
	Named  bool
	Fields []*Field
	Index  int
}

// Trait is a trait in a bound.
type Trait struct {
	Name   string
	Origin any
}

// Declared is the type of the name of an agent, host, tool or pipeline declaration. It is a subtype
// of Agent, Host or Tool.
type Declared struct {
	Kind *Basic // Agent, Host or Tool; nil for a pipeline
	Name string
	// Origin is the object of the checker that describes the declaration.
	Origin any
}

// Var is an inference variable. Bound is the inferred type, or nil while it is unknown.
type Var struct {
	Bound Type
	ID    int
}

func (*Basic) typ()    {}
func (*Array) typ()    {}
func (*Map) typ()      {}
func (*Tuple) typ()    {}
func (*Option) typ()   {}
func (*Result) typ()   {}
func (*Func) typ()     {}
func (*Task) typ()     {}
func (*HashMap) typ()  {}
func (*Queue) typ()    {}
func (*Union) typ()    {}
func (*Param) typ()    {}
func (*Named) typ()    {}
func (*Declared) typ() {}
func (*Var) typ()      {}

// Resolve returns t, or, if t is a bound inference variable, the type to which it is bound.
func Resolve(t Type) Type {
	for {
		v, ok := t.(*Var)
		if !ok || v.Bound == nil {
			return t
		}
		t = v.Bound
	}
}

// Field returns the field of d with the given name, or nil.
func (d *Decl) Field(name string) *Field { return findField(d.Fields, name) }

// Field returns the field of v with the given name, or nil.
func (v *Variant) Field(name string) *Field { return findField(v.Fields, name) }

func findField(fs []*Field, name string) *Field {
	for _, f := range fs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Variant returns the variant of d with the given name, or nil.
func (d *Decl) Variant(name string) *Variant {
	for _, v := range d.Variants {
		if v.Name == name {
			return v
		}
	}
	return nil
}
