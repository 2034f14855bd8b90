package sema

import (
	"sort"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Program is a checked program. The code generator reads it. If the diagnostics contain no error,
// every table is complete and consistent.
type Program struct {
	Name string
	// Files contains the files in the order of loading. The program's own files come before the
	// library's files.
	Files []*Info
	// Functions contains all functions to generate. The program's functions, methods and tool
	// functions come first, in source order. The library's functions follow, in the order of their
	// first use.
	Functions []*Function
	Main      *Function // nil if the program has no main function
	Agents    []*Agent
	Hosts     []*Host
	Tools     []*Tool
	Stores    []*Store
	Pipelines []*Pipeline
	Tests     []*Test
	Evals     []*Eval // also if the program does not include them
	// Guard is the function with the decorator `@guard`; nil if there is none.
	Guard *Function
	// OnMockPrompt is the library function to call with the host and the prompt before each
	// exchange. It is nil unless a test mocks a host with a closure.
	OnMockPrompt *Function
	// OnResult is the library function to call with the host and the result of each turn of a
	// `listen` without a schema. It is nil if no host of the program has a gate.
	OnResult *Function
	// OnToolsKnown is the library function to call with the host before each exchange, when the
	// host's tools are known. It is nil unless an MCP block contains `..`.
	OnToolsKnown *Function
	// OnLost is the library function to call with a value whose Results the program never reads. It
	// is nil if there is no such value.
	OnLost *Function
	// Dynamic contains the methods that calls on an Any may call.
	Dynamic []Dynamic
	// Partial reports that no code can be generated, because the program has more lines than
	// Config.LibraryBodiesUpToLines.
	Partial bool
	// CallsUntyped reports that functions may be called through an Any with arguments of wrong
	// types. The functions then check the types of their arguments.
	CallsUntyped bool

	checker *checker
}

// Info contains the results for the nodes of one file. Its tables are indexed by the ids of
// expressions, patterns and types.
type Info struct {
	File    *ast.File
	Library bool
	pkg     *Package // package that contains the file; nil for the project and the library

	// The tables are created when code in the file is checked. Until then, outside contains the
	// types of the type expressions outside bodies.
	types   []types.Type
	conv    []types.Type
	objects []Object
	details []any
	outside []writtenType
	// iterators maps the id of a collection that a `for` iterates over to the method that returns
	// its elements as an array.
	iterators map[ast.ID]*Function
	// sources maps the id of an expression that a `for` iterates over to the methods that return
	// its elements one by one.
	sources map[ast.ID]*Source
	mocks   map[*ast.MockStmt]*Mock
	// lost contains the ids of the expressions whose values hold a Result and are discarded.
	lost map[ast.ID]bool

	allows  map[*ast.Decorator]bool // the `@allow`s in valid positions
	allowed []allowance

	blocks map[*ast.Block]*module // modules of the blocks that contain declarations
}

// Checked reports whether code in the file has been checked, so that the results for its nodes can
// be read.
func (i *Info) Checked() bool { return i.types != nil }

func (i *Info) noteBlock(b *ast.Block, m *module) {
	if i.blocks == nil {
		i.blocks = map[*ast.Block]*module{}
	}
	i.blocks[b] = m
}

// writtenType is the type to which a type expression in the source text refers.
type writtenType struct {
	id ast.ID
	t  types.Type
}

func (c *checker) newInfo(f *ast.File, library bool) *Info {
	i := &Info{File: f, Library: library}
	if library || !c.canReuse() {
		i.fill()
	}
	return i
}

// fill creates the tables if they do not exist.
func (i *Info) fill() {
	if i.types != nil {
		return
	}
	f := i.File
	i.types, i.conv = make([]types.Type, f.IDs), make([]types.Type, f.IDs)
	i.objects, i.details = make([]Object, f.IDs), make([]any, f.IDs)
	i.iterators, i.sources, i.mocks = map[ast.ID]*Function{}, map[ast.ID]*Source{}, map[*ast.MockStmt]*Mock{}
	for _, w := range i.outside {
		i.types[w.id] = w.t
	}
	i.outside = nil
}

// noteWritten records the type to which a type expression refers.
func (i *Info) noteWritten(id ast.ID, t types.Type) {
	if i.types != nil {
		i.types[id] = t
	} else {
		i.outside = append(i.outside, writtenType{id, t})
	}
}

// TypeOf returns the type of an expression's value before its conversion (Conv). It returns the
// error type if the type is unknown because of an error, or if the expression itself has no value.
func (i *Info) TypeOf(e ast.Expr) types.Type { return i.typeAt(e.ID()) }

func (i *Info) typeAt(id ast.ID) types.Type {
	i.fill() // the file's results may have been reused, so that there are no tables
	if t := i.types[id]; t != nil {
		return types.Resolve(t)
	}
	return types.Bad
}

// Conv returns the type to which an expression's value is converted, or nil without a conversion.
// The conversion from TypeOf(e) consists of these steps: Int to Float; then T to Option<T> (nil to
// None is not a step); any type to Any (which removes a Some box); Any to T with a run-time check;
// any type to Nil (the value is discarded).
func (i *Info) Conv(e ast.Expr) types.Type {
	if t := i.conv[e.ID()]; t != nil {
		return types.Resolve(t)
	}
	return nil
}

// Object returns the object to which a PathExpr refers, or which a NamePat binds or matches.
func (i *Info) Object(n interface{ ID() ast.ID }) Object { return i.objects[n.ID()] }

// PatternType returns the type of the values that are matched against a pattern.
func (i *Info) PatternType(p ast.Pattern) types.Type { return i.typeAt(p.ID()) }

// Written returns the type to which a type expression (in a Cast, Catch or emit<T>) refers.
func (i *Info) Written(t ast.Type) types.Type { return i.typeAt(t.ID()) }

// IsLost reports whether the value of e holds a Result and is discarded.
func (i *Info) IsLost(e ast.Expr) bool { return i.lost[e.ID()] }

// Details of individual kinds of nodes.

// Call returns the detail of a Call or MethodCall.
func (i *Info) Call(e ast.Expr) *Call { c, _ := i.details[e.ID()].(*Call); return c }

// Iterator returns the method that returns the elements of the collection e as an array for a
// `for`. It returns nil if the collection itself is iterated.
func (i *Info) Iterator(e ast.Expr) *Function { return i.iterators[e.ID()] }

// Source describes how a `for` reads elements from e one by one. It returns nil if e is no source.
func (i *Info) Source(e ast.Expr) *Source { return i.sources[e.ID()] }

// Select returns the detail of a FieldExpr.
func (i *Info) Select(e *ast.FieldExpr) *Selection { s, _ := i.details[e.ID()].(*Selection); return s }

// Closure returns the detail of a Closure.
func (i *Info) Closure(e *ast.Closure) *Closure { c, _ := i.details[e.ID()].(*Closure); return c }

// Listen returns the detail of a ListenExpr.
func (i *Info) Listen(e *ast.ListenExpr) *Listen { l, _ := i.details[e.ID()].(*Listen); return l }

// AsksPerson reports whether the value of a handler is the word `ask`. The program then contains no
// code for the message.
func (i *Info) AsksPerson(e ast.Expr) bool { _, ok := i.details[e.ID()].(askPerson); return ok }

// Question returns the detail of a Question.
func (i *Info) Question(e *ast.Question) *Leave { q, _ := i.details[e.ID()].(*Leave); return q }

// Throw returns the detail of a ThrowExpr.
func (i *Info) Throw(e *ast.ThrowExpr) *Leave { q, _ := i.details[e.ID()].(*Leave); return q }

// Struct returns the detail of a StructLit.
func (i *Info) Struct(e *ast.StructLit) *StructLit { s, _ := i.details[e.ID()].(*StructLit); return s }

// Variant returns the variant that a VariantPat, StructPat, PathPat or NamePat matches: a variant
// of an enum, or Ok, Err, Some or None. It returns nil if the pattern matches no variant.
func (i *Info) Variant(p ast.Pattern) *VariantRef { v, _ := i.details[p.ID()].(*VariantRef); return v }

// Try returns the detail of a TryExpr.
func (i *Info) Try(e *ast.TryExpr) *Try { t, _ := i.details[e.ID()].(*Try); return t }

// Test is an @test function. Name is its description, such as "group :: name", or the name of the
// function without a description. ExpectFail reports that the test must fail with a message that
// contains Expect.
type Test struct {
	Name       string
	Fn         *Function
	ExpectFail bool
	Expect     string
}

// Details of individual kinds of nodes, which Info stores by node.

// CallKind is the kind of a call.
type CallKind uint8

// The kinds of calls.
const (
	// CallFunction calls Fn with Args. The receiver of a method is Args[0].
	CallFunction CallKind = iota
	// CallValue calls a closure, which is the value of the callee expression.
	CallValue
	// CallVariant creates a value of Variant from Args.
	CallVariant
	// CallAny calls a value of type Any, which is checked at run time.
	CallAny
	// CallAnyMethod calls the method Name on a receiver of type Any, or the method of a bound on a
	// type parameter. Args[0] is the receiver. The method is looked up at run time.
	CallAnyMethod
	// CallTool calls Fn, which is a function of a tool. Args[0] is the tool.
	CallTool
	// CallPipeline is a call P.run(args) of a pipeline.
	CallPipeline
	// CallErrorNew is a call T::new(msg) of a built-in error type.
	CallErrorNew
)

// Call describes a Call or MethodCall. The generated code evaluates the receiver of a MethodCall,
// then the arguments in written order, and then fills the parameters from Args.
type Call struct {
	Kind     CallKind
	Fn       *Function
	Variant  *VariantRef
	Pipeline *Pipeline
	Error    types.Type // created type of a CallErrorNew
	Name     string
	// Piped reports that a |> passes the first argument. Args contains it as ArgPiped.
	Piped bool
	// Args contains the source of the value of each parameter of the callee, in order.
	Args []Arg
	// TypeArgs are the type arguments of Fn, for functions that receive run-time types.
	TypeArgs []types.Type

	pipedConv types.Type
}

// ArgKind is the source of a parameter's value.
type ArgKind uint8

// The kinds of Arg.
const (
	ArgMissing  ArgKind = iota // no value, because the call has an error that has been reported
	ArgWritten                 // written argument with the index Index
	ArgReceiver                // receiver of the MethodCall
	ArgPiped                   // left side of |>
	ArgDefault                 // default of the parameter, or None
	ArgShape                   // run-time type of TypeArgs[Index]
	ArgRest                    // array of all written arguments from Index on, after the piped value
)

// Arg is the source of a parameter's value.
type Arg struct {
	Kind  ArgKind
	Index int
	// Conv is the type to which a piped value is converted, or nil. A piped value has no expression
	// that could have a conversion.
	Conv types.Type
}

// SelectKind is the kind of the member that `x.f` reads.
type SelectKind uint8

// The kinds of Selection.
const (
	SelectField SelectKind = iota // field Field of a struct, a schema value or an error
	SelectMap                     // lookup of a key in a Map with String keys; an Option
	SelectAny                     // member of an Any
	SelectError                   // message, kind or source of an error
	SelectTool                    // state field Field of a tool, through self
)

// Selection describes the member that `x.f` reads.
type Selection struct {
	Kind  SelectKind
	Field *types.Field
}

// Closure contains the captures and the type of a closure. Captured mutable variables are in cells.
// Other variables are copied.
type Closure struct {
	Type     *types.Func
	Params   []*Local // nil for a parameter whose pattern is no name
	Captures []*Local
}

// Listen describes a listen. Host is the declaration of the host, if it is known at compile time.
// Call is the MethodCall of execute at the end of the chain. Schema is the T of
// execute_with_schema<T>, or nil for execute.
type Listen struct {
	Host     *Host
	Prompt   ast.Expr
	Builder  ast.Expr // expression whose value is the Host
	Schema   types.Type
	Typed    *Function // library function that converts the raw result to a Result<T, Error>
	Check    *Function // library function that checks the result of a turn; nil without a schema
	Dispatch *Function // library function that handles tool calls without a handler
	Handlers []*Handler
}

// Handler is one handler of a listen. Param is the parameter of a closure; it is nil if the
// parameter is `_` or missing. Schema is the type of the parameter, or nil without a type. Fn is
// set if the handler is the name of a function.
type Handler struct {
	At     source.Span
	Type   string
	Param  *Local
	Schema types.Type
	Body   ast.Expr // body of a closure
	Fn     *Function
	Value  ast.Expr // any other function value, or `ask`
}

// askPerson is the detail of the word `ask` that is used as a handler.
type askPerson struct{}

// LeaveKind is the target of an error that `?` or `throw` raises.
type LeaveKind uint8

// The kinds of Leave.
const (
	// LeaveTry jumps to the matching clause of the enclosing Try. If no clause matches, Next
	// applies.
	LeaveTry LeaveKind = iota
	// LeaveReturn returns Err(e), or None, from the function, closure or handler. In a handler,
	// Err(e) is the value of the handler's block.
	LeaveReturn
	// LeaveRaise raises the error with the instruction Throw.
	LeaveRaise
	// LeaveBody ends the concurrent body with the unchanged error, or with nil for a None. The
	// element Site of the expression's Leaves then applies.
	LeaveBody
)

// Leave describes how an error leaves the code at a `throw`, or at a `?` whose operand is an Err or
// None.
type Leave struct {
	Kind LeaveKind
	// Option reports that the operand of `?` is an Option. NoneError reports that a None becomes
	// the error RuntimeError("value is None").
	Option    bool
	NoneError bool
	// Convert is the function `from` that converts the error before LeaveReturn, or nil.
	Convert *Function
	Try     *ast.TryExpr
	// Site is the index in the expression's Leaves. It is used only by LeaveBody.
	Site int
	// Failed applies if the operand has the type Any and contains an Err at run time.
	Failed *Leave
	// Next applies to an error that no clause of Try matches. It is the Leave that would apply
	// without the try.
	Next *Leave
}

// Try is the detail of a try expression. Bare reports that the try has no catch. Its value is then
// a Result<T, Error>.
type Try struct {
	Bare    bool
	Catches []*Local // variable of each clause; nil if the clause does not bind the error
	Types   []types.Type
}

// StructLit describes a struct literal. It contains the source of the value of each field, in the
// order of the declaration.
type StructLit struct {
	Type    *types.Named
	Variant *VariantRef // variant, in a literal of a variant with named fields
	Fields  []FieldSource
}

// FieldSource is the source of a field's value. It is the written initialiser with the index Index,
// else the expression after `..`, else Default. Without any of them the value is nil.
type FieldSource struct {
	Index   int // -1 if the literal does not contain the field
	Rest    bool
	Default ast.Expr
	Info    *Info // file that contains Default
}

// Source describes how a `for` reads elements one by one. Next returns an Option of an element.
// Close is called when the loop ends. If Leave is set and an error leaves the loop, Leave is called
// with the error instead of Close.
type Source struct {
	Next, Close, Leave *Function
	Elem               types.Type
}

// Dynamic is a method that a call on an Any may call if the value has type Type.
type Dynamic struct {
	Name string
	Type types.Type
	Fn   *Function
}

// noteDynamic adds a method to Dynamic, unless Dynamic already contains it.
func (p *Program) noteDynamic(name string, t types.Type, fn *Function) {
	for _, d := range p.Dynamic {
		if d.Fn == fn && d.Name == name && types.Identical(d.Type, t) {
			return
		}
	}
	p.Dynamic = append(p.Dynamic, Dynamic{name, t, fn})
	sort.SliceStable(p.Dynamic, func(i, j int) bool {
		a, b := p.Dynamic[i], p.Dynamic[j]
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.Type.String() < b.Type.String()
	})
}
