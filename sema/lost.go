package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// A Result is lost if its value is discarded, or if no code of the function reads the variable that
// contains it. The checker warns about it, and the generated code logs its Err, so that a failure
// leaves a trace. `let _ = …` and a name that starts with `_` state that this is intended.

// The hints of the warnings about lost values.
const (
	lostHint   = "handle it with `?` or `match`, or write `let _ = …`"
	taskHint   = "`await` it, or write `let _ = …`"
	streamHint = "read it with `for`, or call `execute`"
)

// isStream reports whether t is a stream of an agent or a host.
func isStream(t types.Type) bool {
	n, ok := types.Resolve(t).(*types.Named)
	return ok && n.Decl.Library && slices.Contains([]string{"Stream", "TypedStream", "HostStream"}, n.Decl.Name)
}

// holdsResult reports whether a value of type t is a Result, or a container of Results.
func holdsResult(t types.Type) bool {
	switch t := types.Resolve(t).(type) {
	case *types.Result:
		return true
	case *types.Option:
		return holdsResult(t.Elem)
	case *types.Array:
		return holdsResult(t.Elem)
	case *types.Map:
		return holdsResult(t.Value)
	case *types.Tuple:
		for _, e := range t.Elems {
			if holdsResult(e) {
				return true
			}
		}
	}
	return false
}

// lose warns about the discarded value of e, which has type t and holds a Result. The generated
// code calls the library function that logs an Err.
func (b *body) lose(e ast.Expr, t types.Type) {
	if b.info.Library {
		return
	}
	if b.info.lost == nil {
		b.info.lost = map[ast.ID]bool{}
	}
	b.info.lost[unparen(e).ID()] = true
	b.c.prog.OnLost = b.libraryHelper("__lost")
	if _, single := t.(*types.Result); !single {
		b.report(diag.UnusedResult.At(e.Span(), "the Results in this value are discarded, together with any errors in them").
			Hint("handle each with `?` or `match`, or write `let _ = …`"))
		return
	}
	b.report(diag.UnusedResult.At(e.Span(), "this Result is discarded, together with any error in it").
		WithFixes(handleFixes(e, e.Span())...).Hint(lostHint))
}

// loseVariables records the variables among the unread ones that hold a Result.
func (b *body) loseVariables() {
	for _, l := range b.unread {
		if !b.info.Library && !l.Param && holdsResult(l.Type) {
			l.Lost = true
			b.c.prog.OnLost = b.libraryHelper("__lost")
		}
	}
}

// lostVariable returns the warning about a variable that is never read, although a failure is then
// lost. It returns nil if the variable has another type.
func lostVariable(l *Local) *diag.Diagnostic {
	t := types.Resolve(l.Type)
	task, isTask := t.(*types.Task)
	switch {
	case l.Param:
		return nil
	case isStream(t):
		return diag.UnusedResult.At(l.At, "stream `%s` is never read, so the request has no effect", l.Name).Hint(streamHint)
	case isTask && holdsResult(task.Elem):
		return diag.UnusedResult.At(l.At, "task `%s` is never awaited, so its Result is discarded", l.Name).Hint(taskHint)
	case !holdsResult(t):
		return nil
	}
	d := diag.UnusedResult.At(l.At, "variable `%s` is never read, so its Result is discarded, together with any error in it", l.Name)
	if _, single := t.(*types.Result); single && l.value != nil && !l.Mut {
		d.WithFixes(handleFixes(l.value, source.Span{Start: l.let - source.Pos(len("let")), End: l.value.Span().End})...)
	}
	return d.Hint(lostHint)
}

// handleFixes returns the fixes that handle the Result of e. at is the span of the code that they
// replace: e itself, or a `let` with e up to its end.
func handleFixes(e ast.Expr, at source.Span) []diag.Fix {
	before := source.Span{Start: at.Start, End: e.Span().Start}
	var out []diag.Fix
	if edits.IsPostfix(e) {
		out = append(out, diag.Fix{Title: "Add `?`", Edits: append(removed(before), diag.Insert(at.End, "?"))})
	}
	arms := " { Ok(_) => {}, Err(e) => panic(\"${e}\") }"
	return append(out, diag.Fix{Title: "Handle it with `match`", Edits: []diag.Edit{diag.Replace(before, "match "), diag.Insert(at.End, arms)}})
}

// removed returns the edit that removes a span, or none if the span is empty.
func removed(at source.Span) []diag.Edit {
	if at.Start == at.End {
		return nil
	}
	return []diag.Edit{diag.Remove(at)}
}
