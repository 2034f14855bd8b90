package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

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
