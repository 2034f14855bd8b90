package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// importEntry is one name that a `use` imports, or one glob. It is resolved when it is needed, so
// that the order of re-exports does not matter.
type importEntry struct {
	mod    *module
	path   []*ast.Ident
	at     source.Span
	number int // index among the imports of the file outside bodies; -1 for other imports
	pub    bool
	used   bool
	self   bool // `self` in a list, which imports the module itself
	glob   bool
	as     string // name of the import in its module
	// without is the text that a fix deletes to remove the import.
	without source.Span
	state   uint8
	target  *entity
}

const (
	importNew uint8 = iota
	importBusy
	importDone
)

// declareUse declares the names that a `use` declaration imports.
func (c *checker) declareUse(m *module, d *ast.UseDecl) {
	c.useTree(m, d, d.Tree, nil, edits.WholeLines(m.info.File.Source, d.Sp))
}

// useTree declares the names that a part of a `use` declaration imports. prefix is the path before
// this part. without is the text that a fix deletes to remove the part.
func (c *checker) useTree(m *module, d *ast.UseDecl, t *ast.UseTree, prefix []*ast.Ident, without source.Span) {
	full := append(slices.Clone(prefix), t.Path...)
	if t.List != nil {
		for i, sub := range t.List {
			part := sub.Sp
			switch last := len(t.List) - 1; {
			case last == 0:
				part = without
			case i < last:
				part.End = t.List[i+1].Sp.Start
			default:
				part.Start = t.List[i-1].Sp.End
			}
			c.useTree(m, d, sub, full, part)
		}
		return
	}
	if len(full) == 0 {
		return
	}
	last := full[len(full)-1]
	if last.Name == "super" && t.Alias == nil && !t.Glob {
		c.report(m, diag.UnknownPath.At(last.Sp, "`super` is the parent module, not an item of it").
			Hint("add the name of an item: `use super::name;`"))
		return
	}
	im := &importEntry{mod: m, path: full, at: t.Sp, pub: d.Pub, glob: t.Glob, without: without}
	m.imports = append(m.imports, im)
	if im.number = -1; m.around == nil && !m.info.Library {
		im.number = len(c.bodies.allUses[m.info])
		c.bodies.allUses[m.info] = append(c.bodies.allUses[m.info], im)
	}
	if t.Glob {
		m.globs = append(m.globs, im)
		return
	}
	if last.Name == "self" && len(full) > 1 { // use a::{self}
		im.path, im.self = full[:len(full)-1], t.Alias == nil
		last = im.path[len(im.path)-1]
	}
	if t.Alias != nil {
		last = t.Alias
	}
	im.as = last.Name
	c.newName(m, &entity{name: last.Name, mod: m, at: last.Sp, decl: d, pub: d.Pub, imported: im})
}

// followImports returns the declaration to which an entity refers, through any number of imports.
// It returns nil if an error was reported.
func (c *checker) followImports(e *entity) *entity {
	for e != nil && e.imported != nil {
		e.imported.used = true
		c.bodies.noteImport(e.imported, true)
		e = c.resolveImport(e.imported)
	}
	return e
}

// resolveImport returns the declaration to which an import refers, or nil.
func (c *checker) resolveImport(im *importEntry) *entity {
	switch im.state {
	case importDone:
		return im.target
	case importBusy:
		c.bodies.resolving++
		c.report(im.mod, diag.ImportCycle.At(im.at, "this import refers to itself").Hint("import the name from the module that declares it"))
		c.bodies.resolving--
		im.state = importDone
		return nil
	}
	im.state = importBusy
	saved := c.diags
	if c.bodies.quiet {
		c.diags = diag.List{}
	}
	handing := c.uses.handingOn
	c.uses.handingOn = im.pub
	c.bodies.resolving++
	e := c.importPath(im.mod, im.path)
	c.bodies.resolving--
	c.uses.handingOn = handing
	if c.bodies.quiet {
		c.bodies.ofImports.Append(c.diags)
		c.diags = saved
	}
	if im.state == importBusy {
		im.target, im.state = e, importDone
	}
	return im.target
}

// importPath resolves the path of a `use`. It searches in the module, then in the root module, then
// among the required packages, then in std.
func (c *checker) importPath(m *module, segs []*ast.Ident) *entity {
	first := segs[0].Name
	var e *entity
	dep := c.packageNamed(m, first)
	switch {
	case first == "std":
		return c.stdPath(m, segs, true)
	case first == "super" || first == "self" && len(segs) > 1:
		around, i := c.relativeModule(m, segs)
		return c.walk(m, around, segs, i)
	case m.ownEntity(first, segs[0]) != nil:
		e = m.ownEntity(first, segs[0])
	case m.root() != m.home() && m.root().ownEntity(first, segs[0]) != nil:
		e = m.root().ownEntity(first, segs[0])
	case dep != nil:
		e = dep
	case c.cfg.Library != nil && c.stdModule(first) != nil:
		e = &entity{name: first, module: c.stdModule(first), pub: true}
	default:
		c.reportUnknownModule(m, segs)
		return nil
	}
	return c.walk(m, c.followImports(e), segs, 1)
}

// relativeModule returns the module to which `self`, or one or more `super`, at the start of a path
// refers. It also returns the number of these segments. If a `super` is beyond the root module, it
// reports an error and returns nil.
func (c *checker) relativeModule(m *module, segs []*ast.Ident) (*entity, int) {
	in, i := m.home(), 0
	if segs[0].Name == "self" {
		i = 1
	}
	for ; i < len(segs) && segs[i].Name == "super"; i++ {
		if in.parent == nil {
			c.report(m, diag.UnknownPath.At(segs[i].Sp, "`super` is not allowed in the root module, which has no parent").
				Hint("remove it"))
			return &entity{name: "super", mod: in, refused: true}, i + 1
		}
		in = in.parent
	}
	return &entity{name: in.name, mod: in, module: in, pub: true}, i
}

// ownEntity finds a name of the module. It ignores the import that is being resolved.
func (m *module) ownEntity(name string, at *ast.Ident) *entity {
	e := m.home().moduleNamed(name)
	if e == nil || e.imported != nil && slices.Contains(e.imported.path, at) {
		return nil
	}
	return e
}

// walk resolves the segments of a path from index i on. e is the entity of the segments before i.
// All segments except the last must be modules.
func (c *checker) walk(m *module, e *entity, segs []*ast.Ident, i int) *entity {
	for ; i < len(segs); i++ {
		if e == nil || e.refused {
			return e
		}
		if v := c.variantOf(e, segs[i]); v != nil && i == len(segs)-1 {
			return v
		}
		if e.module == nil {
			c.report(m, diag.UnknownPath.At(segs[i].Sp, "`%s` is not a module", segs[i-1].Name).Hint("import the type, and write `Type::name` where you use it"))
			return nil
		}
		e = c.member(m, e.module, segs, i)
	}
	return e
}

// fromGlobs finds a name that a glob import of m provides.
func (c *checker) fromGlobs(m *module, name string) *entity { return c.globbed(m, m, name) }

// globbed finds a name that a glob import of the module of provides, for use in the module m. Only
// `pub use` imports provide names to other modules. Globs may form a cycle.
func (c *checker) globbed(m, of *module, name string) *entity {
	if of.globbing {
		return nil
	}
	of.globbing = true
	defer func() { of.globbing = false }()
	for _, g := range of.globs {
		if m != of && !g.pub && !m.isWithin(of) {
			continue
		}
		c.bodies.noteImport(g, false)
		in := c.resolveImport(g)
		if in == nil {
			continue
		}
		if v := c.variantOf(in, &ast.Ident{Name: name}); v != nil {
			g.used = true
			c.bodies.noteImport(g, true)
			return v
		}
		if in.module == nil {
			continue
		}
		e := in.module.names[name]
		if e == nil {
			e = c.globbed(m, in.module, name)
		} else if !e.pub && !m.isWithin(in.module) && (in.module.std == "" || name[0] == '_') {
			e = nil
		}
		if e != nil {
			g.used = true
			c.bodies.noteImport(g, true)
			c.noteUse(m, c.followImports(e), g.at)
			return e
		}
	}
	return nil
}

// warnUnusedImports warns about unused imports in a module and its inner modules.
func (c *checker) warnUnusedImports(m *module) {
	for _, im := range m.imports {
		target := c.resolveImport(im)
		c.reportSameNameAsModule(m, im, target)
		if target == nil || target.refused || im.used || im.pub {
			continue
		}
		last := im.path[len(im.path)-1].Name
		if im.as == "" && !im.glob || len(m.info.File.Flaws) > 0 && (im.glob || c.isNamedInLoss(m, im.as)) {
			continue
		}
		what := "`" + last + "`"
		if im.glob {
			what = "all items of `" + last + "`"
		}
		c.report(m, diag.UnusedImport.At(im.at, "unused import of %s", what).
			Repair(diag.SafeFix(diag.Remove(im.without), "Remove the import"), "remove it"))
	}
	for _, child := range m.children {
		c.warnUnusedImports(child)
	}
}

// dropUncertainImports removes the warnings about unused imports in files with unknown names. A
// correction of such a name may use the import.
func (c *checker) dropUncertainImports() {
	if !c.diags.HasErrors() {
		return
	}
	unknown := map[*source.File]bool{}
	for _, d := range c.diags.Sorted() {
		unknown[d.File] = unknown[d.File] || d.Info.Noise.Has(diag.AfterLostName)
	}
	c.diags.Remove(func(d *diag.Diagnostic) bool { return d.Info == diag.UnusedImport && unknown[d.File] })
}

// reportSameNameAsModule reports an import that has the name of a module and is no value.
func (c *checker) reportSameNameAsModule(m *module, im *importEntry, target *entity) {
	for name, e := range m.mods {
		if v := m.names[name]; v.imported == im && target != nil && target.obj == nil && !target.refused {
			c.report(m, diag.DuplicateName.At(v.at, "`%s` is declared twice", name).
				Label(e.at, "first declared here").Hint("rename one of them"))
		}
	}
}
