package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
)

// lateWork is the part of the checker's state that concerns files whose declarations are resolved
// when they are needed. If an edit changes only bodies, the declarations of other files have the
// same meaning as in the previous check. Their names are declared as always, but their types and
// signatures are resolved only if the check of an edited body, or a query, refers to them.
type lateWork struct {
	files     []*lateFile
	batch     []*lateFile // files that are being resolved
	phase     int         // current phase of define
	resolving bool        // a phase of define is running
	ready     bool        // the constants of all files are checked
}

// lateFile is a file whose declarations are resolved when they are needed.
type lateFile struct {
	c      *checker
	m      *module
	phases int // number of phases that have begun
	needed bool
}

// deferDefinitions finds the files whose declarations are resolved later. These are unchanged files
// of a program whose surfaces are those of the previous check.
func (c *checker) deferDefinitions() {
	before := c.bodies.matched
	if before == nil || !before.apart {
		return
	}
	c.entry.eachModule(func(m *module) {
		f := m.info.File
		declared := before.declared[f]
		if declared == nil || !declared.isSeparate || m == c.entry || c.bodies.reused[m.info] == nil {
			return
		}
		c.bodies.now.declared[f] = declared
		m.info.late = &lateFile{c: c, m: m}
		c.late.files = append(c.late.files, m.info.late)
		c.configs = append(c.configs, func() { c.replayUses(m, &declared.bodyResult) })
	})
}

// declaredResult contains the side effects of resolving the declarations of a file outside bodies.
type declaredResult struct {
	bodyResult
	isSeparate bool // the check finds the declarations only by their names
}

// isSeparate reports whether the check finds the declarations of a file only by their names. The
// methods of an impl are found by the name of its target.
func isSeparate(f *ast.File) bool {
	decls, local := f.Decls, map[string]bool{}
	if len(f.Flaws) > 0 {
		return false
	}
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.StructDecl, *ast.EnumDecl, *ast.SchemaDecl:
			local[d.Head().Name.Name] = true
		case *ast.FnDecl:
			if findDecorator(d.Decorators, "test") != nil {
				return false
			}
		case *ast.UseDecl, *ast.TypeDecl, *ast.ConstDecl, *ast.ImplDecl:
		case *ast.ModDecl:
			if d.Inline {
				return false
			}
		default:
			return false
		}
	}
	return !slices.ContainsFunc(decls, func(d ast.Decl) bool {
		impl, ok := d.(*ast.ImplDecl)
		return ok && !implements(impl, local)
	})
}

// implements reports whether d is an impl without a trait for one of the local types.
func implements(d *ast.ImplDecl, local map[string]bool) bool {
	t, ok := d.Target.(*ast.NamedType)
	return ok && d.Trait == nil && len(t.Segments) == 1 && local[t.Segments[0].Name]
}

// isDeferred reports whether a file is not yet resolved in a phase of define. Otherwise the caller
// must resolve it. f is nil for a file whose declarations are resolved as always.
func (f *lateFile) isDeferred(phase int) bool {
	if f == nil {
		return false
	}
	if !f.needed || f.phases > phase {
		return true
	}
	f.phases = phase + 1
	return false
}

// defined resolves the declarations of the file that declares e. It returns e.
func (c *checker) defined(e *entity) *entity {
	if e != nil && e.module == nil && e.mod != nil && e.mod.info.late != nil {
		e.mod.info.late.define()
	}
	return e
}

// defineAll resolves the declarations of all files.
func (c *checker) defineAll() {
	for _, f := range c.late.files {
		f.define()
	}
}

// define resolves the declarations of the file. The files to which they refer are resolved in the
// same phases.
func (f *lateFile) define() {
	if f.needed {
		return
	}
	f.needed = true
	c, l := f.c, &f.c.late
	l.batch = append(l.batch, f)
	if l.resolving {
		f.catchUp()
		return
	}
	defer c.unobserved()()
	functions, configs := len(c.prog.Functions), len(c.configs)
	l.resolving = true
	for l.phase = range definePhases {
		for i := 0; i < len(l.batch); i++ {
			l.batch[i].catchUp()
		}
	}
	batch := l.batch
	l.resolving, l.batch = false, nil
	if !l.ready {
		return
	}
	for _, check := range slices.Clone(c.configs[configs:]) {
		check()
	}
	for _, f := range batch {
		f.noteReplayed(c.prog.Functions[functions:])
	}
}

// DeferredFiles returns the number of files whose declarations have not been resolved, because they
// have not been needed.
func (p *Program) DeferredFiles() (n int) {
	for _, f := range p.checker.late.files {
		if !f.needed {
			n++
		}
	}
	return n
}

// catchUp performs the phases of define up to the current one.
func (f *lateFile) catchUp() {
	for f.phases <= f.c.late.phase {
		f.phases++
		f.c.definePhase(f.m, f.phases-1)
	}
}

// noteReplayed records the new functions of the file if their results have been reused.
func (f *lateFile) noteReplayed(functions []*Function) {
	w := &f.c.bodies
	if t := w.reused[f.m.info]; t.next < len(t.found) {
		return // the results are reused with those of the other functions
	}
	for _, fn := range functions {
		if fn.Info == f.m.info {
			fn.checked = true
			w.left[fn.Info] = append(w.left[fn.Info], fn)
		}
	}
}

// unobserved makes the checker discard diagnostics and side effects until the returned function is
// called. They were repeated when the file was deferred.
func (c *checker) unobserved() (end func()) {
	w := &c.bodies
	noting, handing, folding, unmute := w.noting, c.uses.handingOn, c.folding, c.muteDiagnostics()
	w.noting, c.uses.handingOn, c.folding = nil, false, ""
	return func() {
		w.noting, c.uses.handingOn, c.folding = noting, handing, folding
		unmute()
	}
}

// replayDeferred repeats the side effects of checking the bodies in files that are not defined.
func (c *checker) replayDeferred() {
	for _, f := range c.late.files {
		t := c.bodies.reused[f.m.info]
		if t.next > 0 {
			continue // the functions of the file are in the program
		}
		for _, found := range t.found {
			c.replay(f.m, found)
		}
		t.next = len(t.found)
		c.bodies.now.files[f.m.info.File] = t.found
	}
}

// noteDeclarations records the side effects of resolving declarations of a file until the returned
// function is called.
func (w *bodyWork) noteDeclarations(m *module) (end func()) {
	i := m.info
	if i.Library || w.now.declared == nil || i.late != nil || m.around != nil {
		return func() {}
	}
	noting, in, declaring := w.noting, w.notingIn, w.declaring
	f := w.now.declared[i.File]
	if f == nil {
		f = &declaredResult{isSeparate: isSeparate(i.File)}
		w.now.declared[i.File] = f
	}
	w.noting, w.notingIn, w.declaring = &f.bodyResult, i, true
	return func() { w.noting, w.notingIn, w.declaring = noting, in, declaring }
}
