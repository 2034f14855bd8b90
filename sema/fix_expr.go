package sema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
	"github.com/concerto-lang/concerto/sema/surface"
)

// This file contains fixes of expressions and statements. Each fix applies the hint of its
// diagnostic.

// onlyParameter returns the name of the only parameter that has no argument. It returns "" if there
// are several such parameters.
func onlyParameter(fn *Function, filled []bool) string {
	only := ""
	for k, p := range fn.Params {
		if k >= len(filled) || filled[k] || k == 0 && fn.Recv != nil {
			continue
		}
		if only != "" {
			return ""
		}
		only = p.Name
	}
	return only
}

// removeArgumentsFix returns the fix that removes the last n arguments of a call. It returns nil if
// one of them is piped, because a piped argument cannot be removed.
func removeArgumentsFix(args []*ast.Arg, n int, what string) []diag.Fix {
	first := len(args) - n
	if first < 0 {
		return nil
	}
	at := source.Span{Start: args[first].Sp.Start, End: args[len(args)-1].Sp.End}
	if first > 0 {
		at.Start = args[first-1].Sp.End
	}
	return []diag.Fix{diag.UnsafeFix(diag.Remove(at), "Remove %s", what)}
}

// labelLoopFix returns the fix that adds an undeclared label to the outermost enclosing loop.
func (b *body) labelLoopFix(name string) []diag.Fix {
	for _, lp := range b.loops {
		if lp.home == b.frame && lp.label == "" {
			return []diag.Fix{diag.UnsafeFix(diag.Insert(lp.at, "'"+name+": "), "Label the loop `'%s`", name)}
		}
	}
	return nil
}

// noLoopAdvice returns the advice for a break or continue outside a loop.
func (b *body) noLoopAdvice(at source.Span, word string) diag.Advice {
	f, whole := b.info.File.Source, at
	if int(at.End) < len(f.Text) && f.Text[at.End] == ';' {
		whole.End++
	}
	return diag.HintAdvice("remove it, or use `return`").
		WithFix(diag.UnsafeFix(diag.Remove(edits.WithItsLines(f, whole)), "Remove the `%s`", word)).
		WithFix(diag.Change(source.Span{Start: at.Start, End: at.Start + source.Pos(len(word))}, "return", "return", false))
}

// typeAsValueAdvice returns the advice for a type that is used as a value.
func (b *body) typeAsValueAdvice(e *ast.PathExpr, en *entity) diag.Advice {
	a := diag.HintAdvice(b.valueOfType(e, en))
	if en.typ == nil || b.receiver == ast.Expr(e) && b.method != "" {
		return a
	}
	if text := edits.NamedPlaceholder(en.typ, 0); text != edits.NotWritten {
		return a.WithFix(diag.UnsafeFix(diag.Replace(e.Sp, text), "Write `%s`", text))
	}
	return a
}

// unionFixes returns one fix for each string in the union u. The fix replaces the text at a span
// with the string.
func unionFixes(at source.Span, u *types.Union) (fixes []diag.Fix) {
	for _, v := range u.Values {
		fixes = append(fixes, diag.Change(at, v, strconv.Quote(v), false))
	}
	return fixes
}

// removeTypesFix returns the fix that removes the type arguments after the first most ones.
func removeTypesFix(t *ast.NamedType, most int) []diag.Fix {
	if len(t.Args) <= most || most == 0 {
		return nil
	}
	at := source.Span{Start: t.Args[most-1].Span().End, End: t.Args[len(t.Args)-1].Span().End}
	return []diag.Fix{diag.UnsafeFix(diag.Remove(at), "Remove the additional type arguments")}
}

// addValuesFix returns the fix that adds placeholders for the values of a variant.
func addValuesFix(e *ast.PathExpr, v *types.Variant) diag.Fix {
	text := " " + edits.FieldPlaceholders(v.Fields, 0)
	if !v.Named {
		var values []string
		for _, f := range v.Fields {
			values = append(values, edits.Placeholder(f.Type))
		}
		text = "(" + strings.Join(values, ", ") + ")"
	}
	return diag.UnsafeFix(diag.Insert(e.Sp.End, text), "Add values")
}

// mapError returns the fix that converts an error before a `?` returns it.
func mapError(at source.Span, err, want types.Type) []diag.Fix {
	n, ok := types.Resolve(want).(*types.Named)
	if !ok || n.Decl.Kind != types.ErrorStruct {
		return nil
	}
	text := "e.to_string()"
	if types.Full(err) == types.String {
		text = "e"
	}
	return []diag.Fix{diag.UnsafeFix(diag.Insert(at.End-1, ".map_err(|e| "+n.Decl.Name+"::new("+text+"))"), "Add `.map_err`")}
}

// executeFixes returns the fixes that replace a call of a host with a call of its method `execute`.
func executeFixes(e ast.Expr, host string) []diag.Fix {
	switch x := unparen(e).(type) {
	case *ast.Call:
		return []diag.Fix{diag.UnsafeFix(diag.Insert(x.Fn.Span().End, ".execute"), "Write `%s.execute`", host)}
	case *ast.MethodCall:
		return []diag.Fix{diag.UnsafeFix(diag.Replace(x.Name.Sp, "execute"), "Write `%s.execute`", host)}
	default: // the others are no calls
	}
	return nil
}

// callFixes returns the fixes for a call of a value that is no function.
func (b *body) callFixes(e *ast.Call, callee types.Type) []diag.Fix {
	t := types.Resolve(callee)
	if d, ok := t.(*types.Declared); ok && d.Kind != nil {
		t = d.Kind
	}
	rest := source.Span{Start: e.Fn.Span().End, End: e.Sp.End}
	switch {
	case t == types.Agent || t == types.Host:
		return executeFixes(e, b.sourceText(e.Fn))
	case t == types.Tool:
	case len(e.Args) == 0:
		return []diag.Fix{diag.UnsafeFix(diag.Remove(rest), "Remove the `()`")}
	case len(e.Args) == 1:
		switch t.(type) {
		case *types.Array, *types.Map:
			return []diag.Fix{diag.UnsafeFix(diag.Replace(rest, "["+b.info.File.Source.Slice(e.Args[0].Value.Span())+"]"), "Read the element by `[…]`")}
		}
	}
	return nil
}

// assignFix returns the fix that assigns the result of a method call to the method's receiver,
// which is a variable.
func (b *body) assignFix(e *ast.MethodCall, t types.Type) []diag.Fix {
	p, ok := e.Recv.(*ast.PathExpr)
	if !ok {
		return nil
	}
	l, ok := b.info.objects[p.Id].(*Local)
	if !ok || !l.Mut || !types.Identical(types.Full(l.Type), types.Full(t)) {
		return nil
	}
	return []diag.Fix{diag.UnsafeFix(diag.Insert(e.Sp.Start, l.Name+" = "), "Assign the result to `%s`", l.Name)}
}

// awaitSubject returns the fix that awaits the subject of a match. The subject is a task, and the
// patterns match the task's value.
func (b *body) awaitSubject(t types.Type) []diag.Fix {
	if _, ok := t.(*types.Task); !ok || b.subject == nil {
		return nil
	}
	return []diag.Fix{edits.Await(b.subject, "")}
}

// variableFix returns the fix that assigns a temporary value to a variable, so that the program can
// change it.
func (b *body) variableFix(place ast.Expr) []diag.Fix {
	at := place.Span()
	if b.here == 0 || b.here > at.Start {
		return nil
	}
	name := "value"
	for n := 2; b.local(name) != nil; n++ {
		name = "value" + strconv.Itoa(n)
	}
	f := b.info.File.Source
	return []diag.Fix{{Title: "Assign it to a `let mut` variable", Edits: mergeInserts(
		diag.Insert(b.here, "let mut "+name+" = "+f.Slice(at)+";"+b.separator()), diag.Replace(at, name))}}
}

// mergeInserts returns two edits as one if both insert text at the same position.
func mergeInserts(first, second diag.Edit) []diag.Edit {
	if first.Span.End != second.Span.Start {
		return []diag.Edit{first, second}
	}
	return []diag.Edit{{Span: source.Span{Start: first.Span.Start, End: second.Span.End}, Text: first.Text + second.Text}}
}

// separator returns the text between an inserted statement and the current statement. It is a line
// break if the current statement is the first on its line.
func (b *body) separator() string {
	f := b.info.File.Source
	if own := edits.Indent(f, b.here); f.LineStart(f.LineOf(b.here))+source.Pos(len(own)) == b.here {
		return "\n" + own
	}
	return " "
}

// removeHandlerFix returns the fix that removes a handler of a listen.
func (b *body) removeHandlerFix(h *ast.Handler) diag.Fix {
	return edits.RemoveRow(b.info.File.Source, h.Sp, "Remove the handler")
}

// oneParameterFix returns the fix that removes all parameters of a handler except the first.
func (b *body) oneParameterFix(cl *ast.Closure) []diag.Fix {
	if len(cl.Params) < 2 {
		return nil
	}
	at := source.Span{Start: cl.Params[0].Sp.End, End: cl.Params[len(cl.Params)-1].Sp.End}
	return []diag.Fix{diag.UnsafeFix(diag.Remove(at), "Remove all but the first")}
}

// sendNothing returns the fix that removes the value from the end of a handler.
func (b *body) sendNothing(x ast.Expr) diag.Fix {
	at := x.Span().End
	if f := b.info.File.Source; strings.HasPrefix(strings.TrimLeft(f.Slice(source.Span{Start: at, End: source.Pos(len(f.Text))}), " \t\r\n"), "}") {
		return diag.UnsafeFix(diag.Insert(at, ";"), "Insert `;`")
	}
	return edits.Surround(x, "{ ", "; }", "Send no answer")
}

// positionalFix returns the fix that removes the names from a literal of a variant with positional
// values. It returns nil if the number of values is wrong.
func (b *body) positionalFix(e *ast.StructLit, v *types.Variant) []diag.Fix {
	if e == nil || len(e.Fields) != len(v.Fields) || e.Rest != nil {
		return nil
	}
	var values []string
	for _, f := range e.Fields {
		values = append(values, b.info.File.Source.Slice(f.Value.Span()))
	}
	text := "(" + strings.Join(values, ", ") + ")"
	if len(values) == 0 {
		text = ""
	}
	return []diag.Fix{diag.UnsafeFix(diag.Replace(source.Span{Start: e.Path.Sp.End, End: e.Sp.End}, text), "Write its values without names")}
}

// implementFix returns the fix that adds an impl of a trait for the type t. It inserts the impl
// before the declaration that requires it.
func (b *body) implementFix(t types.Type, bound *types.Bound, at source.Span) []diag.Fix {
	td := b.c.conforms.traits[bound.Trait]
	args := map[*types.Param]types.Type{td.self: t}
	for i, p := range td.params {
		args[p] = bound.Args[i]
	}
	var heads []string
	for _, fn := range td.order {
		if fn.Decl.Body == nil {
			heads = append(heads, asDeclared(fn, args))
		}
	}
	text := "impl " + bound.String() + " for " + t.String() + " {" + edits.Functions(heads, "\n") + "\n}"
	return b.insertBeforeDecl(at, text, "Implement `"+bound.String()+"` for `"+t.String()+"`")
}

// boolAdvice returns the advice for an expression of type t that is used as a Bool. It never
// suggests checking whether an Option or a Result holds a value, because the value may be false.
func (b *body) boolAdvice(e ast.Expr, t types.Type) diag.Advice {
	if assign, ok := unparen(e).(*ast.Assign); ok && assign.Op == ast.OpNone {
		between := source.Span{Start: assign.Target.Span().End, End: assign.Value.Span().Start}
		return diag.HintAdvice("`=` assigns; to compare, write `" + b.sourceText(assign.Target) + " == " + b.sourceText(assign.Value) + "`").
			WithFix(diag.UnsafeFix(diag.Replace(between, " == "), "Change to `==`"))
	}
	if a := b.emitBoolAdvice(e, t); a.Is() {
		return a
	}
	x := b.operandText(e)
	ask := func(text string) diag.Advice {
		return diag.HintAdvice("write a condition: `" + x + text + "`").WithFix(edits.Append(e, text))
	}
	switch t.(type) {
	case *types.Option:
		return b.heldBoolAdvice(e, heldType(t), "may be None")
	case *types.Result:
		return b.heldBoolAdvice(e, heldType(t), "may be an Err")
	case *types.Task:
		return b.takeOutAdvice(e, t, func(types.Type) bool { return true })
	case *types.Array, *types.Map, *types.HashMap:
		before, after := "!", ".is_empty()"
		if edits.IsLoose(e) {
			before, after = "!(", ").is_empty()"
		}
		return diag.HintAdvice("write a condition: `!" + x + ".is_empty()`").WithFix(edits.Surround(e, before, after, "Add `!` and `.is_empty()`"))
	}
	if _, ok := unparen(e).(*ast.IntLit); ok {
		return diag.HintAdvice("write `true` or `false`; use `loop { … }` for an endless loop")
	}
	switch {
	case t == types.Int:
		return ask(" != 0")
	case t == types.Float:
		return ask(" != 0.0")
	case types.IsString(t):
		return ask(" != \"\"")
	}
	return diag.HintAdvice("a condition must be a Bool: compare the value with another")
}

// heldBoolAdvice returns the advice of boolAdvice for an Option or a Result that holds a value of
// type inner.
func (b *body) heldBoolAdvice(e ast.Expr, inner types.Type, may string) diag.Advice {
	if inner == types.Bool || types.IsAny(inner) {
		return diag.HintAdvice(b.quotedText(e) + " " + may + ": add `?` after it, or use `.unwrap_or(…)` or `match`").WithFix(edits.Append(e, "?"))
	}
	return diag.HintAdvice(b.quotedText(e) + " " + may + ", and its value is not a Bool: use `match` to handle each case")
}

// emitBoolAdvice returns the advice of boolAdvice for the answer to an awaited emit whose type is
// not Bool.
func (b *body) emitBoolAdvice(e ast.Expr, t types.Type) diag.Advice {
	emit := b.emitOf(e)
	if emit == nil || heldType(t) == types.Bool {
		return diag.Advice{}
	}
	at, written := emit.Sp, source.Span{}
	if emit.Type != nil {
		written = emit.Type.Span()
	} else if n := strings.Index(b.info.File.Source.Slice(at), "emit"); n >= 0 {
		written.Start = at.Start + source.Pos(n+len("emit"))
		written.End = written.Start
	} else {
		return diag.Advice{}
	}
	ask := diag.Replace(written, "Bool")
	if emit.Type == nil {
		ask.Text = "<Bool>"
	}
	if heldType(t) == nil {
		return diag.HintAdvice("request a Bool: `emit<Bool>(…)`").WithFix(diag.UnsafeFix(ask, "Request a Bool"))
	}
	all := append(edits.Append(e, "?").Edits, ask)
	slices.SortFunc(all, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return diag.HintAdvice("request a Bool with `emit<Bool>(…)`, and unwrap the answer with `" + b.operandText(e) + "?`").
		WithFix(diag.Fix{Title: "Request a Bool", Edits: all})
}

// emitOf returns the awaited emit whose answer is e, or nil. e may be the emit, or a variable of
// the current function to which the answer is assigned.
func (b *body) emitOf(e ast.Expr) *ast.EmitExpr {
	switch x := unparen(e).(type) {
	case *ast.EmitExpr:
		if x.Await {
			return x
		}
	case *ast.Question:
		return b.emitOf(x.X)
	case *ast.PathExpr:
		if let := b.findLet(x); let != nil {
			return b.emitOf(let.Value)
		}
	default: // the others contain no emit as their value
	}
	return nil
}

// findLet returns the `let` in the current function that declares the variable x, or nil.
func (b *body) findLet(x *ast.PathExpr) *ast.LetStmt {
	l := b.visibleLocal(x.Segments[0].Name)
	if l == nil || len(x.Segments) > 1 {
		return nil
	}
	for _, n := range surface.Around(b.info.File, l.At) {
		if let, ok := n.(*ast.LetStmt); ok && let.Pattern != nil && let.Pattern.Span() == l.At && let.Value != nil && !let.Value.Span().Contains(x.Span()) {
			return let
		}
	}
	return nil
}
