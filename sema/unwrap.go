package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/types"
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
func (b *body) takeOut(e ast.Expr, t types.Type, fits func(types.Type) bool) string {
	inner := held(t)
	if inner == nil || isVar(inner) {
		return ""
	}
	x := b.quoted(e)
	switch types.Resolve(t).(type) {
	case *types.Task:
		src := b.text(e)
		if fits(inner) {
			return x + " is a task, whose value comes later: write `await " + src + "`"
		}
		switch inner.(type) {
		case *types.Result, *types.Option:
			if fits(held(inner)) {
				return x + " is a task, whose value comes later: write `await " + src + "?`"
			}
		}
	case *types.Option:
		if fits(inner) {
			return x + " may be None: put `?` behind it, or use `.unwrap_or(…)` or `match`"
		}
	case *types.Result:
		if fits(inner) {
			return x + " may be an Err: put `?` behind it, or use `.unwrap_or(…)` or `match`"
		}
	}
	return ""
}

// agree says how to give two values one type where one is wrapped in a Result,
// an Option or a Task and the other is what that holds.
func (b *body) agree(x ast.Expr, t types.Type, y ast.Expr, u types.Type) string {
	if x == nil || y == nil {
		return ""
	}
	if hint := b.wrapLike(y, u, t); hint != "" {
		return hint
	}
	if hint := b.wrapLike(x, t, u); hint != "" {
		return hint
	}
	joins := func(other types.Type) func(types.Type) bool {
		return func(t types.Type) bool { _, ok := types.Join(t, other); return ok }
	}
	if hint := b.takeOut(x, t, joins(u)); hint != "" {
		return hint
	}
	return b.takeOut(y, u, joins(t))
}

// wrapLike says how to wrap e, of type t, where another value is a Result or an
// Option.
func (b *body) wrapLike(e ast.Expr, t, other types.Type) string {
	if held(t) != nil {
		return ""
	}
	switch w := types.Resolve(other).(type) {
	case *types.Result:
		if ok, _ := types.Conversion(t, w.Ok); ok {
			return "wrap it: `Ok(" + b.text(e) + ")`"
		}
	case *types.Option:
		if ok, _ := types.Conversion(t, w.Elem); ok {
			return "wrap it: `Some(" + b.text(e) + ")`"
		}
	}
	return ""
}

// shortText is how much of the source a hint repeats.
const shortText = 40

// text is the source of an expression when it is short, else `…`.
func (b *body) text(e ast.Expr) string {
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
	switch e.(type) {
	case *ast.Unary, *ast.Binary, *ast.Assign, *ast.Pipe, *ast.RangeExpr, *ast.Cast, *ast.Await, *ast.Closure, *ast.IfExpr, *ast.MatchExpr:
		if s != "…" {
			return "(" + s + ")"
		}
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
	case forX != "" || forY != "":
		hints(d, forX, forY)
	case e.Op == ast.OpRem && types.IsString(x):
		d.Hint("put values into text by `\"${x}\"`")
	case e.Op == ast.OpMul && types.IsString(x):
		d.Hint("text is repeated by `%s.repeat(%s)`", b.operand(e.X), b.text(e.Y))
	case text:
		d.Hint("join text by interpolation: %s", b.interpolated(e.X, e.Y))
	case e.Op.IsOrdering() && types.Resolve(x) == types.Bool && isOrdering(e.X):
		d.Hint("compare twice: `a < b && b < c`")
	case e.Op.IsOrdering():
		d.Hint("both sides must be numbers or both Strings")
	default:
		d.Hint("both sides must be numbers%s", map[bool]string{true: ", both Strings or both arrays"}[e.Op == ast.OpAdd])
	}
	b.report(d)
}

// hints adds the hints that there are.
func hints(d *diag.Diagnostic, all ...string) {
	for _, h := range all {
		if h != "" {
			d.Hint("%s", h)
		}
	}
}
