package sema

import (
	"sort"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Program is a checked program, the input of the code generator. If the diagnostics contain no
// error, every table is complete and consistent.
type Program struct {
	Name string
	// Files are the files in use, the user's first, in the order of loading.
	Files []*Info
	// Functions are all functions to generate: the user's in source order (functions, methods, tool
	// functions), then the library's in the order of first use.
	Functions []*Function
	Main      *Function // nil if there is none
	Agents    []*Agent
	Hosts     []*Host
	Tools     []*Tool
	Stores    []*Store
	Pipelines []*Pipeline
	Tests     []*Test
	// OnMockPrompt is called with host and prompt before each exchange if a test mocks a host with
	// a closure; else nil.
	OnMockPrompt *Function
	// OnToolsKnown is called with each host before its exchange, when its tools are known, in a
	// program with an MCP block that contains `..`; else nil.
	OnToolsKnown *Function
	// Dynamic lists the methods that calls on Any may reach.
	Dynamic []Dynamic
	// Partial reports that no code can be generated, because the program is longer than
	// Config.Most.
	Partial bool
	// CallsUntyped reports that functions may be called through an Any with arguments of wrong
	// types: they then check their arguments themselves.
	CallsUntyped bool

	checker *checker
}

// Info holds the results for one file's nodes, in tables indexed by the dense ids of its
// expressions and patterns.
type Info struct {
	File    *ast.File
	Library bool

	// The tables are created when something in the file is checked. Until then, outside holds the
	// types that are written outside bodies.
	types   []types.Type
	conv    []types.Type
	objects []Object
	details []any
	outside []writtenType
	// iterators are the methods that return the array that `for` iterates over, by the id of the
	// collection's expression.
	iterators map[ast.ID]*Function
	// sources are the methods that return elements for `for` one by one.
	sources map[ast.ID]*Source
	mocks   map[*ast.MockStmt]*Mock

	allows  map[*ast.Decorator]bool // the `@allow`s in valid positions
	allowed []allowance

	blocks map[*ast.Block]*module // of blocks that contain declarations
}

func (i *Info) noteBlock(b *ast.Block, m *module) {
	if i.blocks == nil {
		i.blocks = map[*ast.Block]*module{}
	}
	i.blocks[b] = m
}

// writtenType is the type of a written type expression.
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

// fill creates the tables.
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

// noteWritten records the type of a written type expression.
func (i *Info) noteWritten(id ast.ID, t types.Type) {
	if i.types != nil {
		i.types[id] = t
	} else {
		i.outside = append(i.outside, writtenType{id, t})
	}
}

// TypeOf returns the type of an expression's value as evaluated, before Conv. It returns the error
// type if the type is unknown, because of an error or because the expression has no value of its
// own.
func (i *Info) TypeOf(e ast.Expr) types.Type { return i.typeAt(e.ID()) }

func (i *Info) typeAt(id ast.ID) types.Type {
	i.fill() // the query may be for a file whose results were reused
	if t := i.types[id]; t != nil {
		return types.Resolve(t)
	}
	return types.Bad
}

// Conv returns the type that an expression's value is converted to, or nil if it is not converted.
// The steps from TypeOf(e) to it are: Int to Float; then T to Option<T> (nil to None is not a
// step); any type to Any (which removes a Some box); Any to T with a run-time check; any type to
// Nil (discarded).
func (i *Info) Conv(e ast.Expr) types.Type {
	if t := i.conv[e.ID()]; t != nil {
		return types.Resolve(t)
	}
	return nil
}

// Object returns the object that a PathExpr refers to, or that a NamePat binds or matches.
func (i *Info) Object(n interface{ ID() ast.ID }) Object { return i.objects[n.ID()] }

// PatternType returns the type of the values that a pattern is matched against.
func (i *Info) PatternType(p ast.Pattern) types.Type { return i.typeAt(p.ID()) }

// Written returns the type of a type expression (Cast, Catch, emit<T>).
func (i *Info) Written(t ast.Type) types.Type { return i.typeAt(t.ID()) }

// Details of individual kinds of nodes.

// Call returns the detail of a Call or MethodCall.
func (i *Info) Call(e ast.Expr) *Call { c, _ := i.details[e.ID()].(*Call); return c }

// Iterator returns the method of a library type that returns the array for `for`, by the
// collection's expression. It returns nil if the collection itself is iterated.
func (i *Info) Iterator(e ast.Expr) *Function { return i.iterators[e.ID()] }

// Source returns how `for` reads elements from e one by one, or nil if it does not.
func (i *Info) Source(e ast.Expr) *Source { return i.sources[e.ID()] }

// Select returns the detail of a FieldExpr.
func (i *Info) Select(e *ast.FieldExpr) *Selection { s, _ := i.details[e.ID()].(*Selection); return s }

// Closure returns the detail of a Closure.
func (i *Info) Closure(e *ast.Closure) *Closure { c, _ := i.details[e.ID()].(*Closure); return c }

// Listen returns the detail of a ListenExpr.
func (i *Info) Listen(e *ast.ListenExpr) *Listen { l, _ := i.details[e.ID()].(*Listen); return l }

// AsksPerson reports whether a handler's value is the word `ask`, so that no code handles the
// message.
func (i *Info) AsksPerson(e ast.Expr) bool { _, ok := i.details[e.ID()].(askPerson); return ok }

// Question returns the detail of a Question.
func (i *Info) Question(e *ast.Question) *Leave { q, _ := i.details[e.ID()].(*Leave); return q }

// Throw returns the detail of a ThrowExpr.
func (i *Info) Throw(e *ast.ThrowExpr) *Leave { q, _ := i.details[e.ID()].(*Leave); return q }

// Struct returns the detail of a StructLit.
func (i *Info) Struct(e *ast.StructLit) *StructLit { s, _ := i.details[e.ID()].(*StructLit); return s }

// Variant returns the detail of a VariantPat, StructPat, PathPat or NamePat that matches an enum's
// variant, Ok, Err, Some or None, or nil.
func (i *Info) Variant(p ast.Pattern) *VariantRef { v, _ := i.details[p.ID()].(*VariantRef); return v }

// Try returns the detail of a TryExpr.
func (i *Info) Try(e *ast.TryExpr) *Try { t, _ := i.details[e.ID()].(*Try); return t }

// Test is an @test function. Name is its description, such as "group :: name", or the function's
// name if there is none. ExpectFail reports that it must fail, with a message that contains Expect.
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
	// CallValue calls a closure value: the callee expression.
	CallValue
	// CallVariant creates Variant from Args.
	CallVariant
	// CallAny calls a value of type Any, with checks at run time.
	CallAny
	// CallAnyMethod calls Name on a receiver of type Any (or a bound's method on a type parameter).
	// Args[0] is the receiver. The method is resolved at run time.
	CallAnyMethod
	// CallTool calls a tool function, Fn. Args[0] is the tool.
	CallTool
	// CallPipeline is P.run(args).
	CallPipeline
	// CallErrorNew is T::new(msg) of a built-in error type.
	CallErrorNew
)

// Call describes a Call or MethodCall. Evaluate the receiver (of a MethodCall), then the arguments
// in written order, then fill the parameters from Args.
type Call struct {
	Kind     CallKind
	Fn       *Function
	Variant  *VariantRef
	Pipeline *Pipeline
	Error    types.Type // of CallErrorNew
	Name     string
	// Piped reports that the first argument is piped with |>. It appears in Args as ArgPiped.
	Piped bool
	// Args has one entry for each parameter of the callee, in order.
	Args []Arg
	// TypeArgs are Fn's type arguments, for Shape functions.
	TypeArgs []types.Type

	pipedConv types.Type
}

// ArgKind is the source of a parameter's value.
type ArgKind uint8

// The kinds of Arg.
const (
	ArgMissing  ArgKind = iota // none: the call has an error that is reported
	ArgWritten                 // the Index-th written argument
	ArgReceiver                // the receiver of the MethodCall
	ArgPiped                   // the left side of |>
	ArgDefault                 // the parameter's default, or None
	ArgShape                   // the run-time type of TypeArgs[Index]
	ArgRest                    // an array of all written arguments from Index on, the piped value first (print)
)

// Arg is the source of a parameter's value.
type Arg struct {
	Kind  ArgKind
	Index int
	// Conv is the conversion of a piped value, which has no expression of its own, or nil.
	Conv types.Type
}

// SelectKind is the kind of member that `x.f` reads.
type SelectKind uint8

// The kinds of Selection.
const (
	SelectField SelectKind = iota // field Field of a struct, schema or error value
	SelectMap                     // m.k: lookup in a Map with String keys, an Option
	SelectAny                     // member of an Any
	SelectError                   // message, kind or source of an Error or error type
	SelectTool                    // state field Field of a tool (through self)
)

// Selection is the member that `x.f` reads.
type Selection struct {
	Kind  SelectKind
	Field *types.Field
}

// Closure holds the captures and the type of a closure. ByRef captures are mutable variables, which
// are stored in cells; other captures are copied.
type Closure struct {
	Type     *types.Func
	Params   []*Local // nil for a parameter that is a pattern
	Captures []*Local
}

// Listen describes a listen. Host is the declaration if it is known at compile time. Call is the
// call of execute, the MethodCall at the end of the chain. Schema is T of execute_with_schema<T>,
// or nil for execute.
type Listen struct {
	Host     *Host
	Prompt   ast.Expr
	Builder  ast.Expr // evaluates to the Host value
	Schema   types.Type
	Typed    *Function // library function that converts the raw result to Result<T, Error>
	Dispatch *Function // library function for tool_calls without a handler
	Handlers []*Handler
}

// Handler is one handler. Param is nil for a closure whose parameter is `_` or missing. Schema is
// nil if untyped. Fn is set for a named function.
type Handler struct {
	At     source.Span
	Type   string
	Param  *Local
	Schema types.Type
	Body   ast.Expr // of the closure
	Fn     *Function
	Value  ast.Expr // a handler that is any other function value, or `ask`
}

// askPerson is the detail of the word `ask` as a handler.
type askPerson struct{}

// LeaveKind is the target of an error that `?` or `throw` raises.
type LeaveKind uint8

// The kinds of Leave.
const (
	// LeaveTry jumps to the clauses of the enclosing Try. If none matches, Next applies.
	LeaveTry LeaveKind = iota
	// LeaveReturn returns Err(e) (or None) from the function, closure, or handler (for a handler,
	// BlockEnd with Err(e)).
	LeaveReturn
	// LeaveRaise raises the error with Throw.
	LeaveRaise
	// LeaveBody ends the concurrent body with the unchanged error (nil for a None). The
	// expression's own Leaves[Site] then applies.
	LeaveBody
)

// Leave describes what `?` on an Err or None, or `throw`, does with the error.
type Leave struct {
	Kind LeaveKind
	// Option reports that the operand of `?` is an Option. NoneError reports that a None becomes
	// RuntimeError("value is None").
	Option    bool
	NoneError bool
	// Convert is the From function to apply before LeaveReturn, or nil.
	Convert *Function
	Try     *ast.TryExpr
	// Site is, for a LeaveBody, the index in the expression's Leaves.
	Site int
	// Failed applies to an Err that the operand, an Any, contains at run time.
	Failed *Leave
	// Next applies to an error that no clause of Try matches: the leave as if there were no try.
	Next *Leave
}

// Try is the detail of a try expression. Bare is a try without catch, a Result<T, Error>.
type Try struct {
	Bare    bool
	Catches []*Local // the bound error of each clause; nil without a name
	Types   []types.Type
}

// StructLit describes a struct literal: the source of the value of each field of the declaration,
// in order.
type StructLit struct {
	Type    *types.Named
	Variant *VariantRef // of a named variant's literal
	Fields  []FieldSource
}

// FieldSource is the source of a field's value: the Index-th written initialiser, else the rest
// (`..base`), else Default, else absent (nil).
type FieldSource struct {
	Index   int // -1 if not written
	Rest    bool
	Default ast.Expr
	Info    *Info // of Default
}

// Source describes how `for` reads elements one by one: Next returns an Option of Elem. Close is
// called when the loop ends, but if an error leaves the loop and Leave is set, Leave is called with
// the error instead.
type Source struct {
	Next, Close, Leave *Function
	Elem               types.Type
}

// Dynamic is a method that a call on an Any may reach: any value of Type with that Name.
type Dynamic struct {
	Name string
	Type types.Type
	Fn   *Function
}

// noteDynamic adds a method to Dynamic, once.
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
