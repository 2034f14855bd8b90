// Package edits creates the edits in the fixes of diagnostics, and the texts that these edits
// insert.
package edits

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Wrap returns the fix that makes an expression or a pattern the argument of a constructor.
func Wrap(e ast.Node, constructor string) diag.Fix {
	return Surround(e, constructor+"(", ")", "Wrap in `"+constructor+"`")
}

// Surround returns the fix that inserts texts before and after an expression or a pattern.
func Surround(e ast.Node, before, after, title string) diag.Fix {
	return diag.Fix{Title: title, Edits: []diag.Edit{diag.Insert(e.Span().Start, before), diag.Insert(e.Span().End, after)}}
}

// Append returns the fix that appends text to an expression. It puts the expression in parentheses
// if the text would otherwise apply to only a part of it.
func Append(e ast.Expr, text string) diag.Fix {
	title := "Add `" + strings.TrimSpace(text) + "`"
	if IsLoose(e) {
		return Surround(e, "(", ")"+text, title)
	}
	return diag.UnsafeFix(diag.Insert(e.Span().End, text), "%s", title)
}

// Await returns the fix that awaits the task e. suffix is text after the await that extracts the
// required value, or "".
func Await(e ast.Expr, suffix string) diag.Fix {
	if IsLoose(e) {
		return Surround(e, "await (", ")"+suffix, "Await it")
	}
	return Surround(e, "await ", suffix, "Await it")
}

// IsLoose reports whether a `.` or `?` after an expression would apply to only a part of the
// expression.
func IsLoose(e ast.Expr) bool {
	switch e.(type) {
	case *ast.Unary, *ast.Binary, *ast.Assign, *ast.Pipe, *ast.RangeExpr, *ast.Cast, *ast.Await, *ast.Closure, *ast.IfExpr, *ast.MatchExpr:
		return true
	default: // the others bind as tightly as a name
	}
	return false
}

// IsPostfix reports whether a `?` after an expression applies to the whole expression.
func IsPostfix(e ast.Expr) bool {
	switch e.(type) {
	case *ast.Call, *ast.MethodCall, *ast.PathExpr, *ast.FieldExpr, *ast.IndexExpr, *ast.ParenExpr, *ast.ListenExpr, *ast.Await:
		return true
	default: // a postfix operator after the others needs parentheses
	}
	return false
}

// MakePublic returns the fix that adds `pub` to a declaration.
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
