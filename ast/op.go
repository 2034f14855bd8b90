package ast

// Op is an operator.
type Op uint8

// The operators. Prefix operators come last.
const (
	OpNone Op = iota
	OpMul
	OpDiv
	OpRem
	OpAdd
	OpSub
	OpCoalesce
	OpLt
	OpGt
	OpLe
	OpGe
	OpEq
	OpNe
	OpAnd
	OpOr
	OpPipe
	OpNot
	OpNeg
)

// OpKind is a kind of operators that the stages of the compiler treat alike. They have a table with
// a row for each operator of a kind.
type OpKind uint8

// The kinds of operators.
const (
	OtherOp    OpKind = iota // each has its own code
	Arithmetic               // of two numbers; the result is a number
	Ordering                 // of two values of the same type; the result is a Bool
	Equality
	Logical // of two Bools, the second of which may not be evaluated
)

// Kind returns the kind of the operator.
func (o Op) Kind() OpKind { return Ops[o].Kind }

// IsOrdering reports whether o is <, <=, > or >=.
func (o Op) IsOrdering() bool { return o.Kind() == Ordering }

// Assoc is the associativity of an operator.
type Assoc uint8

// The associativities.
const (
	Left Assoc = iota
	Right
	None
)

// OpInfo is one row of the operator table (spec/04-expressions.md): text, precedence, associativity
// and kind. An operator with a larger precedence binds tighter.
type OpInfo struct {
	Text       string
	Precedence int
	Assoc      Assoc
	Kind       OpKind
}

// Precedences of `as`, ranges and assignment, which are not Binary nodes but have a precedence
// relative to the binary operators.
const (
	PrecAssign = 1
	PrecPipe   = 2
	PrecRange  = 8
	PrecCast   = 11
	PrecUnary  = 12
)

// Ops is the operator table, indexed by Op.
var Ops = [...]OpInfo{
	OpMul: {"*", 10, Left, Arithmetic}, OpDiv: {"/", 10, Left, Arithmetic}, OpRem: {"%", 10, Left, Arithmetic},
	OpAdd: {"+", 9, Left, Arithmetic}, OpSub: {"-", 9, Left, Arithmetic},
	OpCoalesce: {"??", 7, Right, OtherOp},
	OpLt:       {"<", 6, Left, Ordering}, OpGt: {">", 6, Left, Ordering}, OpLe: {"<=", 6, Left, Ordering}, OpGe: {">=", 6, Left, Ordering},
	OpEq: {"==", 5, Left, Equality}, OpNe: {"!=", 5, Left, Equality},
	OpAnd: {"&&", 4, Left, Logical}, OpOr: {"||", 3, Left, Logical},
	OpPipe: {"|>", PrecPipe, Left, OtherOp},
	OpNot:  {"!", PrecUnary, Right, OtherOp}, OpNeg: {"-", PrecUnary, Right, OtherOp},
}

func (o Op) String() string { return Ops[o].Text }
