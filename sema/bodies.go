package sema

import (
	"reflect"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/surface"
)

// Bodies holds the results of checking function bodies. A later check of the same program reuses
// them for the files that have not changed and that no edit of another file's surface affects,
// because a body is checked against surfaces only. Bodies refers to nothing of the program itself,
// and does not change after the check.
type Bodies struct {
	around Config      // the parts of the configuration that checking depends on
	own    []*ast.File // the program's own files, in order
	files  map[*ast.File][]*bodyResult
	// whole reports that the diagnostics of one body depend on another body, so that no results can
	// be reused.
	whole bool
	// older has results for other surfaces. An incomplete declaration changes the surfaces
	// temporarily.
	older *Bodies
}

// bodyResult holds the diagnostics and the side effects of checking a function, in order, except
// its entries in the tables of its file.
type bodyResult struct {
	diags   []*diag.Diagnostic
	unread  []*diag.Diagnostic // of variables, reported after all bodies are checked
	imports []importUse
	uses    []fileUse
	library []*ast.File
	// declares reports that a block of the function contains declarations.
	declares bool
}

// importUse is an import that was looked up.
type importUse struct {
	file, number int  // of the file, and of the import in it
	used         bool // an imported name was used
}

// fileUse is the first position that uses a declaration of another file, given by its number.
type fileUse struct {
	file int
	at   source.Span
}

// bodyWork is the checker's state for Bodies.
type bodyWork struct {
	reused map[*Info]*reusedBodies // files whose bodies may be reused
	now    *Bodies
	own    []*Info // the program's files, before bodies are checked
	number map[*Info]int

	noting    *bodyResult // the function that is being checked
	notingIn  *Info
	resolving int  // imports that are being resolved: resolution is repeated instead of recorded
	quiet     bool // the name may not exist
	ofImports diag.List
	allUses   map[*Info][]*importEntry

	left map[*Info][]*Function // functions to check, in files whose bodies were reused
}

// reusedBodies is how many of a file's functions have been reused.
type reusedBodies struct {
	found []*bodyResult
	next  int
}

// Bodies returns the results for function bodies, for Config.Bodies of the next check.
func (p *Program) Bodies() *Bodies { return p.checker.bodies.now }

// prepareBodies decides which results can be reused, after everything outside bodies is checked,
// and creates the tables of the other files.
func (c *checker) prepareBodies() {
	c.findReused()
	for _, i := range c.bodies.own {
		if c.bodies.reused[i] == nil {
			i.fill()
		}
	}
}

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
	if before == nil { // a caller that needs the results passes an empty Bodies at first
		return
	}
	for _, i := range w.own {
		w.now.own = append(w.now.own, i.File)
	}
	if !c.canReuse() || c.ownLines() <= c.cfg.Most {
		return
	}
	w.now.older = before.withoutOlder()
	for _, b := range []*Bodies{before, before.older} {
		if b == nil || b.whole || !b.matches(w.now) {
			continue
		}
		if b == before {
			w.now.older = before.older
		}
		w.findReusable(b, func(*ast.File, []*bodyResult) bool { return false })
		return
	}
	if before.whole || !reflect.DeepEqual(before.around, w.now.around) {
		return
	}
	if e := surface.Compare(before.own, w.now.own); e != nil {
		w.findReusable(before, func(f *ast.File, found []*bodyResult) bool { return mayAffect(e, f, found) })
	}
}

// withoutOlder returns a copy without older.
func (b *Bodies) withoutOlder() *Bodies {
	out := *b
	out.older = nil
	return &out
}

// canReuse reports whether there are results to reuse.
func (c *checker) canReuse() bool {
	return c.cfg.Bodies != nil && len(c.cfg.Bodies.files) > 0 && c.cfg.Most > 0
}

// findReusable finds the files whose bodies need no check: the unchanged ones, except those that a
// change affects.
func (w *bodyWork) findReusable(before *Bodies, touched func(*ast.File, []*bodyResult) bool) {
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
		if ok && !slices.ContainsFunc(found, func(f *bodyResult) bool { return f.declares || f.mentions(removed) }) && !touched(i.File, found) {
			w.reused[i] = &reusedBodies{found: found}
		}
	}
}

// bodyConfig returns the parts of the configuration that affect the results.
func (cfg *Config) bodyConfig() Config {
	return Config{Name: cfg.Name, Library: cfg.Library, Manifest: cfg.Manifest, Dir: cfg.Dir, Most: cfg.Most, Tests: cfg.Tests, AnyConnection: cfg.AnyConnection}
}

// matches reports whether two checks are of the same program with the same surfaces.
func (b *Bodies) matches(o *Bodies) bool {
	return reflect.DeepEqual(b.around, o.around) && slices.EqualFunc(b.own, o.own, func(x, y *ast.File) bool {
		return x == y || x.Source.Name == y.Source.Name && surface.Of(x) == surface.Of(y)
	})
}

// mentions reports whether a diagnostic refers to one of the given texts.
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

// functionBody checks a function, or reuses its results.
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

// replayBody repeats the side effects of checking a function, without filling the tables.
func (c *checker) replayBody(fn *Function, f *bodyResult) {
	fn.checked = true
	for _, file := range f.library {
		c.libraryModule(file)
	}
	for _, u := range f.imports {
		im := c.bodies.allUses[c.bodies.own[u.file]][u.number]
		im.used = im.used || u.used
		c.resolveImport(im)
	}
	for _, u := range f.uses {
		c.uses.note(fn.mod, c.bodies.own[u.file], u.at)
	}
	for _, d := range f.diags {
		c.diags.Add(d)
	}
	if len(f.unread) > 0 {
		c.unread = append(c.unread, unreadVariable{found: f})
	}
	c.bodies.now.files[fn.Info.File] = append(c.bodies.now.files[fn.Info.File], f)
}

// noteDiagnostic records a diagnostic of a body.
func (w *bodyWork) noteDiagnostic(m *module, d *diag.Diagnostic) {
	switch {
	case w.noting == nil || w.resolving > 0:
	case m.info != w.notingIn:
		w.now.whole = true // only the first body reports it
	default:
		w.noting.diags = append(w.noting.diags, d)
	}
}

// noteImport records that an import is looked up.
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

// noteFileUse records that a declaration of another file is used.
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

// noteLibrary records that a file of the library is used.
func (w *bodyWork) noteLibrary(f *ast.File) {
	if w.noting != nil && w.resolving == 0 && !slices.Contains(w.noting.library, f) {
		w.noting.library = append(w.noting.library, f)
	}
}

// noteSite records a position whose meaning is decided after all bodies are checked.
func (w *bodyWork) noteSite(s *site) {
	if s.bound != nil && len(s.bound.Args) > 0 {
		w.now.whole = true
	}
}

// Complete fills the tables of a file whose bodies were reused. It must not be called concurrently
// for one program.
func (p *Program) Complete(i *Info) { p.completeFunctions(i, func(*Function) bool { return true }) }

// completeFunctions is Complete for some of the functions.
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
	c.cfg.Stopped = nil // the check is done
	unread := c.unread
	for _, fn := range now {
		c.checkFunction(fn)
	}
	c.unread = unread
}

// ReusedBodies returns the number of bodies that the check has reused.
func (p *Program) ReusedBodies() (n int) {
	for _, t := range p.checker.bodies.reused {
		n += t.next
	}
	return n
}

// HasReusedBodies reports whether the results for the bodies of a file were reused.
func (p *Program) HasReusedBodies(i *Info) bool { return p.checker.bodies.reused[i] != nil }

// mayAffect reports whether an edit can change the meaning of a file's bodies.
func mayAffect(e *surface.Edit, f *ast.File, found []*bodyResult) bool {
	var imports []int
	for _, b := range found {
		if len(b.diags) > 0 {
			return true // a diagnostic may suggest any name
		}
		for _, u := range b.imports {
			imports = append(imports, u.file)
		}
	}
	return e.MayAffect(f, imports)
}
