package sema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/edits"
)

// declareNames declares the names of a module. An inner module declares its own names.
func (c *checker) declareNames(m *module, decls []ast.Decl) {
	m.decls, m.entities = decls, make([]*entity, len(decls))
	functions := 0
	for _, d := range decls {
		if _, ok := d.(*ast.FnDecl); ok {
			functions++
		}
	}
	n := newObjects{make([]entity, len(decls)), make([]Function, functions)}
	for i, d := range decls {
		m.entities[i] = c.declareName(m, d, &n)
	}
}

// newObjects contains the objects for the names of a module. They are allocated together, which is
// faster.
type newObjects struct {
	entities  []entity
	functions []Function
}

func (n *newObjects) entity() (e *entity) {
	e, n.entities = &n.entities[0], n.entities[1:]
	return e
}

func (n *newObjects) function() (f *Function) {
	f, n.functions = &n.functions[0], n.functions[1:]
	return f
}

// define resolves the declarations of a module and its inner modules, after all names are declared.
// It resolves all types first, because signatures can refer to any type.
func (c *checker) define(m *module) {
	for phase := range definePhases {
		m.eachModule(func(m *module) { c.definePhase(m, phase) })
	}
}

// definePhases is the number of phases in which declarations are resolved: types, then traits and
// the bounds of type parameters, then signatures.
const definePhases = 3

// definePhase performs one phase of define for a module.
func (c *checker) definePhase(m *module, phase int) {
	for i, e := range m.entities {
		switch phase {
		case 0:
			c.defineType(m, e)
		case 1:
			c.defineTrait(m, e)
		default:
			c.defineSignatures(m, m.decls[i], e)
		}
	}
	if phase < definePhases-1 {
		return
	}
	c.configs = append(c.configs, func() { c.defineConfigs(m, m.decls) })
}

// eachModule calls f for a module and for its inner modules, in source order.
func (m *module) eachModule(f func(*module)) {
	f(m)
	for _, child := range m.children {
		child.eachModule(f)
	}
}

// declareName declares the name of d, and reports a duplicate name. It returns the entity of the
// declaration, or nil.
func (c *checker) declareName(m *module, d ast.Decl, n *newObjects) *entity {
	switch d := d.(type) {
	case *ast.BadDecl:
		return nil
	case *ast.ModDecl:
		c.declareMod(m, d)
		return nil
	case *ast.UseDecl:
		c.declareUse(m, d)
		return nil
	default: // the others declare a name
	}
	head := d.Head()
	if head.Name == nil {
		return nil
	}
	e := n.entity()
	*e = entity{name: head.Name.Name, mod: m, at: head.Name.Sp, decl: d, pub: head.Pub}
	if !c.newName(m, e) {
		return nil
	}
	c.warnHidden(m, e.name, e.at)
	switch d := d.(type) {
	case *ast.TraitDecl:
		c.declareTrait(m, e, d)
	case *ast.StructDecl:
		e.typ = c.newTypeDecl(m, d.Head(), types.Struct, d.Generics)
	case *ast.SchemaDecl:
		e.typ = c.newTypeDecl(m, d.Head(), types.Schema, d.Generics)
	case *ast.EnumDecl:
		e.typ = c.newTypeDecl(m, d.Head(), types.Enum, d.Generics)
	case *ast.TypeDecl:
		e.alias = &aliasDecl{decl: d, params: c.newParams(d.Generics)}
	case *ast.ConstDecl:
		e.obj = &Const{Name: e.name, Expr: d.Value, Info: m.info, mod: m, decl: d}
	case *ast.AgentDecl:
		a := &Agent{Name: e.name, Decl: d, Info: m.info, Fields: map[string]any{}, mod: m}
		a.Type = &types.Declared{Kind: types.Agent, Name: e.name, Origin: a}
		e.obj = a
		c.prog.Agents = append(c.prog.Agents, a)
	case *ast.HostDecl:
		h := &Host{Name: e.name, Decl: d, Info: m.info, Fields: map[string]any{}, mod: m}
		h.Type = &types.Declared{Kind: types.Host, Name: e.name, Origin: h}
		e.obj = h
		c.prog.Hosts = append(c.prog.Hosts, h)
	case *ast.ToolDecl:
		t := &Tool{Name: e.name, Decl: d, Info: m.info, mod: m}
		t.Type = &types.Declared{Kind: types.Tool, Name: e.name, Origin: t}
		e.obj = t
		if !m.info.Library { // the checker adds a library function to the program when the program uses it
			c.prog.Tools = append(c.prog.Tools, t)
		}
	case *ast.McpDecl:
		c.declareMcp(m, e, d)
	case *ast.StoreDecl:
		s := &Store{Name: e.name, Kind: d.Kind, Decl: d, Info: m.info}
		e.obj = s
		c.prog.Stores = append(c.prog.Stores, s)
	case *ast.PipelineDecl:
		p := &Pipeline{Name: e.name, Decl: d, Info: m.info, mod: m}
		p.Type = &types.Declared{Name: e.name, Origin: p}
		e.obj = p
		c.prog.Pipelines = append(c.prog.Pipelines, p)
	case *ast.FnDecl:
		fn := n.function()
		fn.Name, fn.Decl, fn.Info, fn.mod, fn.pub = e.name, d, m.info, m, d.Pub
		e.obj = fn
	case *ast.BadDecl, *ast.ImplDecl, *ast.ModDecl, *ast.UseDecl: // declareName has returned, or they have no name
	}
	return e
}

func (c *checker) newTypeDecl(m *module, h *ast.DeclHead, kind types.DeclKind, generics []*ast.TypeParam) *types.Decl {
	d := &types.Decl{Name: h.Name.Name, Kind: kind, Doc: h.Doc, Params: c.newParams(generics), Library: m.info.Library,
		Origin: &origin{mod: m, head: h, generics: generics}}
	if m.info.Library && findDecorator(h.Decorators, "error") != nil {
		d.Kind = types.ErrorStruct
	}
	d.Elements = m.info.Library && findDecorator(h.Decorators, "elements") != nil
	d.Members = m.info.Library && findDecorator(h.Decorators, "members") != nil
	if !m.info.Library {
		c.decls = append(c.decls, d)
	}
	return d
}

// origin describes where a types.Decl was declared.
type origin struct {
	mod      *module
	head     *ast.DeclHead
	generics []*ast.TypeParam
}

func originOf(d *types.Decl) *origin { return d.Origin.(*origin) }

// newParams creates the type parameters of a declaration. Their bounds are set later, when all
// traits are known.
func (c *checker) newParams(generics []*ast.TypeParam) []*types.Param {
	var out []*types.Param
	for _, g := range generics {
		out = append(out, &types.Param{Name: g.Name.Name})
	}
	return out
}

// defineType resolves the fields or the variants of a type declaration.
func (c *checker) defineType(m *module, e *entity) {
	if e == nil || e.refused {
		return
	}
	switch d := e.decl.(type) {
	case *ast.StructDecl:
		e.typ.Fields = c.fields(&typeScope{m: m, params: e.typ.Params}, d.Fields)
	case *ast.SchemaDecl:
		e.typ.Fields = c.fields(&typeScope{m: m, params: e.typ.Params}, d.Fields)
	case *ast.EnumDecl:
		c.defineEnum(m, e.typ, d)
	case *ast.TypeDecl:
		c.aliasType(m, e.alias)
	default: // the others declare no type with members
	}
}

func (c *checker) fields(ts *typeScope, decls []*ast.FieldDecl) []*types.Field {
	var out []*types.Field
	for _, f := range decls {
		if first := findDecl(decls, f); first != nil {
			c.report(ts.m, diag.DuplicateField.At(f.Name.Sp, "field `%s` is declared twice", f.Name.Name).
				Label(first.Name.Sp, "first declared here").
				Repair(edits.RemoveRow(ts.m.info.File.Source, f.Sp, "Remove the second `%s`", f.Name.Name), "rename or remove one of them"))
			continue
		}
		t := c.resolve(ts, f.Type)
		if f.Optional {
			t = types.NewOption(t)
		}
		out = append(out, &types.Field{Name: f.Name.Name, Type: t, Optional: f.Optional,
			Default: f.Default != nil || f.Optional, Pub: f.Pub, Doc: fieldDoc(f), Index: len(out)})
	}
	return out
}

// findDecl returns a field before f that has the same name, or nil.
func findDecl(decls []*ast.FieldDecl, f *ast.FieldDecl) *ast.FieldDecl {
	for _, g := range decls {
		if g == f {
			return nil
		}
		if g.Name.Name == f.Name.Name {
			return g
		}
	}
	return nil
}

// fieldDoc returns the description of a field: the text of @describe, or else its doc comment.
func fieldDoc(f *ast.FieldDecl) string {
	if d := findDecorator(f.Decorators, "describe"); d != nil && len(d.Args) == 1 {
		if s, ok := d.Args[0].Value.(*ast.StringLit); ok {
			return s.Value
		}
	}
	return f.Doc
}

func (c *checker) defineEnum(m *module, decl *types.Decl, d *ast.EnumDecl) {
	ts := &typeScope{m: m, params: decl.Params}
	for _, v := range d.Variants {
		if decl.Variant(v.Name.Name) != nil {
			c.report(m, diag.DuplicateField.At(v.Name.Sp, "variant `%s` is declared twice", v.Name.Name).
				Repair(edits.RemoveRow(m.info.File.Source, v.Sp, "Remove the second `%s`", v.Name.Name), "rename or remove one of them"))
			continue
		}
		w := &types.Variant{Name: v.Name.Name, Named: v.Named, Index: len(decl.Variants)}
		if v.Named {
			w.Fields = c.fields(ts, v.Fields)
		}
		for i, t := range v.Types {
			w.Fields = append(w.Fields, &types.Field{Name: fmt.Sprint(i), Type: c.resolve(ts, t), Index: i})
		}
		decl.Variants = append(decl.Variants, w)
	}
}

// defineSignatures checks the signatures of functions, methods, tools and stores. Bodies are
// checked later.
func (c *checker) defineSignatures(m *module, d ast.Decl, e *entity) {
	if impl, ok := d.(*ast.ImplDecl); ok {
		c.defineImpl(m, impl)
		return
	}
	if e == nil || e.refused {
		return
	}
	switch o := e.obj.(type) {
	case *Function:
		c.signature(o, &typeScope{m: m}, nil)
		c.enter(m, o)
	case *Tool:
		if _, isServer := d.(*ast.McpDecl); isServer {
			c.defineMcp(m, o)
		} else {
			c.defineTool(m, o)
		}
	case *Store:
		c.defineStore(m, o)
	case *Pipeline:
		c.definePipeline(m, o)
	}
}

// enter adds a function of the program to the functions that are compiled. Library functions are
// added when the program uses them.
func (c *checker) enter(m *module, fn *Function) {
	if !m.info.Library {
		if c.collectTest(m, fn) {
			return // tests are compiled after all other functions, if they are needed
		}
		c.prog.Functions = append(c.prog.Functions, fn)
	}
}

// use adds a library function to the program when it is called for the first time.
func (l *libraryUse) use(fn *Function) {
	if fn.Info.Library && !fn.checked && fn.Native == "" && fn.Effect == "" {
		fn.checked = true
		l.pending = append(l.pending, fn)
	}
}

func (c *checker) defineImpl(m *module, d *ast.ImplDecl) {
	im := &impl{mod: m, decl: d, generics: c.newParams(d.Generics), methods: map[string]*Function{}}
	im.generics = append(im.generics, c.undeclaredParams(m, d, im.generics)...)
	ts := &typeScope{m: m, params: im.generics}
	c.bounds(ts, d.Generics, im.generics)
	im.target = c.resolveTarget(ts, d.Target)
	if im.target == types.Bad {
		return
	}
	ts.self = im.target
	for _, decl := range d.Methods {
		fn := &Function{Name: im.name() + "." + decl.Name.Name, Decl: decl, Info: m.info, Generics: im.generics, assoc: im.target, ofTrait: d.Trait != nil, mod: m, pub: decl.Pub}
		if first := im.methods[decl.Name.Name]; first != nil && d.Trait == nil {
			c.report(m, diag.DuplicateName.At(decl.Name.Sp, "method `%s` is declared twice", decl.Name.Name).
				Label(first.Decl.Name.Sp, "first declared here").Hint("rename one of them"))
			continue
		}
		c.signature(fn, ts, im.target)
		c.reportSameNameAsVariant(m, fn)
		im.methods[decl.Name.Name] = fn
		im.order = append(im.order, fn)
		c.enter(m, fn)
	}
	switch {
	case d.Trait == nil:
		key := implKey(im.target)
		c.conforms.impls[key] = append(c.conforms.impls[key], im)
	case isFrom(d.Trait):
		c.defineFrom(m, d, im, ts)
	default:
		c.implement(m, d, im, ts)
	}
}

// undeclaredParams reports type parameters of an impl's target that the impl does not declare, such
// as T in `impl Tree<T>`, and returns them, so that the methods cause no further errors.
func (c *checker) undeclaredParams(m *module, d *ast.ImplDecl, declared []*types.Param) (params []*types.Param) {
	target, ok := d.Target.(*ast.NamedType)
	if !ok {
		return nil
	}
	var names []string
	var at source.Span
	for _, a := range target.Args {
		n, ok := a.(*ast.NamedType)
		if !ok || len(n.Segments) != 1 || len(n.Args) > 0 {
			continue
		}
		name := n.Segments[0].Name
		same := func(p *types.Param) bool { return p.Name == name }
		if slices.ContainsFunc(declared, same) || slices.ContainsFunc(params, same) || strings.ToUpper(name) != name || c.lookup(m, name) != nil {
			continue
		}
		if params == nil {
			at = n.Sp
		}
		params, names = append(params, &types.Param{Name: name}), append(names, name)
	}
	f := m.info.File.Source
	if params == nil || len(d.Generics) > 0 || !strings.HasPrefix(f.Slice(d.Sp), "impl ") {
		return nil
	}
	list := "<" + strings.Join(names, ", ") + ">"
	c.report(m, diag.UnknownType.At(at, "unknown type `%s`", names[0]).
		Repair(diag.Fix{Title: "Declare " + list, Edits: []diag.Edit{diag.Insert(d.Sp.Start+source.Pos(len("impl")), list)}},
			"declare the type parameters of an impl after `impl`: `impl%s %s`", list, c.shortSlice(f, target.Sp)))
	return params
}

// reportSameNameAsVariant reports an associated function of an enum that has the name of a variant.
// It could not be called, because its path refers to the variant.
func (c *checker) reportSameNameAsVariant(m *module, fn *Function) {
	n, ok := fn.assoc.(*types.Named)
	name := fn.Decl.Name
	if !ok || fn.Recv != nil || n.Decl.Variant(name.Name) == nil {
		return
	}
	c.report(m, diag.DuplicateName.At(name.Sp, "`%s::%s` is already a variant", n.Decl.Name, name.Name).
		Hint("rename the function, because it could not be called"))
}

// name returns the prefix of the names of the impl's methods in traces.
func (im *impl) name() string {
	switch x := im.target.(type) {
	case *types.Named:
		return x.Decl.Name
	case *types.Declared:
		return x.Name
	}
	return methodFile(im.target)
}

// resolveTarget resolves the target type of an impl. The target may also be the name of an agent,
// host or tool.
func (c *checker) resolveTarget(ts *typeScope, t ast.Type) types.Type {
	if n, ok := t.(*ast.NamedType); ok && len(n.Segments) == 1 && len(n.Args) == 0 {
		if e := c.findDeclared(ts.m, n.Segments[0].Name); e != nil && e.obj != nil {
			if d := declaredType(e.obj); d != nil {
				return d
			}
		}
		if n.Segments[0].Name == "Tuple" && ts.m.info.Library {
			return &types.Tuple{}
		}
	}
	target := c.resolve(ts, t)
	if types.IsTrait(target) {
		c.report(ts.m, diag.NotAType.At(t.Span(), "`%s` is a trait, and an impl is for a type", target).Hint("declare the methods in the trait, with their bodies"))
		return types.Bad
	}
	return target
}

// declaredType returns the type that the declaration of an agent, host or tool introduces, or nil.
func declaredType(o Object) types.Type {
	switch o := o.(type) {
	case *Agent:
		return o.Type
	case *Host:
		return o.Type
	case *Tool:
		return o.Type
	case *Pipeline:
		return o.Type
	}
	return nil
}

// findDecorator returns the decorator with the given name, or nil.
func findDecorator(ds []*ast.Decorator, name string) *ast.Decorator {
	for _, d := range ds {
		if d.Name.Name == name {
			return d
		}
	}
	return nil
}

// decoratorText returns the i-th argument of a decorator. It returns false if the argument is no
// string literal.
func decoratorText(d *ast.Decorator, i int) (string, bool) {
	if d == nil || i >= len(d.Args) {
		return "", false
	}
	s, ok := d.Args[i].Value.(*ast.StringLit)
	if !ok {
		return "", false
	}
	return s.Value, true
}

// warnHidden warns about a declaration that has the name of a library item. The library's item
// cannot be used in the scope of the declaration, and messages with the name are ambiguous.
func (c *checker) warnHidden(m *module, name string, at source.Span) {
	if m.info.Library {
		return
	}
	what := ""
	if _, ok := constructors[name]; ok && name != "Queue" { // programs had types of this name before the store
		what = "type"
	} else if e := c.universe(m, name); e != nil {
		switch {
		case e.builtin != nil || e.typ != nil || e.alias != nil:
			what = "type"
		case e.obj != nil:
			what = "function"
		}
	}
	if what == "" {
		return
	}
	if own := m.names[name]; what == "type" && own != nil && c.repeatsLibrary(m, own) {
		whole := own.decl.Span()
		c.report(m, diag.HidesLibrary.At(at, "`%s` is declared again: the language has it", name).
			Repair(diag.UnsafeFix(diag.Remove(edits.WithItsLines(m.info.File.Source, whole)), "Delete the declaration"), "delete this declaration"))
		return
	}
	instead := name + "_"
	if what == "type" {
		instead = "My" + name
	}
	c.report(m, diag.HidesLibrary.At(at, "`%s` shadows the %s of the standard library", name, what).
		Hint("use another name, such as `%s`", instead))
}

// repeatsLibrary reports whether e declares a schema or struct that the library also declares, with
// the same fields. It may omit optional ones.
func (c *checker) repeatsLibrary(m *module, e *entity) bool {
	lib := c.universe(m, e.name)
	if lib == nil || lib.typ == nil {
		return false
	}
	var fields []*ast.FieldDecl
	switch d := e.decl.(type) {
	case *ast.SchemaDecl:
		fields = d.Fields
	case *ast.StructDecl:
		fields = d.Fields
	default:
		return false
	}
	declared := map[string]bool{}
	for _, f := range fields {
		declared[f.Name.Name] = true
	}
	known := 0
	for _, f := range lib.typ.Fields {
		if declared[f.Name] {
			known++
		} else if !f.Optional && !f.Default {
			return false
		}
	}
	return known > 0 && known == len(declared)
}

// warnHiddenFunctions warns about variables of a `let` that have the name of a library function.
func (b *body) warnHiddenFunctions(bound []*Local) {
	if b.info.Library {
		return
	}
	for _, l := range bound {
		if strings.HasPrefix(l.Name, "_") || b.c.findDeclared(b.m, l.Name) != nil {
			continue
		}
		if e := b.c.universe(b.m, l.Name); e != nil && e.obj != nil {
			b.c.warnHidden(b.m, l.Name, l.At)
		}
	}
}
