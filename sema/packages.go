package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

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

// Dep is a package that a manifest requires. At is the position of its key in Source.
type Dep struct {
	Package *Package
	Source  *source.File
	At      source.Span
}

// unit is the project or a package: a root module with what paths in its modules refer to.
type unit struct {
	pkg  *Package // nil for the project
	root *module
	open func(name string) (file *ast.File, list diag.List, found bool)
	deps map[string]Dep
}

// declarePackages declares the names of all packages, and returns their root modules. A package
// comes after those that it requires.
func (c *checker) declarePackages() (roots []*module) {
	for _, p := range c.cfg.Packages {
		m := &module{names: make(map[string]*entity, len(p.File.Decls)), dir: p.Dir}
		m.unit = &unit{p, m, p.Open, p.Deps}
		m.info = c.newInfo(p.File, false)
		m.info.pkg = p
		if c.packages == nil {
			c.packages = map[*Package]*module{}
		}
		c.packages[p] = m
		c.addRoot(m, p.File)
		roots = append(roots, m)
	}
	return roots
}

// addRoot adds the root module of the project or of a package to the program.
func (c *checker) addRoot(m *module, f *ast.File) {
	c.prog.Files = append(c.prog.Files, m.info)
	c.flawed = c.flawed || len(f.Flaws) > 0
	c.allowances(m)
	c.declareNames(m, f.Decls)
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
	if f == nil || len(c.packages) == 0 {
		return true
	}
	return !slices.ContainsFunc(c.prog.Files, func(i *Info) bool { return i.File.Source == f && i.pkg != nil && i.pkg.IsFixed })
}

// dropFixes removes the fixes that edit files of packages that must not be changed.
func (c *checker) dropFixes(d *diag.Diagnostic) {
	if len(c.packages) == 0 {
		return
	}
	d.Fixes = slices.DeleteFunc(d.Fixes, func(f diag.Fix) bool {
		return slices.ContainsFunc(f.Edits, func(e diag.Edit) bool {
			if e.File == nil {
				return !c.allowsEdit(d.File)
			}
			return !c.allowsEdit(e.File)
		})
	})
}

// Package returns the package that contains the file, or nil for a file of the project or of the
// library.
func (i *Info) Package() *Package { return i.pkg }
