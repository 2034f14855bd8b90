package sema

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
	"github.com/concerto-lang/concerto/sema/surface"
)

// checker is the state of one call of Check.
type checker struct {
	cfg      Config
	prog     *Program
	diags    diag.List
	entry    *module
	conforms conformance
	lib      libraryUse
	bodies   bodyWork

	configs []func()            // checks of constants in declarations; they run when all names are known
	decls   []*types.Decl       // types that the program declares
	places  map[storePlace]bool // places of stores in files
	special specialiser
	unread  []unreadVariable
	raised  []raisedError
	catches bool   // a function of the program catches errors
	vars    int    // number of inference variables
	flawed  bool   // a file has syntax errors
	folding string // field of a declaration whose value is being computed, or ""
	lost    map[*Info][]surface.Loss

	packages map[*Package]*module // root modules of the packages

	uses  fileUses
	index declIndex
}

// libraryUse describes the part of the library that the program uses.
type libraryUse struct {
	library    map[*ast.File]*module
	pending    []*Function // functions whose bodies have not been checked
	candidates candidateNames
	stdIndex   map[stdName][]string // modules of std that contain an item, by the item; computed when needed
}

// entity is the declaration to which a name of a module refers.
type entity struct {
	name string
	mod  *module
	at   source.Span
	decl ast.Decl
	obj  Object

	typ     *types.Decl
	alias   *aliasDecl
	builtin types.Type // built-in type, for example of the name Int
	refused bool       // the declaration has errors, so its uses report no further errors
	pub     bool

	module   *module      // module that a `mod` declares
	imported *importEntry // import of a `use`; follow resolves it
	trait    *traitDecl
}

type aliasDecl struct {
	decl    *ast.TypeDecl
	params  []*types.Param
	typ     types.Type
	pending bool
}

// impl is one impl block. It contains methods of the type target.
type impl struct {
	mod      *module
	decl     *ast.ImplDecl
	generics []*types.Param
	target   types.Type
	methods  map[string]*Function
	order    []*Function

	trait     *traitDecl   // trait that the block implements; nil in an inherent impl
	args      []types.Type // type arguments of the trait
	traitArgs map[*types.Param]types.Type
}

func newChecker(cfg Config) *checker {
	c := &checker{
		cfg:      cfg,
		conforms: conformance{impls: map[any][]*impl{}, refused: map[string]bool{}, traits: map[*types.Trait]*traitDecl{}},
		lib:      libraryUse{library: map[*ast.File]*module{}},
		uses:     fileUses{first: map[*Info]map[*Info]reference{}},
	}
	c.bodies.now = &Bodies{around: cfg.bodyConfig(), files: map[*ast.File][]*bodyResult{}}
	c.bodies.allUses = map[*Info][]*importEntry{}
	c.special.clear()
	c.prog = &Program{Name: cfg.Name, checker: c}
	return c
}

// program checks the whole program in phases: names, types of declarations, constants, bodies, and
// then the library functions that the bodies use.
func (c *checker) program(files []*ast.File) {
	var roots []*module
	for _, f := range files {
		m := c.newModule(f, false)
		c.entry = cmp.Or(c.entry, m)
		m.unit = &unit{nil, c.cfg.Open, c.cfg.Deps}
		c.declareRoot(m)
		c.declareTests(m, "")
		roots = append(roots, m)
	}
	if c.entry == nil {
		return
	}
	roots = append(c.declarePackages(), roots...)
	c.findReused()
	for _, m := range roots {
		c.define(m)
	}
	for i := 0; i < len(c.configs); i++ {
		c.configs[i]()
	}
	for _, p := range c.prog.Pipelines { // pipelines come first, because bodies may use their inferred results
		c.checkPipeline(p)
	}
	c.lib.candidates.settled = true
	c.prepareBodies()
	for i := 0; i < len(c.prog.Functions); i++ { // functions in blocks are added during the loop
		c.functionBody(c.prog.Functions[i])
	}
	c.drainLibrary()
	c.specialise()
	c.checkTests()
	c.unreadVariables()
	c.uncaughtErrors()
	c.reportEndless()
	c.checkMain()
	for _, m := range roots { // unused imports are resolved here, so that their errors are reported
		c.warnUnusedImports(m)
	}
	c.dropUncertainImports()
	c.fileCycles()
}

// drainLibrary checks the bodies of the library functions that the program uses. These bodies may
// use further library functions.
func (c *checker) drainLibrary() {
	if c.diags.HasErrors() {
		return // no code will be generated, and a suggestion may have loaded functions that the program does not use
	}
	if c.cfg.LibraryBodiesUpToLines != 0 && c.prog.OwnLines() > c.cfg.LibraryBodiesUpToLines {
		c.prog.Partial = true
		return
	}
	for len(c.lib.pending) > 0 {
		fn := c.lib.pending[0]
		c.lib.pending = c.lib.pending[1:]
		c.prog.Functions = append(c.prog.Functions, fn)
		c.checkFunction(fn)
		if fn.Name == streamed {
			c.decorateStreams()
		}
	}
}

// OwnLines returns the number of lines in the program's files without the library.
func (p *Program) OwnLines() (n int) {
	for _, f := range p.Files {
		if !f.Library {
			n += f.File.Source.Lines()
		}
	}
	return n
}

func (c *checker) newModule(f *ast.File, library bool) *module {
	m := &module{info: c.newInfo(f, library), names: make(map[string]*entity, len(f.Decls)), dir: c.cfg.Dir}
	c.prog.Files = append(c.prog.Files, m.info)
	c.flawed = c.flawed || len(f.Flaws) > 0
	return m
}

// report adds a diagnostic for the file of m. An error in the library is a bug of the toolchain;
// the diagnostic then contains the position in the library.
func (c *checker) report(m *module, d *diag.Diagnostic) {
	if c.isNoise(m, d) {
		return
	}
	if d.File == nil {
		d.File = m.info.File.Source
	}
	for i := range d.Labels {
		if d.Labels[i].File == nil {
			d.Labels[i].File = d.File
		}
	}
	if d.Severity() == diag.Warning && (m.info.Library || m.info.pkg != nil || m.info.isAllowed(d)) {
		return
	}
	c.dropFixes(d)
	c.diags.Add(d)
	c.bodies.noteDiagnostic(m, d)
}

// libraryModule returns the module of a library file. The first use of the file declares the
// module.
func (c *checker) libraryModule(f *ast.File) *module {
	if f == nil {
		return nil
	}
	c.bodies.noteLibrary(f)
	if m := c.lib.library[f]; m != nil {
		return m
	}
	m := c.newModule(f, true)
	c.lib.library[f] = m
	c.declareNames(m, f.Decls)
	c.define(m)
	return m
}

// lookup finds a name in a module, in the enclosing blocks, or in the prelude. The result may be an
// entity whose declaration has errors.
func (c *checker) lookup(m *module, name string) *entity {
	if e := c.findDeclared(m, name); e != nil {
		return e
	}
	return c.universe(m, name)
}

// lookupValue finds a name that is used as a value. Modules are in a separate namespace, so they do
// not hide values of the prelude: `env("A")` works next to `env::get`.
func (c *checker) lookupValue(m *module, name string) *entity {
	e := c.lookup(m, name)
	if e != nil && e.module != nil {
		if v := c.universe(m, name); v != nil && v.obj != nil {
			return v
		}
	}
	return e
}

// findDeclared finds a name that the program declares or imports. It ignores the prelude.
func (c *checker) findDeclared(m *module, name string) *entity {
	for scope := m; scope != nil; scope = scope.around {
		e := scope.names[name]
		if e == nil {
			e = c.fromGlobs(scope, name)
		}
		if e == nil {
			continue
		}
		if target := c.followImports(e); target != nil {
			return target
		}
		return &entity{name: name, refused: true}
	}
	return nil
}

// newVar returns a new inference variable.
func (c *checker) newVar() *types.Var {
	c.vars++
	return &types.Var{ID: c.vars}
}

func (c *checker) checkMain() {
	e := c.entry.names["main"]
	if e == nil {
		return
	}
	fn, ok := e.obj.(*Function)
	if !ok {
		return
	}
	c.prog.Main = fn
	switch {
	case len(fn.Params) == 0:
	case len(fn.Params) > 1 || !fn.Params[0].isText():
		c.report(c.entry, diag.MainSignature.At(fn.Decl.Signature, "`main` takes no parameters, except `task: String`").
			WithFixes(edits.ReadArguments(fn.Decl)...).Hint("read the arguments with `std::env::args()`"))
	case fn.Params[0].Name != "task":
		p := fn.Params[0]
		c.report(c.entry, diag.MainSignature.At(p.At, "the parameter of `main` has the name `task`").
			Hint("name it `task`: it is the text of `concerto run \"…\"`"))
	}
}

// TaskIsRequired reports whether main has a parameter for the task of the run that has neither a
// default nor an optional type.
func (fn *Function) TaskIsRequired() bool { return len(fn.Params) > 0 && !fn.isOptional(fn.Params[0]) }

// isText reports whether p is a String or an optional one.
func (p *Param) isText() bool {
	t := types.Resolve(p.Type)
	if o, ok := t.(*types.Option); ok {
		t = types.Resolve(o.Elem)
	}
	return t == types.String || t == types.Bad
}

// count returns a number with a noun, such as "1 argument" or "2 arguments".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// countBetween returns a range of numbers with a noun, such as "2 arguments", "1 to 3 arguments" or
// "at most 1 argument".
func countBetween(least, most int, noun string) string {
	switch {
	case most == 0:
		return "no " + noun + "s"
	case least == most:
		return count(most, noun)
	case least == 0:
		return "at most " + count(most, noun)
	}
	return fmt.Sprintf("%d to %d %ss", least, most, noun)
}

// quotedNames returns a text such as "`a`, `b` and `c`".
func quotedNames(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "`" + n + "`"
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " and " + quoted[len(quoted)-1]
}
