package codegen

import (
	"math"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// constantInt returns the value of e if it is an Int constant: a literal, a negated literal or a
// const.
func (f *builder) constantInt(e ast.Expr) (int64, bool) {
	if f.info.Conv(e) != nil {
		return 0, false
	}
	return f.constantIntBefore(e)
}

// constantIntBefore returns the value of e before its conversion if this value is an Int constant.
func (f *builder) constantIntBefore(e ast.Expr) (int64, bool) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return f.constantInt(x.X)
	case *ast.IntLit:
		return int64(x.Value), x.Value <= math.MaxInt64
	case *ast.Unary:
		lit, ok := x.X.(*ast.IntLit)
		return -int64(lit0(lit)), ok && x.Op == ast.OpNeg
	case *ast.PathExpr:
		if c, ok := f.info.Object(x).(*sema.Const); ok {
			n, ok := c.Value.(int64)
			return n, ok && types.Resolve(c.Type) == types.Int
		}
	default: // the others are no constants
	}
	return 0, false
}

func lit0(l *ast.IntLit) uint64 {
	if l == nil {
		return 0
	}
	return l.Value
}

func (f *builder) unary(e *ast.Unary, hint int) val {
	if n, ok := f.constantIntBefore(e); ok {
		return f.intValue(n, hint)
	}
	x := f.operand(e.X)
	d := f.target(hint)
	if e.Op == ast.OpNot {
		f.emit(ir.OpNot, d, x.reg, 0, 0)
		return val{reg: d, class: ir.Bool, owned: true}
	}
	switch types.Resolve(f.resultType(e.X)) {
	case types.Int:
		f.emit(ir.OpNegInt, d, x.reg, 0, 0)
		return val{reg: d, class: ir.Int, owned: true}
	case types.Float:
		f.emit(ir.OpNegFloat, d, x.reg, 0, 0)
		return val{reg: d, class: ir.Float, owned: true}
	}
	f.emit(ir.OpAnyNeg, d, f.boxed(x, -1).reg, 0, 0)
	return val{reg: d, class: ir.Full, owned: true}
}

func (f *builder) binary(e *ast.Binary, hint int) val {
	switch e.Op {
	case ast.OpAnd, ast.OpOr:
		return f.logic(e, hint)
	case ast.OpCoalesce:
		return f.coalesce(e, hint)
	case ast.OpEq, ast.OpNe:
		return f.equality(e, hint)
	case ast.OpLt, ast.OpLe, ast.OpGt, ast.OpGe:
		return f.compare(e, hint)
	}
	t := types.Resolve(f.resultType(e.X))
	if t == types.Int {
		if v, ok := f.arithK(e, hint); ok {
			return v
		}
	}
	top := f.top
	x := f.operand(e.X, e.Y)
	y := f.operand(e.Y)
	return f.arith(e.Op, t, x, y, top, hint)
}

// resultRegister returns the register for the result of an operator. Without a hint it is the first
// register of the operands' temporaries, which start at top, so that a long chain of operators
// needs few registers.
func (f *builder) resultRegister(top, hint int) int {
	if hint >= 0 {
		return hint
	}
	f.free(top)
	return f.alloc()
}

// arithmetic contains the instructions of each arithmetic operator: for two Ints, for an Int and a
// constant, for two Floats, and for values of type Any.
var arithmetic = map[ast.Op]struct {
	ints, intK, floats ir.Op
	any                ir.AnyOp
}{
	ast.OpAdd: {ir.OpAddInt, ir.OpAddIntK, ir.OpAddFloat, ir.AnyAdd},
	ast.OpSub: {ir.OpSubInt, ir.OpSubIntK, ir.OpSubFloat, ir.AnySub},
	ast.OpMul: {ir.OpMulInt, ir.OpMulIntK, ir.OpMulFloat, ir.AnyMul},
	ast.OpDiv: {ir.OpDivInt, ir.OpDivIntK, ir.OpDivFloat, ir.AnyDiv},
	ast.OpRem: {ir.OpRemInt, ir.OpRemIntK, ir.OpRemFloat, ir.AnyRem},
}

// orderings contains the instruction of each ordering operator for values of type Any.
var orderings = map[ast.Op]ir.AnyOp{ast.OpLt: ir.AnyLt, ast.OpLe: ir.AnyLe, ast.OpGt: ir.AnyGt, ast.OpGe: ir.AnyGe}

// rowOf returns the row of an operator. A missing row must not become the first instruction.
func rowOf[T any](table map[ast.Op]T, op ast.Op) T {
	row, ok := table[op]
	if !ok {
		panic("the operator `" + op.String() + "` has no row in a table of package codegen")
	}
	return row
}

// arithK generates an instruction with an immediate operand if one operand is a small constant. ok
// is false if there is no such instruction.
func (f *builder) arithK(e *ast.Binary, hint int) (v val, ok bool) {
	ops := rowOf(arithmetic, e.Op)
	n, ok := f.smallInt(e.Y, math.MinInt32, math.MaxInt32)
	x := e.X
	if !ok && (e.Op == ast.OpAdd || e.Op == ast.OpMul) {
		n, ok = f.smallInt(e.X, math.MinInt32, math.MaxInt32)
		x = e.Y
	}
	if !ok || n == 0 && (e.Op == ast.OpDiv || e.Op == ast.OpRem) {
		return val{}, false
	}
	top := f.top
	a := f.operand(x)
	d := f.resultRegister(top, hint)
	f.emit(ops.intK, d, a.reg, 0, int32(n))
	return val{reg: d, class: ir.Int, owned: true}, true
}

// arith generates an arithmetic operator for two values of type t. The operands' temporaries start
// at register top.
func (f *builder) arith(op ast.Op, t types.Type, x, y val, top, hint int) val {
	if t != types.Int && t != types.Float && !types.IsString(t) {
		x, y = f.boxed(x, -1), f.boxed(y, -1)
		d := f.resultRegister(top, hint)
		f.emit(ir.OpAnyBinary, d, x.reg, y.reg, int32(rowOf(arithmetic, op).any))
		return val{reg: d, class: ir.Full, owned: true}
	}
	d := f.resultRegister(top, hint)
	switch t {
	case types.Int:
		f.emit(rowOf(arithmetic, op).ints, d, x.reg, y.reg, 0)
		return val{reg: d, class: ir.Int, owned: true}
	case types.Float:
		f.emit(rowOf(arithmetic, op).floats, d, x.reg, y.reg, 0)
		return val{reg: d, class: ir.Float, owned: true}
	}
	f.emit(ir.OpConcat, d, x.reg, y.reg, 0)
	return val{reg: d, class: ir.Full, owned: true}
}

// compare generates an ordering comparison whose result is a value.
func (f *builder) compare(e *ast.Binary, hint int) val {
	t := types.Resolve(f.resultType(e.X))
	top := f.top
	x := f.operand(e.X, e.Y)
	y := f.operand(e.Y)
	if types.IsAny(t) {
		x, y = f.boxed(x, -1), f.boxed(y, -1)
	}
	d := f.resultRegister(top, hint)
	if types.IsAny(t) {
		f.emit(ir.OpAnyBinary, d, x.reg, y.reg, int32(rowOf(orderings, e.Op)))
		return val{reg: d, class: ir.Full, owned: true}
	}
	lt, le := ir.OpLtString, ir.OpLeString
	switch t {
	case types.Int:
		lt, le = ir.OpLtInt, ir.OpLeInt
	case types.Float:
		lt, le = ir.OpLtFloat, ir.OpLeFloat
	}
	switch e.Op {
	case ast.OpLt:
		f.emit(lt, d, x.reg, y.reg, 0)
	case ast.OpLe:
		f.emit(le, d, x.reg, y.reg, 0)
	case ast.OpGt:
		f.emit(lt, d, y.reg, x.reg, 0)
	case ast.OpGe:
		f.emit(le, d, y.reg, x.reg, 0)
	}
	return val{reg: d, class: ir.Bool, owned: true}
}

func (f *builder) equality(e *ast.Binary, hint int) val {
	d := f.equal(e, hint)
	if e.Op == ast.OpNe {
		f.emit(ir.OpNot, d, d, 0, 0)
	}
	return val{reg: d, class: ir.Bool, owned: true}
}

// equal generates `x == y` and returns the register of the result. The register may be that of a
// variable in an operand, because the result is written last.
func (f *builder) equal(e *ast.Binary, hint int) int {
	t := types.Resolve(f.resultType(e.X))
	switch {
	case f.isNil(e.Y) || f.isNil(e.X):
		x := e.X
		if f.isNil(x) {
			x = e.Y
		}
		v := f.full(x)
		d := f.scratch(hint)
		f.emit(ir.OpIsNil, d, v.reg, 0, 0)
		return d
	case class(t) != ir.Full && class(t) == class(f.resultType(e.Y)):
		op := map[ir.Class]ir.Op{ir.Int: ir.OpEqInt, ir.Float: ir.OpEqFloat, ir.Bool: ir.OpEqBool}[class(t)]
		x := f.operand(e.X, e.Y)
		y := f.operand(e.Y)
		d := f.scratch(hint)
		f.emit(op, d, x.reg, y.reg, 0)
		return d
	}
	x := f.full(e.X, e.Y)
	y := f.full(e.Y)
	d := f.scratch(hint)
	f.emit(ir.OpEqual, d, x.reg, y.reg, 0)
	return d
}

// logic generates `&&` or `
//
// ` as a value.
func (f *builder) logic(e *ast.Binary, hint int) val {
	d := f.scratch(hint)
	no, end := &label{}, &label{}
	f.condBinary(e, no, false)
	f.emit(ir.OpLoadBool, d, 0, 0, 1)
	f.jump(ir.OpJump, 0, 0, end)
	f.bindLabel(no)
	f.emit(ir.OpLoadBool, d, 0, 0, 0)
	f.bindLabel(end)
	return val{reg: d, class: ir.Bool, owned: true}
}

// coalesce generates `x ?? y`. The code of y runs only if x is None.
func (f *builder) coalesce(e *ast.Binary, hint int) val {
	t := f.info.TypeOf(e)
	c := class(t)
	d := f.scratch(hint)
	top := f.top
	x := f.boxed(f.value(e.X, -1), -1)
	none, end := &label{}, &label{}
	f.jump(ir.OpJumpNil, x.reg, 0, none)
	from := f.resultType(e.X)
	v := f.unwrapped(x, from)
	if co := f.info.Coalesce(e); co != nil {
		v = f.convert(v, co.From, co.To, -1)
	}
	f.markShared(v, t)
	f.move(d, c, v)
	f.jump(ir.OpJump, 0, 0, end)
	f.bindLabel(none)
	f.free(top)
	f.into(e.Y, d, c, true)
	f.bindLabel(end)
	return val{reg: d, class: c, owned: true}
}

// unwrapped generates the value in an Option that is known not to be None.
func (f *builder) unwrapped(v val, t types.Type) val {
	o, ok := types.Resolve(t).(*types.Option)
	if !ok || !boxable(o.Elem) {
		return v
	}
	d := f.alloc()
	f.emit(ir.OpUnwrap, d, v.reg, 0, 0)
	return v.part(d, ir.Full)
}
