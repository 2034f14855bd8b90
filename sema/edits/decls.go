package edits

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// MoveMethod returns the fix that moves a method from the impl of a trait to an inherent impl.
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

// InlineModule returns the fix that replaces the `;` of a `mod x;` with braces.
func InlineModule(f *source.File, d *ast.ModDecl) diag.Fix {
	at := source.Span{Start: d.Name.Sp.End, End: d.Name.Sp.End}
	if d.Sp.End > at.End && f.Text[d.Sp.End-1] == ';' {
		at.End = d.Sp.End
	}
	return diag.UnsafeFix(diag.Replace(at, " {}"), "Write `mod %s {}`", d.Name.Name)
}

// MoveForward returns the fix that moves the parameter p, which has no default, before the
// parameters that have one.
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

// ReadArguments returns the fix that replaces the only parameter of main with a variable. The
// variable contains the program's arguments.
func ReadArguments(d *ast.FnDecl) []diag.Fix {
	if len(d.Params) != 1 || d.Body == nil || len(d.Body.Stmts) == 0 || d.Params[0].Name == nil {
		return nil
	}
	first := d.Body.Stmts[0].Span().Start
	return []diag.Fix{{Title: "Read the arguments with `std::env::args()`", Edits: []diag.Edit{
		diag.Remove(d.Params[0].Sp), diag.Insert(first, "let "+d.Params[0].Name.Name+" = std::env::args();"+gapBefore(d.Body.Sp, first, d.Signature)),
	}}}
}

// gapBefore returns the white space that separates an inserted statement from the first statement
// of a block.
func gapBefore(block source.Span, first source.Pos, _ source.Span) string {
	if first-block.Start > 3 { // the first statement is on a line of its own
		return "\n" + Indentation
	}
	return " "
}

// RemovePub returns the fix that removes the `pub` of a function. The `pub` is between the
// decorators and the head.
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

// InsertSelf returns the fix that adds a `self` parameter to a function. It returns nil if the
// parentheses of the function are incomplete.
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

// assignsSelf matches source text that changes a field of self.
var assignsSelf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bself(\.\w+|\[[^\]]*\])+\s*([-+*/%]?=[^=>]|\.(push|insert|remove|set|pop|extend|clear|merge)\()`)
})

// SelfParameter returns the `self` parameter that a function requires. It returns `mut self` if the
// function changes a field.
func SelfParameter(f *source.File, d *ast.FnDecl) string {
	if d.Body != nil && assignsSelf().MatchString(f.Slice(d.Body.Sp)) {
		return "mut self"
	}
	return "self"
}

// RemoveDecorator returns the fix that removes a decorator.
func RemoveDecorator(f *source.File, d *ast.Decorator) diag.Fix {
	return diag.UnsafeFix(diag.Remove(WithItsLines(f, d.Sp)), "Remove `%s`", f.Slice(d.Sp))
}

func HostRows(f *source.File, d *ast.HostDecl) (RowList, bool) {
	return ListIn(f, d.Name.Sp.End, LastEnd(d.Fields), d.Sp)
}

// LastEnd returns the end of the last row, or 0 if there are no rows.
func LastEnd[N ast.Node](rows []N) source.Pos {
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1].Span().End
}

// AddMethods adds a fix to the advice a. The fix adds methods with the given heads to an impl.
func AddMethods(a diag.Advice, f *source.File, d *ast.ImplDecl, heads []string) diag.Advice {
	if l, ok := ListIn(f, d.Target.Span().End, LastEnd(d.Methods), d.Sp); ok {
		return a.WithFix(diag.Fix{Title: "Add the missing methods", Edits: l.AddBlocks(heads)})
	}
	return a
}

// CommentStart returns the start of the comments directly before the declaration at a position.
// Without comments it returns the start of the declaration.
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
