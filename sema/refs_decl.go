package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// decl notes the names of a declaration.
func (r *refs) decl(d ast.Decl) {
	h := d.Head()
	r.each(h.Decorators)
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
	}
	if h.Name == nil {
		return
	}
	def := r.own(d)
	r.declare(h.Name, def)
	r.within(h.Name.Name, r.selfOf(d, def), func() { r.inside(d) })
}

// own is what a declaration declares; one that was refused is still there.
func (r *refs) own(d ast.Decl) *Def {
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
	}
	return nil
}

// inside visits what a declaration is made of, but for its name and decorators.
func (r *refs) inside(d ast.Decl) {
	h := d.Head()
	switch d := d.(type) {
	case *ast.AgentDecl:
		r.add(d.Uses, named(DefConnection, d.Uses))
		for _, f := range d.Fields {
			r.one(f.Value)
		}
		return
	case *ast.HostDecl:
		for _, f := range d.Fields {
			if w, ok := f.Value.(*ast.PathExpr); ok && f.Name.Name == "connector" && len(w.Segments) == 1 {
				r.add(w.Segments[0], named(DefConnector, w.Segments[0]))
				continue
			}
			r.one(f.Value)
		}
		return
	case *ast.FnDecl:
		r.function(d)
		return
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

func named(k DefKind, id *ast.Ident) *Def {
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
	r.one(d.Result)
	r.block(d.Body)
	r.owner = owner
}

// variableOf is the variable of a function's parameter, nil where the function is unknown.
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

// functionOf is the function of a declaration, nil where that was refused.
func (c *checker) functionOf(d *ast.FnDecl) *Function {
	if c.byDecl == nil {
		c.byDecl = map[*ast.FnDecl]*Function{}
	}
	for ; c.inByDecl < len(c.prog.Functions); c.inByDecl++ {
		if fn := c.prog.Functions[c.inByDecl]; !fn.instance && fn.Decl != nil {
			c.byDecl[fn.Decl] = fn
		}
	}
	return c.byDecl[d]
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

// use notes the names of an import.
func (r *refs) use(t *ast.UseTree, before []*ast.Ident) {
	full := append(before[:len(before):len(before)], t.Path...)
	for i := len(before); i < len(full); i++ {
		if full[i].Missing() || full[i].Name == "self" || full[i].Name == "super" || i == 0 && full[i].Name == "std" {
			continue
		}
		r.add(full[i], r.c.entityDef(r.c.follow(r.c.importPath(r.m, full[:i+1]))))
	}
	if t.Alias != nil && len(full) > 0 && !full[len(full)-1].Missing() {
		r.add(t.Alias, r.c.entityDef(r.c.follow(r.c.importPath(r.m, full))))
	}
	for _, sub := range t.List {
		r.use(sub, full)
	}
}

func (r *refs) impl(d *ast.ImplDecl) {
	r.within("", nil, func() {
		for _, g := range d.Generics {
			r.visit(g)
		}
		r.one(d.Trait)
		r.one(d.Target)
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
		r.within(owner, self, func() {
			for _, fn := range d.Methods {
				r.method(fn, owner)
			}
		})
	})
}

// targetObject is the type of an agent, host or tool that an impl is for.
func (r *refs) targetObject(n *ast.NamedType) (types.Type, bool) {
	if len(n.Segments) != 1 {
		return nil, false
	}
	e := r.c.declared(r.m, n.Segments[0].Name)
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
	r.each(d.Decorators)
	def := declDef(r.info, d, nil)
	def.Kind, def.Owner = DefMethod, owner
	if o := r.c.functionOf(d); o != nil {
		def.Object = o
	}
	r.declare(d.Name, def)
	r.within(owner, nil, func() { r.function(d) })
}

func (r *refs) stage(n *ast.Stage) {
	r.each(n.Decorators)
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
	r.one(n.Result)
	r.block(n.Body)
	r.one(n.Value)
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
		r.one(t)
	}
	for _, f := range n.Fields {
		r.visit(f)
	}
}
