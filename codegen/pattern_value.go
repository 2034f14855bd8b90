package codegen

import (
	"math"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

func (f *builder) matchLiteral(e ast.Expr, v val, t types.Type, fail *label) {
	x, lt := literalValue(e)
	f.matchConst(x, lt, v, t, fail)
}

// literalValue returns the value and the type of a literal in a pattern.
func literalValue(e ast.Expr) (any, types.Type) {
	switch e := e.(type) {
	case *ast.IntLit:
		return int64(e.Value), types.Int
	case *ast.FloatLit:
		return e.Value, types.Float
	case *ast.BoolLit:
		return e.Value, types.Bool
	case *ast.StringLit:
		return e.Value, types.String
	case *ast.Unary:
		switch x, _ := literalValue(e.X); x := x.(type) {
		case int64:
			return -x, types.Int
		case float64:
			return -x, types.Float
		}
	case *ast.ParenExpr:
		return literalValue(e.X)
	default: // the others are no literals
	}
	return nil, types.Nil
}

// patternConst returns the value and the type of a literal or a const in a pattern.
func (f *builder) patternConst(e ast.Expr) (any, types.Type) {
	if p, ok := e.(*ast.PathExpr); ok {
		if c, ok := f.info.Object(p).(*sema.Const); ok {
			return c.Value, c.Type
		}
	}
	return literalValue(e)
}

// matchConst jumps to fail unless v equals the compile-time constant x.
func (f *builder) matchConst(x any, xt types.Type, v val, t types.Type, fail *label) {
	if n, ok := x.(int64); ok && holdsFloat(t) {
		x, xt = float64(n), types.Float
	}
	switch {
	case x == nil:
		f.jump(ir.OpJumpNotNil, f.boxed(v, -1).reg, 0, fail)
	case t == types.Int && xt == types.Int:
		f.jumpIntConst(ir.OpJumpNeIntK, ir.OpJumpNeInt, v, x.(int64), fail)
	case t == types.Bool && xt == types.Bool:
		op := ir.OpJumpIfNot
		if !x.(bool) {
			op = ir.OpJumpIf
		}
		f.jump(op, v.reg, 0, fail)
	default:
		v = f.boxed(v, -1)
		if s, ok := x.(string); ok && types.Resolve(xt) == types.String && f.jumpText(ir.OpJumpNotEqualK, v, s, fail) {
			return
		}
		k := f.boxed(f.constant(x, xt, -1), -1)
		f.jump(ir.OpJumpNotEqual, v.reg, k.reg, fail)
	}
}

// holdsFloat reports whether t is Float or an optional Float. An Int literal in a pattern for t
// then represents a Float.
func holdsFloat(t types.Type) bool {
	t = types.Resolve(t)
	if o, ok := t.(*types.Option); ok {
		return holdsFloat(o.Elem)
	}
	return t == types.Float
}

// jumpText generates the jump op, which compares v with a constant String. ok is false if the index
// of the constant is too large for the instruction.
func (f *builder) jumpText(op ir.Op, v val, s string, l *label) (ok bool) {
	k := f.g.stringConst(s)
	if k > math.MaxInt16 {
		return false
	}
	f.jumpK(op, v.reg, int16(k), l)
	return true
}

func (f *builder) jumpIntConst(small, large ir.Op, v val, n int64, fail *label) {
	if n == int64(int16(n)) {
		f.jumpK(small, v.reg, int16(n), fail)
		return
	}
	f.jump(large, v.reg, f.intValue(n, -1).reg, fail)
}

// matchRange jumps to fail if v is not between the ends of the range.
func (f *builder) matchRange(p *ast.RangePat, v val, t types.Type, fail *label) {
	if types.IsAny(t) {
		f.checkComparable(p, v, fail)
	}
	for i, e := range []ast.Expr{p.Lo, p.Hi} {
		if e == nil {
			continue
		}
		x, xt := f.patternConst(e)
		if n, ok := x.(int64); ok && t == types.Float {
			x, xt = float64(n), types.Float
		}
		k := f.constant(x, xt, -1)
		switch {
		case t == types.Int && i == 0:
			f.jump(ir.OpJumpLtInt, v.reg, k.reg, fail)
		case t == types.Int && p.Inclusive:
			f.jump(ir.OpJumpLtInt, k.reg, v.reg, fail)
		case t == types.Int:
			f.jump(ir.OpJumpLeInt, k.reg, v.reg, fail)
		case t == types.Float && i == 0:
			f.jump(ir.OpJumpNotLeFloat, k.reg, v.reg, fail)
		case t == types.Float && p.Inclusive:
			f.jump(ir.OpJumpNotLeFloat, v.reg, k.reg, fail)
		case t == types.Float:
			f.jump(ir.OpJumpNotLtFloat, v.reg, k.reg, fail)
		default:
			f.rangeEnd(i == 0, p.Inclusive, t, v, k, fail)
		}
	}
}

// rangeEnd jumps to fail if v is beyond one end of the range. It handles ranges of Strings, and
// values of type Any.
func (f *builder) rangeEnd(lo, inclusive bool, t types.Type, v, k val, fail *label) {
	d := f.alloc()
	k = f.boxed(k, -1)
	switch {
	case types.IsAny(t) && lo:
		f.emit(ir.OpAnyBinary, d, v.reg, k.reg, int32(ir.AnyGe))
	case types.IsAny(t) && inclusive:
		f.emit(ir.OpAnyBinary, d, v.reg, k.reg, int32(ir.AnyLe))
	case types.IsAny(t):
		f.emit(ir.OpAnyBinary, d, v.reg, k.reg, int32(ir.AnyLt))
	case lo:
		f.emit(ir.OpLeString, d, k.reg, v.reg, 0)
	case inclusive:
		f.emit(ir.OpLeString, d, v.reg, k.reg, 0)
	default:
		f.emit(ir.OpLtString, d, v.reg, k.reg, 0)
	}
	f.jump(ir.OpJumpIfNot, d, 0, fail)
}

// checkComparable jumps to fail if v, which has type Any, cannot be compared with the ends of the
// range.
func (f *builder) checkComparable(p *ast.RangePat, v val, fail *label) {
	end := p.Lo
	if end == nil {
		end = p.Hi
	}
	ok := &label{}
	_, t := f.patternConst(end)
	kinds := []types.Type{t}
	if t == types.Float { // the range also contains Ints
		kinds = append(kinds, types.Int)
	}
	for _, k := range kinds {
		d := f.alloc()
		f.emit(ir.OpIsType, d, v.reg, 0, int32(f.g.typeIndex(k)))
		f.jump(ir.OpJumpIf, d, 0, ok)
	}
	f.jump(ir.OpJump, 0, 0, fail)
	f.bindLabel(ok)
}
