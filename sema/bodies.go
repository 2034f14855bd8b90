package sema

import (
	"reflect"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/surface"
)

// Bodies contains the results of checking function bodies. A later check of the same program reuses
// the results for a file if the file has not changed and no file has another surface. A surface
// contains all that the bodies of other files can depend on. Bodies contains no references to the
// program, and does not change after the check.
type Bodies struct {
	around Config      // configuration that affects the results
	own    []*ast.File // files of the program without the library, in order
	files  map[*ast.File][]*bodyResult
	// whole reports that the results contain a diagnostic whose existence depends on several
	// bodies. No results can be reused then.
	whole    bool
	surfaces map[*ast.File]surface.Surface // surfaces of some files
}

// bodyResult contains the diagnostics and the side effects of checking a function, in order. It
// does not contain the entries in the tables of the function's file.
type bodyResult struct {
	diags   []*diag.Diagnostic
	unread  []*diag.Diagnostic // diagnostics about variables, which are reported after all bodies are checked
	raised  []*diag.Diagnostic // warnings about errors that nothing may catch; see uncaughtErrors
	catches bool               // the function catches errors
	imports []importUse
	uses    []fileUse
	library []*ast.File
	// declares reports that a block of the function contains declarations.
	declares bool
}

// importUse records that a function refers to an import.
type importUse struct {
	file, number int  // index of the file, and of the import in the file
	used         bool // an imported name is used
}

// fileUse is the first position at which a function uses a declaration of another file. file is the
// index of the other file.
type fileUse struct {
	file int
	at   source.Span
}

// bodyWork is the part of the checker's state that concerns Bodies.
type bodyWork struct {
	reused map[*Info]*reusedBodies // files whose results may be reused
	now    *Bodies
	own    []*Info // files of the program; set before the bodies are checked
	number map[*Info]int

	noting    *bodyResult // results of the function that is being checked, or nil
	notingIn  *Info
	resolving int  // number of imports that are being resolved: later checks repeat the resolution, so it is not recorded
	quiet     bool // a name that does not exist is not reported
	ofImports diag.List
	allUses   map[*Info][]*importEntry

	left map[*Info][]*Function // functions whose results were reused, by file
}

// reusedBodies contains the reusable results for a file's functions. next is the index of the next
// result to reuse.
type reusedBodies struct {
	found []*bodyResult
	next  int
}

// Bodies returns the results of checking the function bodies. The next check receives them in
// Config.Bodies.
func (p *Program) Bodies() *Bodies { return p.checker.bodies.now }

// prepareBodies creates the tables of the files that are checked again. It runs after everything
// outside bodies is checked.
func (c *checker) prepareBodies() {
	for _, i := range c.bodies.own {
		if c.bodies.reused[i] == nil {
			i.fill()
		}
	}
}

// findReused decides which results can be reused. It runs after all names are declared.
func (c *checker) findReused() {
	w := &c.bodies
	w.number = map[*Info]int{}
	for _, i := range c.prog.Files {
		if !i.Library {
			w.number[i] = len(w.own)
			w.own = append(w.own, i)
		}
	}
	before := c.cfg.Bodies
	if before == nil { // a caller that needs the results passes an empty Bodies in the first check
		return
	}
	for _, i := range w.own {
		w.now.own = append(w.now.own, i.File)
	}
	w.now.surfaces = map[*ast.File]surface.Surface{}
	if !c.canReuse() || c.prog.OwnLines() <= c.cfg.LibraryBodiesUpToLines {
		return
	}
	if !before.whole && before.sharesFile(w.now) && before.matches(w.now) {
		w.findReusable(before)
	}
}

// canReuse reports whether the configuration contains results that can be reused.
func (c *checker) canReuse() bool {
	return c.cfg.Bodies != nil && len(c.cfg.Bodies.files) > 0 && c.cfg.LibraryBodiesUpToLines != 0
}

// findReusable finds the files whose results can be reused. These are the unchanged files whose
// results refer to no changed file.
func (w *bodyWork) findReusable(before *Bodies) {
	current := map[*source.File]bool{}
	for _, i := range w.own {
		current[i.File.Source] = true
	}
	removed := map[*source.File]bool{}
	for _, f := range before.own {
		removed[f.Source] = !current[f.Source]
	}
	w.reused, w.left = map[*Info]*reusedBodies{}, map[*Info][]*Function{}
	for _, i := range w.own {
		found, ok := before.files[i.File]
		if ok && !slices.ContainsFunc(found, func(f *bodyResult) bool { return f.declares || f.mentions(removed) }) {
			w.reused[i] = &reusedBodies{found: found}
		}
	}
}

// bodyConfig returns the parts of the configuration that affect the results of checking bodies.
func (cfg *Config) bodyConfig() Config {
	around := Config{Name: cfg.Name, Library: cfg.Library, Manifest: cfg.Manifest, Dir: cfg.Dir, Tests: cfg.Tests, Evals: cfg.Evals, AnyConnection: cfg.AnyConnection, AnyHost: cfg.AnyHost}
	for _, p := range cfg.Packages { // the files of a package are compared like the project's own
		around.Packages = append(around.Packages, &Package{Name: p.Name, Deps: namesOf(p.Deps)})
	}
	around.Deps = namesOf(cfg.Deps)
	return around
}

// namesOf returns the required packages with their names alone.
func namesOf(deps map[string]Dep) map[string]Dep {
	out := make(map[string]Dep, len(deps))
	for key, d := range deps {
		if out[key] = (Dep{}); d.Package != nil {
			out[key] = Dep{Package: &Package{Name: d.Package.Name}}
		}
	}
	return out
}

// sharesFile reports whether a file has not changed from b to o.
func (b *Bodies) sharesFile(o *Bodies) bool {
	return slices.ContainsFunc(o.own, func(f *ast.File) bool { return b.files[f] != nil })
}

// matches reports whether b and o are results for the same program with the same surfaces.
func (b *Bodies) matches(o *Bodies) bool {
	return reflect.DeepEqual(b.around, o.around) && slices.EqualFunc(b.own, o.own, func(x, y *ast.File) bool {
		return x == y || x.Source.Name == y.Source.Name && b.surfaceOf(x) == o.noteSurface(y)
	})
}

// noteSurface returns the surface of a file and stores it.
func (b *Bodies) noteSurface(f *ast.File) surface.Surface {
	b.surfaces[f] = b.surfaceOf(f)
	return b.surfaces[f]
}

// surfaceOf returns the surface of a file.
func (b *Bodies) surfaceOf(f *ast.File) surface.Surface {
	s, known := b.surfaces[f]
	if !known {
		s = surface.Of(f)
	}
	return s
}

// mentions reports whether a diagnostic of the function refers to one of files.
func (f *bodyResult) mentions(files map[*source.File]bool) bool {
	for _, list := range [][]*diag.Diagnostic{f.diags, f.unread} {
		for _, d := range list {
			if files[d.File] || slices.ContainsFunc(d.Labels, func(l diag.Label) bool { return files[l.File] }) {
				return true
			}
			for _, fix := range d.Fixes {
				if slices.ContainsFunc(fix.Edits, func(e diag.Edit) bool { return files[e.File] }) {
					return true
				}
			}
		}
	}
	return false
}

// functionBody checks a function, or reuses its results from an earlier check.
func (c *checker) functionBody(fn *Function) {
	w := &c.bodies
	if t := w.reused[fn.Info]; t != nil && t.next < len(t.found) {
		t.next++
		w.left[fn.Info] = append(w.left[fn.Info], fn)
		c.replayBody(fn, t.found[t.next-1])
		return
	}
	if c.cfg.Bodies == nil {
		c.checkFunction(fn)
		return
	}
	w.noting, w.notingIn = &bodyResult{}, fn.Info
	c.checkFunction(fn)
	w.now.files[fn.Info.File] = append(w.now.files[fn.Info.File], w.noting)
	w.noting = nil
}

// replayBody repeats the side effects of checking a function, except the entries in the tables.
func (c *checker) replayBody(fn *Function, f *bodyResult) {
	fn.checked = true
	c.replay(fn.mod, f)
	c.bodies.now.files[fn.Info.File] = append(c.bodies.now.files[fn.Info.File], f)
}

// replay repeats the side effects of checking a function in the module m.
func (c *checker) replay(m *module, f *bodyResult) {
	c.replayUses(m, f)
	for _, d := range f.diags {
		c.diags.Add(d)
	}
	if len(f.unread) > 0 {
		c.unread = append(c.unread, unreadVariable{found: f})
	}
	for _, d := range f.raised {
		c.raised = append(c.raised, raisedError{m, d})
	}
	c.catches = c.catches || f.catches
}

// replayUses notes again what a part of the module m uses.
func (c *checker) replayUses(m *module, f *bodyResult) {
	for _, file := range f.library {
		c.libraryModule(file)
	}
	for _, u := range f.imports {
		im := c.bodies.allUses[c.bodies.own[u.file]][u.number]
		im.used = im.used || u.used
		c.resolveImport(im)
	}
	for _, u := range f.uses {
		c.uses.note(m, c.bodies.own[u.file], u.at)
	}
}

// noteDiagnostic records a diagnostic as a result of the function that is being checked.
func (w *bodyWork) noteDiagnostic(m *module, d *diag.Diagnostic) {
	switch {
	case w.noting == nil || w.resolving > 0:
	case m.info != w.notingIn:
		w.now.whole = true // only the first body that causes the diagnostic reports it
	default:
		w.noting.diags = append(w.noting.diags, d)
	}
}

// noteImport records that the current function refers to an import.
func (w *bodyWork) noteImport(im *importEntry, used bool) {
	if w.noting == nil || w.resolving > 0 || im.number < 0 {
		return
	}
	file := w.number[im.mod.info]
	for i := range w.noting.imports {
		if u := &w.noting.imports[i]; u.file == file && u.number == im.number && (u.used || !used) {
			return
		}
	}
	w.noting.imports = append(w.noting.imports, importUse{file, im.number, used})
}

// noteFileUse records that the current function, in module m, uses a declaration of another file.
func (w *bodyWork) noteFileUse(m, in *module, at source.Span) {
	if w.noting == nil || w.resolving > 0 {
		return
	}
	n, found := w.number[in.info]
	if m.info != w.notingIn || !found {
		w.now.whole = true
		return
	}
	for _, u := range w.noting.uses {
		if u.file == n {
			return
		}
	}
	w.noting.uses = append(w.noting.uses, fileUse{n, at})
}

// noteLibrary records that the current function uses a file of the library.
func (w *bodyWork) noteLibrary(f *ast.File) {
	if w.noting != nil && w.resolving == 0 && !slices.Contains(w.noting.library, f) {
		w.noting.library = append(w.noting.library, f)
	}
}

// noteSite records a position whose meaning is decided only after all bodies are checked.
func (w *bodyWork) noteSite(s *site) {
	if s.bound != nil && len(s.bound.Args) > 0 {
		w.now.whole = true
	}
}

// Complete fills the tables of a file whose results were reused. It must not be called concurrently
// for the same program.
func (p *Program) Complete(i *Info) { p.completeFunctions(i, func(*Function) bool { return true }) }

// CompleteFunction fills the tables of a function whose results were reused.
func (p *Program) CompleteFunction(fn *Function) {
	p.completeFunctions(fn.Info, func(x *Function) bool { return x == fn })
}

// completeFunctions fills the tables for the functions of a file that the predicate selects.
func (p *Program) completeFunctions(i *Info, wanted func(*Function) bool) {
	c := p.checker
	i.fill()
	var now, later []*Function
	for _, fn := range c.bodies.left[i] {
		if wanted(fn) {
			now = append(now, fn)
		} else {
			later = append(later, fn)
		}
	}
	if len(now) == 0 {
		return
	}
	c.bodies.left[i] = later
	defer c.muteDiagnostics()()
	unread := c.unread
	for _, fn := range now {
		c.checkFunction(fn)
	}
	c.unread = unread
}

// ReusedBodies returns the number of functions whose results the check has reused.
func (p *Program) ReusedBodies() (n int) {
	for _, t := range p.checker.bodies.reused {
		n += t.next
	}
	return n
}

// HasReusedBodies reports whether the check has reused the results for a file.
func (p *Program) HasReusedBodies(i *Info) bool { return p.checker.bodies.reused[i] != nil }
