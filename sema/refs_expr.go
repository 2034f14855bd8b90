package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// expr adds the names in an expression.
func (r *refs) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.PathExpr:
		r.path(e)
	case *ast.Assign:
		r.assign(e)
	case *ast.Call:
		r.visitOptional(e.Fn)
		r.arguments(e.Args, r.callOf(e))
	case *ast.MethodCall:
		r.visitOptional(e.Recv)
		d := r.callOf(e)
		r.add(e.Name, r.methodOf(e, d))
		for _, t := range e.TypeArgs {
			r.visitOptional(t)
		}
		r.arguments(e.Args, d)
	case *ast.FieldExpr:
		r.visitOptional(e.X)
		r.add(e.Name, r.c.fieldDef(r.info.TypeOf(e.X), nil, e.Name.Name))
	case *ast.StructLit:
		r.structLit(e)
	case *ast.Closure:
		r.closure(e, nil)
	case *ast.ListenExpr:
		r.listen(e)
	case *ast.TryExpr:
		r.try(e)
	case *ast.ForExpr:
		r.loop(e.Label, e)
	case *ast.WhileExpr:
		r.loop(e.Label, e)
	case *ast.LoopExpr:
		r.loop(e.Label, e)
	case *ast.BreakExpr:
		r.label(e.Label)
		r.visitOptional(e.X)
	case *ast.ContinueExpr:
		r.label(e.Label)
	default:
		r.children(e)
	}
}

// callOf returns the detail of a call.
func (r *refs) callOf(e ast.Expr) *Call { return r.info.Call(e) }

func (r *refs) arguments(args []*ast.Arg, d *Call) {
	for _, a := range args {
		if a.Name != nil && d != nil && d.Fn != nil {
			for _, p := range d.Fn.Params {
				if p.Name == a.Name.Name {
					r.add(a.Name, paramDef(d.Fn, p))
				}
			}
		}
		r.visitOptional(a.Value)
	}
}

// paramDef returns the Def of a function's parameter.
func paramDef(fn *Function, p *Param) *Def {
	at := p.At
	if p.Local != nil {
		at = p.Local.At
	}
	return &Def{Kind: DefParam, Name: p.Name, Info: fn.Info, At: at, Type: p.Type, Object: p.Local}
}

func (r *refs) methodOf(e *ast.MethodCall, d *Call) *Def {
	if d != nil && d.Fn != nil {
		return r.c.functionDef(d.Fn)
	}
	if e.Name.Missing() {
		return nil
	}
	t := types.Loose(r.info.TypeOf(e.Recv))
	if p, ok := t.(*types.Param); ok {
		for _, b := range p.Bounds {
			if td := r.c.conforms.traits[b.Trait]; td != nil && td.methods[e.Name.Name] != nil {
				return r.c.functionDef(td.methods[e.Name.Name])
			}
		}
		return nil
	}
	if fn := r.c.method(t, e.Name.Name); fn != nil && t != types.Bad {
		return r.c.functionDef(fn)
	}
	if tool := toolOf(t); tool != nil {
		if fn := tool.method(e.Name.Name); fn != nil {
			return r.c.functionDef(fn)
		}
	}
	return nil
}

// path adds the names in a path that is a value.
func (r *refs) path(e *ast.PathExpr) {
	r.segments(e, r.info.Object(e))
	for _, t := range e.TypeArgs {
		r.visitOptional(t)
	}
}

func (r *refs) segments(e *ast.PathExpr, o Object) {
	segs := e.Segments
	n := len(segs)
	if n == 0 {
		return
	}
	for i := range n - 1 {
		r.add(segs[i], r.owners(segs[:i+1]))
	}
	last := segs[n-1]
	if l, ok := o.(*Local); ok {
		r.add(last, r.localDef(l))
		return
	}
	if n == 1 {
		if def := r.objectOr(o, r.typeOrValue(last.Name)); def != nil {
			r.add(last, def)
		}
		return
	}
	r.add(last, r.objectOr(o, func() *Def { return r.associated(segs) }))
}

// localDef returns the Def of a variable. Later stages use the name of a stage as a variable.
func (r *refs) localDef(l *Local) *Def {
	for _, p := range r.c.prog.Pipelines {
		for _, s := range p.Stages {
			if s.Local == l {
				return &Def{Kind: DefStage, Name: l.Name, Info: p.Info, At: s.Decl.Name.Sp, Node: s.Decl, Owner: p.Name, Object: l, Type: l.Type}
			}
		}
	}
	return r.c.objectDef(r.info, l)
}

// objectOr returns the Def of the object o. If o is nil, it returns the result of look.
func (r *refs) objectOr(o Object, look func() *Def) *Def {
	switch o := o.(type) {
	case *Function, *VariantRef:
		return r.c.objectDef(r.info, o)
	}
	return look()
}

func (r *refs) typeOrValue(name string) func() *Def {
	return func() *Def {
		if name == "Self" {
			return r.selfDef()
		}
		if v := builtinVariant(name); v != nil || name == "None" {
			return &Def{Kind: DefVariant, Name: name}
		}
		return r.c.entityDef(r.lookup(name))
	}
}

// owners returns the Def of the module or type to which the path without its last segment refers.
func (r *refs) owners(segs []*ast.Ident) *Def {
	if len(segs) == 1 {
		name := segs[0].Name
		if name == "Self" {
			return r.selfDef()
		}
		for i := len(r.params) - 1; i >= 0; i-- {
			if r.params[i].Name == name {
				return r.params[i]
			}
		}
		if _, ok := constructors[name]; ok && r.c.findDeclared(r.m, name) == nil {
			return &Def{Kind: DefBuiltin, Name: name}
		}
	}
	return r.c.entityDef(r.prefixOf(segs))
}

// associated returns the Def to which the last segment of a path refers: an item of a module, or a
// function or variant of a type.
func (r *refs) associated(segs []*ast.Ident) *Def {
	n := len(segs) - 1
	name := segs[n].Name
	if name == "" {
		return nil
	}
	var t types.Type
	if n == 1 && segs[0].Name == "Self" && len(r.self) > 0 {
		t = r.self[len(r.self)-1]
	} else if e := r.prefixOf(segs[:n]); e != nil {
		if e.module != nil {
			return r.c.entityDef(r.prefixOf(segs))
		}
		t = (&body{c: r.c, m: r.m}).entityOwner(e)
	}
	if t == nil {
		return nil
	}
	if x, ok := t.(*types.Named); ok {
		if v := x.Decl.Variant(name); v != nil {
			return r.c.variantDef(&VariantRef{Type: x, Name: v.Name, Index: v.Index, Variant: v})
		}
	}
	if fn := r.c.method(t, name); fn != nil {
		return r.c.functionDef(fn)
	}
	return nil
}

// assign adds the names in an assignment. The Ref of the target has Write set.
func (r *refs) assign(e *ast.Assign) {
	from := len(r.out)
	r.visitOptional(e.Target)
	root := rootName(e.Target)
	field, _ := unparen(e.Target).(*ast.FieldExpr)
	for i := from; i < len(r.out); i++ {
		if root != nil && r.out[i].At == root.Segments[0].Sp || field != nil && r.out[i].At == field.Name.Sp {
			r.out[i].Write = true
		}
	}
	r.visitOptional(e.Value)
}

func (r *refs) structLit(e *ast.StructLit) {
	d := r.info.Struct(e)
	var t types.Type
	var v *types.Variant
	if d != nil {
		t = d.Type
		if d.Variant != nil {
			v = d.Variant.Variant
		}
	}
	r.typePath(e.Path, t, v)
	for _, f := range e.Fields {
		if t != nil {
			r.add(f.Name, r.c.fieldDef(t, v, f.Name.Name)).Short = f.Short
		}
		from := len(r.out)
		r.visitOptional(f.Value)
		for i := from; f.Short && i < len(r.out); i++ {
			r.out[i].Short = true
		}
	}
	r.visitOptional(e.Rest)
}

// typePath adds the names in the path of a struct or variant literal or pattern.
func (r *refs) typePath(p *ast.PathExpr, t types.Type, v *types.Variant) {
	if p == nil || len(p.Segments) == 0 {
		return
	}
	n := len(p.Segments)
	for i := range n - 1 {
		r.add(p.Segments[i], r.owners(p.Segments[:i+1]))
	}
	last := p.Segments[n-1]
	switch x := t.(type) {
	case *types.Named:
		switch {
		case v != nil:
			r.add(last, r.c.variantDef(&VariantRef{Type: x, Name: v.Name, Index: v.Index, Variant: v}))
		case n == 1:
			r.add(last, r.typeNamed(last.Name))
		default:
			r.add(last, r.c.typeDef(x.Decl))
		}
	default:
		if n == 1 {
			r.add(last, r.typeNamed(last.Name))
		} else {
			r.add(last, r.associated(p.Segments))
		}
	}
	for _, a := range p.TypeArgs {
		r.visitOptional(a)
	}
}

// closure adds the names in a closure. If the closure is a handler, l is the variable of its
// parameter.
func (r *refs) closure(e *ast.Closure, l *Local) {
	d := r.info.Closure(e)
	for i, p := range e.Params {
		switch {
		case d != nil && i < len(d.Params):
			r.param(p, d.Params[i])
		case l != nil && i == 0:
			r.param(p, l)
		default:
			r.param(p, nil)
		}
	}
	r.visitOptional(e.Result)
	r.visitOptional(e.Body)
}

func (r *refs) listen(e *ast.ListenExpr) {
	r.visitOptional(e.Call)
	d := r.info.Listen(e)
	for i, h := range e.Handlers {
		cl, ok := h.Value.(*ast.Closure)
		switch {
		case !ok:
			r.visitOptional(h.Value)
		case d != nil && i < len(d.Handlers) && d.Handlers[i] != nil:
			r.closure(cl, d.Handlers[i].Param)
		default:
			r.closure(cl, nil)
		}
	}
}

func (r *refs) try(e *ast.TryExpr) {
	r.block(e.Body)
	d := r.info.Try(e)
	for i, c := range e.Catches {
		r.visitOptional(c.Type)
		if c.Name != nil {
			def := &Def{Kind: DefVariable, Name: c.Name.Name}
			if d != nil && i < len(d.Catches) && d.Catches[i] != nil {
				def.Object, def.Type = d.Catches[i], d.Catches[i].Type
			}
			r.declare(c.Name, def)
		}
		r.block(c.Body)
	}
}

// loop adds the names in a loop and its label.
func (r *refs) loop(label *ast.Ident, e ast.Expr) {
	labels := len(r.labels)
	if label != nil {
		def := &Def{Kind: DefLabel, Name: label.Name}
		r.declare(label, def)
		r.labels = append(r.labels, def)
	}
	ast.Children(e, func(n ast.Node) {
		if n != ast.Node(label) {
			r.visit(n)
		}
	})
	r.labels = r.labels[:labels]
}

func (r *refs) label(id *ast.Ident) {
	if id == nil {
		return
	}
	for i := len(r.labels) - 1; i >= 0; i-- {
		if r.labels[i].Name == id.Name {
			r.add(id, r.labels[i])
			return
		}
	}
}

// pattern adds the names in a pattern.
func (r *refs) pattern(p ast.Pattern) {
	switch p := p.(type) {
	case *ast.NamePat:
		r.bind(p.ID(), p.Name, p)
	case *ast.BindPat:
		r.bind(p.ID(), p.Name, nil)
		r.visitOptional(p.Pattern)
	case *ast.VariantPat:
		r.variantPath(p.Path, r.info.Variant(p))
		for _, q := range p.Elems {
			r.visitOptional(q)
		}
	case *ast.PathPat:
		r.variantPath(p.Path, r.info.Variant(p))
	case *ast.StructPat:
		r.structPattern(p)
	default:
		r.children(p)
	}
}

// bind adds a name in a pattern that binds a variable, or that matches a constant or a variant.
func (r *refs) bind(id ast.ID, name *ast.Ident, p ast.Pattern) {
	if p != nil {
		if v := r.info.Variant(p); v != nil {
			r.add(name, r.c.variantDef(v))
			return
		}
	}
	switch o := r.info.objects[id].(type) {
	case *Local:
		if o.At == name.Sp {
			r.declare(name, &Def{Kind: DefVariable, Name: name.Name, Object: o, Type: o.Type})
			return
		}
		r.add(name, r.c.objectDef(r.info, o)) // the variable belongs to another alternative
	case *Const:
		r.add(name, r.c.objectDef(r.info, o))
	default:
		if !isUpper(name.Name) {
			r.declare(name, &Def{Kind: DefVariable, Name: name.Name})
		}
	}
}

func (r *refs) variantPath(p *ast.PathExpr, v *VariantRef) {
	if v != nil && v.Variant == nil {
		r.add(p.Segments[0], &Def{Kind: DefVariant, Name: v.Name, Type: v.Type})
		return
	}
	if v == nil {
		r.typePath(p, nil, nil)
		return
	}
	r.typePath(p, v.Type, v.Variant)
}

func (r *refs) structPattern(p *ast.StructPat) {
	d := r.info.Variant(p)
	var t types.Type
	var v *types.Variant
	if d != nil {
		t, v = d.Type, d.Variant
	}
	r.typePath(p.Path, t, v)
	for _, f := range p.Fields {
		if t != nil {
			r.add(f.Name, r.c.fieldDef(t, v, f.Name.Name)).Short = f.Short
		}
		from := len(r.out)
		r.visitOptional(f.Pattern)
		for i := from; f.Short && i < len(r.out); i++ {
			r.out[i].Short = true
		}
	}
}
