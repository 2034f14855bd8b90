package sema

import (
	"regexp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/compile/valuetype"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// appendShapes sets the type arguments that the compiler passes to the run-time type parameters of
// fn. It also checks later that values of these types can be decoded.
func (b *body) appendShapes(d *Call, fn *Function, recv *receiver, e ast.Expr) {
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
		if b.info.Library && (types.HasParam(t) || isFilled(t)) {
			continue
		}
		b.late = append(b.late, func() {
			b.checkDecodable(t, e.Span())
			b.warnUnenforced(e, fn, recv, t)
		})
	}
}

// isFilled reports whether t is a struct of the library that only native functions create. Values
// of such a type are never decoded.
func isFilled(t types.Type) bool {
	n, ok := types.Resolve(t).(*types.Named)
	return ok && n.Decl.Library && strings.HasPrefix(n.Decl.Name, "__")
}

// receiver is the value on which a method is called.
type receiver struct {
	x        ast.Expr
	t        types.Type
	at       source.Span
	typeArgs []types.Type
	bindings map[*types.Param]types.Type // values of the type parameters of the method's trait
}

// bindArguments assigns the arguments of a call to the function's parameters: the receiver, the
// piped value and the written arguments.
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
	if fn.isVariadic() {
		for _, a := range args {
			b.checkAs(a.Value, types.Any, reason{})
			b.warnShown(a.Value, "printed text")
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
	if !b.countFits(e, d, fn, args, next) {
		in.broken = true
		if i, _ := b.findTypeArgument(args); i >= 0 {
			args = slices.Delete(slices.Clone(args), i, i+1) // a type argument that is written as an argument
		}
		b.checkUnboundArguments(args)
		return
	}
	misnamed, before := false, b.c.diags.Len()
	for i, a := range args {
		k := next
		if a.Name != nil {
			k = b.namedParameter(fn, a, args, filled)
			if k < 0 {
				misnamed = true
				b.expr(a.Value, nil)
				continue
			}
		} else {
			next++
		}
		if k >= len(fn.Params) || fn.isImplicit(fn.Params[k]) { // possible after an argument with a wrong name
			b.expr(a.Value, nil)
			continue
		}
		d.Args[k], filled[k] = Arg{Kind: ArgWritten, Index: i}, true
		param := fn.Params[k]
		in.argument(b, a.Value, param.Type, b.parameterReason(fn, param))
	}
	in.finishArguments(b)
	b.reportSwapped(e, fn, d, args, before)
	if !misnamed {
		b.fillDefaults(d, fn, filled)
	}
}

// checkUnboundArguments checks the arguments of a call that has been rejected. It does not report
// types that remain unknown without the parameters.
func (b *body) checkUnboundArguments(args []*ast.Arg) {
	pending := len(b.vars)
	b.arguments(args)
	b.vars = b.vars[:pending]
}

// parameterReason returns the declaration of a parameter as the reason for a type, if the program
// declares the function. Parameters of library functions have no position in the program.
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
		b.reportMismatch(p.x, p.t, want, reason{})
	}
	if convert {
		d.pipedConv = want
	}
}

func (b *body) namedParameter(fn *Function, a *ast.Arg, args []*ast.Arg, filled []bool) int {
	for k, p := range fn.Params {
		if p.Name != a.Name.Name || k == 0 && fn.Recv != nil {
			continue
		}
		if filled[k] {
			b.report(diag.ArgumentTwice.At(a.Name.Sp, "parameter `%s` is passed twice", p.Name).
				Repair(edits.RemoveRow(b.info.File.Source, a.Sp, "Remove the second `%s`", p.Name), "remove one"))
			return -1
		}
		return k
	}
	var names []string
	named := map[string]bool{}
	for k, p := range fn.Params {
		names = append(names, p.Name)
		named[p.Name] = filled[k] || slices.ContainsFunc(args, func(a *ast.Arg) bool { return a.Name != nil && a.Name.Name == p.Name })
	}
	d := unknownName(diag.UnknownParameter, a.Name, "`"+fn.Name+"` has no parameter `%s`", names).Hint("its parameters are %s", quotedNames(names))
	markUsedUnsafe(d, func(name string) bool { return named[name] })
	if only := onlyParameter(fn, filled); len(d.Fixes) == 0 && only != "" {
		d.WithFixes(diag.Change(a.Name.Sp, only, only, false))
	}
	b.report(d)
	return -1
}

// countFits reports whether a call has an acceptable number of arguments, and reports an error if
// it has not. first is the index of the first parameter for the written arguments. Arguments with
// unknown names are reported when they are bound.
func (b *body) countFits(e ast.Expr, d *Call, fn *Function, args []*ast.Arg, first int) bool {
	named := map[string]bool{}
	positional := 0
	for _, a := range args {
		if a.Name == nil {
			positional++
			continue
		}
		k := slices.IndexFunc(fn.Params, func(p *Param) bool { return p.Name == a.Name.Name })
		if k < first+positional || named[a.Name.Name] {
			return true
		}
		named[a.Name.Name] = true
	}
	var missing []string
	least, most := 0, 0
	begin := first
	if d.Piped {
		begin--
	}
	for k, p := range fn.Params {
		if k < begin || fn.isImplicit(p) {
			continue
		}
		most++
		if fn.isOptional(p) {
			continue
		}
		least++
		if k >= first+positional && !named[p.Name] {
			missing = append(missing, p.Name+": "+types.Full(p.Type).String())
		}
	}
	count := len(args) + first - begin
	if count <= most && len(missing) == 0 {
		return true
	}
	if fn.Info.File.IsFlawed(fn.Decl) {
		return false
	}
	dg := diag.ArgumentCount.At(e.Span(), "`%s` takes %s, but got %d", fn.Name, countBetween(least, most, "argument"), count)
	if !fn.Info.Library {
		b.explainType(dg, reason{fn.mod, fn.Decl.Signature, "declared here"})
	}
	if len(missing) > 0 {
		dg.WithFixes(b.addArgumentsFix(e, fn, args, first+positional, len(missing))...).Hint("add %s", quotedNames(missing))
	} else if i, name := b.findTypeArgument(args); len(fn.Decl.Generics) > 0 && count == most+1 && i >= 0 {
		others := slices.Delete(slices.Clone(args), i, i+1)
		if call, ok := e.(*ast.MethodCall); ok {
			dg.Span = args[i].Sp
			dg.WithFixes(b.moveTypeFix(call, args, i)...).Hint("write the type after the name: `%s.%s<%s>(%s)`", b.sourceText(call.Recv), call.Name.Name, name, b.argumentText(others))
		} else {
			dg.Hint("write the type in `<…>` after the name: `%s<%s>(%s)`", fn.Decl.Name.Name, name, b.argumentText(others))
		}
	} else {
		if b.suggestDefaultMethod(e, fn, args, dg) {
			b.report(dg)
			return false
		}
		if call, ok := e.(*ast.MethodCall); ok && fn.Info.Library {
			if w := foreign.Function.Find(strings.Replace(fn.Name, ".", "::", 1)); w.Hint != "" {
				if len(w.Ours) == 1 {
					dg.WithFixes(diag.Change(call.Name.Sp, w.Ours[0], w.Ours[0], false))
				}
				b.report(dg.Hint("%s", w.Hint))
				return false
			}
		}
		surplus := b.surplusText(args, count-most)
		dg.WithFixes(removeArgumentsFix(args, count-most, surplus)...).Hint("remove %s", surplus)
	}
	b.report(dg)
	return false
}

// addArgumentsFix returns the fix that adds placeholders for the last n missing arguments of a
// call. The first placeholder is for parameter k.
func (b *body) addArgumentsFix(e ast.Expr, fn *Function, args []*ast.Arg, k, n int) []diag.Fix {
	end := e.Span().End - 1
	if b.info.File.Source.String()[end] != ')' || slices.ContainsFunc(args, func(a *ast.Arg) bool { return a.Name != nil }) || k+n != len(fn.Params) {
		return nil
	}
	text := ""
	for i, p := range fn.Params[k:] {
		value := edits.Placeholder(p.Type)
		if value == edits.NotWritten || isVar(types.Resolve(p.Type)) {
			return nil
		}
		if i > 0 || len(args) > 0 {
			text += ", "
		}
		text += value
	}
	return []diag.Fix{diag.UnsafeFix(diag.Insert(end, text), "Insert `%s`", strings.TrimPrefix(text, ", "))}
}

// moveTypeFix returns the fix that moves argument i, which names a type, to the type arguments of
// the called method.
func (b *body) moveTypeFix(call *ast.MethodCall, args []*ast.Arg, i int) []diag.Fix {
	if len(args) < 2 {
		return nil
	}
	removed := args[i].Sp
	if i > 0 {
		removed.Start = args[i-1].Sp.End
	} else {
		removed.End = args[1].Sp.Start
	}
	return []diag.Fix{{Title: "Move the type after the name", Safe: true, Edits: []diag.Edit{
		diag.Insert(call.Name.Sp.End, "<"+b.info.File.Source.Slice(args[i].Value.Span())+">"), diag.Remove(removed)}}}
}

// suggestDefaultMethod suggests a method with a default value if the last argument of a call looks
// like a default: `m.get_or(key, 0)` for `m.get(key, 0)`. It reports whether it added the
// suggestion to d.
func (b *body) suggestDefaultMethod(e ast.Expr, fn *Function, args []*ast.Arg, d *diag.Diagnostic) bool {
	call, ok := e.(*ast.MethodCall)
	if !ok {
		return false
	}
	name := call.Name.Name + "_or"
	or := b.c.method(types.Loose(b.info.types[call.Recv.ID()]), name)
	if or == nil || len(or.Params)-1 != len(args) {
		return false
	}
	d.Repair(diag.UnsafeFix(diag.Insert(call.Name.Sp.End, "_or"), "Change to `%s`", name), "pass the default to `.%s(…)`", name)
	return true
}

// findTypeArgument returns the index and the text of the first argument that looks like the name of
// a type. Without such an argument the index is -1.
func (b *body) findTypeArgument(args []*ast.Arg) (int, string) {
	for i, a := range args {
		name := b.sourceText(a.Value)
		if b.namesType(a.Value) || isTypeName(name) && b.c.lookup(b.m, name) == nil {
			return i, name
		}
	}
	return -1, ""
}

// isTypeName reports whether s looks like the name of a type.
func isTypeName(s string) bool {
	return isUpper(s) && isName(s)
}

// namesType reports whether the argument e is the name of a type.
func (b *body) namesType(e ast.Expr) bool {
	p, ok := unparen(e).(*ast.PathExpr)
	if !ok || len(p.Segments) != 1 || b.local(p.Segments[0].Name) != nil {
		return false
	}
	en := b.c.lookup(b.m, p.Segments[0].Name)
	return en != nil && en.obj == nil && en.module == nil && !en.refused
}

// surplusText describes the last n arguments of a call in a message.
func (b *body) surplusText(args []*ast.Arg, n int) string {
	var texts []string
	for _, a := range args[max(len(args)-n, 0):] {
		t := b.sourceText(a.Value)
		if t == "…" || n > 3 {
			return "the last " + count(n, "argument")
		}
		texts = append(texts, t)
	}
	return quotedNames(texts)
}

// fillDefaults assigns defaults to the parameters that have no argument.
func (b *body) fillDefaults(d *Call, fn *Function, filled []bool) {
	for k, p := range fn.Params {
		switch {
		case filled[k]:
		case fn.isImplicit(p):
			d.Args[k] = Arg{Kind: ArgShape, Index: -1}
		default:
			d.Args[k] = Arg{Kind: ArgDefault}
		}
	}
}

// isOptional reports whether a call may omit p. A parameter is optional if it has a default. An
// Option parameter of a function in the program has the default None.
func (fn *Function) isOptional(p *Param) bool {
	_, isOption := p.Type.(*types.Option)
	return p.Default != nil || isOption && !fn.Info.Library
}

// isImplicit reports whether the compiler passes the argument for p, because p is a run-time type.
func (fn *Function) isImplicit(p *Param) bool { return fn.Shape && p.Type == types.Shape }

func (b *body) closureArguments(e *ast.Call, d *Call, f *types.Func, p *piped) {
	n := len(e.Args)
	params := f.Params
	if p != nil {
		n++
	}
	if n != len(f.Params) {
		b.checkUnboundArguments(e.Args)
		b.report(diag.ArgumentCount.At(e.Sp, "this function takes %s, but got %d", count(len(f.Params), "argument"), n).
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
			b.report(diag.UnknownParameter.At(a.Name.Sp, "arguments of a function value cannot be named").Hint("write only the value"))
		}
		b.checkAs(a.Value, params[i], reason{})
		d.Args = append(d.Args, Arg{Kind: ArgWritten, Index: i})
	}
}

// arguments checks the arguments of a call whose callee is unknown. The parameter types of a
// closure are then unknown as well, which is not reported.
func (b *body) arguments(args []*ast.Arg) {
	for _, a := range args {
		cl, ok := unparen(a.Value).(*ast.Closure)
		if !ok {
			if !b.namesType(a.Value) {
				b.expr(a.Value, nil)
			}
			continue
		}
		hint := &types.Func{Result: types.Bad}
		for range cl.Params {
			hint.Params = append(hint.Params, types.Bad)
		}
		b.expr(a.Value, hint)
	}
}

// regexArguments checks literal arguments that a library function uses as regular expressions.
func (b *body) regexArguments(d *Call, fn *Function, args []*ast.Arg) {
	if !fn.Info.Library {
		return
	}
	for i, a := range d.Args {
		if a.Kind != ArgWritten || !fn.Params[i].regex {
			continue
		}
		x := args[a.Index].Value
		lit, ok := unparen(x).(*ast.StringLit)
		if !ok {
			continue
		}
		if _, err := regexp.Compile(lit.Value); err != nil {
			reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
			b.report(diag.BadRegex.At(x.Span(), "invalid regular expression: %s", reason).
				Hint("write `\\` before a character to match it literally; in r\"…\" a single `\\` is enough"))
		}
	}
}

// warnUnenforced warns about a call of an agent with a schema that its model cannot enforce, if the
// schema is therefore only a part of the prompt.
func (b *body) warnUnenforced(e ast.Expr, fn *Function, recv *receiver, t types.Type) {
	if recv == nil || !fn.Info.Library || b.c.cfg.Manifest == nil {
		return
	}
	declared, _ := types.Resolve(recv.t).(*types.Declared)
	if declared == nil {
		return
	}
	a, _ := declared.Origin.(*Agent)
	if a == nil {
		return
	}
	uses := a.ModelUses(b.c.cfg.Manifest.Connections)
	if len(uses) == 0 {
		return
	}
	endpoint := b.c.cfg.Manifest.Connections[a.Connection].Endpoint
	row := endpoint.Model(uses[0].Model)
	if row == nil || endpoint.Provider != "anthropic" && endpoint.Provider != "bedrock" {
		return // other providers receive any schema
	}
	forms := row.Schema
	if len(toolsOf(a.Fields["tools"])) > 0 {
		forms = row.SchemaTools
	}
	if len(forms) < 2 || forms[0] != models.Native || forms[1] != models.Prompt {
		return
	}
	if how, step := schema.Claude.Refuses(schema.Text(valuetype.Of(t))); how != "" {
		at := e.Span()
		if call, ok := e.(*ast.MethodCall); ok && len(call.TypeArgs) > 0 {
			at = call.TypeArgs[0].Span()
		}
		b.report(diag.Unenforced.At(at, "%s cannot enforce %s, because it %s: the schema is sent in the prompt, and replies are checked", uses[0].Model, t, how).
			Hint("%s, or write `@allow(W0743)`", step))
	}
}
