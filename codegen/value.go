package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
)

// val is a value in a register.
type val struct {
	reg   int
	class ir.Class
	// owned reports that the value may be passed on unchanged: either no variable or container
	// holds it, or it is marked as shared.
	owned bool
	// fresh reports that the value is new and not marked, so that its parts are owned, too. The
	// parts of a marked value are not owned, because other holders of the value hold the parts
	// without a mark.
	fresh bool
	// volatile reports that the value was read from a cell or from a tool's state, so that any call
	// could change it there.
	volatile bool
	// borrowed reports that the holder of the value does not change it while the variables that are
	// bound to it or to its parts live.
	borrowed bool
}

// part returns the val for a part of v, which was read into register r as class c. The part of a
// temporary can be borrowed, because nothing changes a temporary.
func (v val) part(r int, c ir.Class) val {
	return val{reg: r, class: c, owned: v.fresh || c != ir.Full, volatile: v.volatile, borrowed: v.borrowed || v.owned}
}

// forPatterns returns v for several patterns, each of which may bind it.
func (v val) forPatterns() val {
	v.owned, v.fresh, v.borrowed = false, false, v.borrowed || v.owned
	return v
}

// inRegister returns the val for a copy of v in register r as class Full.
func (v val) inRegister(r int) val {
	return val{reg: r, class: ir.Full, owned: v.owned, volatile: v.volatile, borrowed: v.borrowed}
}

// target returns hint, or a new register if hint is -1.
func (f *builder) target(hint int) int {
	if hint >= 0 {
		return hint
	}
	return f.alloc()
}

// scratch returns a register for code that writes its result before it has read all its operands.
// It returns hint unless hint is -1 or the register of a variable.
func (f *builder) scratch(hint int) int {
	if hint >= 0 && !f.isVar[hint] {
		return hint
	}
	return f.alloc()
}

// value generates e, with its conversion. hint is the preferred register of the result, or -1.
func (f *builder) value(e ast.Expr, hint int) val {
	from, to := f.info.TypeOf(e), f.info.Conv(e)
	if to == nil {
		return f.expr(e, hint)
	}
	if to == types.Nil {
		f.discard(e)
		return f.nilValue(hint)
	}
	if n, ok := f.constantIntBefore(e); ok && to == types.Float {
		return f.floatValue(float64(n), hint)
	}
	v := f.expr(e, hint)
	defer f.at(e.Span().Start)() // the check of an Any fails at this position
	return f.convert(v, from, to, hint)
}

// into generates e into register dst of class c. own reports that the receiver stores the value.
// into then marks a value that a variable or container also holds.
func (f *builder) into(e ast.Expr, dst int, c ir.Class, own bool) {
	if c == ir.Full && f.boxedLiteral(e, dst) {
		return
	}
	top := f.top
	hint := dst
	if f.isVar[dst] && !f.ownClass(e, c) {
		hint = -1
	}
	v := f.value(e, hint)
	if own && (f.moving == nil || e != ast.Expr(f.moving)) {
		f.markShared(v, f.resultType(e))
	}
	f.move(dst, c, v)
	f.free(top)
}

// ownClass reports whether the value of e is generated in class c, and its parts do not use the
// result's register in another class. Values that are read from a map or a cell are boxed, but a
// length is not. The register of a variable must have one class at the target of a region, so it
// may not temporarily contain a value of another class.
func (f *builder) ownClass(e ast.Expr, c ir.Class) bool {
	e = unparen(f.info, e) // the expression in the parentheses may have a conversion
	if class(f.info.TypeOf(e)) != c {
		return false
	}
	if c == ir.Full {
		return true
	}
	switch x := e.(type) {
	case *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.Unary, *ast.IfExpr, *ast.MatchExpr, *ast.BlockExpr:
		return true
	case *ast.Binary:
		return x.Op != ast.OpCoalesce
	case *ast.MethodCall:
		_, isBitOp := f.bitOp(f.info.Call(x), x.Recv, x.Args)
		return isBitOp && f.takePiped(x) == nil
	case *ast.IndexExpr:
		_, isArray := types.Resolve(f.resultType(x.X)).(*types.Array)
		return isArray
	case *ast.FieldExpr:
		_, isStruct := types.Resolve(f.resultType(x.X)).(*types.Named)
		return isStruct
	default: // the others may have a value of another class
	}
	return false
}

// boxedLiteral loads a number literal in its boxed form from the constants. It returns false if e
// is no number literal.
func (f *builder) boxedLiteral(e ast.Expr, dst int) bool {
	to := f.info.Conv(e)
	if to == types.Nil {
		return false
	}
	k := int32(-1)
	if n, ok := f.constantIntBefore(e); ok && to == types.Float {
		k = f.g.floatConst(float64(n))
	} else if ok {
		if o, isOption := to.(*types.Option); isOption && types.Resolve(o.Elem) != types.Int && !types.IsAny(to) {
			return false
		}
		k = f.g.intConst(n)
	} else if x, ok := unparen(f.info, e).(*ast.FloatLit); ok {
		k = f.g.floatConst(x.Value)
	}
	if k >= 0 {
		f.emit(ir.OpLoadConst, dst, 0, 0, k)
	}
	return k >= 0
}

// resultType returns the type of the value of e after its conversion.
func (f *builder) resultType(e ast.Expr) types.Type {
	if to := f.info.Conv(e); to != nil {
		return to
	}
	return f.info.TypeOf(e)
}

// markShared marks a value as shared, because a second holder is about to hold it. It does nothing
// for an owned value.
func (f *builder) markShared(v val, t types.Type) {
	if !v.owned && v.class == ir.Full && mayShare(t) {
		f.emit(ir.OpShare, v.reg, 0, 0, 0)
	}
}

var moves = map[ir.Class]ir.Op{ir.Int: ir.OpMoveInt, ir.Float: ir.OpMoveFloat, ir.Bool: ir.OpMoveBool, ir.Full: ir.OpMove}

// move moves v into register dst, in class c.
func (f *builder) move(dst int, c ir.Class, v val) {
	switch {
	case v.class == c && v.reg == dst:
	case c == ir.Full && v.class != ir.Full:
		f.box(dst, v.reg, v.class)
	default:
		f.emit(moves[c], dst, v.reg, 0, 0)
	}
}

var boxes = map[ir.Class]ir.Op{ir.Int: ir.OpBoxInt, ir.Float: ir.OpBoxFloat, ir.Bool: ir.OpBoxBool}

func (f *builder) box(dst, src int, c ir.Class) { f.emit(boxes[c], dst, src, 0, 0) }

// boxed returns v in a Full register.
func (f *builder) boxed(v val, hint int) val {
	if v.class == ir.Full {
		return v
	}
	d := f.target(hint)
	f.box(d, v.reg, v.class)
	return val{reg: d, class: ir.Full, owned: true}
}

// operand generates e for an instruction that runs after the expressions in later. It copies the
// value if one of these expressions could change it.
func (f *builder) operand(e ast.Expr, later ...ast.Expr) val {
	return f.protectBorrowed(e, f.value(e, -1), later)
}

// full generates an operand in a Full register.
func (f *builder) full(e ast.Expr, later ...ast.Expr) val {
	return f.boxed(f.operand(e, later...), -1)
}

// protectBorrowed returns v, the value of e, for code that reads the value after the expressions in
// later have run. If one of them could change a borrowed value, protectBorrowed marks the value as
// shared and copies it to another register.
func (f *builder) protectBorrowed(e ast.Expr, v val, later []ast.Expr) val {
	if v.owned || len(later) == 0 || !f.isDisturbed(e, v, later) {
		return v
	}
	f.markShared(v, f.resultType(e))
	if f.isVar[v.reg] {
		d := f.alloc()
		f.emit(moves[v.class], d, v.reg, 0, 0)
		v.reg = d
	}
	v.owned, v.volatile = true, false
	return v
}

// isDisturbed reports whether running later could change the variable from which the value of e is
// borrowed.
func (f *builder) isDisturbed(e ast.Expr, v val, later []ast.Expr) bool {
	root := f.rootOf(e)
	for _, l := range later {
		if l == nil {
			continue
		}
		t := f.touches(l)
		if v.volatile && t.calls || root != nil && t.changes(root) {
			return true
		}
	}
	return false
}

// nilValue loads nil into a register.
func (f *builder) nilValue(hint int) val {
	d := f.target(hint)
	f.emit(ir.OpLoadNil, d, 0, 0, 0)
	return val{reg: d, class: ir.Full, owned: true}
}

// intValue loads the Int n into a register.
func (f *builder) intValue(n int64, hint int) val {
	d := f.target(hint)
	if n == int64(int32(n)) {
		f.emit(ir.OpLoadInt, d, 0, 0, int32(n))
	} else {
		f.emit(ir.OpLoadIntConst, d, 0, 0, f.g.intConst(n))
	}
	return val{reg: d, class: ir.Int, owned: true}
}

func (f *builder) floatValue(x float64, hint int) val {
	d := f.target(hint)
	f.emit(ir.OpLoadFloatConst, d, 0, 0, f.g.floatConst(x))
	return val{reg: d, class: ir.Float, owned: true}
}

func (f *builder) boolValue(b bool, hint int) val {
	d := f.target(hint)
	n := int32(0)
	if b {
		n = 1
	}
	f.emit(ir.OpLoadBool, d, 0, 0, n)
	return val{reg: d, class: ir.Bool, owned: true}
}

func (f *builder) stringValue(s string, hint int) val {
	d := f.target(hint)
	f.emit(ir.OpLoadConst, d, 0, 0, f.g.stringConst(s))
	return val{reg: d, class: ir.Full, owned: true}
}
