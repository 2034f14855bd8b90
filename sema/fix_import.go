package sema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// importing adds an import to a module: behind its imports, else before all it declares.
func importing(m *module, path string) diag.Fix {
	return diag.Offer(importEdit(m, path), "Import `%s`", path)
}

func importEdit(m *module, path string) diag.Edit { return topEdit(m, "use "+path+";") }

// modEdit declares a module that has a file.
func modEdit(m *module, name string) diag.Edit { return topEdit(m, "mod "+name+";") }

// topEdit adds a line after the imports and modules that a module begins with.
func topEdit(m *module, line string) diag.Edit {
	f := m.info.File.Source
	decls := m.declared()
	var last ast.Decl
	for _, d := range decls {
		use, isUse := d.(*ast.UseDecl)
		mod, isMod := d.(*ast.ModDecl)
		switch {
		case isUse && strings.HasPrefix(line, "use "):
			last = use
			continue
		case isMod && !mod.Inline && strings.HasPrefix(line, "mod "):
			last = mod
			continue
		}
		break
	}
	switch {
	case last != nil:
		return diag.Insert(last.Span().End, "\n"+edits.Indent(f, last.Span().Start)+line)
	case len(decls) == 0:
		return diag.Insert(0, line+"\n")
	}
	at := edits.CommentStart(f, decls[0].Head().Sp.Start)
	gap := "\n\n"
	if _, isUse := decls[0].(*ast.UseDecl); isUse {
		gap = "\n"
	}
	return diag.Insert(at, line+gap+edits.Indent(f, at))
}

// ourType is the hint for a type of another language, with ours where that takes its place.
func ourType(hint string, name *ast.Ident) diag.Advice {
	a := diag.Say(hint)
	if w := foreign.Type.Find(name.Name); len(w.Ours) == 1 {
		return a.By(diag.Change(name.Sp, w.Ours[0], w.Ours[0], false))
	}
	return a
}

// declarationAt is the declaration of a module that holds a place, nil without one.
func (m *module) declarationAt(at source.Span) ast.Decl {
	decls := m.declared()
	i, _ := slices.BinarySearchFunc(decls, at.Start, func(d ast.Decl, p source.Pos) int { return cmp.Compare(d.Span().End, p) })
	if i == len(decls) || decls[i].Span().Start > at.Start || decls[i].Span().End < at.End {
		return nil
	}
	return decls[i]
}

// declared are the declarations of a module in its file.
func (m *module) declared() []ast.Decl {
	m = m.home()
	if m.parent == nil || m.parent.info != m.info {
		return m.info.File.Decls
	}
	for _, d := range m.parent.declared() {
		if inline, ok := d.(*ast.ModDecl); ok && inline.Name.Name == m.name {
			return inline.Decls
		}
	}
	return nil
}
