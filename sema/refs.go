package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema/surface"
)

// Refs returns the names in a file of the program, in the order of the text. It completes the
// tables of the file, and resolves names that are not in the tables. It must not be called
// concurrently for the same program.
func (p *Program) Refs(i *Info) []Ref {
	p.Complete(i)
	return p.refsOf(i, i.File.Decls)
}

// RefsIn returns the names in some declarations of a file, as Refs does. The function argument
// selects the declarations by their text. If the file's bodies were reused (see Bodies), RefsIn
// checks only those of the selected declarations.
func (p *Program) RefsIn(i *Info, wanted func(text []byte) bool) []Ref {
	var in []ast.Decl
	for _, d := range i.File.Decls {
		if wanted(i.File.Source.Text[surface.Start(d):d.Span().End]) {
			in = append(in, d)
		}
	}
	p.completeFunctions(i, func(fn *Function) bool {
		return slices.ContainsFunc(in, func(d ast.Decl) bool { return d.Span().Contains(fn.Decl.Sp) })
	})
	return p.refsOf(i, in)
}

func (p *Program) refsOf(i *Info, in []ast.Decl) []Ref {
	r := &refs{c: p.checker, info: i}
	r.m = r.c.moduleOf(i)
	if r.m == nil {
		return nil
	}
	defer r.c.muteDiagnostics()()
	for _, d := range in {
		r.visit(d)
	}
	slices.SortStableFunc(r.out, func(a, b Ref) int { return int(a.At.Start - b.At.Start) })
	return r.out
}

// muteDiagnostics makes the checker discard diagnostics until the returned function is called.
func (c *checker) muteDiagnostics() func() {
	saved := c.diags
	c.diags = diag.List{}
	return func() { c.diags = saved }
}

// declIndex finds the module of a file and the function of a declaration. Queries use it after the
// check.
type declIndex struct {
	files     map[*Info]*module // module of each file
	functions map[*ast.FnDecl]*Function
	noted     int // number of the program's functions that the index contains
}

// moduleOf returns the module of a file, or nil if the file is not part of the program.
func (c *checker) moduleOf(i *Info) *module {
	if i.Library {
		return c.lib.library[i.File]
	}
	if c.index.files == nil && c.entry != nil {
		c.index.files = map[*Info]*module{}
		c.index.noteFiles(c.entry)
		for _, m := range c.packages {
			c.index.noteFiles(m)
		}
	}
	return c.index.files[i]
}

// noteFiles adds m and its inner modules that are files to the index.
func (x *declIndex) noteFiles(m *module) {
	if x.files[m.info] == nil {
		x.files[m.info] = m
	}
	for _, in := range []map[string]*entity{m.names, m.mods} {
		for _, e := range in {
			if e.module != nil && e.module.parent == m {
				x.noteFiles(e.module)
			}
		}
	}
}

// refs is the state of collecting the names in a file.
type refs struct {
	c    *checker
	info *Info
	m    *module // current module
	out  []Ref

	params []*Def // type parameters in scope; the innermost are last
	labels []*Def
	self   []types.Type // types to which Self refers; the innermost is last
	owner  string       // type, tool or trait whose members are being visited
}

func (r *refs) add(at *ast.Ident, def *Def) *Ref {
	if at == nil || at.Missing() || def == nil {
		return &Ref{}
	}
	r.out = append(r.out, Ref{At: at.Sp, Def: def})
	return &r.out[len(r.out)-1]
}

// declare adds the name in a declaration.
func (r *refs) declare(at *ast.Ident, def *Def) {
	if at != nil && !at.Missing() && def != nil {
		def.Info, def.At = r.info, at.Sp
		r.add(at, def).Decl = true
	}
}

func (r *refs) children(n ast.Node) { ast.Children(n, r.visit) }

func (r *refs) visit(n ast.Node) {
	switch n := n.(type) {
	case ast.Decl:
		r.decl(n)
	case ast.Expr:
		r.expr(n)
	case ast.Pattern:
		r.pattern(n)
	case *ast.NamedType:
		r.namedType(n)
	case *ast.Block:
		r.block(n)
	case *ast.Decorator:
		r.add(n.Name, &Def{Kind: DefDecorator, Name: n.Name.Name})
		r.visitEach(n.Args)
	case *ast.Arg:
		r.visitOptional(n.Value)
	case *ast.Param:
		r.param(n, nil)
	case *ast.TypeParam:
		def := &Def{Kind: DefTypeParam, Name: n.Name.Name, Node: n}
		r.declare(n.Name, def)
		r.params = append(r.params, def)
		for _, b := range n.Bounds {
			r.namedType(b)
		}
	case *ast.ConfigField:
		r.visitOptional(n.Value)
	case *ast.Stage:
		r.stage(n)
	case *ast.Variant:
		r.variant(n)
	case *ast.FieldDecl:
		r.declare(n.Name, fieldDeclDef(r.info, n, r.owner))
		r.visitEach(n.Decorators)
		r.visitOptional(n.Type)
		r.visitOptional(n.Default)
	case *ast.MockStmt:
		r.add(n.Name, r.c.entityDef(r.lookup(n.Name.Name)))
		for _, f := range n.Fields {
			r.visitOptional(f.Value)
		}
	case *ast.Ident: // names in text that could not be parsed
	default:
		r.children(n)
	}
}

// visitOptional visits a node that may be nil.
func (r *refs) visitOptional(n ast.Node) {
	if n != nil && !isNilNode(n) {
		r.visit(n)
	}
}

func isNilNode(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Block:
		return n == nil
	case *ast.StringLit:
		return n == nil
	case *ast.PathExpr:
		return n == nil
	}
	return false
}

func (r *refs) visitEach(ns any) {
	switch ns := ns.(type) {
	case []*ast.Decorator:
		for _, n := range ns {
			r.visit(n)
		}
	case []*ast.Arg:
		for _, n := range ns {
			r.visit(n)
		}
	}
}

// lookup returns the entity of a name in the enclosing modules, or nil.
func (r *refs) lookup(name string) *entity {
	if name == "" {
		return nil
	}
	return r.c.lookupValue(r.m, name)
}

// prefixOf returns the entity to which the segments of a path refer, or nil.
func (r *refs) prefixOf(segs []*ast.Ident) *entity {
	for _, s := range segs {
		if s.Missing() {
			return nil
		}
	}
	if len(segs) == 1 && segs[0].Name != "super" && segs[0].Name != "std" {
		if e := r.c.hiddenModule(r.m, segs[0].Name); e != nil {
			return e
		}
		e := r.c.lookup(r.m, segs[0].Name)
		if e == nil {
			e = r.c.rootModule(r.m, segs[0])
		}
		if e == nil {
			e = r.c.packageNamed(r.m, segs[0].Name)
		}
		return e
	}
	if len(segs) == 1 && segs[0].Name == "std" {
		return nil
	}
	if len(segs) == 2 && segs[0].Name == "std" {
		return r.c.stdPath(r.m, segs, true)
	}
	e, i := r.c.prefix(r.m, segs, len(segs))
	if i < len(segs) {
		return nil
	}
	return e
}

// namedType adds the names in a type or in the name of a trait.
func (r *refs) namedType(t *ast.NamedType) {
	n := len(t.Segments)
	for i := range n - 1 {
		r.add(t.Segments[i], r.c.entityDef(r.prefixOf(t.Segments[:i+1])))
	}
	if n == 1 {
		r.add(t.Segments[0], r.typeNamed(t.Segments[0].Name))
	} else if n > 1 {
		r.add(t.Segments[n-1], r.c.entityDef(r.prefixOf(t.Segments)))
	}
	for _, a := range t.Args {
		r.visitOptional(a)
	}
}

func (r *refs) typeNamed(name string) *Def {
	if name == "Self" {
		return r.selfDef()
	}
	for i := len(r.params) - 1; i >= 0; i-- {
		if r.params[i].Name == name {
			return r.params[i]
		}
	}
	if e := r.c.findDeclared(r.m, name); e != nil {
		return r.c.entityDef(e)
	}
	if _, ok := constructors[name]; ok {
		return &Def{Kind: DefBuiltin, Name: name}
	}
	if name == "" {
		return nil
	}
	return r.c.entityDef(r.c.universe(r.m, name))
}

// selfDef returns the Def of the type to which Self refers.
func (r *refs) selfDef() *Def {
	if len(r.self) == 0 {
		return nil
	}
	return r.c.ownerDef(r.self[len(r.self)-1])
}

// ownerDef returns the Def of the declaration of a type.
func (c *checker) ownerDef(t types.Type) *Def {
	switch x := types.Resolve(t).(type) {
	case *types.Named:
		return c.typeDef(x.Decl)
	case *types.Declared:
		if o, ok := x.Origin.(Object); ok {
			return c.objectDef(nil, o)
		}
	}
	return nil
}

// param adds a parameter of a function or closure. l is the parameter's variable.
func (r *refs) param(n *ast.Param, l *Local) {
	r.visitEach(n.Decorators)
	if n.Name != nil {
		def := &Def{Kind: DefParam, Name: n.Name.Name, Node: n}
		if l != nil {
			def.Object, def.Type = l, l.Type
		} else if n.Type != nil {
			def.Type = r.info.Written(n.Type)
		} else if n.IsSelf && len(r.self) > 0 {
			def.Type = r.self[len(r.self)-1]
		}
		r.declare(n.Name, def)
	}
	r.visitOptional(n.Pattern)
	r.visitOptional(n.Type)
	r.visitOptional(n.Default)
}

// block visits a block. The declarations in a block are visible in the whole block.
func (r *refs) block(b *ast.Block) {
	if b == nil {
		return
	}
	outer := r.m
	if m := r.info.blocks[b]; m != nil {
		r.m = m
	}
	r.children(b)
	r.m = outer
}

// withScope calls visit for code with its own type parameters, labels and Self.
func (r *refs) withScope(owner string, self types.Type, visit func()) {
	params, selves, was := len(r.params), len(r.self), r.owner
	r.owner = owner
	if self != nil {
		r.self = append(r.self, self)
	}
	visit()
	r.params, r.self, r.owner = r.params[:params], r.self[:selves], was
}

// decl adds the names in a declaration.
func (r *refs) decl(d ast.Decl) {
	h := d.Head()
	r.visitEach(h.Decorators)
	switch d := d.(type) {
	case *ast.ModDecl:
		r.mod(d)
		return
	case *ast.UseDecl:
		if d.Tree != nil {
			r.use(d.Tree, nil)
		}
		return
	case *ast.ImplDecl:
		r.impl(d)
		return
	case *ast.BadDecl:
		return
	default: // the others have a head and parts
	}
	if h.Name == nil {
		return
	}
	def := r.declaredDef(d)
	r.declare(h.Name, def)
	r.withScope(h.Name.Name, r.selfOf(d, def), func() { r.visitParts(d) })
}

// declaredDef returns the Def of a declaration, even if the declaration has errors.
func (r *refs) declaredDef(d ast.Decl) *Def {
	if e := r.m.names[d.Head().Name.Name]; e != nil && e.decl == d {
		if def := r.c.entityDef(e); def != nil {
			return def
		}
	}
	def := declDef(r.info, d, nil)
	if fn, isFn := d.(*ast.FnDecl); isFn && r.owner != "" {
		def.Kind, def.Owner = DefMethod, r.owner
		if o := r.c.functionOf(fn); o != nil {
			def.Object = o
		}
	}
	return def
}

func (r *refs) selfOf(d ast.Decl, def *Def) types.Type {
	switch d.(type) {
	case *ast.ToolDecl:
		if t, ok := def.Object.(*Tool); ok {
			return t.Type
		}
	case *ast.TraitDecl:
		if e := r.m.names[def.Name]; e != nil && e.trait != nil {
			return e.trait.self
		}
	default: // the others have no type of self, or their parts have their own
	}
	return nil
}

// visitParts visits the parts of a declaration except its name and its decorators.
func (r *refs) visitParts(d ast.Decl) {
	h := d.Head()
	switch d := d.(type) {
	case *ast.AgentDecl:
		r.add(d.Uses, namedDef(DefConnection, d.Uses))
		for _, f := range d.Fields {
			r.visitOptional(f.Value)
		}
		return
	case *ast.HostDecl:
		for _, f := range d.Fields {
			if w, ok := f.Value.(*ast.PathExpr); ok && f.Name.Name == "connector" && len(w.Segments) == 1 {
				r.add(w.Segments[0], namedDef(DefConnector, w.Segments[0]))
				continue
			}
			r.visitOptional(f.Value)
		}
		return
	case *ast.FnDecl:
		r.function(d)
		return
	default: // the others have no parts with names of their own
	}
	ast.Children(d, func(n ast.Node) {
		if n == ast.Node(h.Name) {
			return
		}
		if _, isDecorator := n.(*ast.Decorator); isDecorator {
			return
		}
		r.visit(n)
	})
}

func namedDef(k DefKind, id *ast.Ident) *Def {
	if id == nil {
		return nil
	}
	return &Def{Kind: k, Name: id.Name}
}

func (r *refs) function(d *ast.FnDecl) {
	owner := r.owner
	r.owner = ""
	for _, g := range d.Generics {
		r.visit(g)
	}
	for _, p := range d.Params {
		r.param(p, r.c.variableOf(d, p))
	}
	r.visitOptional(d.Result)
	r.block(d.Body)
	r.owner = owner
}

// variableOf returns the variable of a function's parameter. It returns nil if the function is
// unknown because of an error.
func (c *checker) variableOf(d *ast.FnDecl, p *ast.Param) *Local {
	if fn := c.functionOf(d); fn != nil && p.Name != nil {
		for _, x := range fn.Params {
			if x.Local != nil && x.Local.At == p.Name.Sp {
				return x.Local
			}
		}
	}
	return nil
}

// functionOf returns the function of a declaration, or nil if the declaration has an error.
func (c *checker) functionOf(d *ast.FnDecl) *Function {
	c.index.noteFunctions(c.prog.Functions)
	return c.index.functions[d]
}

// noteFunctions adds functions of the program to the index that it does not yet contain.
func (x *declIndex) noteFunctions(all []*Function) {
	if x.functions == nil {
		x.functions = map[*ast.FnDecl]*Function{}
	}
	for ; x.noted < len(all); x.noted++ {
		if fn := all[x.noted]; !fn.instance && fn.Decl != nil {
			x.functions[fn.Decl] = fn
		}
	}
}

func (r *refs) mod(d *ast.ModDecl) {
	if d.Name == nil {
		return
	}
	e := r.m.moduleNamed(d.Name.Name)
	if e == nil || e.decl != ast.Decl(d) {
		return
	}
	def := r.c.entityDef(e)
	if !d.Inline {
		r.add(d.Name, def)
		return
	}
	r.declare(d.Name, def)
	if e.module == nil {
		return
	}
	outer := r.m
	r.m = e.module
	for _, x := range d.Decls {
		r.visit(x)
	}
	r.m = outer
}

// use adds the names in an import. before is the path before t.
func (r *refs) use(t *ast.UseTree, before []*ast.Ident) {
	full := append(before[:len(before):len(before)], t.Path...)
	for i := len(before); i < len(full); i++ {
		if full[i].Missing() || full[i].Name == "self" || full[i].Name == "super" || i == 0 && full[i].Name == "std" {
			continue
		}
		r.add(full[i], r.c.entityDef(r.c.followImports(r.c.importPath(r.m, full[:i+1]))))
	}
	if t.Alias != nil && len(full) > 0 && !full[len(full)-1].Missing() {
		r.add(t.Alias, r.c.entityDef(r.c.followImports(r.c.importPath(r.m, full))))
	}
	for _, sub := range t.List {
		r.use(sub, full)
	}
}

func (r *refs) impl(d *ast.ImplDecl) {
	r.withScope("", nil, func() {
		for _, g := range d.Generics {
			r.visit(g)
		}
		r.visitOptional(d.Trait)
		r.visitOptional(d.Target)
		var self types.Type
		if d.Target != nil {
			self = r.info.Written(d.Target)
		}
		owner := ""
		if n, ok := d.Target.(*ast.NamedType); ok && len(n.Segments) > 0 {
			owner = n.Segments[len(n.Segments)-1].Name
			if t, ok := r.targetObject(n); self == types.Bad && ok {
				self = t
			}
		}
		r.withScope(owner, self, func() {
			for _, fn := range d.Methods {
				r.method(fn, owner)
			}
		})
	})
}

// targetObject returns the type of the agent, host or tool that is the target of an impl. It
// returns false for other targets.
func (r *refs) targetObject(n *ast.NamedType) (types.Type, bool) {
	if len(n.Segments) != 1 {
		return nil, false
	}
	e := r.c.findDeclared(r.m, n.Segments[0].Name)
	if e == nil || e.obj == nil {
		return nil, false
	}
	t := declaredType(e.obj)
	return t, t != nil
}

func (r *refs) method(d *ast.FnDecl, owner string) {
	if d.Name == nil {
		return
	}
	r.visitEach(d.Decorators)
	def := declDef(r.info, d, nil)
	def.Kind, def.Owner = DefMethod, owner
	if o := r.c.functionOf(d); o != nil {
		def.Object = o
	}
	r.declare(d.Name, def)
	r.withScope(owner, nil, func() { r.function(d) })
}

func (r *refs) stage(n *ast.Stage) {
	r.visitEach(n.Decorators)
	def := &Def{Kind: DefStage, Name: n.Name.Name, Node: n, Owner: r.owner}
	for _, p := range r.c.prog.Pipelines {
		for _, s := range p.Stages {
			if s.Decl == n && s.Local != nil {
				def.Object, def.Type = s.Local, s.Local.Type
			}
		}
	}
	r.declare(n.Name, def)
	owner := r.owner
	r.owner = ""
	for _, p := range n.Params {
		r.param(p, nil)
	}
	r.visitOptional(n.Result)
	r.block(n.Body)
	r.visitOptional(n.Value)
	r.owner = owner
}

func (r *refs) variant(n *ast.Variant) {
	def := &Def{Kind: DefVariant, Name: n.Name.Name, Node: n, Owner: r.owner}
	if e := r.m.names[r.owner]; e != nil && e.typ != nil {
		if v := e.typ.Variant(n.Name.Name); v != nil {
			t := generic(e.typ)
			def.Type, def.Object = t, &VariantRef{Type: t, Name: v.Name, Index: v.Index, Variant: v}
		}
	}
	r.declare(n.Name, def)
	for _, t := range n.Types {
		r.visitOptional(t)
	}
	for _, f := range n.Fields {
		r.visit(f)
	}
}
