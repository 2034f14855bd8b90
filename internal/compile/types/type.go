// Package types holds the types of the checker: their forms, and a file for each
// relation: identity, assignability, joins, substitution, printing. It knows
// neither syntax nor diagnostics.
package types

// Type is a type. Compare types with Identical; only the basic ones are
// singletons. Resolve looks through bound inference variables.
type Type interface {
	// String is the type as the user would write it.
	String() string
	typ()
}

// Basic is a type without parts.
type Basic struct{ name string }

// The basic types. Bad is the type of an expression with a reported error: everything is assignable
// to and from it, so that no further errors are reported. Error is the type of any error value.
// Shape is a run-time type as a value, for library code. Agent, Host and Tool are the types of
// parameters and fields that hold such declarations; a declaration's own name has a *Declared type.
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
type Map struct{ Key, Value Type }

// Tuple is (A, B). The empty tuple is not a type; Nil is.
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

// Union is a union of string literals, a subtype of String. Values are in
// written order, without repeats.
type Union struct{ Values []string }

// Param is a type parameter of a generic declaration. Two Params are identical
// only when they are the same object.
type Param struct {
	Name   string
	Bounds []*Bound
}

// Named is a struct, schema, enum or built-in error type, with its arguments.
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
	ErrorStruct // a built-in error type: a struct that prints as its message
)

func (k DeclKind) String() string { return [...]string{"struct", "schema", "enum", "error type"}[k] }

// Decl is the declaration of a Named type. Fields and Variants are set after all
// names of the module are known.
type Decl struct {
	Name     string
	Kind     DeclKind
	Doc      string
	Params   []*Param
	Fields   []*Field
	Variants []*Variant
	Library  bool // declared by the library
	Elements bool // as JSON, the array of its first field's elements or values
	Members  bool // its last field is a map, which it is as JSON, and whose entries count as fields
	// Origin is the checker's own object for the declaration.
	Origin any
}

// Field is a field of a struct, schema or named variant.
type Field struct {
	Name     string
	Type     Type // of an optional field: Option<T>
	Optional bool // `name?:` in a schema
	Default  bool // may be left out of a literal
	Pub      bool
	Doc      string
	Index    int
}

// Variant is a case of an enum. Tuple payloads have fields "0", "1", ….
type Variant struct {
	Name   string
	Named  bool
	Fields []*Field
	Index  int
}

// Trait is a trait as a bound.
type Trait struct {
	Name   string
	Origin any
}

// Declared is the type of an agent's, host's, tool's or pipeline's own name: a
// subtype of Agent, Host or Tool that knows the declaration.
type Declared struct {
	Kind *Basic // Agent, Host, Tool; nil for a pipeline
	Name string
	// Origin is the checker's object for the declaration.
	Origin any
}

// Var is an inference variable: a type not known yet. Bound is nil until it is.
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
func (*Union) typ()    {}
func (*Param) typ()    {}
func (*Named) typ()    {}
func (*Declared) typ() {}
func (*Var) typ()      {}

// Resolve looks through bound inference variables at the top of t.
func Resolve(t Type) Type {
	for {
		v, ok := t.(*Var)
		if !ok || v.Bound == nil {
			return t
		}
		t = v.Bound
	}
}

// Field finds a field of d by name, or returns nil.
func (d *Decl) Field(name string) *Field { return findField(d.Fields, name) }

// Field finds a field of v by name, or returns nil.
func (v *Variant) Field(name string) *Field { return findField(v.Fields, name) }

func findField(fs []*Field, name string) *Field {
	for _, f := range fs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Variant finds a variant by name, or returns nil.
func (d *Decl) Variant(name string) *Variant {
	for _, v := range d.Variants {
		if v.Name == name {
			return v
		}
	}
	return nil
}
