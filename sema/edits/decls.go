package edits

import (
	"path"
	"regexp"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// MoveMethod moves a method of a trait's impl to one of the type alone.
func MoveMethod(f *source.File, d *ast.ImplDecl, method *ast.FnDecl, target string) diag.Fix {
	own := Indent(f, d.Sp.Start)
	text := "\n\n" + own + "impl " + target + " {\n" + own + Indentation + f.Slice(method.Sp) + "\n" + own + "}"
	return diag.Fix{Title: "Move it to `impl " + target + "`", Edits: []diag.Edit{
		diag.Remove(WithItsLines(f, method.Sp)), diag.Insert(d.Sp.End, text),
	}}
}

// CreateFile returns the fix that creates an empty file for a module.
func CreateFile(name string) diag.Fix {
	return diag.UnsafeFix(diag.Edit{File: source.NewFile(name, nil)}, "Create %s", path.Base(name))
}

// InlineModule adds braces to a `mod x;`.
func InlineModule(f *source.File, d *ast.ModDecl) diag.Fix {
	at := source.Span{Start: d.Name.Sp.End, End: d.Name.Sp.End}
	if d.Sp.End > at.End && f.Text[d.Sp.End-1] == ';' {
		at.End = d.Sp.End
	}
	return diag.UnsafeFix(diag.Replace(at, " {}"), "Write `mod %s {}`", d.Name.Name)
}

// MoveForward moves a parameter without a default before those that have one.
func MoveForward(f *source.File, d *ast.FnDecl, p *ast.Param) []diag.Fix {
	for i, q := range d.Params {
		if q.Default != nil && q.Sp.End < p.Sp.Start {
			j := i
			for d.Params[j+1] != p {
				j++
			}
			return []diag.Fix{{Title: "Move it forward", Edits: []diag.Edit{
				diag.Insert(q.Sp.Start, f.Slice(p.Sp)+", "), diag.Remove(source.Span{Start: d.Params[j].Sp.End, End: p.Sp.End}),
			}}}
		}
	}
	return nil
}

// ReadArguments returns the fix that replaces main's only parameter by a variable with the
// program's arguments.
func ReadArguments(d *ast.FnDecl) []diag.Fix {
	if len(d.Params) != 1 || d.Body == nil || len(d.Body.Stmts) == 0 || d.Params[0].Name == nil {
		return nil
	}
	first := d.Body.Stmts[0].Span().Start
	return []diag.Fix{{Title: "Read the arguments with `std::env::args()`", Edits: []diag.Edit{
		diag.Remove(d.Params[0].Sp), diag.Insert(first, "let "+d.Params[0].Name.Name+" = std::env::args();"+gapBefore(d.Body.Sp, first, d.Signature)),
	}}}
}

// gapBefore returns the white space before the first statement of a block, to separate an inserted
// statement from it.
func gapBefore(block source.Span, first source.Pos, _ source.Span) string {
	if first-block.Start > 3 { // more than `{ `: it is on its own line
		return "\n" + Indentation
	}
	return " "
}

// RemovePub removes the `pub` of a function, which is between its decorators and its head.
func RemovePub(f *source.File, d *ast.FnDecl) []diag.Fix {
	head := source.Span{Start: d.Sp.Start, End: d.Name.Sp.Start}
	for _, x := range d.Decorators {
		head.Start = max(head.Start, x.Sp.End)
	}
	n := strings.Index(f.Slice(head), "pub ")
	if n < 0 {
		return nil
	}
	at := head.Start + source.Pos(n)
	return []diag.Fix{diag.UnsafeFix(diag.Remove(source.Span{Start: at, End: at + source.Pos(len("pub "))}), "Remove `pub`")}
}

// InsertSelf adds `self` to a function whose parentheses are complete.
func InsertSelf(f *source.File, d *ast.FnDecl) []diag.Fix {
	head := f.Slice(source.Span{Start: d.Name.Sp.End, End: max(d.Name.Sp.End, d.Signature.End)})
	n := strings.IndexByte(head, '(')
	if n < 0 {
		return nil
	}
	text, rest := SelfParameter(f, d), strings.TrimLeft(head[n+1:], " \t\r\n")
	switch {
	case len(d.Params) > 0 && strings.HasPrefix(head[n+1:], f.Slice(d.Params[0].Sp)):
		text += ", "
	case len(d.Params) > 0 || !strings.HasPrefix(rest, ")"):
		return nil
	}
	return []diag.Fix{diag.SafeFix(diag.Insert(d.Name.Sp.End+source.Pos(n+1), text), "Insert `%s`", strings.TrimSuffix(text, ", "))}
}

// assignsSelf matches text that changes a field of self.
var assignsSelf = regexp.MustCompile(`\bself(\.\w+|\[[^\]]*\])+\s*([-+*/%]?=[^=>]|\.(push|insert|remove|set|pop|extend|clear|merge)\()`)

// SelfParameter returns the `self` parameter that a function needs: `mut self` if it changes a
// field.
func SelfParameter(f *source.File, d *ast.FnDecl) string {
	if d.Body != nil && assignsSelf.MatchString(f.Slice(d.Body.Sp)) {
		return "mut self"
	}
	return "self"
}

// RemoveDecorator removes a decorator.
func RemoveDecorator(f *source.File, d *ast.Decorator) diag.Fix {
	return diag.UnsafeFix(diag.Remove(WithItsLines(f, d.Sp)), "Remove `%s`", f.Slice(d.Sp))
}

func HostRows(f *source.File, d *ast.HostDecl) (RowList, bool) {
	return ListIn(f, d.Name.Sp.End, LastEnd(d.Fields), d.Sp)
}

// LastEnd returns the end of the last row of a list, or 0 if it is empty.
func LastEnd[N ast.Node](rows []N) source.Pos {
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1].Span().End
}

// AddMethods adds the methods that an impl lacks.
func AddMethods(a diag.Advice, f *source.File, d *ast.ImplDecl, heads []string) diag.Advice {
	if l, ok := ListIn(f, d.Target.Span().End, LastEnd(d.Methods), d.Sp); ok {
		return a.WithFix(diag.Fix{Title: "Add the missing methods", Edits: l.AddBlocks(heads)})
	}
	return a
}

// CommentStart returns the start of the comments directly before a declaration, or the start of the
// declaration.
func CommentStart(f *source.File, at source.Pos) source.Pos {
	for line := f.LineOf(at); line > 1; line-- {
		before := strings.TrimSpace(f.Slice(source.Span{Start: f.LineStart(line - 1), End: f.LineStart(line)}))
		if !strings.HasPrefix(before, "//") {
			break
		}
		at = f.LineStart(line-1) + source.Pos(blanks(f.Slice(source.Span{Start: f.LineStart(line - 1), End: f.LineStart(line)})))
	}
	return at
}
