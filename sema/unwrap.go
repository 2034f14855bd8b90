package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema/edits"
)

// A Result, an Option or a Task often stands where what it holds is wanted.
// These say how to take it out.

// held is what a Result, an Option or a Task holds; nil of any other type.
func held(t types.Type) types.Type {
	switch x := types.Resolve(t).(type) {
	case *types.Result:
		return types.Resolve(x.Ok)
	case *types.Option:
		return types.Resolve(x.Elem)
	case *types.Task:
		return types.Resolve(x.Elem)
	}
	return nil
}

// heldOr is what t holds, or t itself.
func heldOr(t types.Type) types.Type {
	if h := held(t); h != nil {
		return h
	}
	return t
}

// takeOut says how to take out of e what its type t holds; fits says which types
// would do where e stands. It is empty when taking it out is no repair.
func (b *body) takeOut(e ast.Expr, t types.Type, fits func(types.Type) bool) diag.Advice {
	inner := held(t)
	if inner == nil || isVar(inner) {
		return diag.Advice{}
	}
	x := b.quoted(e)
	switch types.Resolve(t).(type) {
	case *types.Task:
		later := x + " is a task, whose value comes later: write `await " + b.text(e)
		if fits(inner) {
			return diag.Say(later + "`").By(edits.Await(e, ""))
		}
		switch inner.(type) {
		case *types.Result, *types.Option:
			if fits(held(inner)) {
				return diag.Say(later + "?`").By(edits.Await(e, "?"))
			}
		}
	case *types.Option:
		if fits(inner) {
			return putQuestion(e, x+" may be None")
		}
	case *types.Result:
		if fits(inner) {
			return putQuestion(e, x+" may be an Err")
		}
	}
	return diag.Advice{}
}

// putQuestion is for a value that may be none: a `?` behind it takes out what it holds.
func putQuestion(e ast.Expr, why string) diag.Advice {
	a := diag.Say(why + ": put `?` after it, or use `.unwrap_or(…)` or `match`")
	if edits.IsPostfix(e) {
		return a.By(diag.Offer(diag.Insert(e.Span().End, "?"), "Add `?`"))
	}
	return a
}

// agree says how to give two values one type where one is wrapped in a Result,
// an Option or a Task and the other is what that holds.
func (b *body) agree(x ast.Expr, t types.Type, y ast.Expr, u types.Type) diag.Advice {
	if x == nil || y == nil {
		return diag.Advice{}
	}
	joins := func(other types.Type) func(types.Type) bool {
		return func(t types.Type) bool { _, ok := types.Join(t, other); return ok }
	}
	return first(
		func() diag.Advice { return b.wrapLike(y, u, t) },
		func() diag.Advice { return b.wrapLike(x, t, u) },
		func() diag.Advice { return b.takeOut(x, t, joins(u)) },
		func() diag.Advice { return b.takeOut(y, u, joins(t)) },
	)
}

// first is the first advice that there is.
func first(all ...func() diag.Advice) diag.Advice {
	for _, advice := range all {
		if a := advice(); a.Is() {
			return a
		}
	}
	return diag.Advice{}
}

// wrapLike says how to wrap e, of type t, where another value is a Result.
func (b *body) wrapLike(e ast.Expr, t, other types.Type) diag.Advice {
	if around := wrapper(t, types.Resolve(other)); held(t) == nil && around != "Err" {
		return b.wrapped(e, around)
	}
	return diag.Advice{}
}

// shortText is how much of the source a hint repeats.
const shortText = 40

// text is the source of an expression or a pattern when it is short, else `…`.
func (b *body) text(e ast.Node) string {
	at := e.Span()
	if b.info.File == nil || b.info.File.Source == nil || at.End <= at.Start || int(at.End) > len(b.info.File.Source.Text) {
		return "…"
	}
	s := b.info.File.Source.Slice(at)
	if len(s) > shortText || strings.ContainsAny(s, "\n`") {
		return "…"
	}
	return s
}

// operand is text with parentheses where a `.` or `?` behind it would bind to a
// part alone.
func (b *body) operand(e ast.Expr) string {
	s := b.text(e)
	if edits.IsLoose(e) && s != "…" {
		return "(" + s + ")"
	}
	return s
}

// quoted is an expression as the subject of a sentence.
func (b *body) quoted(e ast.Expr) string {
	if s := b.text(e); s != "…" {
		return "`" + s + "`"
	}
	return "it"
}

// interpolated is text and values joined in one string, as a repair of `+`.
func (b *body) interpolated(xs ...ast.Expr) string {
	var s strings.Builder
	for _, x := range xs {
		switch lit := unparen(x).(type) {
		case *ast.StringLit:
			s.WriteString(strings.Trim(b.text(x), "\"'"))
		case *ast.IntLit, *ast.FloatLit, *ast.BoolLit:
			s.WriteString(b.text(lit))
		default:
			s.WriteString("${" + b.text(x) + "}")
		}
	}
	return "`\"" + s.String() + "\"`"
}

func (b *body) badOperands(e *ast.Binary, x, y types.Type) {
	d := diag.Operand.At(e.OpSpan, "`%s` does not take `%s` and `%s`", e.Op, types.Full(x), types.Full(y)).
		Label(e.X.Span(), "this is `%s`", types.Full(x)).Label(e.Y.Span(), "this is `%s`", types.Full(y))
	text := e.Op == ast.OpAdd && (types.IsString(x) || types.IsString(y))
	fits := func(other types.Type) func(types.Type) bool {
		return func(t types.Type) bool { return text || operated(e.Op, t, heldOr(other)) != nil }
	}
	forX, forY := b.takeOut(e.X, x, fits(y)), b.takeOut(e.Y, y, fits(x))
	switch {
	case forX.Is() || forY.Is():
		d.Advise(forX, forY)
	case e.Op == ast.OpRem && types.IsString(x):
		d.Hint("put values into text by `\"${x}\"`")
	case e.Op == ast.OpMul && types.IsString(x):
		d.Hint("text is repeated by `%s.repeat(%s)`", b.operand(e.X), b.text(e.Y))
	case text:
		d.By(b.joined(e)...).Hint("join text by interpolation: %s", b.interpolated(e.X, e.Y))
	case e.Op.IsOrdering() && types.Resolve(x) == types.Bool && isOrdering(e.X):
		d.Hint("compare twice: `a < b && b < c`")
	case e.Op.IsOrdering():
		d.Hint("both sides must be numbers or both Strings")
	default:
		d.Hint("both sides must be numbers%s", map[bool]string{true: ", both Strings or both arrays"}[e.Op == ast.OpAdd])
	}
	b.report(b.wantsResult(b.wantsResult(d, e.X, x), e.Y, y))
}
