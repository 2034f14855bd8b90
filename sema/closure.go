package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// closure checks a closure. The expected type determines the types of parameters without
// annotation. The result type is the annotated type. Without an annotation it is the expected type,
// and otherwise the join of the types that the closure returns (spec/06-errors.md).
func (b *body) closure(e *ast.Closure, hint types.Type) types.Type {
	want, _ := hintedFunc(hint)
	if want != nil && len(want.Params) != len(e.Params) && !b.reportArity(e, want) {
		return types.Bad
	}
	if hint != nil && types.IsAny(hint) {
		want = &types.Func{} // code that gets the closure as an Any may call it with any arguments
		for range e.Params {
			want.Params = append(want.Params, types.Any)
		}
	}
	d := &Closure{Type: &types.Func{}}
	b.info.details[e.Id] = d
	f := &frame{parent: b.frame, closure: d, raises: b.line == e}
	f.home = f
	outer := b.frame
	b.frame = f
	b.enterScope()
	before := b.flow.clone()
	b.closureParams(e, d, want)
	d.Type.Result = b.closureBody(e, f, want)
	b.leaveScope()
	b.flow = before
	b.frame = outer
	return d.Type
}

// reportArity reports a closure whose number of parameters differs from the number of arguments it
// will receive. It returns true if the expected type already has an error.
func (b *body) reportArity(e *ast.Closure, want *types.Func) bool {
	for _, p := range want.Params {
		if types.Resolve(p) == types.Bad {
			return true // the expected type is already an error
		}
	}
	at := e.Sp
	if n := len(want.Params); n < len(e.Params) {
		at = e.Params[n].Sp
	}
	b.report(diag.Mismatch.At(at, "this closure takes %s instead of %d", count(len(e.Params), "parameter"), len(want.Params)).
		Hint("it is called with %s", count(len(want.Params), "argument")))
	return false
}

func hintedFunc(hint types.Type) (*types.Func, bool) {
	f, ok := hinted(hint).(*types.Func)
	return f, ok
}

func (b *body) closureParams(e *ast.Closure, d *Closure, want *types.Func) {
	b.c.parameterCount(b.m, e.Sp, len(e.Params))
	annotated := b.annotatedTypes(e, want)
	for i, p := range e.Params {
		var t types.Type
		switch {
		case p.Type != nil:
			t = annotated[i]
		case want != nil && i < len(want.Params):
			t = want.Params[i]
		case want != nil:
			t = types.Bad // a parameter without an argument; the caller reports it
		default:
			t = b.freshVar(p.Sp, "the type of this parameter", "annotate it: `|x: Int|`")
		}
		d.Type.Params = append(d.Type.Params, t)
		if p.Default != nil {
			var end source.Pos
			switch {
			case p.Type != nil:
				end = p.Type.Span().End
			case p.Name != nil:
				end = p.Name.Sp.End
			default:
				end = p.Pattern.Span().End
			}
			b.report(diag.ClosureDefault.At(p.Default.Span(), "a parameter of a closure cannot have a default value").
				Repair(diag.UnsafeFix(diag.Remove(source.Span{Start: end, End: p.Default.Span().End}), "Remove the default"), "remove it"))
		}
		if p.Name == nil {
			d.Params = append(d.Params, nil)
			b.bindIrrefutable(p.Pattern, t, p.Mut, "a parameter", diag.HintAdvice("use a name for the parameter and `match` on it"))
			continue
		}
		// An unused parameter of a closure is no error, because the caller determines the
		// parameters.
		l := &Local{Name: p.Name.Name, Type: t, Mut: p.Mut, Param: true, At: p.Name.Sp, used: true}
		d.Params = append(d.Params, l)
		b.bind(l)
	}
}

// annotatedTypes returns the annotated types of the parameters, or nil for parameters without
// annotation. It assigns them to type variables in the expected type.
func (b *body) annotatedTypes(e *ast.Closure, want *types.Func) []types.Type {
	all := make([]types.Type, len(e.Params))
	for i, p := range e.Params {
		if p.Type == nil {
			continue
		}
		all[i] = b.c.resolve(b.ts, p.Type)
		if want == nil || i >= len(want.Params) {
			continue
		}
		if v, open := types.Resolve(want.Params[i]).(*types.Var); open {
			v.Bound = all[i]
		}
	}
	return all
}

func (b *body) closureBody(e *ast.Closure, f *frame, want *types.Func) types.Type {
	switch {
	case e.Result != nil:
		f.result = b.c.resolve(b.ts, e.Result)
		f.because = reason{b.m, e.Result.Span(), "the closure's result type"}
	case want != nil && want.Result != nil && !isVar(want.Result) && len(want.Params) == len(e.Params):
		f.result = want.Result
	case e.Fn && want == nil && blockWithoutTail(e.Body):
		f.result = nil
	}
	if f.result != nil {
		b.checkAs(e.Body, f.result, f.because)
		return f.result
	}
	t := b.joinResult(e, f, b.expr(e.Body, nil))
	b.resolveLeaves(f, t)
	return t
}

// pendingLeave is a `?` in a closure whose result type is unknown. When the type is known, the
// checker decides whether the error becomes the closure's value.
type pendingLeave struct {
	leave *Leave
	err   types.Type
	none  bool
	at    source.Span
}

// resolveLeaves decides where the errors of each `?` in a closure go, now that the result type t is
// known.
func (b *body) resolveLeaves(f *frame, t types.Type) {
	f.result = t
	for _, p := range f.leaves {
		ofAny := p.leave.Failed != nil
		*p.leave = *b.leaveFrame(p.err, p.none, p.at)
		if ofAny {
			p.leave.Failed = b.leaveHeld()
		}
	}
}

func isVar(t types.Type) bool { _, ok := types.Resolve(t).(*types.Var); return ok }

func blockWithoutTail(x ast.Expr) bool {
	blk, ok := x.(*ast.BlockExpr)
	return ok && blk.Block.Tail == nil
}

// joinResult returns the join of the closure's tail and the values that the closure returns.
func (b *body) joinResult(e *ast.Closure, f *frame, tail types.Type) types.Type {
	values := []branchValue{{nil, e.Body, tail}}
	for _, r := range f.returns {
		if r.x != nil {
			values = append(values, branchValue{nil, r.x, r.ty})
		} else {
			values = append(values, branchValue{nil, e.Body, types.Nil})
		}
	}
	if len(values) == 1 {
		return tail
	}
	return b.joinBranches(values)
}

// returnExpr checks `return` and `return x`.
func (b *body) returnExpr(e *ast.ReturnExpr) types.Type {
	f := b.frame
	switch {
	case f.concurrent != nil:
		if e.X != nil {
			b.expr(e.X, nil)
		}
		b.report(diag.ConcurrentLeave.At(e.Sp, "`return` cannot leave a concurrent body").
			Hint("end the body with its value, and return outside it"))
	case e.X == nil && f.result == nil:
		f.returns = append(f.returns, returnedValue{nil, types.Nil, e.Sp})
	case e.X == nil:
		if ok, _ := types.Conversion(types.Nil, f.result); !ok && types.Resolve(f.result) != types.Nil {
			d := diag.Mismatch.At(e.Sp, "expected `%s`, found `return` without a value", types.Full(f.result))
			b.explainType(d, f.because)
			b.report(d.Hint("return a value"))
		}
	case f.result == nil:
		t := b.expr(e.X, nil)
		f.returns = append(f.returns, returnedValue{e.X, t, e.X.Span()})
	default:
		b.checkAs(e.X, f.result, f.because)
		b.returnLost(e)
	}
	return types.Never
}
