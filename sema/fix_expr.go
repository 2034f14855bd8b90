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

// Fixes of expressions and statements, each beside the hint that says the same.

// onlyFree is the one parameter of a function that no argument fills so far, "" for several.
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

// withoutLast removes the last n arguments of a call. What is piped into it cannot be removed there.
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

// labelLoop gives the outermost loop around a label, which no loop has.
func (b *body) labelLoop(name string) []diag.Fix {
	for _, lp := range b.loops {
		if lp.home == b.frame && lp.label == "" {
			return []diag.Fix{diag.Offer(diag.Insert(lp.at, "'"+name+": "), "Label the loop `'%s`", name)}
		}
	}
	return nil
}

// noLoop is what to do about a word that leaves a loop, where there is none.
func (b *body) noLoop(at source.Span, word string) diag.Advice {
	f, whole := b.info.File.Source, at
	if int(at.End) < len(f.Text) && f.Text[at.End] == ';' {
		whole.End++
	}
	return diag.Say("remove it, or use `return`").
		By(diag.Offer(diag.Remove(edits.WithItsLines(f, whole)), "Remove the `%s`", word)).
		By(diag.Change(source.Span{Start: at.Start, End: at.Start + source.Pos(len(word))}, "return", "return", false))
}

// madeOf is what to do about a type that stands where a value should.
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

// oneOf offers each text of a union.
func oneOf(at source.Span, u *types.Union) (fixes []diag.Fix) {
	for _, v := range u.Values {
		fixes = append(fixes, diag.Change(at, v, strconv.Quote(v), false))
	}
	return fixes
}

// fewerTypes removes the type arguments that are too many.
func fewerTypes(t *ast.NamedType, most int) []diag.Fix {
	if len(t.Args) <= most || most == 0 {
		return nil
	}
	at := source.Span{Start: t.Args[most-1].Span().End, End: t.Args[len(t.Args)-1].Span().End}
	return []diag.Fix{diag.Offer(diag.Remove(at), "Remove the type arguments that are too many")}
}

// giveValues gives a variant the values that it is made of.
func giveValues(e *ast.PathExpr, v *types.Variant) diag.Fix {
	text := " " + edits.FieldPlaceholders(v.Fields, 0)
	if !v.Named {
		var values []string
		for _, f := range v.Fields {
			values = append(values, edits.Placeholder(f.Type))
		}
		text = "(" + strings.Join(values, ", ") + ")"
	}
	return diag.Offer(diag.Insert(e.Sp.End, text), "Give it values")
}

// mapError converts an error where `?` hands it on.
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

// executing makes a call of a host one of its execute.
func executing(e ast.Expr, host string) []diag.Fix {
	switch x := unparen(e).(type) {
	case *ast.Call:
		return []diag.Fix{diag.Offer(diag.Insert(x.Fn.Span().End, ".execute"), "Write `%s.execute`", host)}
	case *ast.MethodCall:
		return []diag.Fix{diag.Offer(diag.Replace(x.Name.Sp, "execute"), "Write `%s.execute`", host)}
	}
	return nil
}

// callFixes are the fixes of a call of what is no function.
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

// assigned assigns the new value that a method gives to the variable it is called on.
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

// handled hands on the error in a Result that nobody takes.
func (b *body) handled(e ast.Expr) []diag.Fix {
	if !edits.IsPostfix(e) {
		return nil
	}
	return []diag.Fix{diag.Offer(diag.Insert(e.Span().End, "?"), "Add `?`")}
}

// awaitSubject awaits a task that is matched, when that is what its patterns are for.
func (b *body) awaitSubject(t types.Type) []diag.Fix {
	if _, ok := t.(*types.Task); !ok || b.subject == nil {
		return nil
	}
	return []diag.Fix{edits.Await(b.subject, "")}
}

// intoVariable puts a value of its own that is to be changed into a variable.
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
	return []diag.Fix{{Title: "Put it into a `let mut` variable", Edits: mergeInserts(
		diag.Insert(b.here, "let mut "+name+" = "+f.Slice(at)+";"+b.separator()), diag.Replace(at, name))}}
}

// mergeInserts joins two edits at one place into one.
func mergeInserts(first, second diag.Edit) []diag.Edit {
	if first.Span.End != second.Span.Start {
		return []diag.Edit{first, second}
	}
	return []diag.Edit{{Span: source.Span{Start: first.Span.Start, End: second.Span.End}, Text: first.Text + second.Text}}
}

// separator is what parts a statement from the one at hand: a line, when that begins its own.
func (b *body) separator() string {
	f := b.info.File.Source
	if own := edits.Indent(f, b.here); f.LineStart(f.LineOf(b.here))+source.Pos(len(own)) == b.here {
		return "\n" + own
	}
	return " "
}

// withoutHandler removes a handler of a listen.
func (b *body) withoutHandler(h *ast.Handler) diag.Fix {
	return edits.RemoveRow(b.info.File.Source, h.Sp, "Remove the handler")
}

// oneParameter removes all parameters of a handler but the first.
func (b *body) oneParameter(cl *ast.Closure) []diag.Fix {
	if len(cl.Params) < 2 {
		return nil
	}
	at := source.Span{Start: cl.Params[0].Sp.End, End: cl.Params[len(cl.Params)-1].Sp.End}
	return []diag.Fix{diag.Offer(diag.Remove(at), "Remove all but the first")}
}

// sendNothing ends a handler without a value.
func (b *body) sendNothing(x ast.Expr) diag.Fix {
	at := x.Span().End
	if f := b.info.File.Source; strings.HasPrefix(strings.TrimLeft(f.Slice(source.Span{Start: at, End: source.Pos(len(f.Text))}), " \t\r\n"), "}") {
		return diag.Offer(diag.Insert(at, ";"), "Insert `;`")
	}
	return edits.Surround(x, "{ ", "; }", "Send nothing")
}

// byPosition writes a literal of a variant whose values have no names by their places, when there are
// as many as it takes.
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

// implementFor implements a trait for a type before the declaration that asks for it.
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

// truth returns what to write for an expression of type t where a Bool is required. It never asks
// whether an Option or a Result is there: a question that was answered with false is there, too.
func (b *body) truth(e ast.Expr, t types.Type) diag.Advice {
	if assign, ok := unparen(e).(*ast.Assign); ok && assign.Op == ast.OpNone {
		between := source.Span{Start: assign.Target.Span().End, End: assign.Value.Span().Start}
		return diag.Say("`=` assigns, `==` compares: write `" + b.text(assign.Target) + " == " + b.text(assign.Value) + "`").
			By(diag.Offer(diag.Replace(between, " == "), "Compare by `==`"))
	}
	if a := b.askForBool(e, t); a.Is() {
		return a
	}
	x := b.operand(e)
	ask := func(text string) diag.Advice {
		return diag.Say("say what is asked: `" + x + text + "`").By(edits.Append(e, text))
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
		return diag.Say("say what is asked: `!" + x + ".is_empty()`").By(edits.Surround(e, before, after, "Add `!` and `.is_empty()`"))
	}
	if _, ok := unparen(e).(*ast.IntLit); ok {
		return diag.Say("write `true` or `false`; what goes on until it is left is `loop { … }`")
	}
	switch {
	case t == types.Int:
		return ask(" != 0")
	case t == types.Float:
		return ask(" != 0.0")
	case types.IsString(t):
		return ask(" != \"\"")
	}
	return diag.Say("only a Bool is true or false: compare it with something")
}

// heldTruth is truth for an Option or a Result that holds a value of type inner.
func (b *body) heldTruth(e ast.Expr, inner types.Type, may string) diag.Advice {
	if inner == types.Bool || types.IsAny(inner) {
		return diag.Say(b.quoted(e) + " " + may + ": put `?` after it, or use `.unwrap_or(…)` or `match`").By(edits.Append(e, "?"))
	}
	return diag.Say(b.quoted(e) + " " + may + ", and what it holds is no Bool: say by `match` what each case means")
}

// askForBool is truth for the answer to an awaited emit that does not ask for a Bool.
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
		return diag.Say("ask for a Bool: `emit<Bool>(…)`").By(diag.Offer(ask, "Ask for a Bool"))
	}
	all := append(edits.Append(e, "?").Edits, ask)
	slices.SortFunc(all, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return diag.Say("ask for a Bool by `emit<Bool>(…)`, and take the answer out with `" + b.operand(e) + "?`").
		By(diag.Fix{Title: "Ask for a Bool", Edits: all})
}

// emitOf returns the awaited emit whose answer an expression is, directly or by a variable of this
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

// letOf is the `let` of this function that gives the variable its value which a path names; nil for none.
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
