package sema

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// This file handles calls and member accesses in the syntax of other languages whose meaning is
// certain.

// typeNamed returns the type to which the name e refers. It returns nil if e is not a name, or if
// the name refers to a variable or to nothing.
func (b *body) typeNamed(e ast.Expr) *entity {
	p, ok := unparen(e).(*ast.PathExpr)
	if !ok || len(p.Segments) != 1 || b.visibleLocal(p.Segments[0].Name) != nil {
		return nil
	}
	en := b.c.lookup(b.m, p.Segments[0].Name)
	if en == nil || en.obj != nil || en.module != nil || en.trait != nil || en.refused {
		return nil
	}
	return en
}

// reportDotted reports the access of a type's item with a `.`. args are the arguments if the item
// is called. It returns the type of the whole expression, and false if recv is no type.
func (b *body) reportDotted(recv ast.Expr, name *ast.Ident, whole source.Span, args ...*ast.Arg) (types.Type, bool) {
	en := b.typeNamed(recv)
	if en == nil {
		return nil, false
	}
	owner := b.entityOwner(en)
	result := types.Type(types.Bad)
	what := "function"
	switch {
	case owner == nil:
		return nil, false
	case en.typ != nil && en.typ.Variant(name.Name) != nil:
		what = "variant"
		if len(en.typ.Params) == 0 {
			result = generic(en.typ)
		}
	case b.c.method(owner, name.Name) != nil:
		if fn := b.c.method(owner, name.Name); fn.Recv != nil {
			return nil, false
		} else if len(fn.Generics) == 0 && !types.HasParam(fn.CallType()) {
			result = fn.CallType()
		}
	case en.typ != nil && en.typ.Kind == types.ErrorStruct && name.Name == "new":
		result = owner
	default:
		return nil, false
	}
	b.arguments(args)
	dot := source.Span{Start: recv.Span().End, End: name.Sp.Start}
	text := b.info.File.Source.Slice(whole)
	if len(text) > shortText || strings.ContainsAny(text, "\n`") {
		text = b.sourceText(recv) + "." + name.Name
	}
	text = strings.Replace(text, ".", "::", 1)
	b.report(diag.NotAValue.At(dot, "a %s of type `%s` is accessed with `::`", what, b.sourceText(recv)).
		Repair(diag.SafeFix(diag.Replace(dot, "::"), "Change to `::`"), "write `%s`", text))
	return result, true
}

// reportConstructorCall reports a call of a type's name, as in languages with constructors. It
// returns false if e is no such call.
func (b *body) reportConstructorCall(e *ast.Call) bool {
	en := b.typeNamed(e.Fn)
	if en == nil {
		return false
	}
	name := b.sourceText(e.Fn)
	d := diag.NotAValue.At(e.Fn.Span(), "type `%s` cannot be called", name)
	args := b.argumentText(e.Args)
	switch {
	case en.builtin == types.Error || name == "Error":
		d.Repair(diag.SafeFix(diag.Insert(e.Fn.Span().End, "::new"), "Insert `::new`"), "create an error with `Error::new(%s)`", args)
	case en.typ == nil && foreign.Value.Hint(name) != "":
		d.Hint("%s", foreign.Value.Hint(name))
	case en.typ == nil:
		return false
	case en.typ.Kind == types.ErrorStruct:
		d.Repair(diag.SafeFix(diag.Insert(e.Fn.Span().End, "::new"), "Insert `::new`"), "create an error with `%s::new(%s)`", name, args)
	case b.c.method(generic(en.typ), "new") != nil:
		d.Repair(diag.UnsafeFix(diag.Insert(e.Fn.Span().End, "::new"), "Insert `::new`"), "write `%s::new(%s)`", name, args)
	case en.typ.Kind == types.Enum:
		return false
	default:
		literal, ok := b.structLiteralText(en.typ.Fields, e.Args)
		if !ok {
			return false
		}
		at := source.Span{Start: e.Fn.Span().End, End: e.Sp.End}
		d.Repair(diag.UnsafeFix(diag.Replace(at, literal), "Name the fields"), "name the fields of the value: `%s%s`", name, literal)
	}
	b.report(d)
	b.arguments(e.Args)
	return true
}

// structLiteralText returns the braces of a struct literal. The values of the fields are the
// arguments of a call.
func (b *body) structLiteralText(fields []*types.Field, args []*ast.Arg) (string, bool) {
	var rows []string
	for i, a := range args {
		name := ""
		switch {
		case a.Name != nil && slices.ContainsFunc(fields, func(f *types.Field) bool { return f.Name == a.Name.Name }):
			name = a.Name.Name
		case a.Name == nil && i < len(fields):
			name = fields[i].Name
		default:
			return "", false
		}
		rows = append(rows, name+": "+b.info.File.Source.Slice(a.Value.Span()))
	}
	for i, f := range fields {
		if i >= len(args) && !f.Default && !slices.ContainsFunc(args, func(a *ast.Arg) bool { return a.Name != nil && a.Name.Name == f.Name }) {
			return "", false
		}
	}
	if len(rows) == 0 {
		return " {}", true
	}
	return " { " + strings.Join(rows, ", ") + " }", true
}

// reportSwapped replaces the two diagnostics about swapped arguments with one. before is the number
// of diagnostics before the arguments were checked.
func (b *body) reportSwapped(e ast.Expr, fn *Function, d *Call, args []*ast.Arg, before int) {
	found := b.c.diags.Since(before)
	if len(found) != 2 || found[0].Info != diag.Mismatch || found[1].Info != diag.Mismatch {
		return
	}
	var params []*Param
	var values []ast.Expr
	for k := range d.Args {
		if a := d.Args[k]; a.Kind == ArgWritten && args[a.Index].Name == nil {
			v := args[a.Index].Value
			if v.Span() == found[0].Span || v.Span() == found[1].Span {
				params, values = append(params, fn.Params[k]), append(values, v)
			}
		}
	}
	if len(values) != 2 {
		return
	}
	for i := range values {
		t := b.info.types[values[i].ID()]
		if t == nil || types.HasParam(params[1-i].Type) {
			return
		}
		if ok, _ := types.Conversion(t, params[1-i].Type); !ok {
			return
		}
	}
	f := b.info.File.Source
	x, y := f.Slice(values[0].Span()), f.Slice(values[1].Span())
	if b.c.bodies.noting != nil {
		b.c.bodies.noting.diags = slices.DeleteFunc(b.c.bodies.noting.diags, func(d *diag.Diagnostic) bool { return d == found[0] || d == found[1] })
	}
	b.c.diags.Truncate(before)
	b.errors--
	safe := b.isHarmless(values[0]) && b.isHarmless(values[1])
	dg := diag.Mismatch.At(source.Span{Start: values[0].Span().Start, End: values[1].Span().End}, "swapped arguments: `%s` takes `%s` before `%s`", fn.Name, params[0].Name, params[1].Name)
	if !fn.Info.Library {
		b.explainType(dg, reason{fn.mod, fn.Decl.Signature, "declared here"})
	}
	b.report(dg.WithFixes(diag.Fix{Title: "Swap the arguments", Safe: safe, Edits: []diag.Edit{
		diag.Replace(values[0].Span(), y), diag.Replace(values[1].Span(), x)}}).
		Hint("%s", b.swappedText(e, values[0].Span(), values[1].Span())))
}

// swappedText returns the text of the call e in which the spans x and y are swapped.
func (b *body) swappedText(e ast.Expr, x, y source.Span) string {
	f, at := b.info.File.Source, e.Span()
	part := func(from, to source.Pos) string { return f.Slice(source.Span{Start: from, End: to}) }
	if at.Start > x.Start || at.End < y.End {
		return "write `" + f.Slice(y) + "` before `" + f.Slice(x) + "`"
	}
	call := part(at.Start, x.Start) + f.Slice(y) + part(x.End, y.Start) + f.Slice(x) + part(y.End, at.End)
	if len(call) > 2*shortText || strings.ContainsAny(call, "\n`") {
		return "write `" + b.c.shortSlice(f, y) + "` before `" + b.c.shortSlice(f, x) + "`"
	}
	return "write `" + call + "`"
}

// shortSlice returns the source text of a span for a hint, or `…` if it is long.
func (c *checker) shortSlice(f *source.File, at source.Span) string {
	if s := f.Slice(at); len(s) <= shortText && !strings.ContainsAny(s, "\n`") {
		return s
	}
	return "…"
}

// warnPlainDollar warns about `$name` in a string if name is a variable, and about `${name}` in
// single quotes. Neither is interpolated. It reports whether it warned.
func (b *body) warnPlainDollar(e *ast.StringLit, text string) bool {
	single := strings.HasPrefix(text, "'")
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '$')
		if n < 0 {
			return false
		}
		at += n + 1
		if at >= 2 && text[at-2] == '\\' {
			continue
		}
		rest := text[at:]
		name, whole := leadingName(rest), "$"+leadingName(rest)
		if strings.HasPrefix(rest, "{") {
			if name = leadingName(rest[1:]); !single || name == "" || !strings.Contains(rest, "}") {
				continue
			}
			whole = "${" + rest[1:strings.IndexByte(rest, '}')] + "}"
		}
		l := b.visibleLocal(name)
		if l == nil || len(text) == len(whole)+2 { // the whole string may be the argument of `replace`
			continue
		}
		l.used = true // the program means to use the variable
		start := e.Sp.Start + source.Pos(at) - 1
		span := source.Span{Start: start, End: start + source.Pos(len(whole))}
		d := diag.PlainBraces.At(span, "`%s` is plain text here, not the value of `%s`", whole, name)
		inner := text[1 : len(text)-1]
		switch {
		case single && !strings.Contains(inner, `"`):
			double := `"` + inner + `"`
			if !strings.HasPrefix(rest, "{") {
				double = `"` + strings.ReplaceAll(inner, whole, "${"+name+"}") + `"`
			}
			d.Repair(diag.UnsafeFix(diag.Replace(e.Sp, double), "Use double quotes"), "use double quotes for interpolation: `%s`", truncateText(double))
		case single:
			d.Hint("use double quotes for interpolation, and write `\\\"` for a quote inside")
		default:
			d.Repair(diag.UnsafeFix(diag.Replace(span, "${"+name+"}"), "Write `${%s}`", name), "write `${%s}` to insert the value", name)
		}
		b.report(d)
		return true
	}
}

// leadingName returns the name at the start of s.
func leadingName(s string) string {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return s[:n]
}

// truncateText returns a text for a hint, truncated if it is long.
func truncateText(s string) string {
	if len(s) > shortText {
		return "\"…\""
	}
	return s
}

// reportMissingSchema handles a call `execute<T>(…)` of an agent or a host. It reports the type
// argument and returns the function `execute_with_schema`. For other calls it returns fn.
func (b *body) reportMissingSchema(e *ast.MethodCall, fn *Function, t types.Type) *Function {
	if !fn.Info.Library || e.Name.Name != "execute" || len(e.TypeArgs) != 1 {
		return fn
	}
	with := b.c.method(t, "execute_with_schema")
	if with == nil {
		return fn
	}
	typ := b.c.shortSlice(b.info.File.Source, e.TypeArgs[0].Span())
	b.report(diag.TypeArguments.At(e.Name.Sp, "`execute` has no type argument: it returns a Response").
		Repair(diag.Change(e.Name.Sp, "execute_with_schema", "execute_with_schema", true),
			"to receive a `%s`, write `%s.execute_with_schema<%s>(%s)`", typ, b.sourceText(e.Recv), typ, b.argumentText(e.Args)))
	return with
}

// reportToolFunctions reports functions in a list of tools. It returns false if the list contains
// no functions.
func (c *checker) reportToolFunctions(m *module, f *ast.ConfigField) bool {
	list, ok := f.Value.(*ast.ArrayLit)
	if !ok {
		return false
	}
	found := false
	listed := map[string]bool{}
	for i, x := range list.Elems {
		field, ok := x.(*ast.FieldExpr)
		if !ok {
			if p, isPath := x.(*ast.PathExpr); isPath {
				listed[m.info.File.Source.Slice(p.Sp)] = true
			}
			continue
		}
		p, ok := field.X.(*ast.PathExpr)
		if !ok || len(p.Segments) != 1 {
			continue
		}
		name := p.Segments[0].Name
		e := c.lookup(m, name)
		if e == nil {
			continue
		}
		if _, isTool := e.obj.(*Tool); !isTool {
			continue
		}
		found = true
		fix := diag.Change(x.Span(), name, name, true)
		if listed[name] {
			fix = diag.SafeFix(diag.Remove(source.Span{Start: list.Elems[i-1].Span().End, End: x.Span().End}), "Remove `%s.%s`", name, field.Name.Name)
		}
		listed[name] = true
		c.report(m, diag.ConfigValue.At(x.Span(), "`tools` must contain tools, not their functions").
			Repair(fix, "write `%s`, which provides all functions of the tool", name))
	}
	return found
}

// placeholder matches what the formats of other languages replace with a value.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(?:\d*|:[^{}]*)\}|%[-+#0-9.]*[sdvfqxT]`) })

// warnPlaceholders warns about a call such as `println("{} is {}", a, b)`, whose first text
// contains as many placeholders as values follow. Its fix inserts the values.
func (b *body) warnPlaceholders(fn *Function, args []*ast.Arg) {
	if !fn.Info.Library || fn.Name != "println" && fn.Name != "print" || len(args) < 2 {
		return
	}
	lit, ok := args[0].Value.(*ast.StringLit)
	if !ok {
		return
	}
	f := b.info.File.Source
	text := f.Slice(lit.Sp)
	found := placeholder().FindAllStringIndex(text, -1)
	if len(found) != len(args)-1 || text[0] != '"' || strings.HasPrefix(text, `"""`) {
		return
	}
	var line strings.Builder
	end, plain := 0, true
	for i, at := range found {
		value := f.Slice(args[i+1].Value.Span())
		line.WriteString(text[end:at[0]] + "${" + value + "}")
		end = at[1]
		plain = plain && at[1]-at[0] == 2 && args[i+1].Name == nil && !strings.ContainsAny(value, "\n\"")
	}
	line.WriteString(text[end:])
	first := source.Span{Start: lit.Sp.Start + source.Pos(found[0][0]), End: lit.Sp.Start + source.Pos(found[0][1])}
	d := diag.PlainBraces.At(first, "`%s` is plain text here, not a placeholder", f.Slice(first))
	if plain {
		d.WithFixes(diag.UnsafeFix(diag.Replace(source.Span{Start: lit.Sp.Start, End: args[len(args)-1].Sp.End}, line.String()), "Insert the values"))
	}
	b.report(d.Hint("insert the values into the text: `%s`", truncateText(line.String())))
}
