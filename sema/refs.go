package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema/surface"
)

// Refs are the names in one of the program's files, in the order of the text. It
// completes the file's tables, and looks up once more what they do not hold; a program is asked by one
// goroutine at a time.
func (p *Program) Refs(i *Info) []Ref {
	p.Complete(i)
	return p.refsOf(i, i.File.Decls)
}

// RefsIn are the names in those of a file's declarations whose text is wanted, as Refs. Of the bodies that were
// taken over (see Bodies) it checks theirs alone.
func (p *Program) RefsIn(i *Info, wanted func(text []byte) bool) []Ref {
	var in []ast.Decl
	for _, d := range i.File.Decls {
		if wanted(i.File.Source.Text[surface.Start(d):d.Span().End]) {
			in = append(in, d)
		}
	}
	p.complete(i, func(fn *Function) bool {
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
	defer r.c.quietly()()
	for _, d := range in {
		r.visit(d)
	}
	slices.SortStableFunc(r.out, func(a, b Ref) int { return int(a.At.Start - b.At.Start) })
	return r.out
}

// quietly has nothing reported until the function that it gives is called.
func (c *checker) quietly() func() {
	saved := c.diags
	c.diags = diag.List{}
	return func() { c.diags = saved }
}

// moduleOf is the module of a file, nil when the file is none of the program.
func (c *checker) moduleOf(i *Info) *module {
	if i.Library {
		return c.library[i.File]
	}
	if c.files == nil && c.entry != nil {
		c.files = map[*Info]*module{}
		c.noteFiles(c.entry)
	}
	return c.files[i]
}

// noteFiles notes which modules are files, of those in m.
func (c *checker) noteFiles(m *module) {
	if c.files[m.info] == nil {
		c.files[m.info] = m
	}
	for _, in := range []map[string]*entity{m.names, m.mods} {
		for _, e := range in {
			if e.module != nil && e.module.parent == m {
				c.noteFiles(e.module)
			}
		}
	}
}

// refs walks a file.
type refs struct {
	c    *checker
	info *Info
	m    *module // the names that are seen
	out  []Ref

	params []*Def // type parameters in scope, the innermost last
	labels []*Def
	self   []types.Type // what Self stands for, the innermost last
	owner  string       // the type, tool or trait whose members are declared
}

func (r *refs) add(at *ast.Ident, def *Def) *Ref {
	if at == nil || at.Missing() || def == nil {
		return &Ref{}
	}
	r.out = append(r.out, Ref{At: at.Sp, Def: def})
	return &r.out[len(r.out)-1]
}

// declare notes a declaration by its own name.
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
		r.each(n.Args)
	case *ast.Arg:
		r.one(n.Value)
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
		r.one(n.Value)
	case *ast.Stage:
		r.stage(n)
	case *ast.Variant:
		r.variant(n)
	case *ast.FieldDecl:
		r.declare(n.Name, fieldDeclDef(r.info, n, r.owner))
		r.each(n.Decorators)
		r.one(n.Type)
		r.one(n.Default)
	case *ast.MockStmt:
		r.add(n.Name, r.c.entityDef(r.lookup(n.Name.Name)))
		for _, f := range n.Fields {
			r.one(f.Value)
		}
	case *ast.Ident: // of what could not be read
	default:
		r.children(n)
	}
}

// one visits a node that may be nil.
func (r *refs) one(n ast.Node) {
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

func (r *refs) each(ns any) {
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

// lookup finds a name of the modules around, nil when there is none.
func (r *refs) lookup(name string) *entity {
	if name == "" {
		return nil
	}
	return r.c.lookupValue(r.m, name)
}

// prefixOf is what the beginning of a path names, nil when that is nothing known.
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

// namedType notes the names of a type, or of a trait.
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
		r.one(a)
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
	if e := r.c.declared(r.m, name); e != nil {
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

// selfDef is the type that Self stands for.
func (r *refs) selfDef() *Def {
	if len(r.self) == 0 {
		return nil
	}
	return r.c.ownerDef(r.self[len(r.self)-1])
}

// ownerDef is the declaration of a type that was declared.
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

// param notes a parameter of a function, or of a closure, whose variable is l.
func (r *refs) param(n *ast.Param, l *Local) {
	r.each(n.Decorators)
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
	r.one(n.Pattern)
	r.one(n.Type)
	r.one(n.Default)
}

// block sees the declarations of its own in all of it.
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

// within visits what sees type parameters, labels and a Self of its own.
func (r *refs) within(owner string, self types.Type, visit func()) {
	params, selves, was := len(r.params), len(r.self), r.owner
	r.owner = owner
	if self != nil {
		r.self = append(r.self, self)
	}
	visit()
	r.params, r.self, r.owner = r.params[:params], r.self[:selves], was
}
