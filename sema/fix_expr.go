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

// Fixes of expressions and statements. Each belongs to a hint that describes it.

// onlyFree returns the only parameter of a function without an argument. It returns "" if there are
// several.
func onlyFree(fn *Function, filled []bool) string {
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

// withoutLast returns the fix that removes the last n arguments of a call. A piped argument cannot
// be removed.
func withoutLast(args []*ast.Arg, n int, what string) []diag.Fix {
	first := len(args) - n
	if first < 0 {
		return nil
	}
	at := source.Span{Start: args[first].Sp.Start, End: args[len(args)-1].Sp.End}
	if first > 0 {
		at.Start = args[first-1].Sp.End
	}
	return []diag.Fix{diag.Offer(diag.Remove(at), "Remove %s", what)}
}

// labelLoop returns the fix that adds an undeclared label to the outermost loop around its use.
func (b *body) labelLoop(name string) []diag.Fix {
	for _, lp := range b.loops {
		if lp.home == b.frame && lp.label == "" {
			return []diag.Fix{diag.Offer(diag.Insert(lp.at, "'"+name+": "), "Label the loop `'%s`", name)}
		}
	}
	return nil
}

// noLoop returns the advice for a break or continue outside a loop.
func (b *body) noLoop(at source.Span, word string) diag.Advice {
	f, whole := b.info.File.Source, at
	if int(at.End) < len(f.Text) && f.Text[at.End] == ';' {
		whole.End++
	}
	return diag.Say("remove it, or use `return`").
		By(diag.Offer(diag.Remove(edits.WithItsLines(f, whole)), "Remove the `%s`", word)).
		By(diag.Change(source.Span{Start: at.Start, End: at.Start + source.Pos(len(word))}, "return", "return", false))
}

// madeOf returns the advice for a type that is used as a value.
func (b *body) madeOf(e *ast.PathExpr, en *entity) diag.Advice {
	a := diag.Say(b.valueOfType(e, en))
	if en.typ == nil || b.receiver == ast.Expr(e) && b.method != "" {
		return a
	}
	if text := edits.NamedPlaceholder(en.typ, 0); text != edits.NotWritten {
		return a.By(diag.Offer(diag.Replace(e.Sp, text), "Write `%s`", text))
	}
	return a
}

// oneOf returns a fix for each string of a union.
func oneOf(at source.Span, u *types.Union) (fixes []diag.Fix) {
	for _, v := range u.Values {
		fixes = append(fixes, diag.Change(at, v, strconv.Quote(v), false))
	}
	return fixes
}

// fewerTypes returns the fix that removes superfluous type arguments.
func fewerTypes(t *ast.NamedType, most int) []diag.Fix {
	if len(t.Args) <= most || most == 0 {
		return nil
	}
	at := source.Span{Start: t.Args[most-1].Span().End, End: t.Args[len(t.Args)-1].Span().End}
	return []diag.Fix{diag.Offer(diag.Remove(at), "Remove the additional type arguments")}
}

// giveValues returns the fix that adds placeholders for a variant's values.
func giveValues(e *ast.PathExpr, v *types.Variant) diag.Fix {
	text := " " + edits.FieldPlaceholders(v.Fields, 0)
	if !v.Named {
		var values []string
		for _, f := range v.Fields {
			values = append(values, edits.Placeholder(f.Type))
		}
		text = "(" + strings.Join(values, ", ") + ")"
	}
	return diag.Offer(diag.Insert(e.Sp.End, text), "Add values")
}

// mapError returns the fix that converts an error before `?` returns it.
func mapError(at source.Span, err, want types.Type) []diag.Fix {
	n, ok := types.Resolve(want).(*types.Named)
	if !ok || n.Decl.Kind != types.ErrorStruct {
		return nil
	}
	text := "e.to_string()"
	if types.Full(err) == types.String {
		text = "e"
	}
	return []diag.Fix{diag.Offer(diag.Insert(at.End-1, ".map_err(|e| "+n.Decl.Name+"::new("+text+"))"), "Add `.map_err`")}
}

// executing returns the fixes that make a call of a host a call of `execute`.
func executing(e ast.Expr, host string) []diag.Fix {
	switch x := unparen(e).(type) {
	case *ast.Call:
		return []diag.Fix{diag.Offer(diag.Insert(x.Fn.Span().End, ".execute"), "Write `%s.execute`", host)}
	case *ast.MethodCall:
		return []diag.Fix{diag.Offer(diag.Replace(x.Name.Sp, "execute"), "Write `%s.execute`", host)}
	}
	return nil
}

// callFixes returns the fixes for a call of a value that is not a function.
func (b *body) callFixes(e *ast.Call, callee types.Type) []diag.Fix {
	t := types.Resolve(callee)
	if d, ok := t.(*types.Declared); ok && d.Kind != nil {
		t = d.Kind
	}
	behind := source.Span{Start: e.Fn.Span().End, End: e.Sp.End}
	switch {
	case t == types.Agent || t == types.Host:
		return executing(e, b.text(e.Fn))
	case t == types.Tool:
	case len(e.Args) == 0:
		return []diag.Fix{diag.Offer(diag.Remove(behind), "Remove the `()`")}
	case len(e.Args) == 1:
		switch t.(type) {
		case *types.Array, *types.Map:
			return []diag.Fix{diag.Offer(diag.Replace(behind, "["+b.info.File.Source.Slice(e.Args[0].Value.Span())+"]"), "Read the element by `[…]`")}
		}
	}
	return nil
}

// assigned returns the fix that assigns a method's result to the variable that it is called on.
func (b *body) assigned(e *ast.MethodCall, t types.Type) []diag.Fix {
	p, ok := e.Recv.(*ast.PathExpr)
	if !ok {
		return nil
	}
	l, ok := b.info.objects[p.Id].(*Local)
	if !ok || !l.Mut || !types.Identical(types.Full(l.Type), types.Full(t)) {
		return nil
	}
	return []diag.Fix{diag.Offer(diag.Insert(e.Sp.Start, l.Name+" = "), "Assign the result to `%s`", l.Name)}
}

// handled returns the fix that adds `?` to a discarded Result.
func (b *body) handled(e ast.Expr) []diag.Fix {
	if !edits.IsPostfix(e) {
		return nil
	}
	return []diag.Fix{diag.Offer(diag.Insert(e.Span().End, "?"), "Add `?`")}
}

// awaitSubject returns the fix that awaits a matched task, if the patterns are for its value.
func (b *body) awaitSubject(t types.Type) []diag.Fix {
	if _, ok := t.(*types.Task); !ok || b.subject == nil {
		return nil
	}
	return []diag.Fix{edits.Await(b.subject, "")}
}

// intoVariable returns the fix that assigns a temporary value to a variable, so that it can be
// changed.
func (b *body) intoVariable(place ast.Expr) []diag.Fix {
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

// mergeInserts merges two insertions at the same position.
func mergeInserts(first, second diag.Edit) []diag.Edit {
	if first.Span.End != second.Span.Start {
		return []diag.Edit{first, second}
	}
	return []diag.Edit{{Span: source.Span{Start: first.Span.Start, End: second.Span.End}, Text: first.Text + second.Text}}
}

// separator returns the text between a new statement and the current one: a line break if the
// current one starts its line.
func (b *body) separator() string {
	f := b.info.File.Source
	if own := edits.Indent(f, b.here); f.LineStart(f.LineOf(b.here))+source.Pos(len(own)) == b.here {
		return "\n" + own
	}
	return " "
}

// withoutHandler returns the fix that removes a handler of a listen.
func (b *body) withoutHandler(h *ast.Handler) diag.Fix {
	return edits.RemoveRow(b.info.File.Source, h.Sp, "Remove the handler")
}

// oneParameter returns the fix that removes all parameters of a handler but the first.
func (b *body) oneParameter(cl *ast.Closure) []diag.Fix {
	if len(cl.Params) < 2 {
		return nil
	}
	at := source.Span{Start: cl.Params[0].Sp.End, End: cl.Params[len(cl.Params)-1].Sp.End}
	return []diag.Fix{diag.Offer(diag.Remove(at), "Remove all but the first")}
}

// sendNothing returns the fix that ends a handler without a value.
func (b *body) sendNothing(x ast.Expr) diag.Fix {
	at := x.Span().End
	if f := b.info.File.Source; strings.HasPrefix(strings.TrimLeft(f.Slice(source.Span{Start: at, End: source.Pos(len(f.Text))}), " \t\r\n"), "}") {
		return diag.Offer(diag.Insert(at, ";"), "Insert `;`")
	}
	return edits.Surround(x, "{ ", "; }", "Send no answer")
}

// byPosition returns the fix that removes the names from a literal of a variant with positional
// values, if their number is correct.
func (b *body) byPosition(e *ast.StructLit, v *types.Variant) []diag.Fix {
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
	return []diag.Fix{diag.Offer(diag.Replace(source.Span{Start: e.Path.Sp.End, End: e.Sp.End}, text), "Write its values without names")}
}

// implementFor returns the fix that implements a trait for a type, before the declaration that
// requires it.
func (b *body) implementFor(t types.Type, bound *types.Bound, at source.Span) []diag.Fix {
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
	return b.beforeDecl(at, text, "Implement `"+bound.String()+"` for `"+t.String()+"`")
}

// truth returns what to write for an expression of type t if a Bool is required. It never suggests
// checking whether an Option or a Result holds a value, because an answer of false is a value, too.
func (b *body) truth(e ast.Expr, t types.Type) diag.Advice {
	if assign, ok := unparen(e).(*ast.Assign); ok && assign.Op == ast.OpNone {
		between := source.Span{Start: assign.Target.Span().End, End: assign.Value.Span().Start}
		return diag.Say("`=` assigns; to compare, write `" + b.text(assign.Target) + " == " + b.text(assign.Value) + "`").
			By(diag.Offer(diag.Replace(between, " == "), "Change to `==`"))
	}
	if a := b.askForBool(e, t); a.Is() {
		return a
	}
	x := b.operand(e)
	ask := func(text string) diag.Advice {
		return diag.Say("write a condition: `" + x + text + "`").By(edits.Append(e, text))
	}
	switch t.(type) {
	case *types.Option:
		return b.heldTruth(e, held(t), "may be None")
	case *types.Result:
		return b.heldTruth(e, held(t), "may be an Err")
	case *types.Task:
		return b.takeOut(e, t, func(types.Type) bool { return true })
	case *types.Array, *types.Map, *types.HashMap:
		before, after := "!", ".is_empty()"
		if edits.IsLoose(e) {
			before, after = "!(", ").is_empty()"
		}
		return diag.Say("write a condition: `!" + x + ".is_empty()`").By(edits.Surround(e, before, after, "Add `!` and `.is_empty()`"))
	}
	if _, ok := unparen(e).(*ast.IntLit); ok {
		return diag.Say("write `true` or `false`; use `loop { … }` for an endless loop")
	}
	switch {
	case t == types.Int:
		return ask(" != 0")
	case t == types.Float:
		return ask(" != 0.0")
	case types.IsString(t):
		return ask(" != \"\"")
	}
	return diag.Say("a condition must be a Bool: compare the value with another")
}

// heldTruth is truth for an Option or a Result that holds a value of type inner.
func (b *body) heldTruth(e ast.Expr, inner types.Type, may string) diag.Advice {
	if inner == types.Bool || types.IsAny(inner) {
		return diag.Say(b.quoted(e) + " " + may + ": add `?` after it, or use `.unwrap_or(…)` or `match`").By(edits.Append(e, "?"))
	}
	return diag.Say(b.quoted(e) + " " + may + ", and its value is not a Bool: use `match` to handle each case")
}

// askForBool is truth for the answer to an awaited emit that does not request a Bool.
func (b *body) askForBool(e ast.Expr, t types.Type) diag.Advice {
	emit := b.emitOf(e)
	if emit == nil || held(t) == types.Bool {
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
	if held(t) == nil {
		return diag.Say("request a Bool: `emit<Bool>(…)`").By(diag.Offer(ask, "Request a Bool"))
	}
	all := append(edits.Append(e, "?").Edits, ask)
	slices.SortFunc(all, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return diag.Say("request a Bool with `emit<Bool>(…)`, and unwrap the answer with `" + b.operand(e) + "?`").
		By(diag.Fix{Title: "Request a Bool", Edits: all})
}

// emitOf returns the awaited emit whose answer e is, directly or through a variable of this
// function, or nil.
func (b *body) emitOf(e ast.Expr) *ast.EmitExpr {
	switch x := unparen(e).(type) {
	case *ast.EmitExpr:
		if x.Await {
			return x
		}
	case *ast.Question:
		return b.emitOf(x.X)
	case *ast.PathExpr:
		if let := b.letOf(x); let != nil {
			return b.emitOf(let.Value)
		}
	}
	return nil
}

// letOf returns the `let` of this function that sets the variable that a path names, or nil.
func (b *body) letOf(x *ast.PathExpr) *ast.LetStmt {
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
