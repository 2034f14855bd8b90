package sema

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// module is a namespace (spec/15-modules.md). It contains the declarations of a file, of an inline
// `mod` or of a block. The declarations of a block can use the names of the enclosing module.
type module struct {
	info     *Info // tables of the file that contains the module
	name     string
	decls    []ast.Decl
	children []*module // modules that the module declares, in order
	parent   *module   // parent of an inline module or of a file; nil for the root, the library and blocks
	around   *module   // enclosing module of a block, in which lookup continues
	vars     *scope    // variables that are visible in a block; functions in the block cannot use them
	dir      string    // directory with the files of the module's `mod x;`, relative to the root
	names    map[string]*entity
	entities []*entity          // entity of each declaration, in order; nil for imports, modules and invalid declarations
	mods     map[string]*entity // modules that have the same name as a value in names
	globs    []*importEntry
	globbing bool // a search through the module's globs is in progress
	imports  []*importEntry
	std      string // name of a library module after std::
	isTests  bool   // the module is a file with the tests of its parent
	unit     *unit  // set in the root module of the project and of a package
}

// home returns the module that contains a block, or m itself if it is not the module of a block.
func (m *module) home() *module {
	for m.around != nil {
		m = m.around
	}
	return m
}

// root returns the module of the entry file.
func (m *module) root() *module {
	m = m.home()
	for m.parent != nil {
		m = m.parent
	}
	return m
}

// isWithin reports whether m is o or a descendant of o. It can then use the private declarations of
// o.
func (m *module) isWithin(o *module) bool {
	o = o.home()
	for m = m.home(); m != nil; m = m.parent {
		if m == o {
			return true
		}
	}
	return false
}

// declareMod declares the module of a `mod x;` or `mod x { … }`, and the contents of the module.
func (c *checker) declareMod(m *module, d *ast.ModDecl) {
	name := d.Name.Name
	e := &entity{name: name, mod: m, at: d.Name.Sp, decl: d, pub: d.Pub}
	if !c.newName(m, e) {
		return
	}
	if m.isTests && !d.Inline && name+"_test" == m.name {
		e.module = m.parent // the tested module, which the file need not declare
		return
	}
	child := &module{name: name, parent: m, dir: path.Join(m.dir, name)}
	if d.Inline {
		child.info, child.names = m.info, map[string]*entity{}
		e.module, m.children = child, append(m.children, child)
		c.declareNames(child, d.Decls)
		return
	}
	file, name := c.openModule(m, d)
	if file == nil {
		e.refused = true
		return
	}
	c.addFile(m, child, file)
	c.applyModuleAllow(m, d, child.info)
	c.allowances(child)
	e.module = child
	c.declareNames(child, file.Decls)
	c.declareTests(child, name)
}

// addFile makes child, whose declarations are those of a file, a child of m.
func (c *checker) addFile(m, child *module, file *ast.File) {
	child.info, child.names = c.newInfo(file, false), make(map[string]*entity, len(file.Decls))
	child.info.pkg = m.info.pkg
	c.prog.Files = append(c.prog.Files, child.info)
	c.flawed = c.flawed || len(file.Flaws) > 0
	m.children = append(m.children, child)
}

// declareTests declares the files with the tests of a module as its children. No name leads to
// them, so that the program cannot use them, and they see all names of the module.
func (c *checker) declareTests(m *module, file string) {
	if c.cfg.TestFiles == nil || m.info.pkg != nil {
		return
	}
	for _, name := range c.cfg.TestFiles(file) {
		own := strings.TrimSuffix(path.Base(name), path.Ext(name))
		if m.names[own] != nil {
			continue // the module declares the file with `mod`
		}
		tree, list, found := m.opener()(name)
		c.diags.Append(list)
		if !found || tree == nil {
			continue
		}
		child := &module{name: own, parent: m, isTests: true, dir: path.Join(path.Dir(name), own)}
		c.addFile(m, child, tree)
		child.globs = []*importEntry{{mod: child, path: []*ast.Ident{{Name: "super"}}, number: -1, used: true, glob: true}}
		c.allowances(child)
		c.declareNames(child, tree.Decls)
	}
}

// ModuleFiles returns the possible file names of `mod name;` in the order of the search: name.conc
// in the directory dir, then name/mod.conc.
func ModuleFiles(dir, name string) []string {
	return []string{path.Join(dir, name+".conc"), path.Join(dir, name, "mod.conc")}
}

// opener returns the function that reads the files of modules for m, or nil.
func (m *module) opener() func(name string) (*ast.File, diag.List, bool) {
	if u := m.root().unit; u != nil {
		return u.open
	}
	return nil
}

// openModule reads and parses the file of `mod x;`, and returns it with its name. The file is nil
// if an error was reported.
func (c *checker) openModule(m *module, d *ast.ModDecl) (*ast.File, string) {
	open := m.opener()
	if open == nil {
		c.report(m, diag.ModuleFile.At(d.Name.Sp, "no file for module `%s`", d.Name.Name).
			Repair(edits.InlineModule(m.info.File.Source, d), "write it inline: `mod %s { … }`", d.Name.Name))
		return nil, ""
	}
	c.checkStop()
	names := ModuleFiles(m.dir, d.Name.Name)
	for _, name := range names {
		file, list, found := open(name)
		if !found {
			continue
		}
		c.diags.Append(list)
		return file, name
	}
	c.report(m, diag.ModuleFile.At(d.Name.Sp, "no file for module `%s`", d.Name.Name).Repair(edits.CreateFile(names[0]), "create %s or %s", names[0], names[1]))
	return nil, ""
}

// newName adds an entity to a module, and reports a duplicate name. A module and a value may have
// the same name, because modules are in a separate namespace.
func (c *checker) newName(m *module, e *entity) bool {
	if e.name == "" { // missing in the source
		return false
	}
	first := m.names[e.name]
	switch {
	case first != nil && e.isSelf():
		e.imported.used = true // for example `use a::{self, b}` next to `mod a`
		return true
	case first != nil && first.isSelf():
		first.imported.used = true
		first = nil
	case first == nil || m.mods[e.name] != nil:
	case e.isModule() && first.mayBeValue():
		m.putModule(e)
		return true
	case first.isModule() && e.mayBeValue():
		m.putModule(first)
		first = nil
	}
	if first != nil {
		c.report(m, diag.DuplicateName.At(e.at, "`%s` is declared twice", e.name).
			Label(first.at, "first declared here").Hint("rename one of them"))
		return false
	}
	m.names[e.name] = e
	return true
}

func (m *module) putModule(e *entity) {
	if m.mods == nil {
		m.mods = map[string]*entity{}
	}
	m.mods[e.name] = e
}

// isSelf reports whether an entity is the `self` of an import `use a::{self, …}`.
func (e *entity) isSelf() bool {
	return e.imported != nil && e.imported.self && len(e.imported.path) == 1
}

// isModule reports whether an entity is certainly a module. Imports need not be resolved yet.
func (e *entity) isModule() bool {
	if im := e.imported; im != nil {
		return !im.glob && len(im.path) == 2 && im.path[0].Name == "std"
	}
	_, ok := e.decl.(*ast.ModDecl)
	return ok
}

// mayBeValue reports whether an entity may be a value, so that a module may have the same name.
func (e *entity) mayBeValue() bool {
	switch e.decl.(type) {
	case *ast.StructDecl, *ast.EnumDecl, *ast.SchemaDecl, *ast.TypeDecl, *ast.TraitDecl, *ast.ModDecl:
		return false
	default: // the others are values
	}
	return !e.isModule()
}

// moduleNamed returns the entity of the module with the given name.
func (m *module) moduleNamed(name string) *entity {
	if e := m.mods[name]; e != nil {
		return e
	}
	return m.names[name]
}

// variantOf returns the entity of a variant that is imported from the enum e. It returns nil if e
// is no enum or does not have the variant.
func (c *checker) variantOf(e *entity, id *ast.Ident) *entity {
	if e.typ == nil || e.typ.Kind != types.Enum {
		return nil
	}
	v := e.typ.Variant(id.Name)
	if v == nil {
		return nil
	}
	return &entity{name: v.Name, mod: e.mod, at: e.at, pub: true,
		obj: &VariantRef{Type: generic(e.typ), Name: v.Name, Index: v.Index, Variant: v}}
}

// member returns the entity of segs[i] in the module in, as seen from the module m. It reports an
// unknown or private name.
func (c *checker) member(m, in *module, segs []*ast.Ident, i int) *entity {
	id := segs[i]
	e := in.names[id.Name]
	if i < len(segs)-1 {
		e = in.moduleNamed(id.Name)
	}
	if e == nil {
		e = c.globbed(m, in, id.Name)
	}
	if e == nil || in.std != "" && len(id.Name) > 2 && id.Name[:2] == "__" && !m.info.Library {
		c.reportUnknownMember(m, in, id)
		return nil
	}
	if !e.pub && !m.isWithin(in) && in.std == "" {
		d := diag.Private.At(id.Sp, "`%s` is private to module `%s`", id.Name, in.displayName()).
			LabelIn(e.mod.info.File.Source, e.at, "declared here without `pub`")
		if e.decl != nil {
			d.Repair(edits.MakePublic(e.mod.info.File.Source, e.decl.Head(), id.Name), "declare it with `pub`, or use a public item of the module")
		} else {
			d.Hint("declare it with `pub`, or use a public item of the module")
		}
		c.report(m, d)
	}
	e = c.followImports(e)
	c.noteUse(m, e, id.Sp)
	return e
}

// displayName returns the name of the module in messages.
func (m *module) displayName() string {
	if m.std != "" {
		return "std::" + m.std
	}
	if m.unit != nil && m.unit.pkg != nil {
		return m.unit.pkg.Name
	}
	if m.name == "" {
		return "the root module"
	}
	return m.name
}

func (c *checker) reportUnknownMember(m, in *module, id *ast.Ident) {
	var names []string
	found := in.names
	if in.std == "" && !c.maySuggest(len(found)) {
		found = nil
	}
	for n, e := range found {
		internal := strings.HasPrefix(n, "__") && !m.info.Library
		if !internal && (e.pub || in.std != "" || m.isWithin(in)) {
			names = append(names, n)
		}
	}
	d := diag.UnknownPath.At(id.Sp, "no `%s` in %s", id.Name, in.displayName())
	if _, there := constructors[id.Name]; in.std != "" && (there || basics[id.Name] != nil) {
		for _, u := range m.imports {
			if slices.Contains(u.path, id) {
				d.WithFixes(diag.UnsafeFix(diag.Remove(u.without), "Remove the import"))
			}
		}
		c.report(m, d.Hint("`%s` needs no import: remove it", id.Name))
		return
	}
	if w := foreign.Function.Find(in.std + "::" + id.Name); w.HintText() != "" {
		if len(w.Ours) == 1 {
			_, last, _ := strings.Cut(w.Ours[0], "::")
			d.WithFixes(diag.Change(id.Sp, last, last, false))
		}
		c.report(m, d.Hint("%s", w.HintText()))
		return
	}
	otherwise := "check the spelling, or declare it there"
	if in.std != "" {
		slices.Sort(names)
		otherwise = "it contains " + quotedNames(names)
	}
	if !suggestName(d, id, names) {
		d.Hint("%s", otherwise)
	}
	c.report(m, d)
}

// reportUnknownModule reports a path whose first name is unknown.
func (c *checker) reportUnknownModule(m *module, segs []*ast.Ident) {
	if c.reportModuleBeside(m, segs) {
		return
	}
	id := segs[0]
	names := []string{"std"}
	for n, e := range m.root().names {
		if e.module != nil {
			names = append(names, n)
		}
	}
	for n, e := range m.home().names {
		if e.module != nil || e.typ != nil {
			names = append(names, n)
		}
	}
	names = append(names, m.packageNames()...)
	if c.cfg.Library != nil {
		names = append(names, c.cfg.Library.Modules()...)
	}
	what, otherwise := "unknown module `%s`", "declare it with `mod "+id.Name+";`, which loads "+id.Name+".conc, or import it with `use`"
	if isUpper(id.Name) {
		what = "unknown type or module `%s`"
		otherwise = "declare it, such as `struct " + id.Name + " { … }` or `enum " + id.Name + " { … }`, or import it with `use`"
	}
	d := diag.UnknownPath.At(id.Sp, what, id.Name)
	if c.cfg.Library != nil && slices.Contains(c.cfg.Library.Modules(), id.Name) {
		c.report(m, d.Repair(importFix(m, "std::"+id.Name), "add `use std::%s;`, or write `std::%s::…`", id.Name, id.Name))
		return
	}
	if file := c.moduleFile(m, id.Name); file != "" {
		c.report(m, d.Repair(diag.UnsafeFix(modEdit(m, id.Name), "Declare `mod %s;`", id.Name), "declare it with `mod %s;`, which loads %s", id.Name, file))
		return
	}
	if c.cfg.FindPackage != nil && m.info.pkg == nil && !m.info.Library {
		if address, fix, ok := c.cfg.FindPackage(id.Name); ok {
			c.report(m, d.Repair(fix, "the package is known: add it with `concerto add %s`", address))
			return
		}
	}
	if hint := foreign.Path.Hint(id.Name); hint != "" {
		const call = "::new()"
		if rest := m.info.File.Source.String()[id.Sp.End:]; slices.Contains([]string{"Vec", "List"}, id.Name) && strings.HasPrefix(rest, call) {
			d.WithFixes(diag.Change(source.Span{Start: id.Sp.Start, End: id.Sp.End + source.Pos(len(call))}, "[]", "[]", false))
		}
		c.report(m, d.WithFixes(c.importTypes(m, id.Name)...).Hint("%s", hint))
		return
	}
	if !suggestName(d, id, names) {
		d.Hint("%s", otherwise)
	}
	c.report(m, d)
}

// reportModuleBeside reports a path such as `util::text` whose first name is unknown, although the
// file of the second is beside the module's file. It returns false for any other path.
func (c *checker) reportModuleBeside(m *module, segs []*ast.Ident) bool {
	if len(segs) < 2 || c.moduleFile(m, segs[0].Name) != "" {
		return false
	}
	name := segs[1].Name
	file := c.moduleFile(m, name)
	if file == "" {
		return false
	}
	d := diag.UnknownPath.At(segs[0].Sp, "unknown module `%s`", segs[0].Name)
	if u, ok := m.declarationAt(segs[0].Sp).(*ast.UseDecl); ok && len(segs) == 2 && m.info.File.Source.Slice(u.Sp) == "use "+segs[0].Name+"::"+name+";" {
		d.WithFixes(diag.Change(u.Sp, "mod "+name+";", "mod "+name+";", false))
	}
	c.report(m, d.Hint("%s is beside this file: declare it with `mod %s;`, and write `%[2]s::…`", file, name))
	return true
}

// moduleFile returns the name of the file that `mod name;` would load, or "".
func (c *checker) moduleFile(m *module, name string) string {
	open := m.opener()
	if open == nil || isUpper(name) {
		return ""
	}
	for _, file := range ModuleFiles(m.dir, name) {
		if _, _, found := open(file); found {
			return file
		}
	}
	return ""
}

// stdModule returns the module std::name, or nil if it does not exist.
func (c *checker) stdModule(name string) *module {
	lib := c.libraryModule(c.cfg.Library.Module(name))
	if lib != nil {
		lib.std = name
	}
	return lib
}

// stdPath resolves a path that begins with std. An import may refer to a module. Any other path
// must refer to an item of a module.
func (c *checker) stdPath(m *module, segs []*ast.Ident, imported bool) *entity {
	if c.cfg.Library == nil {
		c.report(m, diag.UnknownPath.At(segs[0].Sp, "the standard library is not available").Hint("remove the path"))
		return nil
	}
	if len(segs) == 1 {
		c.report(m, diag.UnknownPath.At(segs[0].Sp, "`std` is not an item").Hint("add the name of a module: `std::%s`", c.cfg.Library.Modules()[0]))
		return nil
	}
	mod := c.stdModule(segs[1].Name)
	if mod == nil {
		d := diag.UnknownPath.At(segs[1].Sp, "no module `%s` in std", segs[1].Name)
		if !suggestAs(d, segs[1].Sp, segs[1].Name, c.cfg.Library.Modules(), "%s", "did you mean `std::%s`?") {
			d.Hint("its modules are %s", quotedNames(c.cfg.Library.Modules()))
		}
		c.report(m, d)
		return nil
	}
	e := &entity{name: segs[1].Name, module: mod, pub: true}
	if len(segs) == 2 && !imported {
		c.report(m, diag.NotAValue.At(segs[1].Sp, "`std::%s` is a module, not a value", segs[1].Name).Hint("write the name of an item of the module"))
		return nil
	}
	return c.walk(m, e, segs, 2)
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Package is a package that the program uses (spec/46-packages.md). Its root module and the files
// that the module declares are checked as parts of the program.
type Package struct {
	// Name is the name of the package in messages, such as `text v1.2.0`.
	Name string
	// File is the root module. Dir is its directory, and Open reads the files of its modules, as in
	// Config.
	File *ast.File
	Dir  string
	Open func(name string) (file *ast.File, list diag.List, found bool)
	// Deps contains the packages that this one requires, by their keys.
	Deps map[string]Dep
	// IsFixed reports that the files must not be changed, so that no fix may edit them.
	IsFixed bool
}

// Dep is a package that a manifest requires. At is the position of its key in Source. Package is
// nil if the package is not available, which was reported; uses of its names are then no errors.
type Dep struct {
	Package *Package
	Source  *source.File
	At      source.Span
}

// unit is the project or a package: the files and the packages to which its modules can refer.
type unit struct {
	pkg  *Package // nil for the project
	open func(name string) (file *ast.File, list diag.List, found bool)
	deps map[string]Dep
}

// declarePackages declares the names of all packages, and returns their root modules. A package
// comes after those that it requires.
func (c *checker) declarePackages() (roots []*module) {
	for _, p := range c.cfg.Packages {
		m := c.newModule(p.File, false)
		m.dir, m.unit, m.info.pkg = p.Dir, &unit{p, p.Open, p.Deps}, p
		if c.packages == nil {
			c.packages = map[*Package]*module{}
		}
		c.packages[p] = m
		c.declareRoot(m)
		roots = append(roots, m)
	}
	return roots
}

// declareRoot declares the names in the root module of the project or of a package.
func (c *checker) declareRoot(m *module) {
	c.allowances(m)
	c.declareNames(m, m.info.File.Decls)
	for _, key := range sortedNames(m.unit.deps) {
		e := m.names[key]
		if d := m.unit.deps[key]; e != nil && e.imported == nil && e.decl != nil {
			if _, isModule := e.decl.(*ast.ModDecl); isModule {
				c.report(m, diag.DuplicateName.At(e.at, "`%s` is the name of a module and of a package", key).
					LabelIn(d.Source, d.At, "the package is required here").Hint("rename one of them; the name of a package is its key in [dependencies]"))
			}
		}
	}
}

// packageNamed returns the root module of a package that the unit of m requires, or nil.
func (c *checker) packageNamed(m *module, key string) *entity {
	u := m.root().unit
	if u == nil {
		return nil
	}
	d, found := u.deps[key]
	if !found {
		return nil
	}
	if d.Package == nil {
		return &entity{name: key, mod: m, refused: true, pub: true}
	}
	root := c.packages[d.Package]
	return &entity{name: key, mod: root, module: root, pub: true}
}

// packageNames returns the keys of the packages that the unit of m requires.
func (m *module) packageNames() []string {
	if u := m.root().unit; u != nil {
		return sortedNames(u.deps)
	}
	return nil
}

// allowsEdit reports whether fixes may edit a file.
func (c *checker) allowsEdit(f *source.File) bool {
	return !slices.ContainsFunc(c.prog.Files, func(i *Info) bool { return i.File.Source == f && i.pkg != nil && i.pkg.IsFixed })
}

// dropFixes removes the fixes that edit files of packages that must not be changed.
func (c *checker) dropFixes(d *diag.Diagnostic) {
	if len(c.packages) == 0 {
		return
	}
	d.Fixes = slices.DeleteFunc(d.Fixes, func(f diag.Fix) bool {
		return slices.ContainsFunc(f.Edits, func(e diag.Edit) bool { return !c.allowsEdit(cmp.Or(e.File, d.File)) })
	})
}

// Package returns the package that contains the file, or nil for a file of the project or of the
// library.
func (i *Info) Package() *Package { return i.pkg }
