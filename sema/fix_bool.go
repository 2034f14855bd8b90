package sema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
	"github.com/concerto-lang/concerto/sema/surface"
)

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
