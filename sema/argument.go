package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/diag"
	"github.com/concerto-lang/concerto/source"
	"github.com/concerto-lang/concerto/types"
)

// shapes appends the run-time types that a Shape function takes.
func (b *body) shapes(d *Call, fn *Function, at source.Span) {
	if !fn.Shape {
		return
	}
	for i, t := range d.TypeArgs {
		if i < len(d.TypeArgs)-len(fn.Decl.Generics) {
			continue
		}
		for k := range d.Args {
			if d.Args[k].Kind == ArgShape && d.Args[k].Index < 0 {
				d.Args[k].Index = i
				break
			}
		}
		if b.info.Library && types.HasParam(t) {
			continue
		}
		b.late = append(b.late, func() { b.decodable(t, at) })
	}
}

// receiver is what a method is called on.
type receiver struct {
	x        ast.Expr
	t        types.Type
	at       source.Span
	typeArgs []types.Type
}

// bindArguments fills a function's parameters from the receiver, the piped
// value and the written arguments.
func (b *body) bindArguments(e ast.Expr, d *Call, fn *Function, in *instance, recv *receiver, args []*ast.Arg, p *piped) {
	d.Args = make([]Arg, len(fn.Params))
	filled := make([]bool, len(fn.Params))
	next := 0
	take := func(a Arg) {
		if next < len(filled) {
			d.Args[next], filled[next] = a, true
		}
		next++
	}
	if recv != nil {
		take(Arg{Kind: ArgReceiver})
	}
	if fn.variadic() {
		for _, a := range args {
			b.checkAs(a.Value, types.Any, reason{})
		}
		take(Arg{Kind: ArgRest, Conv: types.Any})
		return
	}
	if p != nil {
		if next < len(fn.Params) {
			b.pipedArgument(d, in, fn.Params[next].Type, p)
		}
		take(Arg{Kind: ArgPiped, Conv: d.pipedConv})
	}
	surplus, misnamed := 0, false
	for i, a := range args {
		k := next
		if a.Name != nil {
			k = b.namedParameter(fn, a, filled)
			if k < 0 {
				misnamed = true
				b.expr(a.Value, nil)
				continue
			}
		} else {
			next++
		}
		if k >= len(fn.Params) || fn.implicit(fn.Params[k]) {
			surplus++
			b.expr(a.Value, nil)
			continue
		}
		d.Args[k], filled[k] = Arg{Kind: ArgWritten, Index: i}, true
		param := fn.Params[k]
		in.argument(b, a.Value, param.Type, b.parameterReason(fn, param))
	}
	in.settle(b)
	if misnamed {
		return // reported; how many are missing follows from it
	}
	b.fillDefaults(e, d, fn, filled, len(args), surplus)
}

// parameterReason points at a user's parameter; the library's need no place.
func (b *body) parameterReason(fn *Function, p *Param) reason {
	if fn.Info.Library {
		return reason{}
	}
	return reason{fn.mod, p.At, "the parameter's type"}
}

func (b *body) pipedArgument(d *Call, in *instance, declared types.Type, p *piped) {
	in.solve(declared, p.t)
	want := types.Substitute(declared, in.solved)
	ok, convert := types.Conversion(p.t, want)
	if !ok {
		b.mismatch(p.x, p.t, want, reason{})
	}
	if convert {
		d.pipedConv = want
	}
}

func (b *body) namedParameter(fn *Function, a *ast.Arg, filled []bool) int {
	for k, p := range fn.Params {
		if p.Name != a.Name.Name || k == 0 && fn.Recv != nil {
			continue
		}
		if filled[k] {
			b.report(diag.ArgumentTwice.At(a.Name.Sp, "parameter `%s` is given twice", p.Name).Hint("remove one"))
			return -1
		}
		return k
	}
	var names []string
	for _, p := range fn.Params {
		names = append(names, p.Name)
	}
	b.report(unknownName(diag.UnknownParameter, a.Name, "`"+fn.Name+"` has no parameter `%s`", names).
		Hint("its parameters are %s", listed(names)))
	return -1
}

func (b *body) fillDefaults(e ast.Expr, d *Call, fn *Function, filled []bool, given, surplus int) {
	var missing []string
	first := 0
	if fn.Recv != nil && len(fn.Params) > 0 && d.Args[0].Kind == ArgReceiver {
		first = 1
	}
	want := 0
	for k, p := range fn.Params {
		if k >= first && !fn.implicit(p) {
			want++
		}
		switch {
		case filled[k]:
		case fn.implicit(p):
			d.Args[k] = Arg{Kind: ArgShape, Index: -1}
		case p.Default != nil:
			d.Args[k] = Arg{Kind: ArgDefault}
		default:
			missing = append(missing, p.Name)
		}
	}
	if len(missing) == 0 && surplus == 0 {
		return
	}
	if d.Piped {
		given++
	}
	dg := diag.ArgumentCount.At(e.Span(), "`%s` takes %s, not %d", fn.Name, count(want, "argument"), given)
	if !fn.Info.Library {
		b.because(dg, reason{fn.mod, fn.Decl.Signature, "declared here"})
	}
	if len(missing) > 0 {
		dg.Hint("give %s", listed(missing))
	} else {
		dg.Hint("remove %s", count(surplus, "argument"))
	}
	b.report(dg)
}

// implicit says that calls leave p out: the compiler passes the run-time type.
func (fn *Function) implicit(p *Param) bool { return fn.Shape && p.Type == types.Shape }

func (b *body) closureArguments(e *ast.Call, d *Call, f *types.Func, p *piped) {
	n := len(e.Args)
	params := f.Params
	if p != nil {
		n++
	}
	if n != len(f.Params) {
		b.arguments(e.Args)
		b.report(diag.ArgumentCount.At(e.Sp, "this function takes %s, not %d", count(len(f.Params), "argument"), n).
			Hint("its type is `%s`", types.Full(f)))
		return
	}
	if p != nil {
		b.pipedArgument(d, newInstance(nil), params[0], p)
		d.Args = append(d.Args, Arg{Kind: ArgPiped, Conv: d.pipedConv})
		params = params[1:]
	}
	for i, a := range e.Args {
		if a.Name != nil {
			b.report(diag.UnknownParameter.At(a.Name.Sp, "arguments of a function value have no names").Hint("give the value alone"))
		}
		b.checkAs(a.Value, params[i], reason{})
		d.Args = append(d.Args, Arg{Kind: ArgWritten, Index: i})
	}
}

// arguments checks arguments whose callee is unknown. What a closure among
// them takes is unknown too, and no further mistake.
func (b *body) arguments(args []*ast.Arg) {
	for _, a := range args {
		cl, ok := unparen(a.Value).(*ast.Closure)
		if !ok {
			b.expr(a.Value, nil)
			continue
		}
		hint := &types.Func{Result: types.Bad}
		for range cl.Params {
			hint.Params = append(hint.Params, types.Bad)
		}
		b.expr(a.Value, hint)
	}
}
