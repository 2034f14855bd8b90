package ast

import "github.com/concerto-lang/concerto/internal/text/source"

// Expr is an expression.
//
//sumtype:decl
type Expr interface {
	Node
	ID() ID
	expr()
}

// IntLit is an integer literal. Value is the number without a sign: the literal in
// -9223372036854775808 is Unary{-, IntLit{1<<63}}. Overflow is set if the number does not fit into
// 64 bits.
type IntLit struct {
	IDBase
	Value    uint64
	Overflow bool
}

// FloatLit is a float literal.
type FloatLit struct {
	IDBase
	Value float64
}

// BoolLit is `true` or `false`.
type BoolLit struct {
	IDBase
	Value bool
}

// NilLit is `nil`.
type NilLit struct{ IDBase }

// StringLit is a string of any form without interpolation. Value is the decoded text.
type StringLit struct {
	IDBase
	Value string
}

// InterpLit is a string with `${ }` parts. Texts has one element more than Exprs: Texts[i] precedes
// Exprs[i].
type InterpLit struct {
	IDBase
	Texts []string
	Exprs []Expr
}

// PathExpr is a name or `a::b::c`. Type arguments follow the last segment, or the segment before it
// in `Name<T>::f`. `self` and `Self` are names here.
type PathExpr struct {
	IDBase
	Segments []*Ident
	TypeArgs []Type
	// ArgsAt is the index of the segment before the type arguments, or -1 without type arguments.
	ArgsAt int
}

// ParenExpr is `( e )`.
type ParenExpr struct {
	IDBase
	X Expr
}

// ArrayLit is `[a, b]`.
type ArrayLit struct {
	IDBase
	Elems []Expr
}

// MapEntry is one `key: value`. A key written as a word or string is a StringLit. A key in brackets
// is any expression (Computed).
type MapEntry struct {
	Base
	Key      Expr
	Computed bool
	Value    Expr
}

// MapLit is `{ k: v }` or `{}`.
type MapLit struct {
	IDBase
	Entries []*MapEntry
}

// TupleLit is `(a, b)`; one element is `(a,)`.
type TupleLit struct {
	IDBase
	Elems []Expr
}

// FieldInit is `name: e` or the short form `name`, whose Value is a PathExpr.
type FieldInit struct {
	Base
	Name  *Ident
	Value Expr
	Short bool
}

// StructLit is `Path { x: 1, ..base }`, also of named enum variants.
type StructLit struct {
	IDBase
	Path   *PathExpr
	Fields []*FieldInit
	Rest   Expr // expression after `..`; nil without `..`
}

// Unary is `!x` or `-x`.
type Unary struct {
	IDBase
	Op Op
	X  Expr
}

// Binary is `x op y`. OpSpan is the operator's span.
type Binary struct {
	IDBase
	Op     Op
	OpSpan source.Span
	X, Y   Expr
}

// Assign is `target = v` (Op is OpNone) or `target op= v`.
type Assign struct {
	IDBase
	Op     Op
	OpSpan source.Span
	Target Expr
	Value  Expr
}

// Pipe is `x |> f(a)`. Right is the right side as written. Call is the part of Right that receives
// X as its first argument: a *Call or a *MethodCall, or, for `x |> f`, the callee.
type Pipe struct {
	IDBase
	X     Expr
	Right Expr
	Call  Expr
}

// RangeExpr is `lo..hi` or `lo..=hi`. An end that is not written is nil.
type RangeExpr struct {
	IDBase
	Lo, Hi    Expr
	Inclusive bool
}

// Cast is `x as T`.
type Cast struct {
	IDBase
	X    Expr
	Type Type
}

// Arg is an argument of a call. Name is nil for a positional argument.
type Arg struct {
	Base
	Name  *Ident
	Value Expr
}

// Call is `f(args)`, also of an enum constructor, or `(x.f)(args)`. The PathExpr contains the type
// arguments of `f<T>(…)`.
type Call struct {
	IDBase
	Fn   Expr
	Args []*Arg
}

// MethodCall is `x.name<T>(args)`.
type MethodCall struct {
	IDBase
	Recv     Expr
	Name     *Ident
	TypeArgs []Type
	Args     []*Arg
}

// FieldExpr is `x.name`.
type FieldExpr struct {
	IDBase
	X    Expr
	Name *Ident
}

// TupleIndex is `x.0`.
type TupleIndex struct {
	IDBase
	X     Expr
	Index int
	At    source.Span // span of the digits
}

// IndexExpr is `x[i]`. A slice has a RangeExpr as its index.
type IndexExpr struct {
	IDBase
	X, Index Expr
}

// Question is `x?`.
type Question struct {
	IDBase
	X Expr
}

// Await is `await x`, or `x.await` if Postfix is set.
type Await struct {
	IDBase
	X       Expr
	Postfix bool
}

// AwaitAll is `await (a, b)`.
type AwaitAll struct {
	IDBase
	Elems []Expr
}

// Race is `race (a, b)`.
type Race struct {
	IDBase
	Elems []Expr
}

// ParallelFor is `parallel for p in xs { }`. Limit is the argument of @limit.
type ParallelFor struct {
	IDBase
	Limit   Expr
	Pattern Pattern
	Iter    Expr
	Body    *Block
}

// IfExpr is `if c { } else …`. Else is nil, a *BlockExpr or an *IfExpr.
type IfExpr struct {
	IDBase
	Cond Expr
	Then *Block
	Else Expr
}

// LetCond is `let p = e` as the condition of an if or a while.
type LetCond struct {
	IDBase
	Pattern Pattern
	X       Expr
}

// Arm is `pattern if guard => body`.
type Arm struct {
	Base
	Pattern Pattern
	Guard   Expr
	Body    Expr
}

// MatchExpr is `match x { arms }`. Head spans `match x`.
type MatchExpr struct {
	IDBase
	Subject Expr
	Arms    []*Arm
	Head    source.Span
}

// ForExpr is `for p in xs { }`.
type ForExpr struct {
	IDBase
	Label   *Ident
	Pattern Pattern
	Iter    Expr
	Body    *Block
}

// WhileExpr is `while c { }`. The condition of `while let` is a LetCond.
type WhileExpr struct {
	IDBase
	Label *Ident
	Cond  Expr
	Body  *Block
}

// LoopExpr is `loop { }`.
type LoopExpr struct {
	IDBase
	Label *Ident
	Body  *Block
}

// BlockExpr is a block as an expression.
type BlockExpr struct {
	IDBase
	Block *Block
}

// Catch is `catch T(e) { }`. Type is nil if the clause catches every error. Name is nil if the
// clause does not bind the error.
type Catch struct {
	Base
	Type Type
	Name *Ident
	Body *Block
}

// TryExpr is `try { } catch … { }`.
type TryExpr struct {
	IDBase
	Body    *Block
	Catches []*Catch
}

// Closure is `|p| e`, or `fn(p) { }` if Fn is set. Body is a *BlockExpr if it has braces.
type Closure struct {
	IDBase
	Fn     bool
	Params []*Param
	Result Type
	Body   Expr
}

// EmitExpr is `emit(c, p)` or `emit<T>(c, p)`. Await is set for `await emit(…)`.
type EmitExpr struct {
	IDBase
	Await   bool
	Type    Type // type argument T; nil if it is omitted
	Channel Expr
	Payload Expr // second argument; nil if it is omitted
}

// Handler is `"type" => closure` or `on "type" => path` in a listen.
type Handler struct {
	Base
	On    bool
	Type  *StringLit
	Value Expr // *Closure or *PathExpr
}

// ListenExpr is `listen call { handlers }`. Head spans `listen call`.
type ListenExpr struct {
	IDBase
	Call     Expr
	Handlers []*Handler
	Head     source.Span
}

// ReturnExpr is `return [x]`.
type ReturnExpr struct {
	IDBase
	X Expr
}

// BreakExpr is `break ['label] [x]`. The value of the loop is x.
type BreakExpr struct {
	IDBase
	Label *Ident
	X     Expr
}

// ContinueExpr is `continue ['label]`.
type ContinueExpr struct {
	IDBase
	Label *Ident
}

// ThrowExpr is `throw x`.
type ThrowExpr struct {
	IDBase
	X Expr
}

// BadExpr replaces an expression that is missing or has syntax errors. Names are the names that
// occur in the expression's text.
type BadExpr struct {
	IDBase
	Names []*Ident
}

func (*IntLit) expr()       {}
func (*FloatLit) expr()     {}
func (*BoolLit) expr()      {}
func (*NilLit) expr()       {}
func (*StringLit) expr()    {}
func (*InterpLit) expr()    {}
func (*PathExpr) expr()     {}
func (*ParenExpr) expr()    {}
func (*ArrayLit) expr()     {}
func (*MapLit) expr()       {}
func (*TupleLit) expr()     {}
func (*StructLit) expr()    {}
func (*Unary) expr()        {}
func (*Binary) expr()       {}
func (*Assign) expr()       {}
func (*Pipe) expr()         {}
func (*RangeExpr) expr()    {}
func (*Cast) expr()         {}
func (*Call) expr()         {}
func (*MethodCall) expr()   {}
func (*FieldExpr) expr()    {}
func (*TupleIndex) expr()   {}
func (*IndexExpr) expr()    {}
func (*Question) expr()     {}
func (*Await) expr()        {}
func (*AwaitAll) expr()     {}
func (*Race) expr()         {}
func (*ParallelFor) expr()  {}
func (*IfExpr) expr()       {}
func (*LetCond) expr()      {}
func (*MatchExpr) expr()    {}
func (*ForExpr) expr()      {}
func (*WhileExpr) expr()    {}
func (*LoopExpr) expr()     {}
func (*BlockExpr) expr()    {}
func (*TryExpr) expr()      {}
func (*Closure) expr()      {}
func (*EmitExpr) expr()     {}
func (*ListenExpr) expr()   {}
func (*ReturnExpr) expr()   {}
func (*BreakExpr) expr()    {}
func (*ContinueExpr) expr() {}
func (*ThrowExpr) expr()    {}
func (*BadExpr) expr()      {}
