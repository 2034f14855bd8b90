package codegen

import (
	"math"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
)

// cond jumps to l if the value of the condition e equals when. Otherwise the next instruction runs.
func (f *builder) cond(e ast.Expr, l *label, when bool) {
	if let, ok := unparen(f.info, e).(*ast.LetCond); ok {
		f.condLet(let, l, when) // the registers stay allocated, because the variables are used in the enclosing scope
		return
	}
	defer f.free(f.top)
	if f.info.Conv(e) == nil {
		switch x := e.(type) {
		case *ast.ParenExpr:
			f.cond(x.X, l, when)
			return
		case *ast.BoolLit:
			if x.Value == when {
				f.jump(ir.OpJump, 0, 0, l)
			}
			return
		case *ast.Unary:
			if x.Op == ast.OpNot {
				f.cond(x.X, l, !when)
				return
			}
		case *ast.Binary:
			if f.condBinary(x, l, when) {
				return
			}
		case *ast.MethodCall:
			if f.condEmpty(x, l, when) {
				return
			}
		default: // the others are jumps on their value
		}
	}
	v := f.value(e, -1)
	if when {
		f.jump(ir.OpJumpIf, v.reg, 0, l)
	} else {
		f.jump(ir.OpJumpIfNot, v.reg, 0, l)
	}
}

// condBinary generates the jump of cond if the operator of e has its own jump instructions. It
// reports whether it generated the jump.
func (f *builder) condBinary(e *ast.Binary, l *label, when bool) bool {
	switch e.Op {
	case ast.OpAnd, ast.OpOr:
		if (e.Op == ast.OpAnd) != when { // one operand can decide the result alone
			f.cond(e.X, l, when)
			f.cond(e.Y, l, when)
			return true
		}
		skip := &label{}
		f.cond(e.X, skip, !when)
		f.cond(e.Y, l, when)
		f.bindLabel(skip)
		return true
	case ast.OpEq, ast.OpNe, ast.OpLt, ast.OpLe, ast.OpGt, ast.OpGe:
		return f.condCompare(e, l, when)
	}
	return false
}

// condCompare jumps to l if the comparison e equals when. If no jump instruction compares operands
// of these types, it generates nothing and returns false.
func (f *builder) condCompare(e *ast.Binary, l *label, when bool) bool {
	x, y := types.Resolve(f.resultType(e.X)), types.Resolve(f.resultType(e.Y))
	op := e.Op
	switch {
	case x == types.Int && y == types.Int:
		if !when {
			op = rowOf(negated, op)
		}
		f.jumpInts(op, e, l)
		return true
	case x == types.Float && y == types.Float && op != ast.OpEq && op != ast.OpNe:
		f.jumpFloats(op, e, l, when)
		return true
	case op == ast.OpEq || op == ast.OpNe:
		if class(x) != ir.Full && class(x) == class(y) {
			return false
		}
		f.jumpEqual(e, l, when == (op == ast.OpEq))
		return true
	}
	return false
}

var negated = map[ast.Op]ast.Op{ast.OpEq: ast.OpNe, ast.OpNe: ast.OpEq, ast.OpLt: ast.OpGe, ast.OpGe: ast.OpLt,
	ast.OpGt: ast.OpLe, ast.OpLe: ast.OpGt}

var mirrored = map[ast.Op]ast.Op{ast.OpEq: ast.OpEq, ast.OpNe: ast.OpNe, ast.OpLt: ast.OpGt, ast.OpGt: ast.OpLt,
	ast.OpLe: ast.OpGe, ast.OpGe: ast.OpLe}

var jumpIntK = map[ast.Op]ir.Op{ast.OpEq: ir.OpJumpEqIntK, ast.OpNe: ir.OpJumpNeIntK, ast.OpLt: ir.OpJumpLtIntK,
	ast.OpLe: ir.OpJumpLeIntK, ast.OpGt: ir.OpJumpGtIntK, ast.OpGe: ir.OpJumpGeIntK}

// jumpInts jumps to l if `x op y` is true for two Ints.
func (f *builder) jumpInts(op ast.Op, e *ast.Binary, l *label) {
	if n, ok := f.smallInt(e.Y, math.MinInt16, math.MaxInt16); ok {
		f.jumpK(rowOf(jumpIntK, op), f.operand(e.X).reg, int16(n), l)
		return
	}
	if n, ok := f.smallInt(e.X, math.MinInt16, math.MaxInt16); ok {
		f.jumpK(rowOf(jumpIntK, rowOf(mirrored, op)), f.operand(e.Y).reg, int16(n), l)
		return
	}
	x := f.operand(e.X, e.Y)
	y := f.operand(e.Y)
	switch op {
	case ast.OpEq:
		f.jump(ir.OpJumpEqInt, x.reg, y.reg, l)
	case ast.OpNe:
		f.jump(ir.OpJumpNeInt, x.reg, y.reg, l)
	case ast.OpLt:
		f.jump(ir.OpJumpLtInt, x.reg, y.reg, l)
	case ast.OpLe:
		f.jump(ir.OpJumpLeInt, x.reg, y.reg, l)
	case ast.OpGt:
		f.jump(ir.OpJumpLtInt, y.reg, x.reg, l)
	case ast.OpGe:
		f.jump(ir.OpJumpLeInt, y.reg, x.reg, l)
	}
}

// jumpFloats jumps to l if `x op y` equals when, for two Floats. A comparison with a NaN is false.
func (f *builder) jumpFloats(op ast.Op, e *ast.Binary, l *label, when bool) {
	x := f.operand(e.X, e.Y)
	y := f.operand(e.Y)
	if op == ast.OpGt || op == ast.OpGe {
		x, y, op = y, x, rowOf(mirrored, op)
	}
	ops := map[ast.Op][2]ir.Op{ast.OpLt: {ir.OpJumpNotLtFloat, ir.OpJumpLtFloat}, ast.OpLe: {ir.OpJumpNotLeFloat, ir.OpJumpLeFloat}}[op]
	if when {
		f.jump(ops[1], x.reg, y.reg, l)
	} else {
		f.jump(ops[0], x.reg, y.reg, l)
	}
}

// jumpEqual compares the operands of e. It jumps to l if they are equal and equal is true, or if
// they differ and equal is false.
func (f *builder) jumpEqual(e *ast.Binary, l *label, equal bool) {
	if f.isNil(e.Y) {
		f.jumpNil(f.full(e.X).reg, l, equal)
		return
	}
	if f.isNil(e.X) {
		f.jumpNil(f.full(e.Y).reg, l, equal)
		return
	}
	x := f.full(e.X, e.Y)
	if s, ok := unparen(f.info, e.Y).(*ast.StringLit); ok && f.info.Conv(s) == nil {
		op := ir.OpJumpNotEqualK
		if equal {
			op = ir.OpJumpEqualK
		}
		if f.jumpText(op, x, s.Value, l) {
			return
		}
	}
	y := f.full(e.Y)
	if equal {
		f.jump(ir.OpJumpEqual, x.reg, y.reg, l)
	} else {
		f.jump(ir.OpJumpNotEqual, x.reg, y.reg, l)
	}
}

func (f *builder) jumpNil(reg int, l *label, isNil bool) {
	if isNil {
		f.jump(ir.OpJumpNil, reg, 0, l)
	} else {
		f.jump(ir.OpJumpNotNil, reg, 0, l)
	}
}

// isNil reports whether e is the literal nil or the variant None.
func (f *builder) isNil(e ast.Expr) bool {
	switch x := unparen(f.info, e).(type) {
	case *ast.NilLit:
		return true
	case *ast.PathExpr:
		return f.isNone(x)
	default: // the others are not known to be nil
	}
	return false
}

// smallInt returns the value of e if e is an Int constant between lo and hi.
func (f *builder) smallInt(e ast.Expr, lo, hi int64) (int64, bool) {
	n, ok := f.constantInt(e)
	return n, ok && n >= lo && n <= hi
}

// condLet generates the condition `let p = x`, and jumps to l if p does not match. It declares the
// variables of p in the enclosing scope. when must be false.
func (f *builder) condLet(e *ast.LetCond, l *label, when bool) {
	if when {
		bug(f.info, e.Sp, "let condition with a jump for the case that it holds")
	}
	scope := f.scope
	f.declarePattern(e.Pattern)
	top := f.top
	v := f.markBorrowed(e.X, f.value(e.X, -1), scope)
	f.match(e.Pattern, v, f.resultType(e.X), l)
	f.free(top)
}
