package sema

import (
	"reflect"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/surface"
)

// Bodies is what a check has found in the bodies of functions. A later check of the same program takes it
// over for the files that have not changed and that no edit of a surface elsewhere touches: what a body is
// checked against are surfaces. It holds nothing of the program itself, and is not changed once the check has
// ended.
type Bodies struct {
	around Config      // what of the configuration checking depends on
	own    []*ast.File // the program's own, in order
	files  map[*ast.File][]*inBody
	// whole says that what is in one body decides what is told of others, so that nothing may be
	// taken over.
	whole bool
	// older was found under other surfaces: what is missing of a declaration changes them for a while.
	older *Bodies
}

// inBody is what checking a function has told, and done besides filling the tables of its file, in the order
// in which it was done.
type inBody struct {
	told    []*diag.Diagnostic
	unread  []*diag.Diagnostic // of variables, told when all bodies are checked
	imports []importUse
	uses    []fileUse
	library []*ast.File
	// declares says that a block of it has declarations of its own.
	declares bool
}

// importUse is an import that was looked through.
type importUse struct {
	file, number int  // of the file, and of the import in it
	used         bool // what it brings in was wanted
}

// fileUse is the first place in which something of a file, by its number, is named.
type fileUse struct {
	file int
	at   source.Span
}

// bodyWork is what a checker does about Bodies.
type bodyWork struct {
	taken  map[*Info]*taken // files whose bodies may be
	now    *Bodies
	own    []*Info // the program's files, before bodies are checked
	number map[*Info]int

	noting    *inBody // of the function that is being checked
	notingIn  *Info
	resolving int  // imports that are being resolved: what that does is done again, not noted
	quiet     bool // what is looked up may not be there
	ofImports diag.List
	allUses   map[*Info][]*importEntry

	left map[*Info][]*Function // whose bodies are yet to be checked, of files that were taken over
}

// taken is how far the functions of a file have been taken over.
type taken struct {
	found []*inBody
	next  int
}

// Bodies is what the check has found in bodies, for Config.Bodies of the next one.
func (p *Program) Bodies() *Bodies { return p.checker.bodies.now }

// prepareBodies looks what may be taken over, once all that is outside of bodies is checked, and makes the
// tables of the other files.
func (c *checker) prepareBodies() {
	c.findTaken()
	for _, i := range c.bodies.own {
		if c.bodies.taken[i] == nil {
			i.fill()
		}
	}
}

func (c *checker) findTaken() {
	w := &c.bodies
	w.number = map[*Info]int{}
	for _, i := range c.prog.Files {
		if !i.Library {
			w.number[i] = len(w.own)
			w.own = append(w.own, i)
		}
	}
	before := c.cfg.Bodies
	if before == nil { // whoever wants what was found gives an empty one to begin with
		return
	}
	for _, i := range w.own {
		w.now.own = append(w.now.own, i.File)
	}
	if !c.mayTakeOver() || c.ownLines() <= c.cfg.Most {
		return
	}
	w.now.older = before.alone()
	for _, b := range []*Bodies{before, before.older} {
		if b == nil || b.whole || !b.fits(w.now) {
			continue
		}
		if b == before {
			w.now.older = before.older
		}
		w.takeOver(b, func(*ast.File, []*inBody) bool { return false })
		return
	}
	if before.whole || !reflect.DeepEqual(before.around, w.now.around) {
		return
	}
	if e := surface.Compare(before.own, w.now.own); e != nil {
		w.takeOver(before, func(f *ast.File, found []*inBody) bool { return touched(e, f, found) })
	}
}

// alone is what was found without what is older.
func (b *Bodies) alone() *Bodies {
	out := *b
	out.older = nil
	return &out
}

// mayTakeOver says whether there is anything to be taken over.
func (c *checker) mayTakeOver() bool {
	return c.cfg.Bodies != nil && len(c.cfg.Bodies.files) > 0 && c.cfg.Most > 0
}

// takeOver finds the files whose bodies need no check: those that have not changed, but for the ones that are
// touched by what has.
func (w *bodyWork) takeOver(before *Bodies, touched func(*ast.File, []*inBody) bool) {
	current := map[*source.File]bool{}
	for _, i := range w.own {
		current[i.File.Source] = true
	}
	gone := map[*source.File]bool{}
	for _, f := range before.own {
		gone[f.Source] = !current[f.Source]
	}
	w.taken, w.left = map[*Info]*taken{}, map[*Info][]*Function{}
	for _, i := range w.own {
		found, ok := before.files[i.File]
		if ok && !slices.ContainsFunc(found, func(f *inBody) bool { return f.declares || f.names(gone) }) && !touched(i.File, found) {
			w.taken[i] = &taken{found: found}
		}
	}
}

// checkedWith is what of a configuration decides what is found.
func (cfg *Config) checkedWith() Config {
	return Config{Name: cfg.Name, Library: cfg.Library, Manifest: cfg.Manifest, Dir: cfg.Dir, Most: cfg.Most, Tests: cfg.Tests, AnyConnection: cfg.AnyConnection}
}

// fits says whether two checks are of one program, with the same surfaces.
func (b *Bodies) fits(o *Bodies) bool {
	return reflect.DeepEqual(b.around, o.around) && slices.EqualFunc(b.own, o.own, func(x, y *ast.File) bool {
		return x == y || x.Source.Name == y.Source.Name && surface.Of(x) == surface.Of(y)
	})
}

// names says whether what was told refers to a text of the given ones.
func (f *inBody) names(files map[*source.File]bool) bool {
	for _, list := range [][]*diag.Diagnostic{f.told, f.unread} {
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

// functionBody checks a function, or takes over what was found in it.
func (c *checker) functionBody(fn *Function) {
	w := &c.bodies
	if t := w.taken[fn.Info]; t != nil && t.next < len(t.found) {
		t.next++
		w.left[fn.Info] = append(w.left[fn.Info], fn)
		c.again(fn, t.found[t.next-1])
		return
	}
	if c.cfg.Bodies == nil {
		c.checkFunction(fn)
		return
	}
	w.noting, w.notingIn = &inBody{}, fn.Info
	c.checkFunction(fn)
	w.now.files[fn.Info.File] = append(w.now.files[fn.Info.File], w.noting)
	w.noting = nil
}

// again does what checking a function has done, but for the tables.
func (c *checker) again(fn *Function, f *inBody) {
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
	for _, d := range f.told {
		c.diags.Add(d)
	}
	if len(f.unread) > 0 {
		c.unread = append(c.unread, unread{found: f})
	}
	c.bodies.now.files[fn.Info.File] = append(c.bodies.now.files[fn.Info.File], f)
}

// noteTold notes what is told about a body.
func (w *bodyWork) noteTold(m *module, d *diag.Diagnostic) {
	switch {
	case w.noting == nil || w.resolving > 0:
	case m.info != w.notingIn:
		w.now.whole = true // it is told once, whoever comes first
	default:
		w.noting.told = append(w.noting.told, d)
	}
}

// noteImport notes that an import is looked through.
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

// noteFileUse notes that something of another file is named.
func (w *bodyWork) noteFileUse(m, in *module, at source.Span) {
	if w.noting == nil || w.resolving > 0 {
		return
	}
	n, known := w.number[in.info]
	if m.info != w.notingIn || !known {
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

// noteLibrary notes that a file of the library is looked at.
func (w *bodyWork) noteLibrary(f *ast.File) {
	if w.noting != nil && w.resolving == 0 && !slices.Contains(w.noting.library, f) {
		w.noting.library = append(w.noting.library, f)
	}
}

// noteSite notes a place of which it is decided when all bodies are checked what it means.
func (w *bodyWork) noteSite(s *site) {
	if s.bound != nil && len(s.bound.Args) > 0 {
		w.now.whole = true
	}
}

// Complete fills the tables of a file whose bodies were taken over. A program is asked by one goroutine at a
// time.
func (p *Program) Complete(i *Info) { p.complete(i, func(*Function) bool { return true }) }

// complete does so for some functions.
func (p *Program) complete(i *Info, wanted func(*Function) bool) {
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
	defer c.quietly()()
	c.cfg.Stopped = nil // the check has ended
	unread := c.unread
	for _, fn := range now {
		c.checkFunction(fn)
	}
	c.unread = unread
}

// TakenOver is how many bodies the check has taken over.
func (p *Program) TakenOver() (n int) {
	for _, t := range p.checker.bodies.taken {
		n += t.next
	}
	return n
}

// TookOver says whether what was found in the bodies of a file was taken over.
func (p *Program) TookOver(i *Info) bool { return p.checker.bodies.taken[i] != nil }

// touched reports whether bodies of a file may mean something else after an edit.
func touched(e *surface.Edit, f *ast.File, found []*inBody) bool {
	var imports []int
	for _, b := range found {
		if len(b.told) > 0 {
			return true // what is told may suggest any name
		}
		for _, u := range b.imports {
			imports = append(imports, u.file)
		}
	}
	return e.Touches(f, imports)
}
