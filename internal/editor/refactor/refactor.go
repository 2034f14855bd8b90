// Package refactor implements code actions that transform a program: extract, inline and
// rewrite. It computes edits of one file from the syntax tree and the checker's results, and it
// does not depend on an editor protocol. An action is offered only if the program has the same
// meaning afterwards. The caller checks whether the result compiles.
//
// Each action is in a separate file and has a test archive in ../analysis/testdata/actions. The
// manual shows examples from these archives.
package refactor

//go:generate go run ./gen ../analysis/testdata/actions ../../../spec/28-editors.md

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// The kinds of actions in the language server protocol.
const (
	QuickFix = "quickfix"
	Extract  = "refactor.extract"
	Inline   = "refactor.inline"
	Rewrite  = "refactor.rewrite"
	FixAll   = "source.fixAll.concerto"
)

// Row describes an action: its kind, its title and the function that computes its edits.
type Row struct {
	Kind, Title, Where string
	Name               string // name of the test archive

	find func(in *Input) []diag.Edit // returns nil if the action is not possible
}

// Table lists all actions except the fixes of diagnostics. Each diagnostic provides its own fixes.
var Table = []Row{
	{Extract, "Extract variable", "an expression", "extract_variable", extractVariable},
	{Extract, "Extract function", "an expression, or statements", "extract_function", extractFunction},
	{Extract, "Extract schema", "a map literal", "extract_schema", extractSchema},
	{Inline, "Inline variable", "a variable that is never assigned again", "inline_variable", inlineVariable},
	{Rewrite, "Convert `if let` to `match`", "an `if let`", "if_let_to_match", ifLetToMatch},
	{Rewrite, "Convert `match` to `if let`", "a `match` of two arms", "match_to_if_let", matchToIfLet},
}

// Kinds returns the kinds of all actions, including fixes of diagnostics.
func Kinds() []string {
	kinds := []string{QuickFix, FixAll}
	for _, r := range Table {
		if !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// Input is a range of a file for which actions are requested.
type Input struct {
	File          *source.File
	Tree          *ast.File
	Broken        bool                   // the text has syntax errors
	Info          *sema.Info             // nil if the file was not checked
	Refs          func() []sema.Ref      // returns the names in the file with their declarations
	IsPreludeName func(name string) bool // reports whether the prelude declares a name; may be nil
	At            source.Span            // selected range; empty for a cursor
}

// Action is a possible action. Its edits change one file, are in the order of the text and are not
// formatted.
type Action struct {
	*Row
	Edits []diag.Edit
}

// Find returns the actions of the requested kinds.
func Find(in *Input, wanted func(kind string) bool) (all []Action) {
	in.trim()
	for i := range Table {
		r := &Table[i]
		if !wanted(r.Kind) {
			continue
		}
		if edits := r.find(in); len(edits) > 0 {
			all = append(all, Action{r, edits})
		}
	}
	return all
}

// trim removes white space and a `;` from the ends of the selected range.
func (in *Input) trim() {
	end := source.Pos(len(in.File.Text))
	in.At = source.Span{Start: min(in.At.Start, end), End: min(in.At.End, end)}
	text := in.File.Slice(in.At)
	rest := strings.TrimLeft(text, " \t\r\n")
	if rest == "" {
		return
	}
	in.At.Start += source.Pos(len(text) - len(rest))
	in.At.End -= source.Pos(len(rest) - len(strings.TrimRight(rest, " \t\r\n")))
}

// isComplete reports whether the file has no syntax errors and was checked.
func (in *Input) isComplete() bool { return !in.Broken && in.Info != nil }

func (in *Input) text(n ast.Node) string { return in.File.Slice(n.Span()) }

// nodesAround returns the nodes that contain a range, the outermost first.
func (in *Input) nodesAround(s source.Span) (found []ast.Node) {
	ast.InspectFile(in.Tree, func(n ast.Node) bool {
		if !n.Span().Contains(s) {
			return false
		}
		for len(found) > 0 && !found[len(found)-1].Span().Contains(n.Span()) {
			found = found[:len(found)-1]
		}
		found = append(found, n)
		return true
	})
	return found
}

// nearest returns the innermost node of type N that contains the selected range.
func nearest[N ast.Node](in *Input) (n N, ok bool) {
	all := in.nodesAround(in.At)
	for i := len(all) - 1; i >= 0; i-- {
		if n, ok = all[i].(N); ok {
			return n, true
		}
	}
	return n, false
}

// losesComment reports whether a range contains a comment that is not in one of the retained nodes.
func (in *Input) losesComment(s source.Span, retained ...ast.Node) bool {
	for _, c := range in.Tree.Comments {
		if s.Contains(c.Sp) && !slices.ContainsFunc(retained, func(k ast.Node) bool { return k.Span().Contains(c.Sp) }) {
			return true
		}
	}
	return false
}

// moduleDecl returns the module declaration that contains a range.
func (in *Input) moduleDecl(at source.Span) (found ast.Decl) {
	decls := in.Tree.Decls
	for {
		i := slices.IndexFunc(decls, func(d ast.Decl) bool { return d.Span().Contains(at) })
		if i < 0 {
			return found
		}
		found = decls[i]
		m, ok := found.(*ast.ModDecl)
		if !ok || !m.Inline {
			return found
		}
		decls = m.Decls
	}
}

// insertBefore adds a declaration before another one and before the comments and decorators that
// belong to that one.
func (in *Input) insertBefore(d ast.Decl, text string) diag.Edit {
	at := d.Span().Start
	for _, x := range d.Head().Decorators {
		at = min(at, x.Sp.Start)
	}
	for line := in.File.LineOf(at); line > 1; line-- {
		above := strings.TrimSpace(in.File.Slice(source.Span{Start: in.File.LineStart(line - 1), End: in.File.LineStart(line)}))
		if !strings.HasPrefix(above, "//") {
			break
		}
		at = in.File.LineStart(line-1) + source.Pos(len(in.indent(in.File.LineStart(line-1)+source.Pos(len(in.File.Line(line-1))))))
	}
	own := in.indent(at)
	return diag.Insert(at, strings.ReplaceAll(text, "\n", "\n"+own)+"\n\n"+own)
}

// indent returns the white space at the start of the line that contains a position.
func (in *Input) indent(at source.Pos) string {
	line := in.File.Slice(source.Span{Start: in.File.LineStart(in.File.LineOf(at)), End: at})
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}
