package sema

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// call checks `f(args)`. p is the value that is piped into the call, or nil.
func (b *body) call(e *ast.Call, hint types.Type, p *piped) types.Type {
	if path, ok := e.Fn.(*ast.PathExpr); ok {
		if t, done := b.callPath(e, path, hint, p); done {
			return t
		}
		if b.reportConstructorCall(e) {
			return types.Bad
		}
	}
	return b.callValue(e, b.expr(e.Fn, nil), p)
}

// callPath checks a call whose callee is a path. It returns false if the path is an ordinary value.
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
	b.info.types[path.Id] = types.Bad // the path itself has no value here
	switch o := obj.(type) {
	case *Function:
		b.info.objects[path.Id] = o
		b.testCalled(o, path.Sp)
		if b.reportMissingReceiver(o, path, assoc, e.Args, p) {
			b.arguments(e.Args)
			b.info.details[path.Id] = unknown
			return types.Bad, true
		}
		b.warnPlaceholders(o, e.Args)
		return b.callFunction(e, o, path, nil, assoc, hint, e.Args, p), true
	case *VariantRef:
		b.info.objects[path.Id] = o
		return b.callVariant(e, o, path, hint, p), true
	case *ErrorNew:
		return b.callErrorNew(e, o, p), true
	}
	return nil, false
}

// reportMissingReceiver reports a call of a declaration's method without a receiver, such as
// `Writer::execute("…")`. It returns false if the call is correct.
func (b *body) reportMissingReceiver(fn *Function, path *ast.PathExpr, assoc types.Type, args []*ast.Arg, p *piped) bool {
	owner, ok := assoc.(*types.Declared)
	if !ok || fn.Recv == nil || p != nil || len(args) >= len(fn.Params) {
		return false
	}
	if len(args) > 0 {
		if _, named := args[0].Value.(*ast.PathExpr); named { // the first argument may be the receiver
			return false
		}
	}
	b.reportNotOnValue(owner, path.Segments[len(path.Segments)-1])
	return true
}

// reportNotOnValue reports that a method of an agent, host or tool was called on the name of its
// type.
func (b *body) reportNotOnValue(owner *types.Declared, name *ast.Ident) {
	kind := "pipeline"
	if owner.Kind != nil {
		kind = strings.ToLower(owner.Kind.String())
	}
	b.report(diag.UnknownMethod.At(name.Sp, "`%s.%s` is a method of a %s value, not a function of a type", owner.Name, name.Name, kind).
		Hint("write `%s.%s(…)`", owner.Name, name.Name))
}

// testCalled reports a call of a test or an eval.
func (b *body) testCalled(fn *Function, at source.Span) {
	what := ""
	switch {
	case isTest(fn):
		what = "test function"
	case isEval(fn):
		what = "eval"
	default:
		return
	}
	b.report(diag.TestCalled.At(at, "%s `%s` cannot be called", what, fn.Name).
		Hint("move the shared code into another function"))
}

// callFunction checks a call of a function. recv is the receiver of a method call, or nil. assoc is
// the type before `::` in a call of an associated function, or nil.
func (b *body) callFunction(e ast.Expr, fn *Function, path *ast.PathExpr, recv *receiver, assoc, hint types.Type, args []*ast.Arg, p *piped) types.Type {
	b.c.lib.use(fn)
	in := newInstance(fn.Generics)
	if path != nil && len(path.TypeArgs) > 0 {
		b.typeArguments(in, fn, b.c.resolveAll(b.ts, path.TypeArgs), path.Sp, path.ArgsAt == len(path.Segments)-1)
	}
	d := &Call{Kind: CallFunction, Fn: fn, Name: fn.Name, Piped: p != nil}
	if fn.Tool != nil {
		d.Kind = CallTool
	}
	if recv != nil {
		how := supertypeOnly
		if fn.MutSelf || isReference(types.Resolve(recv.t)) {
			how = exact
		}
		in.fix(fn.Recv, recv.t, how)
		for p, t := range recv.bindings {
			in.solved[p], in.fixed[p] = t, exact
		}
		if len(recv.typeArgs) > 0 {
			b.typeArguments(in, fn, recv.typeArgs, recv.at, true)
		}
	} else if n, ok := assoc.(*types.Named); ok && fn.assoc != nil && !hasOwnParams(n) {
		in.fix(fn.assoc, n, exact)
	}
	if hint != nil && !types.IsAny(hint) && types.Resolve(hint) != types.Nil {
		in.whole, _ = types.Resolve(fn.CallType()).(*types.Param)
		in.matchHint(fn.CallType(), hint)
	}
	b.bindArguments(e, d, fn, in, recv, args, p)
	b.regexArguments(d, fn, args)
	b.checkOnly(fn, in, e.Span())
	b.inferFromBounds(in)
	b.checkBounds(in, e.Span())
	t := in.apply(b, fn.CallType(), e.Span())
	if recv != nil && fn.returnsSelf() {
		t = recv.t
	}
	d.TypeArgs = in.arguments()
	b.appendShapes(d, fn, recv, e)
	b.info.details[e.ID()] = d
	if recv == nil || !isParam(recv.t) {
		b.recordGeneric(e.ID(), fn, d.TypeArgs, e.Span())
	}
	return t
}

// returnsSelf reports whether a library method returns a value of its receiver's type. For example,
// the context method of a HostError returns a HostError, and a builder method of an agent returns
// this agent.
func (fn *Function) returnsSelf() bool {
	n, ok := fn.Decl.Result.(*ast.NamedType)
	return ok && fn.Info.Library && len(n.Segments) == 1 && n.Segments[0].Name == "Self"
}

// checkOnly checks that the type arguments of a library function are among those that its decorator
// @only allows.
func (b *body) checkOnly(fn *Function, in *instance, at source.Span) {
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
				b.checkOnlyType(fn, d, types.Resolve(in.solved[p]), at)
			}
		}
	}
}

func (b *body) checkOnlyType(fn *Function, d *ast.Decorator, t types.Type, at source.Span) {
	var names []string
	for i := 1; i < len(d.Args); i++ {
		name, _ := decoratorText(d, i)
		names = append(names, name)
		if t.String() == name {
			return
		}
	}
	if !types.IsAny(t) && t != types.Bad && t != types.Never {
		b.report(diag.Mismatch.At(at, "`%s` takes %s, not `%s`", fn.Name, quotedNames(names), types.Full(t)).Hint("convert the argument first"))
	}
}

// hasOwnParams reports whether the program wrote the type n without type arguments. Its arguments
// are then the parameters of its declaration.
func hasOwnParams(n *types.Named) bool {
	return len(n.Args) > 0 && n.Args[0] == types.Type(n.Decl.Params[0])
}

// typeArguments sets type parameters of a function to the written type arguments. If own is set,
// they are the parameters of the function itself, otherwise those of the type before the `::`.
func (b *body) typeArguments(in *instance, fn *Function, args []types.Type, at source.Span, own bool) {
	params := fn.Generics
	n := len(fn.Decl.Generics)
	if own {
		params = params[len(params)-n:]
	} else {
		params = params[:len(params)-n]
	}
	if len(args) != len(params) {
		b.report(diag.TypeArguments.At(at, "`%s` takes %s, but got %d", fn.Name, count(len(params), "type argument"), len(args)).
			Hint("remove them if they can be inferred"))
		return
	}
	for i, p := range params {
		in.solved[p], in.fixed[p] = args[i], exact
	}
}

// callInstead returns a hint for a call of a value that is no function.
func (b *body) callInstead(e *ast.Call, callee types.Type) string {
	t, x := types.Resolve(callee), b.operandText(e.Fn)
	if d, ok := t.(*types.Declared); ok && d.Kind != nil {
		t = d.Kind
	}
	switch t {
	case types.Agent, types.Host:
		return "call one of its methods: `" + x + ".execute(" + b.promptText(e.Args) + ")`"
	case types.Tool:
		return "call one of its functions: `" + x + ".name(…)`"
	}
	if len(e.Args) == 0 {
		return "it is already a value: remove the `()`"
	}
	switch t.(type) {
	case *types.Array, *types.Map:
		return "write brackets to read an element: `" + x + "[" + b.promptText(e.Args) + "]`"
	}
	return "only functions and closures can be called"
}

// callValue checks a call of a closure or of another value that is a function.
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
			b.noteUntypedCalls()
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
		b.report(diag.NotCallable.At(e.Fn.Span(), "`%s` cannot be called", types.Full(callee)).WithFixes(b.callFixes(e, callee)...).Hint("%s", b.callInstead(e, callee)))
	}
	return types.Bad
}

// unknown is the detail of a path whose name has been reported as unknown.
var unknown = new(struct{ _ int })

// ErrorNew is the function `T::new` of a built-in error type. The function creates an error with a
// message.
type ErrorNew struct{ Type *types.Named }

func (*ErrorNew) object() {}

// callee resolves the path of a call. assoc is the type before `::` in a call of an associated
// function. callee returns nil for a local variable or another value.
func (b *body) callee(path *ast.PathExpr, args []*ast.Arg, hint types.Type) (Object, types.Type) {
	if len(path.Segments) == 1 {
		name := path.Segments[0].Name
		if b.local(name) != nil {
			return nil, nil
		}
		if v := builtinVariant(name); v != nil {
			return v, nil
		}
		if e := b.c.lookupValue(b.m, name); e != nil {
			switch o := e.obj.(type) {
			case *Function:
				return o, nil
			case *VariantRef:
				return o, nil
			}
			if e.refused {
				b.info.details[path.Id] = unknown
			}
			return nil, nil
		}
		b.reportUnknownValue(path, use{called: true, args: args, hint: hint})
		return nil, nil
	}
	return b.associated(path)
}

// associated resolves a path with several segments. The path is `Type::name`, which refers to a
// variant, an associated function or `T::new` of an error, or it is an item of a module. The
// returned type is the one before `::` if the path refers to an associated function.
func (b *body) associated(path *ast.PathExpr) (Object, types.Type) {
	segs := path.Segments
	if t := b.builtinOwner(segs); t != nil {
		return b.typeMember(path, t, segs[0], segs[1])
	}
	if p := b.ts.param(segs[0].Name); p != nil && len(segs) == 2 {
		b.info.details[path.Id] = unknown
		b.report(diag.UnknownPath.At(segs[0].Sp, "type parameter `%s` is not known here, so its function `%s` cannot be called", p.Name, segs[1].Name).
			Hint("pass the function as a parameter, or call a method on a value of the type"))
		return nil, nil
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
			return b.typeMember(path, t, segs[i-1], rest[0])
		}
	}
	b.info.details[path.Id] = unknown
	b.reportNoValue(path, e, i)
	return nil, nil
}

// reportNoValue reports a path that is used as a value and does not refer to one.
func (b *body) reportNoValue(path *ast.PathExpr, e *entity, i int) {
	last := path.Segments[i-1]
	switch {
	case i < len(path.Segments) && e.obj != nil && b.c.cfg.Library != nil && slices.Contains(b.c.cfg.Library.Modules(), last.Name):
		b.report(diag.UnknownPath.At(last.Sp, "`%s` is a value here, and the module is not imported", last.Name).
			Repair(importFix(b.m, "std::"+last.Name), "add `use std::%s;`, or write `std::%[1]s::…`", last.Name))
	case i < len(path.Segments) && e.obj != nil:
		b.report(diag.UnknownPath.At(path.Segments[i].Sp, "`%s` is a value, and only types and modules can be followed by `::`", last.Name).
			Hint("write `%s.%s(…)` to call one of its methods", last.Name, path.Segments[i].Name))
	case i < len(path.Segments):
		d := diag.UnknownPath.At(path.Segments[i].Sp, "`%s` has no item with this name", last.Name)
		if t := b.c.findDeclared(b.m, path.Segments[i].Name); t != nil && t.trait != nil {
			d.Hint("write `%s::%s` without the name of the trait", last.Name, path.Segments[len(path.Segments)-1].Name)
		} else {
			d.Hint("only types and modules can be followed by `::`")
		}
		b.report(d)
	case e.module != nil:
		b.report(diag.NotAValue.At(path.Sp, "`%s` is a module, not a value", last.Name).Hint("write the name of an item of the module"))
	default:
		b.report(diag.NotAValue.At(path.Sp, "`%s` is a type, not a value", last.Name).Hint("create a value of the type"))
	}
}

// builtinOwner returns the type before the `::` if the type has no declaration, such as Self, a
// type parameter or Array. Otherwise it returns nil.
func (b *body) builtinOwner(segs []*ast.Ident) types.Type {
	if len(segs) != 2 {
		return nil
	}
	name := segs[0].Name
	if name == "Self" {
		return b.ts.selfType()
	}
	if b.c.findDeclared(b.m, name) != nil {
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
	return newContainer(name, args)
}

// typeMember resolves `owner::name`, where owner is the type t.
func (b *body) typeMember(path *ast.PathExpr, t types.Type, owner, name *ast.Ident) (Object, types.Type) {
	if n, ok := t.(*types.Named); ok {
		if v := n.Decl.Variant(name.Name); v != nil {
			return &VariantRef{Type: generic(n.Decl), Name: v.Name, Index: v.Index, Variant: v}, t
		}
		if n.Decl.Kind == types.ErrorStruct && name.Name == "new" {
			return &ErrorNew{n}, nil
		}
	}
	if fn := b.c.method(t, name.Name); fn != nil {
		b.checkVisible(fn, name)
		return fn, t
	}
	b.info.details[path.Id] = unknown
	if t != types.Bad {
		b.reportNoAssociated(t, owner, name)
	}
	return nil, nil
}

// checkVisible reports an error if a method or associated function is private and declared in
// another module.
func (b *body) checkVisible(fn *Function, name *ast.Ident) {
	if fn.pub || fn.assoc == nil || fn.Info.Library || b.m.isWithin(fn.mod) {
		return
	}
	b.report(diag.Private.At(name.Sp, "`%s` is private to module `%s`", fn.Name, fn.mod.displayName()).
		LabelIn(fn.mod.info.File.Source, fn.Decl.Name.Sp, "declared here without `pub`").
		Repair(edits.MakePublic(fn.mod.info.File.Source, fn.Decl.Head(), fn.Name), "declare it with `pub`, or use a public item of the module"))
}

func (b *body) reportNoAssociated(t types.Type, owner, name *ast.Ident) {
	if n, ok := t.(*types.Named); ok && n.Decl.Kind == types.Enum {
		b.reportUnknownVariant(n.Decl, name)
		return
	}
	if _, ok := types.Resolve(t).(*types.HashMap); ok && name.Name == "new" {
		b.report(diag.UnknownMethod.At(name.Sp, "a HashMap must be declared as a store").
			Hint("declare it outside functions: `hashmap name: HashMap<String, Int> = HashMap::new();`, or use a Map"))
		return
	}
	if _, ok := types.Resolve(t).(*types.Queue); ok && name.Name == "new" {
		b.report(diag.UnknownMethod.At(name.Sp, "a Queue must be declared as a store").
			Hint("declare it outside functions: `queue name: Queue<String> = Queue::new();`, or import std::collections::Queue"))
		return
	}
	if name.Name == "new" {
		switch types.Resolve(t).(type) {
		case *types.Array:
			b.report(diag.UnknownMethod.At(name.Sp, "`Array` has no function `new`").WithFixes(b.constructorFixes(t, owner, name, foreign.Word{})...).
				Hint("write an empty array as `[]`"))
			return
		case *types.Map:
			b.report(diag.UnknownMethod.At(name.Sp, "`Map` has no function `new`").WithFixes(b.constructorFixes(t, owner, name, foreign.Word{})...).
				Hint("write an empty map as `{}` with its type: `let m: Map<String, Int> = {};`"))
			return
		}
		if n, ok := types.Resolve(t).(*types.Named); ok && !n.Decl.Library && n.Decl.Kind != types.Enum {
			b.report(diag.UnknownMethod.At(name.Sp, "`%s` has no function `new`", owner.Name).
				Hint("create a value with the name of its type: `%s`", edits.StructExample(n.Decl)))
			return
		}
	}
	if d, ok := t.(*types.Declared); ok && name.Name == "new" {
		at := source.Span{Start: owner.Sp.End, End: name.Sp.End}
		if strings.HasPrefix(b.info.File.Source.String()[at.End:], "()") {
			at.End += 2
		}
		b.report(diag.UnknownMethod.At(name.Sp, "`%s` has no function `new`", owner.Name).
			Repair(diag.UnsafeFix(diag.Remove(at), "Write `%s`", owner.Name), "`%s` is already a value: use its name", d.Name))
		return
	}
	if d, ok := t.(*types.Declared); ok {
		tool := toolOf(t)
		if d.Kind == nil && name.Name == "run" || tool != nil && (tool.Rest || tool.method(name.Name) != nil) {
			b.reportNotOnValue(d, name)
			return
		}
	}
	of := owner.Name
	if of == "Self" {
		of = types.Full(t).String()
	}
	d := unknownName(diag.UnknownMethod, name, "`"+of+"` has no function `%s`", b.c.methodNames(t))
	w := foreign.Function.Find(of + "::" + name.Name)
	switch {
	case w.Hint != "":
		d.Fixes = nil
		d.WithFixes(b.constructorFixes(t, owner, name, w)...)
		d.Hints = []string{w.Hint}
	case len(d.Hints) == 0 && declaredIn(t) == nil:
		d.Hint("its functions are %s", quotedNames(b.c.methodNames(t)))
	default:
		d.Hint("declare it in `impl %s { … }`", of)
	}
	b.report(d)
}

// constructorFixes returns fixes for a constructor of another language. A fix replaces it with a
// function of Concerto or with a value.
func (b *body) constructorFixes(t types.Type, owner, name *ast.Ident, w foreign.Word) []diag.Fix {
	f := b.info.File.Source
	at := source.Span{Start: owner.Sp.Start, End: name.Sp.End}
	switch {
	case len(w.Ours) == 1:
		return []diag.Fix{diag.Change(at, w.Ours[0], w.Ours[0], false)}
	case name.Name == "from" && types.IsString(t):
		return []diag.Fix{diag.UnsafeFix(diag.Remove(at), "Remove `%s`", f.Slice(at))}
	case name.Name == "new" && strings.HasPrefix(f.String()[at.End:], "()"):
		at.End += source.Pos(len("()"))
		if empty := edits.Placeholder(t); empty != edits.NotWritten {
			return []diag.Fix{diag.Change(at, empty, empty, false)}
		}
	}
	return nil
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

// piped is the value on the left side of a |>. It becomes the first argument of a call.
type piped struct {
	x ast.Expr
	t types.Type
}

// pipe checks `x |> f(a)`.
func (b *body) pipe(e *ast.Pipe, hint types.Type) types.Type {
	p := &piped{e.X, b.expr(e.X, nil)}
	b.pipes = append(b.pipes, pipedCall{e.Call, p})
	n := len(b.pipes)
	t := b.expr(e.Right, hint)
	if len(b.pipes) >= n { // no call took the value: the right side is a function that is not called explicitly
		b.pipes = b.pipes[:n-1]
	}
	return t
}

// pipedCall is a call that has not yet received its piped value.
type pipedCall struct {
	call ast.Expr
	p    *piped
}

// takePiped returns the value that is piped into e, or nil. It returns the value only once.
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

// callWithPiped checks `x |> f`, a call of f whose only argument is the piped value. The detail of
// the call is stored under the id of f.
func (b *body) callWithPiped(e ast.Expr, hint types.Type, p *piped) types.Type {
	call := &ast.Call{Fn: e}
	call.Sp, call.Id = e.Span(), e.ID()
	return b.call(call, hint, p)
}
