package refactor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// organiseImports sorts each group of imports, merges imports with the same first name, and removes
// unused ones. A comment ends a group and is not moved.
func organiseImports(in *Input) (edits []diag.Edit) {
	unused := map[source.Span]bool{}
	for _, d := range in.Found {
		if d.Info == diag.UnusedImport {
			unused[d.Span] = true
		}
	}
	var visit func(decls []ast.Decl)
	visit = func(decls []ast.Decl) {
		for _, run := range in.importRuns(decls) {
			edits = append(edits, in.organiseRun(run, unused)...)
		}
		for _, d := range decls {
			if m, ok := d.(*ast.ModDecl); ok {
				visit(m.Decls)
			}
		}
	}
	visit(in.Tree.Decls)
	slices.SortFunc(edits, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return edits
}

// importRuns returns the groups of consecutive imports that have no comments on their lines.
func (in *Input) importRuns(decls []ast.Decl) (runs [][]*ast.UseDecl) {
	var run []*ast.UseDecl
	end := func() {
		if len(run) > 0 {
			runs = append(runs, run)
		}
		run = nil
	}
	for _, d := range decls {
		u, ok := d.(*ast.UseDecl)
		if !ok || u.Tree == nil || len(u.Decorators) > 0 || in.Tree.Flawed(u.Sp) || in.hasComment(u) {
			end()
			continue
		}
		if len(run) > 0 && in.losesComment(source.Span{Start: run[len(run)-1].Sp.End, End: u.Sp.Start}) {
			end()
		}
		run = append(run, u)
	}
	end()
	return runs
}

// hasComment reports whether a declaration contains a comment or is followed by one on its line.
func (in *Input) hasComment(d ast.Decl) bool {
	last := in.File.LineOf(d.Span().End)
	return slices.ContainsFunc(in.Tree.Comments, func(c ast.Comment) bool {
		return c.Sp.Start >= d.Span().Start && in.File.LineOf(c.Sp.Start) <= last
	})
}

// imported is an import of one name, or of all names of a module.
type imported struct {
	path []string
	tail string // "" for one name, "*" for all names, or " as x"
	pub  bool
}

func (in *Input) organiseRun(run []*ast.UseDecl, unused map[source.Span]bool) []diag.Edit {
	var all []imported
	globs := 0
	for _, u := range run {
		all = append(all, importLeaves(nil, u.Tree, u.Pub, nil, unused)...)
	}
	for _, x := range all {
		if x.tail == "*" {
			globs++
		}
	}
	if globs > 1 { // if two globs import the same name, their order matters
		return nil
	}
	whole := source.Span{Start: run[0].Sp.Start, End: run[len(run)-1].Sp.End}
	own := in.indent(whole.Start)
	var lines []string
	for _, pub := range []bool{false, true} {
		lines = append(lines, importLines(all, pub)...)
	}
	if len(lines) == 0 {
		return []diag.Edit{diag.Remove(in.withBlankLines(whole))}
	}
	text := strings.Join(lines, "\n"+own)
	if text == in.File.Slice(whole) {
		return nil
	}
	if was := strings.Join(strings.Fields(in.File.Slice(whole)), ""); was == strings.Join(strings.Fields(text), "") && strings.Count(in.File.Slice(whole), ";") == len(lines) && !strings.Contains(in.File.Slice(whole), "\n\n") {
		return nil // the imports only differ in the line breaks that the formatter has chosen
	}
	return []diag.Edit{diag.Replace(whole, text)}
}

// withBlankLines extends a range to the end of its last line and the empty lines after it.
func (in *Input) withBlankLines(s source.Span) source.Span {
	for int(s.End) < len(in.File.Text) && strings.ContainsRune(" \t\r\n", rune(in.File.Text[s.End])) {
		s.End++
	}
	if int(s.End) < len(in.File.Text) {
		s.End -= source.Pos(len(in.indent(s.End)))
	}
	s.Start -= source.Pos(len(in.indent(s.Start)))
	return s
}

// importLeaves returns the imports of a use tree. It omits unused imports.
func importLeaves(before []string, t *ast.UseTree, pub bool, all []imported, unused map[source.Span]bool) []imported {
	path := slices.Clone(before)
	for _, id := range t.Path {
		path = append(path, id.Name)
	}
	switch {
	case t.List != nil:
		for _, x := range t.List {
			all = importLeaves(path, x, pub, all, unused)
		}
	case isUnused(t, unused):
	case t.Glob:
		all = append(all, imported{path, "*", pub})
	case t.Alias != nil:
		all = append(all, imported{path, " as " + t.Alias.Name, pub})
	default:
		all = append(all, imported{path, "", pub})
	}
	return all
}

// isUnused reports whether the checker has reported a part of a tree as unused.
func isUnused(t *ast.UseTree, unused map[source.Span]bool) bool {
	for at := range unused {
		if t.Sp.Contains(at) {
			return true
		}
	}
	return false
}

// importLines returns the use declarations for imports.
func importLines(all []imported, pub bool) (lines []string) {
	head := "use "
	if pub {
		head = "pub use "
	}
	var some []imported
	for _, x := range all {
		if x.pub == pub {
			some = append(some, x)
		}
	}
	for _, text := range joinTrees(some) {
		lines = append(lines, head+text+";")
	}
	return lines
}

// joinTrees returns sorted use trees, one for each first name of the imports.
func joinTrees(all []imported) (trees []string) {
	under := map[string][]imported{}
	for _, x := range all {
		first := x.path[0]
		switch {
		case len(x.path) > 1:
			under[first] = append(under[first], imported{x.path[1:], x.tail, x.pub})
		case x.tail == "*":
			under[first] = append(under[first], imported{[]string{"*"}, "", x.pub})
		default:
			trees = append(trees, first+x.tail)
		}
	}
	for first, rest := range under {
		switch inner := joinTrees(rest); {
		case len(inner) == 1 && inner[0] != "self" && !strings.HasPrefix(inner[0], "self "):
			trees = append(trees, first+"::"+inner[0])
		default:
			trees = append(trees, first+"::{"+strings.Join(inner, ", ")+"}")
		}
	}
	slices.SortFunc(trees, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return slices.Compact(trees)
}

// rank returns the sort rank of a use tree. `self` comes first.
func rank(tree string) int {
	if tree == "self" || strings.HasPrefix(tree, "self ") {
		return 0
	}
	return 1
}
