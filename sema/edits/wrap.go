// Package edits builds the edits of the fixes of diagnostics, and the texts that they insert. Its
// API is not covered by the compatibility promise.
package edits

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Wrap returns the fix that puts a constructor around a value or a pattern.
func Wrap(e ast.Node, constructor string) diag.Fix {
	return Surround(e, constructor+"(", ")", "Wrap in `"+constructor+"`")
}

// Surround returns the fix that puts texts around an expression or a pattern.
func Surround(e ast.Node, before, after, title string) diag.Fix {
	return diag.Fix{Title: title, Edits: []diag.Edit{diag.Insert(e.Span().Start, before), diag.Insert(e.Span().End, after)}}
}

// Append returns the fix that appends text to an expression, which it parenthesizes unless the text
// applies to all of it anyway.
func Append(e ast.Expr, text string) diag.Fix {
	title := "Add `" + strings.TrimSpace(text) + "`"
	if IsLoose(e) {
		return Surround(e, "(", ")"+text, title)
	}
	return diag.UnsafeFix(diag.Insert(e.Span().End, text), "%s", title)
}

// Await returns the fix that awaits a task whose value is required; suffix is the text that then
// extracts the value.
func Await(e ast.Expr, suffix string) diag.Fix {
	if IsLoose(e) {
		return Surround(e, "await (", ")"+suffix, "Await it")
	}
	return Surround(e, "await ", suffix, "Await it")
}

// IsLoose reports whether a `.` or `?` after an expression would apply to only a part of it.
func IsLoose(e ast.Expr) bool {
	switch e.(type) {
	case *ast.Unary, *ast.Binary, *ast.Assign, *ast.Pipe, *ast.RangeExpr, *ast.Cast, *ast.Await, *ast.Closure, *ast.IfExpr, *ast.MatchExpr:
		return true
	}
	return false
}

// IsPostfix reports whether a `?` after an expression applies to all of it.
func IsPostfix(e ast.Expr) bool {
	switch e.(type) {
	case *ast.Call, *ast.MethodCall, *ast.PathExpr, *ast.FieldExpr, *ast.IndexExpr:
		return true
	}
	return false
}

// MakePublic returns the fix that makes a declaration public.
func MakePublic(f *source.File, d *ast.DeclHead, name string) diag.Fix {
	at := d.Sp.Start
	for _, x := range d.Decorators {
		if x.Sp.End > at {
			rest := f.Slice(source.Span{Start: x.Sp.End, End: source.Pos(len(f.Text))})
			at = x.Sp.End + source.Pos(len(rest)-len(strings.TrimLeft(rest, " \t\r\n")))
		}
	}
	insert := diag.Insert(at, "pub ")
	insert.File = f
	return diag.UnsafeFix(insert, "Make `%s` `pub`", name)
}
