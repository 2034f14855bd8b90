package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/source"
	"github.com/concerto-lang/concerto/types"
)

// Program is a checked program: what the code generator reads. When the
// diagnostics hold no error every table is complete and consistent.
type Program struct {
	Name string
	// Files are the files in use, the user's first, in order of loading.
	Files []*Info
	// Functions are all functions to generate: the user's in source order
	// (functions, methods, tool functions), then the library's in order of
	// first use.
	Functions []*Function
	Main      *Function // nil without one
	Agents    []*Agent
	Hosts     []*Host
	Tools     []*Tool
	Stores    []*Store
	Pipelines []*Pipeline
	Tests     []*Test
	// Asked, when not nil, is called with host and prompt before each exchange: a
	// test mocks some host by a closure.
	Asked *Function
	// Dynamic lists what calls on Any may reach.
	Dynamic []Dynamic

	checker *checker
}

// Info holds what is known of one file's nodes, as tables keyed by the dense
// ids of its expressions and patterns.
type Info struct {
	File    *ast.File
	Library bool

	types   []types.Type
	conv    []types.Type
	objects []Object
	details []any
	// iterators are the methods that give what `for` goes over, by the id of
	// the collection's expression.
	iterators map[ast.ID]*Function
	// sources are the methods that give what `for` goes over one after the other.
	sources map[ast.ID]*Source
	mocks   map[*ast.MockStmt]*Mock
}

func newInfo(f *ast.File, library bool) *Info {
	return &Info{File: f, Library: library,
		types: make([]types.Type, f.IDs), conv: make([]types.Type, f.IDs),
		objects: make([]Object, f.IDs), details: make([]any, f.IDs), iterators: map[ast.ID]*Function{}, sources: map[ast.ID]*Source{},
		mocks: map[*ast.MockStmt]*Mock{}}
}

// TypeOf is the type of an expression's value as evaluated, before Conv.
func (i *Info) TypeOf(e ast.Expr) types.Type { return types.Resolve(i.types[e.ID()]) }

// Conv is the type an expression's value is converted to where it stands, nil
// when it stays as it is. The steps from TypeOf(e) to it: Int to Float; then
// T to Option<T> (nil to None is no step); anything to Any (a Some box is
// taken off); Any to T by a run-time check; anything to Nil (discarded).
func (i *Info) Conv(e ast.Expr) types.Type {
	if t := i.conv[e.ID()]; t != nil {
		return types.Resolve(t)
	}
	return nil
}

// Object is what a PathExpr names, or a NamePat binds or matches.
func (i *Info) Object(n interface{ ID() ast.ID }) Object { return i.objects[n.ID()] }

// PatternType is the type of the values that a pattern is held against.
func (i *Info) PatternType(p ast.Pattern) types.Type { return types.Resolve(i.types[p.ID()]) }

// Written is the type that a type expression stands for (Cast, Catch, emit<T>).
func (i *Info) Written(t ast.Type) types.Type { return types.Resolve(i.types[t.ID()]) }

// The details of single forms.

// Call is the detail of a Call or MethodCall.
func (i *Info) Call(e ast.Expr) *Call { c, _ := i.details[e.ID()].(*Call); return c }

// Iterator is the method of a library type that gives the array which `for`
// goes over, by the collection's expression; nil when that is iterated itself.
func (i *Info) Iterator(e ast.Expr) *Function { return i.iterators[e.ID()] }

// Select is the detail of a FieldExpr.
func (i *Info) Select(e *ast.FieldExpr) *Selection { s, _ := i.details[e.ID()].(*Selection); return s }

// Closure is the detail of a Closure.
func (i *Info) Closure(e *ast.Closure) *Closure { c, _ := i.details[e.ID()].(*Closure); return c }

// Listen is the detail of a ListenExpr.
func (i *Info) Listen(e *ast.ListenExpr) *Listen { l, _ := i.details[e.ID()].(*Listen); return l }

// Question is the detail of a Question.
func (i *Info) Question(e *ast.Question) *Leave { q, _ := i.details[e.ID()].(*Leave); return q }

// Throw is the detail of a ThrowExpr.
func (i *Info) Throw(e *ast.ThrowExpr) *Leave { q, _ := i.details[e.ID()].(*Leave); return q }

// Struct is the detail of a StructLit.
func (i *Info) Struct(e *ast.StructLit) *StructLit { s, _ := i.details[e.ID()].(*StructLit); return s }

// Variant is the detail of a VariantPat, StructPat, PathPat or NamePat that
// matches an enum's variant, Ok, Err, Some or None; nil when it does not.
func (i *Info) Variant(p ast.Pattern) *VariantRef { v, _ := i.details[p.ID()].(*VariantRef); return v }

// Try is the detail of a TryExpr.
func (i *Info) Try(e *ast.TryExpr) *Try { t, _ := i.details[e.ID()].(*Try); return t }

// Object is anything a name can stand for: *Local, *Function, *Const, *Agent,
// *Host, *Tool, *Store, *Pipeline, *VariantRef (a constructor or unit
// variant).
type Object interface{ object() }

// Local is a variable: a let, a parameter, a pattern's name, a pipeline's
// stage name. Cell says that it must live in a cell: a closure captures it by
// reference. Late says that it is declared without a value.
type Local struct {
	Name  string
	Type  types.Type
	Mut   bool
	Late  bool
	Cell  bool
	Param bool
	At    source.Span

	used, assigned bool
	frame          *frame // the function or closure it belongs to
	depth          int    // scopes around its declaration
}

// Function is a function with a body, or one of the library's natives and
// effects.
type Function struct {
	// Name is how traces show it: "route", "Box.add", "Users.lookup",
	// "BuildAndTest.implement".
	Name     string
	Decl     *ast.FnDecl
	Info     *Info
	Generics []*types.Param
	Params   []*Param // the receiver first, when there is one
	Result   types.Type
	// Recv is the receiver's type, nil for plain functions. Associated
	// functions (Box::new) have Owner but no Recv.
	Recv    types.Type
	MutSelf bool
	// Native is the registered name of a Go function, Effect of an effect; the
	// body is then ignored. Wraps says that the declared result is a Result,
	// made by the call (the wrap operand of CallNative and Perform).
	Native string
	Effect string
	Wraps  bool
	// Shape says that calls pass, behind the declared arguments, the run-time
	// type of each type argument (LoadType) as parameters of type Shape.
	Shape bool
	// Async says that a call starts a task and gives Task<Result>.
	Async bool
	// Tool is set for tool functions, which are generated full and whose self
	// is the tool itself.
	Tool *Tool
	// Undeclared says that calls made it: a server's function that its block
	// leaves to `..`.
	Undeclared bool
	// Decorations stand around each call, the outermost first.
	Decorations []*Decoration

	assoc   types.Type // the type whose impl declares it
	mod     *module
	pub     bool
	trait   *traitDecl // of a trait's default method
	checked bool
}

// Param is a parameter. Default is nil without one; it is evaluated in the
// callee's file, for each call.
type Param struct {
	Name    string
	Type    types.Type
	Local   *Local
	Default ast.Expr
	At      source.Span
	// Doc is @param's text.
	Doc string

	regex bool // of a library function: a regular expression
}

// Const is a constant. Value is an int64, float64, string, bool, nil, or
// []any, *ConstMap, Object of these.
type Const struct {
	Name  string
	Type  types.Type
	Expr  ast.Expr
	Info  *Info
	Value any

	state uint8
	mod   *module
	decl  *ast.ConstDecl
}

// ConstMap is a constant map in written order.
type ConstMap struct {
	Keys   []string
	Values []any
}

// VariantRef names a variant of an enum. For Some and None Type is an Option,
// for Ok and Err a Result, else a Named of kind Enum. Index counts from 0 (Ok,
// Some: 0; Err, None: 1).
type VariantRef struct {
	Type  types.Type
	Name  string
	Index int
	// Variant is nil for Some, None, Ok, Err.
	Variant *types.Variant
}

// CallKind says how a call is made.
type CallKind uint8

// The kinds of call.
const (
	// CallFunction calls Fn with Args; a method's receiver is Args[0].
	CallFunction CallKind = iota
	// CallValue calls a closure value: the callee expression.
	CallValue
	// CallVariant makes Variant from Args.
	CallVariant
	// CallAny calls a value of type Any, checked at run time.
	CallAny
	// CallAnyMethod calls Name on a receiver of type Any (or a bound's
	// method on a type parameter): Args[0] is the receiver, found at run time.
	CallAnyMethod
	// CallTool calls a tool function: Fn, Args[0] is the tool.
	CallTool
	// CallPipeline is P.run(args).
	CallPipeline
	// CallErrorNew is T::new(msg) of a built-in error type.
	CallErrorNew
)

// Call is how a Call or MethodCall is made. Evaluate the receiver (a
// MethodCall's), then the arguments in written order, then fill the
// parameters from Args.
type Call struct {
	Kind     CallKind
	Fn       *Function
	Variant  *VariantRef
	Pipeline *Pipeline
	Error    types.Type // of CallErrorNew
	Name     string
	// Piped says that x |> gives the first argument; it stands in Args as
	// ArgPiped.
	Piped bool
	// Args has one entry a parameter of the callee, in parameter order.
	Args []Arg
	// TypeArgs are Fn's type arguments, for Shape functions.
	TypeArgs []types.Type

	pipedConv types.Type
}

// ArgKind says where a parameter's value comes from.
type ArgKind uint8

// The kinds of Arg.
const (
	ArgMissing  ArgKind = iota // none: the call is wrong, and reported
	ArgWritten                 // the Index-th written argument
	ArgReceiver                // the receiver of the MethodCall
	ArgPiped                   // the left side of |>
	ArgDefault                 // the parameter's default
	ArgShape                   // the run-time type of TypeArgs[Index]
	ArgRest                    // an array of all written arguments from Index on, the piped value first (print)
)

// Arg is where a parameter's value comes from.
type Arg struct {
	Kind  ArgKind
	Index int
	// Conv is the conversion of a piped value, which has no expression of its
	// own; nil for none.
	Conv types.Type
}

// SelectKind says what `x.f` reads.
type SelectKind uint8

// The kinds of Selection.
const (
	SelectField SelectKind = iota // field Field of a struct, schema or error value
	SelectMap                     // m.k: Option lookup of a Map with String keys
	SelectAny                     // member of an Any
	SelectError                   // message, kind or source of an Error or error type
	SelectTool                    // state field Field of a tool (through self)
)

// Selection is what `x.f` reads.
type Selection struct {
	Kind  SelectKind
	Field *types.Field
}

// Closure is what a closure captures and its type. ByRef captures are mutable
// variables (they live in cells), others are copied.
type Closure struct {
	Type     *types.Func
	Params   []*Local // nil where a parameter is a pattern
	Captures []*Local
}

// Listen is how a listen is made. Host is the declaration when it is known at
// compile time. Execute calls stand in Call (the MethodCall ending the chain);
// Schema is T of execute_with_schema<T>, nil for execute.
type Listen struct {
	Host     *Host
	Prompt   ast.Expr
	Builder  ast.Expr // evaluates to the Host value
	Schema   types.Type
	Typed    *Function // library function that turns the raw result into Result<T, Error>
	Dispatch *Function // library function for tool_calls without a handler
	Handlers []*Handler
}

// Handler is one handler. Param is nil for a closure whose parameter is `_`
// or missing; Schema is nil when untyped; Fn is set for a named function.
type Handler struct {
	Type   string
	Param  *Local
	Schema types.Type
	Body   ast.Expr // of the closure
	Fn     *Function
	Value  ast.Expr // a handler that is any other function value
}

// LeaveKind says where an error born by `?` or `throw` goes.
type LeaveKind uint8

// The kinds of Leave.
const (
	// LeaveTry goes to the clauses of the enclosing Try; if none takes it, on
	// to Next.
	LeaveTry LeaveKind = iota
	// LeaveReturn returns Err(e) (or None) from the function, closure, or
	// handler (a handler's is BlockEnd with Err(e)).
	LeaveReturn
	// LeaveRaise raises the error: Throw.
	LeaveRaise
	// LeaveBody ends the concurrent body with the error (nil for a None), as it
	// is; the expression's own Leaves[Site] follows.
	LeaveBody
)

// Leave is what `?` on an Err or None, or `throw`, does with the error.
type Leave struct {
	Kind LeaveKind
	// Option says that the operand of `?` is an Option; NoneError that a None
	// becomes RuntimeError("value is None").
	Option    bool
	NoneError bool
	// Convert is the From function applied before LeaveReturn, nil for none.
	Convert *Function
	Try     *ast.TryExpr
	// Site is, of a LeaveBody, the index into the expression's Leaves.
	Site int
	// Next is where an error goes that no clause of Try takes: the leave as
	// if the try were not there.
	Next *Leave
}

// Try is a try expression's detail. Bare is a try without catch, a
// Result<T, Error>.
type Try struct {
	Bare    bool
	Catches []*Local // the bound error of each clause, nil without a name
	Types   []types.Type
}

// StructLit is how a struct literal is made: for each field of the
// declaration, in order, where its value comes from.
type StructLit struct {
	Type    *types.Named
	Variant *VariantRef // of a named variant's literal
	Fields  []FieldSource
}

// FieldSource is where a field's value comes from: the Index-th written
// initialiser, else the rest (`..base`), else Default, else absent (nil).
type FieldSource struct {
	Index   int // -1 when not written
	Rest    bool
	Default ast.Expr
	Info    *Info // of Default
}

// Agent is an agent declaration with its constant fields.
type Agent struct {
	Name       string
	Decl       *ast.AgentDecl
	Type       *types.Declared
	Info       *Info
	Connection string
	Fields     map[string]any // constants, by field name; tools are *Tool, memory a *Store
	// Decorations stand around each call, the outermost first.
	Decorations []*Decoration
	mod         *module
}

// Host is a host declaration with its constant fields.
type Host struct {
	Name      string
	Decl      *ast.HostDecl
	Type      *types.Declared
	Info      *Info
	Connector string
	Fields    map[string]any
	Tools     []*Tool
	// Decorations stand around each call, the outermost first.
	Decorations []*Decoration
	mod         *module
}

// Tool is a tool declaration. State are its fields, the slots of the tool
// value in order.
type Tool struct {
	Name        string
	Decl        *ast.ToolDecl
	Type        *types.Declared
	Info        *Info
	Description string
	State       []*types.Field
	Methods     []*Function
	Described   []string // @describe's text by method, "" for one without
	// Server is the MCP server that has the functions, "" for a tool of the
	// program. Call and Try are the library's functions that call one: the value,
	// or a Result.
	Server    string
	Call, Try *Function
	// Rest says that the server's other functions can be called, too.
	Rest bool
	mod  *module
}

// Store is a hashmap, ledger or memory declaration.
type Store struct {
	Name   string
	Kind   ast.StoreKind
	Decl   *ast.StoreDecl
	Type   types.Type
	Window int64  // Memory::new(n); 0 for none
	File   string // of with_persistence; "" for a store in memory
}

// Pipeline is a pipeline declaration.
type Pipeline struct {
	Name   string
	Decl   *ast.PipelineDecl
	Type   *types.Declared
	Info   *Info
	Params []*Param // of run
	Result types.Type
	// ResultConv converts the last stage's output, nil for none.
	ResultConv types.Type
	Stages     []*Stage

	pending types.Type // Result while it is not known
	mod     *module
}

// Stage is a stage. A function stage has Params: the pipeline's own first
// stage receives all of run's arguments, later ones the previous output. Name
// is visible to later stages as Local.
type Stage struct {
	Name   string
	Decl   *ast.Stage
	Local  *Local
	Params []*Param
	// Output is the stage's payload type, a Result unwrapped.
	Output types.Type
	// Unwraps says that the stage's own value is a Result.
	Unwraps bool
	// TakesAll says that a function stage gets the pipeline's parameters, not
	// the previous output.
	TakesAll bool
	// InputConv converts the previous output to the parameter, nil for none.
	InputConv types.Type
	// Decorations stand around the stage, the outermost first. A stage with some
	// is a closure over what Body captures.
	Decorations []*Decoration
	Body        *Closure
}

// Test is an @test function. Name is its description, such as
// "group :: name", or the function's name without one. ExpectFail says that it
// is expected to fail, with a message that holds Expect.
type Test struct {
	Name       string
	Fn         *Function
	ExpectFail bool
	Expect     string
}

func (*Local) object()      {}
func (*Function) object()   {}
func (*Const) object()      {}
func (*Agent) object()      {}
func (*Host) object()       {}
func (*Tool) object()       {}
func (*Store) object()      {}
func (*Pipeline) object()   {}
func (*VariantRef) object() {}

// Source is what `for` takes elements from, one after the other: Next gives an
// Option of Elem, Close is called however the loop ends.
type Source struct {
	Next, Close *Function
	Elem        types.Type
}

// Source is how `for` takes elements from e one after the other; nil when it
// does not.
func (i *Info) Source(e ast.Expr) *Source { return i.sources[e.ID()] }
