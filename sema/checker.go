package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
	"github.com/concerto-lang/concerto/sema/surface"
)

// checker holds one run of Check.
type checker struct {
	cfg      Config
	prog     *Program
	diags    diag.List
	entry    *module
	conforms conformance
	lib      libraryUse
	bodies   bodyWork

	configs []func()            // checks of constants in declarations, run when all names are known
	decls   []*types.Decl       // declared by the program
	places  map[storePlace]bool // of stores in files
	special specialiser
	unread  []unreadVariable
	vars    int    // the number of inference variables
	flawed  bool   // a file has syntax errors
	folding string // the field of a declaration whose value is computed, or ""
	lost    map[*Info][]surface.Loss

	uses  fileUses
	index declIndex
}

// libraryUse is the part of the library that the program uses.
type libraryUse struct {
	library    map[*ast.File]*module
	pending    []*Function // functions whose bodies are not checked yet
	candidates candidateNames
	stdIndex   map[stdName][]string // the modules of std by their items, computed on demand
}

// entity is what a name of a module refers to: a value (Object), or a type.
type entity struct {
	name string
	mod  *module
	at   source.Span
	decl ast.Decl
	obj  Object

	typ     *types.Decl
	alias   *aliasDecl
	builtin types.Type // a basic type of the universe
	refused bool       // its error is reported: uses report no further ones
	pub     bool

	module   *module      // of a `mod`
	imported *importEntry // of a `use`: resolve it with follow
	trait    *traitDecl
}

type aliasDecl struct {
	decl    *ast.TypeDecl
	params  []*types.Param
	typ     types.Type
	pending bool
}

// impl is one impl block: methods for a target type.
type impl struct {
	mod      *module
	decl     *ast.ImplDecl
	generics []*types.Param
	target   types.Type
	methods  map[string]*Function
	order    []*Function

	trait     *traitDecl   // nil for an inherent impl
	args      []types.Type // of the trait
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

// program checks everything: names first, then types of declarations, then constants, then bodies,
// then the library functions that they use.
func (c *checker) program(files []*ast.File) {
	for i, f := range files {
		m := c.newModule(f, false)
		if i == 0 {
			c.entry = m
		}
		c.declare(m)
	}
	if c.entry == nil {
		return
	}
	for i := 0; i < len(c.configs); i++ {
		c.configs[i]()
	}
	for _, p := range c.prog.Pipelines { // first, because their results may be inferred
		c.checkPipeline(p)
	}
	c.lib.candidates.settled = true
	c.prepareBodies()
	for i := 0; i < len(c.prog.Functions); i++ { // blocks add the functions they declare
		c.functionBody(c.prog.Functions[i])
	}
	c.drainLibrary()
	c.specialise()
	c.checkTests()
	c.unreadVariables()
	c.reportEndless()
	c.checkMain()
	c.warnUnusedImports(c.entry)
	c.dropUncertainImports()
	c.fileCycles()
}

// drainLibrary checks the bodies of used library functions, which may use further ones.
func (c *checker) drainLibrary() {
	if c.diags.HasErrors() {
		return // no code is generated, and suggestions may have loaded functions that the program does not use
	}
	if c.cfg.Most > 0 && c.ownLines() > c.cfg.Most {
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

// ownLines returns the number of lines in the program's own files.
func (c *checker) ownLines() (n int) {
	for _, f := range c.prog.Files {
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
	c.allowances(m)
	return m
}

// report adds a diagnostic of m's file. An error in the library is a bug of the toolchain, and is
// reported with its position as well.
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
	if d.Severity() == diag.Warning && (m.info.Library || m.info.isAllowed(d)) {
		return
	}
	c.diags.Add(d)
	c.bodies.noteDiagnostic(m, d)
}

// libraryModule returns the module of a library file, and declares it at its first use.
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
	c.declare(m)
	return m
}

// lookup finds a name in a module, in the blocks around it, then in the prelude. The entity may be
// refused.
func (c *checker) lookup(m *module, name string) *entity {
	if e := c.findDeclared(m, name); e != nil {
		return e
	}
	return c.universe(m, name)
}

// lookupValue is lookup for a value: modules have their own namespace, and do not hide names of the
// prelude (`env("A")` next to `env::get`).
func (c *checker) lookupValue(m *module, name string) *entity {
	e := c.lookup(m, name)
	if e != nil && e.module != nil {
		if v := c.universe(m, name); v != nil && v.obj != nil {
			return v
		}
	}
	return e
}

// findDeclared finds a name that the user's program declares or imports.
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
	if len(fn.Params) > 0 {
		c.report(c.entry, diag.MainSignature.At(fn.Decl.Signature, "`main` takes no parameters").
			WithFixes(edits.ReadArguments(fn.Decl)...).Hint("read the arguments with `std::env::args()`"))
	}
}
