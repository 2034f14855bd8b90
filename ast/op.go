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

// IsOrdering reports whether o is <, <=, > or >=.
func (o Op) IsOrdering() bool { return o >= OpLt && o <= OpGe }

// Assoc is the associativity of an operator.
type Assoc uint8

// The associativities.
const (
	Left Assoc = iota
	Right
	None
)

// OpInfo is one row of the operator table (spec/04-expressions.md): text, precedence and
// associativity. An operator with a larger precedence binds tighter.
type OpInfo struct {
	Text       string
	Precedence int
	Assoc      Assoc
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
	OpMul: {"*", 10, Left}, OpDiv: {"/", 10, Left}, OpRem: {"%", 10, Left},
	OpAdd: {"+", 9, Left}, OpSub: {"-", 9, Left},
	OpCoalesce: {"??", 7, Right},
	OpLt:       {"<", 6, Left}, OpGt: {">", 6, Left}, OpLe: {"<=", 6, Left}, OpGe: {">=", 6, Left},
	OpEq: {"==", 5, Left}, OpNe: {"!=", 5, Left},
	OpAnd: {"&&", 4, Left}, OpOr: {"||", 3, Left},
	OpPipe: {"|>", PrecPipe, Left},
	OpNot:  {"!", PrecUnary, Right}, OpNeg: {"-", PrecUnary, Right},
}

func (o Op) String() string { return Ops[o].Text }
