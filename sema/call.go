package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// call checks `f(args)`; p is the value piped into it, if any.
func (b *body) call(e *ast.Call, hint types.Type, p *piped) types.Type {
	if path, ok := e.Fn.(*ast.PathExpr); ok {
		if t, done := b.callPath(e, path, hint, p); done {
			return t
		}
		if b.madeByCall(e) {
			return types.Bad
		}
	}
	return b.callValue(e, b.expr(e.Fn, nil), p)
}

// callPath calls what a path names, when that is not just a value.
func (b *body) callPath(e *ast.Call, path *ast.PathExpr, hint types.Type, p *piped) (types.Type, bool) {
	obj, assoc := b.callee(path, e.Args, hint)
	if obj == nil && assoc == nil {
		if b.info.details[path.Id] == unknown {
			b.arguments(e.Args)
			b.info.types[path.Id] = types.Bad
			return types.Bad, true
		}
		return nil, false
	}
	b.info.types[path.Id] = types.Bad // it is no value of its own here
	switch o := obj.(type) {
	case *Function:
		b.info.objects[path.Id] = o
		b.testCalled(o, path.Sp)
		if b.wantsReceiver(o, path, assoc, e.Args, p) {
			b.arguments(e.Args)
			b.info.details[path.Id] = unknown
			return types.Bad, true
		}
		return b.callFunction(e, o, path, nil, assoc, hint, e.Args, p), true
	case *VariantRef:
		b.info.objects[path.Id] = o
		return b.callVariant(e, o, path, hint, p), true
	case *ErrorNew:
		return b.callErrorNew(e, o, p), true
	}
	return nil, false
}

// wantsReceiver reports a method of a declaration that is called like an
// associated function: `Writer::execute("…")`.
func (b *body) wantsReceiver(fn *Function, path *ast.PathExpr, assoc types.Type, args []*ast.Arg, p *piped) bool {
	owner, ok := assoc.(*types.Declared)
	if !ok || fn.Recv == nil || p != nil || len(args) >= len(fn.Params) {
		return false
	}
	if len(args) > 0 {
		if _, named := args[0].Value.(*ast.PathExpr); named { // it may be the receiver
			return false
		}
	}
	b.calledOnValue(owner, path.Segments[len(path.Segments)-1])
	return true
}

// calledOnValue says how a method of a declaration is called.
func (b *body) calledOnValue(owner *types.Declared, name *ast.Ident) {
	kind := "pipeline"
	if owner.Kind != nil {
		kind = strings.ToLower(owner.Kind.String())
	}
	b.report(diag.UnknownMethod.At(name.Sp, "`%s.%s` is called on the %s, which is a value", owner.Name, name.Name, kind).
		Hint("write `%s.%s(…)`", owner.Name, name.Name))
}

// testCalled refuses calling a test.
func (b *body) testCalled(fn *Function, at source.Span) {
	if isTest(fn) {
		b.report(diag.TestCalled.At(at, "test function `%s` cannot be called", fn.Name).
			Hint("move what both need into a function of its own"))
	}
}

// callFunction checks a call of a known function. recv is the receiver of a
// method call; assoc the type of an associated one.
func (b *body) callFunction(e ast.Expr, fn *Function, path *ast.PathExpr, recv *receiver, assoc, hint types.Type, args []*ast.Arg, p *piped) types.Type {
	b.c.use(fn)
	in := newInstance(fn.Generics)
	if path != nil && len(path.TypeArgs) > 0 {
		b.typeArguments(in, fn, b.c.resolveAll(b.ts, path.TypeArgs), path.Sp, path.ArgsAt == len(path.Segments)-1)
	}
	d := &Call{Kind: CallFunction, Fn: fn, Name: fn.Name, Piped: p != nil}
	if fn.Tool != nil {
		d.Kind = CallTool
	}
	if recv != nil {
		how := lent
		if fn.MutSelf || isReference(types.Resolve(recv.t)) {
			how = exact
		}
		in.fix(fn.Recv, recv.t, how)
		for p, t := range recv.known {
			in.solved[p], in.fixed[p] = t, exact
		}
		if len(recv.typeArgs) > 0 {
			b.typeArguments(in, fn, recv.typeArgs, recv.at, true)
		}
	} else if n, ok := assoc.(*types.Named); ok && fn.assoc != nil && !hasOwnParams(n) {
		in.fix(fn.assoc, n, exact)
	}
	if hint != nil && !types.IsAny(hint) && types.Resolve(hint) != types.Nil {
		in.whole, _ = types.Resolve(fn.Gives()).(*types.Param)
		in.matchHint(fn.Gives(), hint)
	}
	b.bindArguments(e, d, fn, in, recv, args, p)
	b.regexArguments(d, fn, args)
	b.allowed(fn, in, e.Span())
	b.inferFromBounds(in)
	b.checkBounds(in, e.Span())
	t := in.apply(b, fn.Gives(), e.Span())
	if recv != nil && fn.givesSelf() {
		t = recv.t
	}
	d.TypeArgs = in.arguments()
	b.shapes(d, fn, e.Span())
	b.info.details[e.ID()] = d
	if recv == nil || !isParam(recv.t) {
		b.generic(e.ID(), fn, d.TypeArgs, e.Span())
	}
	return t
}

// givesSelf says that a library method gives a value of its receiver's own
// type: a HostError's context is a HostError, an agent's builder that agent.
func (fn *Function) givesSelf() bool {
	n, ok := fn.Decl.Result.(*ast.NamedType)
	return ok && fn.Info.Library && len(n.Segments) == 1 && n.Segments[0].Name == "Self"
}

// allowed holds the type arguments of a library function against what its
// @only allows.
func (b *body) allowed(fn *Function, in *instance, at source.Span) {
	if !fn.Info.Library {
		return
	}
	for _, d := range fn.Decl.Decorators {
		name, ok := decoratorText(d, 0)
		if !ok || d.Name.Name != "only" {
			continue
		}
		for _, p := range in.params {
			if p.Name == name && in.solved[p] != nil {
				b.onlyType(fn, d, types.Resolve(in.solved[p]), at)
			}
		}
	}
}

func (b *body) onlyType(fn *Function, d *ast.Decorator, t types.Type, at source.Span) {
	var names []string
	for i := 1; i < len(d.Args); i++ {
		name, _ := decoratorText(d, i)
		names = append(names, name)
		if t.String() == name {
			return
		}
	}
	if !types.IsAny(t) && t != types.Bad && t != types.Never {
		b.report(diag.Mismatch.At(at, "`%s` takes %s, not `%s`", fn.Name, listed(names), types.Full(t)).Hint("convert the argument first"))
	}
}

// hasOwnParams says whether a type's arguments are just the parameters of its
// declaration: nobody has written any.
func hasOwnParams(n *types.Named) bool {
	return len(n.Args) > 0 && n.Args[0] == types.Type(n.Decl.Params[0])
}

// typeArguments fixes the type parameters that are written: those of the
// function itself, or of the type before it.
func (b *body) typeArguments(in *instance, fn *Function, args []types.Type, at source.Span, own bool) {
	params := fn.Generics
	n := len(fn.Decl.Generics)
	if own {
		params = params[len(params)-n:]
	} else {
		params = params[:len(params)-n]
	}
	if len(args) != len(params) {
		b.report(diag.TypeArguments.At(at, "`%s` takes %s, not %d", fn.Name, count(len(params), "type argument"), len(args)).
			Hint("leave them out where they can be inferred"))
		return
	}
	for i, p := range params {
		in.solved[p], in.fixed[p] = args[i], exact
	}
}

// callInstead is what was meant by a call of what is no function.
func (b *body) callInstead(e *ast.Call, callee types.Type) string {
	t, x := types.Resolve(callee), b.operand(e.Fn)
	if d, ok := t.(*types.Declared); ok && d.Kind != nil {
		t = d.Kind
	}
	switch t {
	case types.Agent, types.Host:
		return "give it work by a method: `" + x + ".execute(" + b.prompt(e.Args) + ")`"
	case types.Tool:
		return "call one of its functions: `" + x + ".name(…)`"
	}
	if len(e.Args) == 0 {
		return "it is a value already: leave out the `()`"
	}
	switch t.(type) {
	case *types.Array, *types.Map:
		return "an element is read by `" + x + "[" + b.prompt(e.Args) + "]`"
	}
	return "only functions and closures are called"
}

// callValue calls a closure or function value.
func (b *body) callValue(e *ast.Call, callee types.Type, p *piped) types.Type {
	d := &Call{Kind: CallValue, Piped: p != nil}
	b.info.details[e.Id] = d
	switch f := types.Loose(callee).(type) {
	case *types.Func:
		b.closureArguments(e, d, f, p)
		return f.Result
	case *types.Basic:
		if f == types.Any {
			d.Kind = CallAny
			b.calledUntyped()
			if p != nil {
				d.Args = append(d.Args, Arg{Kind: ArgPiped, Conv: types.Any})
			}
			for i, a := range e.Args {
				b.checkAs(a.Value, types.Any, reason{})
				d.Args = append(d.Args, Arg{Kind: ArgWritten, Index: i})
			}
			return types.Any
		}
	}
	b.arguments(e.Args)
	if types.Resolve(callee) != types.Bad {
		b.report(diag.NotCallable.At(e.Fn.Span(), "`%s` cannot be called", types.Full(callee)).By(b.callFixes(e, callee)...).Hint("%s", b.callInstead(e, callee)))
	}
	return types.Bad
}
