package sema

import (
	"strconv"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// This file warns about statements whose value is not used and that have no effect.

// warnIdle warns about an expression that has no effect and whose value is discarded.
func (b *body) warnIdle(e ast.Expr) {
	if b.info.Library || !b.isReachable() || !b.isHarmless(e) {
		return
	}
	e = unparen(e)
	what, hint := "the value of this expression is not used", "remove it, or assign the value: `let … = "+b.sourceText(e)+";`"
	var fixes []diag.Fix
	switch x := e.(type) {
	case *ast.Binary:
		what, hint = b.idleOperator(x, what, hint)
		if x.Op == ast.OpEq && rootName(x.X) != nil {
			between := source.Span{Start: x.X.Span().End, End: x.Y.Span().Start}
			fixes = []diag.Fix{diag.UnsafeFix(diag.Replace(between, " = "), "Assign the value")}
		}
	case *ast.StringLit, *ast.InterpLit:
		hint = "to print it, write `println(" + b.sourceText(e) + ")`"
	case *ast.Closure:
		what = "this closure is never called"
		hint = "assign it to a variable: `let f = " + b.sourceText(e) + ";`"
	case *ast.PathExpr:
		if fn, ok := b.info.objects[x.Id].(*Function); ok {
			what, hint = "`"+fn.Name+"` is not called", "add parentheses to call it: `"+b.sourceText(e)+"(…)`"
			if len(fn.Params) == 0 {
				hint = "add parentheses to call it: `" + b.sourceText(e) + "()`"
				fixes = []diag.Fix{diag.UnsafeFix(diag.Insert(e.Span().End, "()"), "Call it")}
			}
		}
	default: // the message about any value describes the others
	}
	d := diag.NoEffect.At(e.Span(), "%s", what).Hint("%s", hint)
	d.Fixes = fixes
	d.FollowsFrom = valueCause(e)
	b.report(d)
}

// valueCause returns the Cause of diagnostics about the value e. A `;` after e prevents it from
// being the value of its block.
func valueCause(e ast.Expr) string { return "value at " + strconv.Itoa(int(e.Span().Start)) }

// lostValue returns the last statement of a block if a `;` discards its value. Otherwise it returns
// nil.
func (b *body) lostValue(x ast.Expr) *ast.ExprStmt {
	blk, ok := x.(*ast.BlockExpr)
	if !ok || blk.Block.Tail != nil || len(blk.Block.Stmts) == 0 {
		return nil
	}
	s, ok := blk.Block.Stmts[len(blk.Block.Stmts)-1].(*ast.ExprStmt)
	if !ok || !s.Semi || b.info.types[s.X.ID()] == nil || types.Resolve(b.info.types[s.X.ID()]) == types.Nil {
		return nil
	}
	return s
}

// warnIdleTail warns about the expression at the end of a block if its value is not used and it is
// certainly an error. This is the case for a comparison, and for a function that is not called.
// Other values are allowed, because they may end an arm or a branch.
func (b *body) warnIdleTail(e ast.Expr) {
	switch x := unparen(e).(type) {
	case *ast.Binary:
		if x.Op == ast.OpEq {
			b.warnIdle(e)
		}
	case *ast.PathExpr:
		if _, ok := b.info.objects[x.Id].(*Function); ok {
			b.warnIdle(e)
		}
	default: // the others may be meant as the value
	}
}

// idleOperator returns the message and the hint for an operator whose result is not used. what and
// hint are the defaults.
func (b *body) idleOperator(e *ast.Binary, what, hint string) (string, string) {
	switch {
	case e.Op == ast.OpEq && rootName(e.X) != nil:
		return "the result of `==` is not used", "to assign a value, write `" + b.sourceText(e.X) + " = " + b.sourceText(e.Y) + "`"
	case e.Op == ast.OpEq || e.Op == ast.OpNe || e.Op.IsOrdering():
		return "the result of `" + e.Op.String() + "` is not used", "use it as a condition: `if " + b.sourceText(e) + " { … }`"
	case rootName(e.X) != nil && e.Op != ast.OpAnd && e.Op != ast.OpOr && e.Op != ast.OpCoalesce:
		return what, "to change `" + b.sourceText(e.X) + "`, write `" + b.sourceText(e.X) + " " + e.Op.String() + "= " + b.sourceText(e.Y) + "`"
	}
	return what, hint
}

// isHarmless reports whether evaluating an expression has no effect and cannot fail. Such an
// expression contains no call, no assignment and no jump. A nil is harmless, because it means that
// there is nothing to do.
func (b *body) isHarmless(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.StringLit, *ast.PathExpr, *ast.Closure:
		return true
	case *ast.ParenExpr:
		return b.isHarmless(x.X)
	case *ast.Unary:
		return b.isHarmless(x.X)
	case *ast.Binary:
		if x.Op == ast.OpEq && rootName(x.X) != nil {
			return true // the program probably means `=`, and the operand does not matter
		}
		return b.isHarmless(x.X) && b.isHarmless(x.Y)
	case *ast.FieldExpr:
		return b.isHarmless(x.X)
	case *ast.TupleIndex:
		return b.isHarmless(x.X)
	case *ast.InterpLit:
		return b.areHarmless(x.Exprs)
	case *ast.ArrayLit:
		return b.areHarmless(x.Elems)
	case *ast.TupleLit:
		return len(x.Elems) > 0 && b.areHarmless(x.Elems)
	default: // the others may have an effect
	}
	return false
}

func (b *body) areHarmless(es []ast.Expr) bool {
	for _, e := range es {
		if !b.isHarmless(e) {
			return false
		}
	}
	return true
}

// returnLost warns about a return with a value in a function without a result type.
func (b *body) returnLost(e *ast.ReturnExpr) {
	f := b.frame
	if f.fn == nil || f.home != f || f.handler || f.fn.Decl.Result != nil || f.fn.Decl.Body == nil || b.info.Library || types.Resolve(f.result) != types.Nil {
		return
	}
	t := types.Full(b.info.types[e.X.ID()])
	if t == types.Nil || t == types.Bad || t == types.Never {
		return
	}
	d := diag.NoEffect.At(e.X.Span(), "`%s` has no result type, so this value is discarded", f.fn.Name).Label(f.fn.Decl.Signature, "declared here")
	if b.isMain(f.fn) || isTest(f.fn) {
		d.Hint("remove it; to report an error, use `throw` or `panic(…)`")
	} else {
		d.Cause = resultCause(f.fn)
		d.WithFixes(declareResult(f.fn, t)...).Hint("declare the result type: `-> %s`", t)
	}
	b.report(d)
}

// resultCause returns the Cause of diagnostics about a function that returns a value but has no
// result type.
func resultCause(fn *Function) string {
	return "result of " + fn.Info.File.Source.Name + ":" + strconv.Itoa(int(fn.Decl.Name.Sp.Start))
}

// declareResult returns the fix that adds the result type t to a function.
func declareResult(fn *Function, t types.Type) []diag.Fix {
	f, at := fn.Info.File.Source, fn.Decl.Signature.End
	if at <= fn.Decl.Name.Sp.End || f.Text[at-1] != ')' || isVar(t) {
		return nil
	}
	e := diag.Insert(at, " -> "+t.String())
	return []diag.Fix{diag.UnsafeFix(e, "Declare the result type `%s`", t)}
}

// linkMissingResult sets FollowsFrom of d if e is the result of a function without a result type,
// directly or through a variable.
func (b *body) linkMissingResult(d *diag.Diagnostic, e ast.Expr, t types.Type) *diag.Diagnostic {
	if types.Resolve(t) != types.Nil {
		return d
	}
	if fn := b.calledFunction(e); fn != nil && fn.Decl.Result == nil && !fn.Info.Library {
		d.FollowsFrom = resultCause(fn)
	}
	return d
}

// calledFunction returns the function whose result is e, or nil. e may be the call, or a variable
// of the current function to which the call is assigned.
func (b *body) calledFunction(e ast.Expr) *Function {
	switch x := unparen(e).(type) {
	case *ast.Call:
		if d, ok := b.info.details[x.Id].(*Call); ok {
			return d.Fn
		}
	case *ast.MethodCall:
		if d, ok := b.info.details[x.Id].(*Call); ok {
			return d.Fn
		}
	case *ast.PathExpr:
		if let := b.findLet(x); let != nil {
			return b.calledFunction(let.Value)
		}
	default: // the others call no declared function
	}
	return nil
}

func (b *body) isMain(fn *Function) bool {
	e := b.c.entry.names["main"]
	return e != nil && e.obj == Object(fn)
}

// warnLostResult warns about a function that ends with a value but has no result type.
func (b *body) warnLostResult(fn *Function) {
	tail := fn.Decl.Body.Tail
	if tail == nil || fn.Decl.Result != nil || b.info.Library || !b.isHarmless(tail) {
		return
	}
	t := types.Full(b.info.types[tail.ID()])
	if t == types.Nil || t == types.Bad || t == types.Never || b.flow.dead {
		return
	}
	if b.isMain(fn) || isTest(fn) {
		b.warnIdle(tail)
		return
	}
	d := diag.NoEffect.At(tail.Span(), "`%s` has no result type, so its last value is discarded", fn.Name).
		Label(fn.Decl.Signature, "declared here").WithFixes(declareResult(fn, t)...).Hint("declare the result type: `-> %s`", t)
	d.Cause = resultCause(fn)
	b.report(d)
}

// emit checks `emit(c, p)` and `await emit(c, p)` (spec/11-emit.md).
func (b *body) emit(e *ast.EmitExpr) types.Type {
	b.checkAs(e.Channel, types.String, reason{})
	if e.Payload != nil {
		b.checkAs(e.Payload, types.Any, reason{})
		b.warnShown(e.Payload, "an emitted value")
	}
	if !e.Await {
		if e.Type != nil {
			b.report(diag.EmitType.At(e.Type.Span(), "only an awaited `emit` can have a type argument").
				Repair(diag.UnsafeFix(diag.Insert(e.Sp.Start, "await "), "Await it"), "write `await emit<…>(…)`"))
			b.c.resolve(b.ts, e.Type)
		}
		return types.Nil
	}
	answer := types.Type(types.Any)
	if e.Type != nil {
		answer = b.c.resolve(b.ts, e.Type)
		b.checkDecodable(answer, e.Type.Span())
	}
	err := b.c.errorType("EmitError")
	if err == nil {
		err = types.Error
	}
	return &types.Result{Ok: answer, Err: err}
}
