package ast

import "github.com/concerto-lang/concerto/internal/text/source"

// Decl is a declaration in a module, or in a block where the grammar allows declarations.
//
//sumtype:decl
type Decl interface {
	Node
	Head() *DeclHead
	decl()
}

// DeclHead contains the fields that all declarations have. Name is nil for impl and use.
type DeclHead struct {
	Base
	Name       *Ident
	Doc        string // text of the /// comments before the declaration, without the slashes
	Decorators []*Decorator
	Pub        bool
}

// Head returns the fields that all declarations have.
func (h *DeclHead) Head() *DeclHead { return h }

// TypeParam is `T: A + B` in a generics list.
type TypeParam struct {
	Base
	Name   *Ident
	Bounds []*NamedType
}

// Param is a parameter of a function, method, closure or pipeline. Pattern is set, and Name is nil,
// for closure parameters that are not a plain name. Type is nil if a closure omits it. IsSelf marks
// the receiver.
type Param struct {
	Base
	Decorators []*Decorator
	Mut        bool
	IsSelf     bool
	Name       *Ident
	Pattern    Pattern
	Type       Type
	Default    Expr
}

// FnDecl is a function, method, tool function, MCP signature or trait method.
// Body is nil for signatures.
type FnDecl struct {
	DeclHead
	Async    bool
	Generics []*TypeParam
	Params   []*Param
	Result   Type // result type; nil if the function returns Nil
	Body     *Block
	// Signature is the span of `fn … -> T` without the body.
	Signature source.Span
}

// FieldDecl is a field of a struct, schema, enum variant or tool.
type FieldDecl struct {
	Base
	Doc        string
	Decorators []*Decorator
	Pub        bool
	Name       *Ident
	Optional   bool // the field is declared as `name?: T` in a schema
	Type       Type
	Default    Expr
}

// StructDecl is `struct Name<T> { … }`.
type StructDecl struct {
	DeclHead
	Generics []*TypeParam
	Fields   []*FieldDecl
}

// SchemaDecl is `schema Name<T> { … }`.
type SchemaDecl struct {
	DeclHead
	Generics []*TypeParam
	Fields   []*FieldDecl
}

// Variant is a variant of an enum: a unit, a tuple payload (Types) or a named payload (Fields).
type Variant struct {
	Base
	Doc    string
	Name   *Ident
	Types  []Type
	Fields []*FieldDecl
	Named  bool // the payload has braces: `Name { a: A }`
}

// EnumDecl is `enum Name<T> { … }`.
type EnumDecl struct {
	DeclHead
	Generics []*TypeParam
	Variants []*Variant
}

// TraitDecl is `trait Name<T> { … }`.
type TraitDecl struct {
	DeclHead
	Generics []*TypeParam
	Methods  []*FnDecl
}

// ImplDecl is `impl<T> Trait for Type { … }`. Trait is nil in an inherent impl.
type ImplDecl struct {
	DeclHead
	Generics []*TypeParam
	Trait    Type
	Target   Type
	Methods  []*FnDecl
}

// TypeDecl is `type Name<T> = T;`.
type TypeDecl struct {
	DeclHead
	Generics []*TypeParam
	Type     Type
}

// ConstDecl is `const NAME: T = e;`.
type ConstDecl struct {
	DeclHead
	Type  Type // declared type; nil if it is inferred
	Value Expr
}

// ModDecl is `mod x;` (Decls nil, Inline false) or `mod x { … }`.
type ModDecl struct {
	DeclHead
	Inline bool
	Decls  []Decl
}

// UseTree is one branch of a use declaration: a path, followed by a glob, a list of further
// branches, or a name with an optional alias.
type UseTree struct {
	Base
	Path  []*Ident
	Glob  bool
	List  []*UseTree // branches in `{ … }`; nil if the tree has no list
	Alias *Ident
}

// UseDecl is `use a::b::{c, d as e};`.
type UseDecl struct {
	DeclHead
	Tree *UseTree
}

// ConfigField is `word: expr` in an agent, host, mock or similar block.
type ConfigField struct {
	Base
	Name  *Ident
	Value Expr
}

// AgentDecl is `agent Name uses provider { … }`.
type AgentDecl struct {
	DeclHead
	Uses   *Ident // name after `uses`; nil if the agent has no `uses`
	Fields []*ConfigField
}

// HostDecl is `host Name { … }`.
type HostDecl struct {
	DeclHead
	Fields []*ConfigField
}

// ToolDecl is `tool Name { … }`. Description is nil if it is absent.
type ToolDecl struct {
	DeclHead
	Description *StringLit
	Fields      []*FieldDecl
	Methods     []*FnDecl
}

// McpDecl is `mcp Name { fn …; }`. Rest reports that the declaration ends with `..`, which makes
// the server's undeclared functions available, too.
type McpDecl struct {
	DeclHead
	Methods []*FnDecl
	Rest    bool
}

// PipelineDecl is `pipeline Name(params) -> T { stage … }`.
type PipelineDecl struct {
	DeclHead
	HasParams bool
	Params    []*Param
	Result    Type // declared result type; nil if the pipeline declares none
	Stages    []*Stage
}

// Stage is one stage of a pipeline. A function stage has Params, Result and Body; a binding stage
// has only Value.
type Stage struct {
	Base
	Doc        string
	Decorators []*Decorator
	Name       *Ident
	Params     []*Param
	Result     Type
	Body       *Block
	Value      Expr
}

// IsBinding reports whether the stage is `stage name = expr;`.
func (s *Stage) IsBinding() bool { return s.Value != nil }

// StoreKind is the kind of a store.
type StoreKind uint8

// The kinds of stores.
const (
	HashMapStore StoreKind = iota
	LedgerStore
	MemoryStore
	QueueStore
)

func (k StoreKind) String() string { return [...]string{"hashmap", "ledger", "memory", "queue"}[k] }

// StoreDecl is `memory name: Type = expr;`. The words hashmap, ledger and queue declare the
// other kinds. queue is a contextual word, which is an ordinary name elsewhere.
type StoreDecl struct {
	DeclHead
	Kind  StoreKind
	Type  Type
	Value Expr
}

// BadDecl replaces a declaration with syntax errors. Names are the names that occur in the
// declaration's text.
type BadDecl struct {
	DeclHead
	Names []*Ident
}

func (*FnDecl) decl()       {}
func (*StructDecl) decl()   {}
func (*SchemaDecl) decl()   {}
func (*EnumDecl) decl()     {}
func (*TraitDecl) decl()    {}
func (*ImplDecl) decl()     {}
func (*TypeDecl) decl()     {}
func (*ConstDecl) decl()    {}
func (*ModDecl) decl()      {}
func (*UseDecl) decl()      {}
func (*AgentDecl) decl()    {}
func (*HostDecl) decl()     {}
func (*ToolDecl) decl()     {}
func (*McpDecl) decl()      {}
func (*PipelineDecl) decl() {}
func (*StoreDecl) decl()    {}
func (*BadDecl) decl()      {}
