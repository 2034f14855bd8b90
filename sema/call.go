package sema

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/diag"
	"github.com/concerto-lang/concerto/source"
	"github.com/concerto-lang/concerto/types"
)

// piped is the left side of |>, which becomes the first argument of a call.
type piped struct {
	x ast.Expr
	t types.Type
}

// call checks `f(args)`; p is the value piped into it, if any.
func (b *body) call(e *ast.Call, hint types.Type, p *piped) types.Type {
	if path, ok := e.Fn.(*ast.PathExpr); ok {
		if t, done := b.callPath(e, path, hint, p); done {
			return t
		}
	}
	return b.callValue(e, b.expr(e.Fn, nil), p)
}

// callPath calls what a path names, when that is not just a value.
func (b *body) callPath(e *ast.Call, path *ast.PathExpr, hint types.Type, p *piped) (types.Type, bool) {
	obj, assoc := b.callee(path)
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
		return b.callFunction(e, o, path, nil, assoc, hint, e.Args, p), true
	case *VariantRef:
		b.info.objects[path.Id] = o
		return b.callVariant(e, o, path, hint, p), true
	case *errorNew:
		return b.callErrorNew(e, o, p), true
	}
	return nil, false
}

// unknown marks a path whose name was reported as unknown.
var unknown = new(struct{ _ int })

// errorNew is `T::new` of a built-in error type.
type errorNew struct{ t *types.Named }

func (*errorNew) object() {}

// callee finds what a called path names; assoc is the type whose associated
// function it is. Nil means a local or another value.
func (b *body) callee(path *ast.PathExpr) (Object, types.Type) {
	if len(path.Segments) == 1 {
		name := path.Segments[0].Name
		if b.local(name) != nil {
			return nil, nil
		}
		if v := builtinVariant(name); v != nil {
			return v, nil
		}
		if e := b.c.lookup(b.m, name); e != nil {
			if fn, ok := e.obj.(*Function); ok {
				return fn, nil
			}
			if e.refused {
				b.info.details[path.Id] = unknown
			}
			return nil, nil
		}
		b.unknownValue(path)
		return nil, nil
	}
	return b.associated(path)
}

// associated finds what a path of several segments names: `Type::name` (a
// variant, an associated function, T::new of an error) or something of a
// module. The type is the owner of an associated function.
func (b *body) associated(path *ast.PathExpr) (Object, types.Type) {
	segs := path.Segments
	if t := b.builtinOwner(segs); t != nil {
		return b.ofType(path, t, segs[0], segs[1])
	}
	e, i := b.c.prefix(b.m, segs, len(segs))
	if e == nil || e.refused {
		b.info.details[path.Id] = unknown
		return nil, nil
	}
	switch rest := segs[i:]; {
	case len(rest) == 0 && e.obj != nil:
		return e.obj, nil
	case len(rest) == 1:
		if t := b.entityOwner(e); t != nil {
			return b.ofType(path, t, segs[i-1], rest[0])
		}
	}
	b.info.details[path.Id] = unknown
	b.noValueAt(path, e, i)
	return nil, nil
}

// noValueAt reports a path that leads to no value.
func (b *body) noValueAt(path *ast.PathExpr, e *entity, i int) {
	last := path.Segments[i-1]
	switch {
	case i < len(path.Segments):
		b.report(diag.UnknownPath.At(path.Segments[i].Sp, "`%s` holds nothing of that name", last.Name).Hint("only types and modules are followed by `::`"))
	case e.module != nil:
		b.report(diag.NotAValue.At(path.Sp, "`%s` is a module, not a value", last.Name).Hint("name something in it"))
	default:
		b.report(diag.NotAValue.At(path.Sp, "`%s` is a type, not a value", last.Name).Hint("make a value of it"))
	}
}

// builtinOwner is the type before `::` when no declaration names it: Self, a
// type parameter, Array and its like.
func (b *body) builtinOwner(segs []*ast.Ident) types.Type {
	if len(segs) != 2 {
		return nil
	}
	name := segs[0].Name
	if name == "Self" {
		return b.ts.selfType()
	}
	if b.c.declared(b.m, name) != nil {
		return nil
	}
	k, ok := constructors[name]
	if !ok {
		return nil
	}
	args := make([]types.Type, k.max)
	for i := range args {
		args[i] = types.Any
	}
	return construct(name, args)
}

// ofType finds `owner::name` of a type.
func (b *body) ofType(path *ast.PathExpr, t types.Type, owner, name *ast.Ident) (Object, types.Type) {
	if n, ok := t.(*types.Named); ok {
		if v := n.Decl.Variant(name.Name); v != nil {
			return &VariantRef{Type: generic(n.Decl), Name: v.Name, Index: v.Index, Variant: v}, t
		}
		if n.Decl.Kind == types.ErrorStruct && name.Name == "new" {
			return &errorNew{n}, nil
		}
	}
	if fn := b.c.method(t, name.Name); fn != nil {
		b.visible(fn, name)
		return fn, t
	}
	b.info.details[path.Id] = unknown
	if t != types.Bad {
		b.noAssociated(t, owner, name)
	}
	return nil, nil
}

// visible checks that a method or associated function may be used here.
func (b *body) visible(fn *Function, name *ast.Ident) {
	if fn.pub || fn.assoc == nil || fn.Info.Library || b.m.within(fn.mod) {
		return
	}
	b.report(diag.Private.At(name.Sp, "`%s` is private to module `%s`", fn.Name, fn.mod.shown()).
		LabelIn(fn.mod.info.File.Source, fn.Decl.Name.Sp, "declared here without `pub`").Hint("declare it `pub`, or use what the module offers"))
}

func (b *body) noAssociated(t types.Type, owner, name *ast.Ident) {
	if n, ok := t.(*types.Named); ok && n.Decl.Kind == types.Enum {
		b.unknownVariant(n.Decl, name)
		return
	}
	b.report(unknownName(diag.UnknownMethod, name, "`"+owner.Name+"` has no function `%s`", b.c.methodNames(t)).
		Hint("declare it in `impl %s { … }`", owner.Name))
}

func (b *body) entityOwner(e *entity) types.Type {
	switch {
	case e.builtin != nil:
		return e.builtin
	case e.typ != nil:
		return generic(e.typ)
	case e.alias != nil:
		return b.c.aliasType(e.mod, e.alias)
	case e.obj != nil:
		return declaredType(e.obj)
	}
	return nil
}

// testCalled refuses calling a test.
func (b *body) testCalled(fn *Function, at source.Span) {
	if decorator(fn.Decl.Decorators, "test") != nil {
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
		in.solve(fn.Recv, recv.t)
		if len(recv.typeArgs) > 0 {
			b.typeArguments(in, fn, recv.typeArgs, recv.at, true)
		}
	} else if n, ok := assoc.(*types.Named); ok && fn.assoc != nil && !hasOwnParams(n) {
		in.solve(fn.assoc, n)
	}
	if hint != nil && types.Resolve(hint) != types.Any && types.Resolve(hint) != types.Nil {
		in.matchHint(fn.Gives(), hint)
	}
	b.bindArguments(e, d, fn, in, recv, args, p)
	b.allowed(fn, in, e.Span())
	b.checkBounds(in, e.Span())
	t := in.apply(b, fn.Gives(), e.Span())
	if recv != nil && fn.givesSelf() {
		t = recv.t
	}
	d.TypeArgs = in.arguments()
	b.shapes(d, fn, e.Span())
	b.info.details[e.ID()] = d
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
	if t != types.Any && t != types.Bad && t != types.Never {
		b.report(diag.Mismatch.At(at, "`%s` takes %s, not `%s`", fn.Name, listed(names), types.Full(t)).Hint("convert the argument first"))
	}
}

// hasOwnParams says that a type's arguments are its declaration's parameters,
// so that they say nothing.
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
		in.solved[p] = args[i]
	}
}

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
	if p != nil {
		if next < len(fn.Params) {
			b.pipedArgument(d, in, fn.Params[next].Type, p)
		}
		take(Arg{Kind: ArgPiped, Conv: d.pipedConv})
	}
	if fn.variadic() {
		for _, a := range args {
			b.checkAs(a.Value, types.Any, reason{})
		}
		take(Arg{Kind: ArgRest})
		return
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

// callVariant makes an enum value, or Ok, Err, Some.
func (b *body) callVariant(e *ast.Call, v *VariantRef, path *ast.PathExpr, hint types.Type, p *piped) types.Type {
	d := &Call{Kind: CallVariant, Variant: v, Name: v.Name, Piped: p != nil}
	params, fields := variantParams(v)
	in := newInstance(params)
	if len(path.TypeArgs) > 0 {
		in.given(b.c.resolveAll(b.ts, path.TypeArgs))
	}
	if hint != nil {
		if h := hintedVariant(v, hint); h != nil {
			in.matchHint(v.Type, h)
		}
	}
	if v.Variant != nil && v.Variant.Named {
		b.report(diag.NotAStruct.At(e.Sp, "variant `%s` has named fields", v.Name).Hint("write `%s`", variantExample(v.Type.(*types.Named).Decl, v.Variant)))
		return types.Bad
	}
	n := len(e.Args)
	if p != nil {
		n++
	}
	if n != len(fields) {
		b.arguments(e.Args)
		b.report(diag.ArgumentCount.At(e.Sp, "`%s` takes %s, not %d", v.Name, count(len(fields), "argument"), n).
			Hint("give one value for each part of the variant"))
		return types.Bad
	}
	if p != nil {
		b.pipedArgument(d, in, fields[0], p)
		d.Args = append(d.Args, Arg{Kind: ArgPiped, Conv: d.pipedConv})
		fields = fields[1:]
	}
	for i, a := range e.Args {
		if a.Name != nil {
			b.report(diag.UnknownParameter.At(a.Name.Sp, "the parts of `%s` have no names", v.Name).Hint("give the value alone"))
		}
		d.Args = append(d.Args, Arg{Kind: ArgWritten, Index: i})
		in.argument(b, a.Value, fields[i], reason{})
	}
	in.settle(b)
	t := b.variantType(v, in, e.Sp)
	d.Variant = &VariantRef{Type: t, Name: v.Name, Index: v.Index, Variant: v.Variant}
	b.info.details[e.Id] = d
	return t
}

// hintedVariant is the part of a hint that says what a variant's type is.
func hintedVariant(v *VariantRef, hint types.Type) types.Type {
	h := types.Resolve(hint)
	if h == types.Any || h == types.Nil {
		return nil
	}
	return h
}

// variantParams are the type parameters of a variant's type and the types of
// its parts.
func variantParams(v *VariantRef) ([]*types.Param, []types.Type) {
	if v.Variant == nil {
		switch v.Name {
		case "Some":
			return []*types.Param{paramT}, []types.Type{paramT}
		case "Ok":
			return []*types.Param{paramT, paramE}, []types.Type{paramT}
		default:
			return []*types.Param{paramT, paramE}, []types.Type{paramE}
		}
	}
	var fields []types.Type
	for _, f := range v.Variant.Fields {
		fields = append(fields, f.Type)
	}
	return v.Type.(*types.Named).Decl.Params, fields
}

// The built-in enums' parameters and variants.
var (
	paramT = &types.Param{Name: "T"}
	paramE = &types.Param{Name: "E"}

	optionT = &types.Option{Elem: paramT}
	resultT = &types.Result{Ok: paramT, Err: paramE}

	someRef = &VariantRef{Type: optionT, Name: "Some", Index: 0}
	noneRef = &VariantRef{Type: optionT, Name: "None", Index: 1}
	okRef   = &VariantRef{Type: resultT, Name: "Ok", Index: 0}
	errRef  = &VariantRef{Type: resultT, Name: "Err", Index: 1}
)

// builtinVariant is Some, Ok or Err, which are called; None is a value.
func builtinVariant(name string) *VariantRef {
	switch name {
	case "Some":
		return someRef
	case "Ok":
		return okRef
	case "Err":
		return errRef
	}
	return nil
}

// variantType is the type of a variant's value. The side of a Result that
// nothing fixes may stay open until a use fixes it; nothing demands that one
// does.
func (b *body) variantType(v *VariantRef, in *instance, at source.Span) types.Type {
	for _, p := range in.params {
		if in.solved[p] == nil && in.hints[p] == nil {
			in.solved[p] = b.c.newVar()
		}
	}
	return in.apply(b, v.Type, at)
}

func variantExample(d *types.Decl, v *types.Variant) string {
	s := d.Name + "::" + v.Name
	if len(v.Fields) == 0 {
		return s
	}
	var parts []string
	for _, f := range v.Fields {
		if v.Named {
			parts = append(parts, f.Name+": …")
		} else {
			parts = append(parts, "…")
		}
	}
	if v.Named {
		return s + " { " + strings.Join(parts, ", ") + " }"
	}
	return s + "(" + strings.Join(parts, ", ") + ")"
}

func (b *body) callErrorNew(e *ast.Call, o *errorNew, p *piped) types.Type {
	d := &Call{Kind: CallErrorNew, Error: o.t, Name: o.t.Decl.Name + "::new", Piped: p != nil}
	n := len(e.Args)
	if p != nil {
		n++
		in := newInstance(nil)
		b.pipedArgument(d, in, types.String, p)
		d.Args = append(d.Args, Arg{Kind: ArgPiped, Conv: d.pipedConv})
	}
	for i, a := range e.Args {
		b.checkAs(a.Value, types.String, reason{})
		d.Args = append(d.Args, Arg{Kind: ArgWritten, Index: i})
	}
	if n != 1 {
		b.report(diag.ArgumentCount.At(e.Sp, "`%s` takes 1 argument, not %d", d.Name, n).Hint("give the message"))
	}
	b.info.details[e.Id] = d
	return o.t
}

// callValue calls a closure or function value.
func (b *body) callValue(e *ast.Call, callee types.Type, p *piped) types.Type {
	d := &Call{Kind: CallValue, Piped: p != nil}
	b.info.details[e.Id] = d
	switch f := types.Resolve(callee).(type) {
	case *types.Func:
		b.closureArguments(e, d, f, p)
		return f.Result
	case *types.Basic:
		if f == types.Any {
			d.Kind = CallAny
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
		b.report(diag.NotCallable.At(e.Fn.Span(), "`%s` cannot be called", types.Full(callee)).Hint("only functions and closures can"))
	}
	return types.Bad
}

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

// pipe checks `x |> f(a)`.
func (b *body) pipe(e *ast.Pipe, hint types.Type) types.Type {
	p := &piped{e.X, b.expr(e.X, nil)}
	b.pipes = append(b.pipes, pipedCall{e.Call, p})
	n := len(b.pipes)
	t := b.expr(e.Right, hint)
	if len(b.pipes) >= n { // the call is `x |> f` with f a plain value
		b.pipes = b.pipes[:n-1]
	}
	return t
}

// pipedCall is a call that waits for its piped value.
type pipedCall struct {
	call ast.Expr
	p    *piped
}

// takePiped gives the value piped into e, once.
func (b *body) takePiped(e ast.Expr) *piped {
	if n := len(b.pipes); n > 0 {
		for i := n - 1; i >= 0; i-- {
			if b.pipes[i].call == e {
				p := b.pipes[i].p
				b.pipes = slices.Delete(b.pipes, i, i+1)
				return p
			}
		}
	}
	return nil
}

// pipedInto is `x |> f`: a call of f with the piped value alone. Its detail
// stands under f's own id.
func (b *body) pipedInto(e ast.Expr, hint types.Type, p *piped) types.Type {
	call := &ast.Call{Fn: e}
	call.Sp, call.Id = e.Span(), e.ID()
	return b.call(call, hint, p)
}
