package sema

import (
	"fmt"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// expr checks an expression and returns its type. hint is the expected type, or nil if it is
// unknown. The hint determines the types of literals and closures. expr does not report a type that
// differs from the hint.
func (b *body) expr(e ast.Expr, hint types.Type) types.Type {
	if t, ok := b.typed[e]; ok {
		return t
	}
	var t types.Type
	switch p := b.takePiped(e); x := e.(type) {
	case *ast.Call:
		t = b.call(x, hint, p)
	case *ast.MethodCall:
		t = b.methodCall(x, hint, p)
	default:
		if p != nil {
			t = b.callWithPiped(e, hint, p)
		} else {
			t = b.exprByKind(e, hint)
		}
	}
	if t == nil {
		t = types.Bad
	}
	b.info.types[e.ID()] = t
	if types.Resolve(t) == types.Never {
		b.flow.dead = true
	}
	return t
}

// checkAs checks an expression whose value must have the type want.
func (b *body) checkAs(e ast.Expr, want types.Type, why reason) types.Type {
	got := b.exprFor(e, want, why)
	b.coerce(e, got, want, why)
	return want
}

// exprFor checks an expression like expr does. It passes the reason for the expected type to the
// branches of e.
func (b *body) exprFor(e ast.Expr, want types.Type, why reason) types.Type {
	if t, ok := b.typed[e]; ok {
		return t
	}
	var t types.Type
	switch x := e.(type) {
	case *ast.IfExpr:
		t = b.ifExpr(x, want, why)
	case *ast.MatchExpr:
		t = b.match(x, want, why)
	case *ast.BlockExpr:
		t = b.blockValue(x.Block, want, why)
	case *ast.TryExpr:
		t = b.try(x, want, why)
	case *ast.LoopExpr:
		t = b.loopExpr(x, want, why)
	case *ast.ParenExpr:
		t = b.checkAs(x.X, want, why)
	default:
		return b.expr(e, want)
	}
	b.info.types[e.ID()] = t
	if types.Resolve(t) == types.Never {
		b.flow.dead = true
	}
	return t
}

// coerce records the conversion of the value of e from type got to type want. If there is no
// conversion, it reports a mismatch.
func (b *body) coerce(e ast.Expr, got, want types.Type, why reason) {
	ok, convert := types.Conversion(got, want)
	if known := b.knownType(e); types.IsAny(got) && contradict(known, want) {
		got, ok = known, false
	}
	if !ok {
		b.reportMismatch(e, got, want, why)
		return
	}
	if convert {
		b.info.conv[e.ID()] = want
		if types.Resolve(want) == types.Nil && holdsResult(got) {
			b.lose(e, types.Resolve(got))
		}
	}
	if types.IsAny(want) && holdsFunc(got) || types.IsAny(got) && holdsFunc(want) {
		b.noteUntypedCalls()
	}
}

// noteUntypedCalls records that the program may call functions with arguments of unchecked types.
func (b *body) noteUntypedCalls() {
	if !b.m.info.Library {
		b.c.prog.CallsUntyped = true
	}
}

// holdsFunc reports whether a value of type t is a function or contains one.
func holdsFunc(t types.Type) bool {
	found := false
	types.Walk(t, func(t types.Type) bool {
		found = found || isFunc(t)
		return !found
	})
	return found
}

// reportMismatch reports a value of the wrong type. The diagnostic contains a fix if one is
// obvious.
func (b *body) reportMismatch(e ast.Expr, got, want types.Type, why reason) {
	got, want = types.Full(got), types.Full(want)
	if !isFunc(want) && b.reportBareVariant(e, got) {
		return
	}
	if lit, ok := e.(*ast.StringLit); ok {
		if u, isUnion := want.(*types.Union); isUnion {
			d := diag.NotInUnion.At(e.Span(), "%q is not in the union `%s`", lit.Value, u)
			b.explainType(d, why)
			b.report(d.WithFixes(unionFixes(e.Span(), u)...).Hint("use one of the listed strings"))
			return
		}
	}
	d := diag.Mismatch.At(e.Span(), "expected %s, found %s", b.shownType(want, got), b.shownType(got, want))
	b.explainType(d, why)
	b.report(b.linkMissingResult(d.Advise(b.repair(e, got, want, why)), e, got))
}

func isFunc(t types.Type) bool { _, ok := types.Resolve(t).(*types.Func); return ok }

// exprByKind checks an expression depending on its kind of node.
func (b *body) exprByKind(e ast.Expr, hint types.Type) types.Type {
	switch e := e.(type) {
	case *ast.IntLit:
		return b.intLit(e, false)
	case *ast.FloatLit:
		return types.Float
	case *ast.BoolLit:
		return types.Bool
	case *ast.NilLit:
		return types.Nil
	case *ast.StringLit:
		b.warnPlainBraces(e)
		return stringType(e.Value, hint)
	case *ast.InterpLit:
		return b.interpolation(e)
	case *ast.PathExpr:
		return b.pathExpr(e, hint)
	case *ast.ParenExpr:
		return b.expr(e.X, hint)
	case *ast.ArrayLit:
		return b.arrayLit(e, hint)
	case *ast.MapLit:
		return b.mapLit(e, hint)
	case *ast.TupleLit:
		return b.tupleLit(e, hint)
	case *ast.StructLit:
		return b.structLit(e, hint)
	case *ast.Unary:
		return b.unary(e, hint)
	case *ast.Binary:
		return b.binary(e, hint)
	case *ast.Assign:
		return b.assign(e)
	case *ast.Pipe:
		return b.pipe(e, hint)
	case *ast.RangeExpr:
		return b.rangeExpr(e)
	case *ast.Cast:
		return b.cast(e)
	case *ast.FieldExpr:
		return b.field(e)
	case *ast.TupleIndex:
		return b.tupleIndex(e)
	case *ast.IndexExpr:
		return b.index(e)
	case *ast.Question:
		return b.question(e, hint)
	case *ast.IfExpr:
		return b.ifExpr(e, statementHint(hint), reason{})
	case *ast.MatchExpr:
		return b.match(e, statementHint(hint), reason{})
	case *ast.BlockExpr:
		return b.blockValue(e.Block, statementHint(hint), reason{})
	case *ast.TryExpr:
		return b.try(e, statementHint(hint), reason{})
	default:
		return b.control(e, hint)
	}
}

// statementHint returns the hint if it means that the value is discarded, and nil otherwise.
func statementHint(hint types.Type) types.Type {
	if hint != nil && types.Resolve(hint) == types.Nil {
		return types.Nil
	}
	return nil
}

// control checks an expression that affects the control flow or has effects.
func (b *body) control(e ast.Expr, hint types.Type) types.Type {
	switch e := e.(type) {
	case *ast.ForExpr:
		return b.forExpr(e)
	case *ast.WhileExpr:
		return b.whileExpr(e)
	case *ast.LoopExpr:
		return b.loopExpr(e, statementHint(hint), reason{})
	case *ast.Closure:
		return b.closure(e, hint)
	case *ast.EmitExpr:
		return b.emit(e)
	case *ast.ListenExpr:
		return b.listen(e)
	case *ast.ReturnExpr:
		return b.returnExpr(e)
	case *ast.BreakExpr:
		return b.breakExpr(e)
	case *ast.ContinueExpr:
		b.leaveLoop(e.Label, e.Sp, "continue")
		return types.Never
	case *ast.ThrowExpr:
		return b.throw(e)
	default:
		return b.task(e)
	}
}

// task checks an expression that starts or awaits tasks.
func (b *body) task(e ast.Expr) types.Type {
	switch e := e.(type) {
	case *ast.Await:
		return b.await(e)
	case *ast.AwaitAll:
		return b.awaitAll(e)
	case *ast.Race:
		return b.race(e)
	case *ast.ParallelFor:
		return b.parallelFor(e)
	case *ast.BadExpr, *ast.LetCond: // the parser has reported it
		return types.Bad
	default: // expr and control check the others
	}
	panic(fmt.Sprintf("sema: expr has no case for %T", e))
}
