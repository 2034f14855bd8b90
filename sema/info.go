package sema

import (
	"sort"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
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
	// Asked is called with host and prompt before each exchange, where a test
	// mocks a host by a closure; else nil.
	Asked *Function
	// Knowing gives each host before its exchange, when it is known which tools it has:
	// in a program with an MCP block that leaves some to `..`; else nil.
	Knowing *Function
	// Dynamic lists what calls on Any may reach.
	Dynamic []Dynamic
	// Partial says that it cannot be generated: it is longer than Config.Most.
	Partial bool
	// CallsUntyped says that functions may be called with what their types do
	// not allow, by way of an Any: they then check their arguments themselves.
	CallsUntyped bool

	checker *checker
}

// Info holds what is known of one file's nodes, as tables keyed by the dense
// ids of its expressions and patterns.
type Info struct {
	File    *ast.File
	Library bool

	// The tables are made when something of the file is checked; until then outside has the types that
	// are written outside of bodies.
	types   []types.Type
	conv    []types.Type
	objects []Object
	details []any
	outside []writtenType
	// iterators are the methods that give what `for` goes over, by the id of
	// the collection's expression.
	iterators map[ast.ID]*Function
	// sources are the methods that give what `for` goes over one after the other.
	sources map[ast.ID]*Source
	mocks   map[*ast.MockStmt]*Mock

	allows  map[*ast.Decorator]bool // the `@allow`s that stand where they may
	allowed []allowance

	blocks map[*ast.Block]*module // of blocks with declarations of their own
}

func (i *Info) noteBlock(b *ast.Block, m *module) {
	if i.blocks == nil {
		i.blocks = map[*ast.Block]*module{}
	}
	i.blocks[b] = m
}

// writtenType is what a written type stands for.
type writtenType struct {
	id ast.ID
	t  types.Type
}

func (c *checker) newInfo(f *ast.File, library bool) *Info {
	i := &Info{File: f, Library: library}
	if library || !c.mayTakeOver() {
		i.fill()
	}
	return i
}

// fill makes the tables.
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

// noteWritten notes what a written type stands for.
func (i *Info) noteWritten(id ast.ID, t types.Type) {
	if i.types != nil {
		i.types[id] = t
	} else {
		i.outside = append(i.outside, writtenType{id, t})
	}
}

// TypeOf is the type of an expression's value as evaluated, before Conv. Where none
// is known, because a mistake stands in the way or the expression is no value of
// its own, it is the error type.
func (i *Info) TypeOf(e ast.Expr) types.Type { return i.typeAt(e.ID()) }

func (i *Info) typeAt(id ast.ID) types.Type {
	i.fill() // who asks of a name may come to a file that was taken over
	if t := i.types[id]; t != nil {
		return types.Resolve(t)
	}
	return types.Bad
}

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
func (i *Info) PatternType(p ast.Pattern) types.Type { return i.typeAt(p.ID()) }

// Written is the type that a type expression stands for (Cast, Catch, emit<T>).
func (i *Info) Written(t ast.Type) types.Type { return i.typeAt(t.ID()) }

// The details of single forms.

// Call is the detail of a Call or MethodCall.
func (i *Info) Call(e ast.Expr) *Call { c, _ := i.details[e.ID()].(*Call); return c }

// Iterator is the method of a library type that gives the array which `for`
// goes over, by the collection's expression; nil when that is iterated itself.
func (i *Info) Iterator(e ast.Expr) *Function { return i.iterators[e.ID()] }

// Source is how `for` takes elements from e one after the other; nil when it
// does not.
func (i *Info) Source(e ast.Expr) *Source { return i.sources[e.ID()] }

// Select is the detail of a FieldExpr.
func (i *Info) Select(e *ast.FieldExpr) *Selection { s, _ := i.details[e.ID()].(*Selection); return s }

// Closure is the detail of a Closure.
func (i *Info) Closure(e *ast.Closure) *Closure { c, _ := i.details[e.ID()].(*Closure); return c }

// Listen is the detail of a ListenExpr.
func (i *Info) Listen(e *ast.ListenExpr) *Listen { l, _ := i.details[e.ID()].(*Listen); return l }

// AsksPerson reports whether a handler's value is the word `ask`: no code handles the message.
func (i *Info) AsksPerson(e ast.Expr) bool { _, ok := i.details[e.ID()].(askPerson); return ok }

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

// Test is an @test function. Name is its description, such as
// "group :: name", or the function's name without one. ExpectFail says that it
// is expected to fail, with a message that holds Expect.
type Test struct {
	Name       string
	Fn         *Function
	ExpectFail bool
	Expect     string
}

// The details of single forms, which Info keeps by their nodes.

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
	ArgDefault                 // the parameter's default, None without one
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
	// Failed is, where the operand is an Any, what an Err does that it holds.
	Failed *Leave
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

// Source is what `for` takes elements from, one after the other: Next gives an
// Option of Elem, Close is called however the loop ends, but Leave, where there is one, with the
// error when one leaves the loop.
type Source struct {
	Next, Close, Leave *Function
	Elem               types.Type
}

// Dynamic is a method that a call on an Any may reach: any value of Type with
// that Name.
type Dynamic struct {
	Name string
	Type types.Type
	Fn   *Function
}

// noteDynamic lists a method once.
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
