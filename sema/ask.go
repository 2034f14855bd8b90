package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// AgentFields returns the names of the fields of an agent, sorted.
func AgentFields() []string { return sortedNames(agentFields) }

// HostFields returns the names of the fields of a host, sorted.
func HostFields() []string { return sortedNames(hostFields) }

// RetryFields returns the allowed keys of a retry_policy.
func RetryFields() []string { return slices.Clone(retryFields) }

// Backoffs returns the allowed values of `backoff` in a retry_policy.
func Backoffs() []string { return slices.Clone(backoffs) }

// DecoratorParams returns the parameters of `@eval`, and of a decorator that a library function
// implements. Otherwise it returns nil.
func (p *Program) DecoratorParams(i *Info, name string) []*Param {
	if name == "eval" {
		var all []*Param
		for _, x := range evalParams {
			all = append(all, &Param{Name: x.name, Type: x.typ})
		}
		return all
	}
	m := p.checker.moduleOf(i)
	if m == nil || wrapping[name] == "" {
		return nil
	}
	defer p.checker.muteDiagnostics()()
	fn := p.checker.constBody(m).libraryHelper(wrapping[name])
	if fn == nil {
		return nil
	}
	return writtenParams(fn)
}

// FieldText describes the value of the field name in the declaration of an "agent" or a "host". The
// description uses the terms of the language.
func FieldText(of, name string) string {
	fields := map[string]map[string]fieldType{"agent": agentFields, "host": hostFields}[of]
	if t := fields[name].typ; t != nil && t != types.Type(types.Any) {
		return t.String()
	}
	switch name {
	case "provider", "connector":
		return "a name"
	case "tools", "app_tools":
		return "[Tool]"
	case "knowledge":
		return "[Ledger]"
	case "retry_policy":
		return "Map"
	}
	return "value"
}

// Named is a declaration together with the name that refers to it at a position in the program.
type Named struct {
	Name string
	Def  *Def
	// Distance is the number of enclosing blocks or modules between the position and the
	// declaration. It is 0 for the innermost one.
	Distance int
}

// MockFields returns the names of the fields of a mock, sorted.
func MockFields() []string { return sortedNames(mockFields) }

// Members returns the fields and methods that may follow the `.` after a value of type t. The
// fields come first, in the order of their declaration.
func (p *Program) Members(i *Info, t types.Type) []*Def {
	c := p.checker
	defer c.muteDiagnostics()()
	t = types.Loose(t)
	if t == types.Bad {
		return nil
	}
	var out []*Def
	switch x := t.(type) {
	case *types.Named:
		if x.Decl.Kind != types.Enum {
			for _, f := range x.Decl.Fields {
				if f.Pub || x.Decl.Kind != types.Struct || !x.Decl.Library || i.Library {
					if d := c.fieldDef(t, nil, f.Name); d != nil {
						d.Type = types.Substitute(f.Type, types.Bindings(x.Decl.Params, x.Args))
						out = append(out, d)
					}
				}
			}
		}
	case *types.Declared:
		if tool, ok := x.Origin.(*Tool); ok {
			for _, f := range tool.State {
				if d := c.fieldDef(t, nil, f.Name); d != nil {
					out = append(out, d)
				}
			}
		}
	case *types.Param:
		for _, b := range x.Bounds {
			if td := c.conforms.traits[b.Trait]; td != nil {
				for _, fn := range td.order {
					out = append(out, c.functionDef(fn))
				}
			}
		}
		return out
	}
	if t == types.Error || isErrorStruct(t) {
		for _, name := range []string{"kind", "message", "source"} {
			out = append(out, &Def{Kind: DefField, Name: name, Owner: "Error", Type: errorField(name)})
		}
	}
	return append(out, c.functionsOf(t, true)...)
}

// functionsOf returns the methods of a type if methods is set. Otherwise it returns the associated
// functions, which are called on the type's name.
func (c *checker) functionsOf(t types.Type, methods bool) []*Def {
	var out []*Def
	seen := map[string]bool{}
	for _, name := range c.methodNames(t) {
		if seen[name] {
			continue
		}
		seen[name] = true
		fn := c.method(t, name)
		if tool := toolOf(t); fn == nil && tool != nil {
			fn = tool.method(name)
		}
		if fn == nil || (fn.Recv != nil || fn.Tool != nil) != methods {
			continue
		}
		if d := c.functionDef(fn); d != nil {
			out = append(out, d)
		}
	}
	return out
}

// moduleAt returns the module that contains the innermost of the nodes in around.
func (c *checker) moduleAt(i *Info, around []ast.Node) *module {
	m := c.moduleOf(i)
	for _, n := range around {
		if m == nil {
			return nil
		}
		switch n := n.(type) {
		case *ast.ModDecl:
			if e := m.moduleNamed(nameOf(n)); n.Inline && e != nil && e.module != nil {
				m = e.module
			}
		case *ast.Block:
			if inner := i.blocks[n]; inner != nil {
				m = inner
			}
		}
	}
	return m
}

func nameOf(d ast.Decl) string {
	if h := d.Head(); h.Name != nil {
		return h.Name.Name
	}
	return ""
}

// Visible returns the names that the modules around a position declare or import. It omits
// variables and the names of the prelude. around contains the nodes that enclose the position, the
// outermost first.
func (p *Program) Visible(i *Info, around []ast.Node) []Named {
	c := p.checker
	defer c.muteDiagnostics()()
	var out []Named
	distance := 0
	for m := c.moduleAt(i, around); m != nil; m = m.around {
		out = append(out, c.namesOf(m, distance, func(*entity) bool { return true })...)
		distance++
	}
	if m := c.moduleAt(i, around); m != nil {
		for _, name := range m.packageNames() {
			if d := c.entityDef(c.packageNamed(m, name)); d != nil {
				out = append(out, Named{name, d, distance})
			}
		}
	}
	return out
}

// namesOf returns the names of a module for which show returns true, sorted. distance is the
// Distance of the results.
func (c *checker) namesOf(m *module, distance int, show func(*entity) bool) []Named {
	var out []Named
	for _, name := range sortedNames(m.names) {
		e := m.names[name]
		if !show(e) || len(name) > 1 && name[:2] == "__" {
			continue
		}
		if d := c.entityDef(c.followImports(e)); d != nil {
			out = append(out, Named{name, d, distance})
		}
	}
	for _, g := range m.globs {
		if in := c.resolveImport(g); in != nil && in.module != nil && in.module != m {
			out = append(out, c.namesOf(in.module, distance, func(e *entity) bool { return e.pub })...)
		}
	}
	return out
}

// Prelude returns the names that are available in every program without an import.
func (p *Program) Prelude(i *Info) []Named {
	c := p.checker
	defer c.muteDiagnostics()()
	var out []Named
	for _, name := range BuiltinTypes() {
		out = append(out, Named{name, &Def{Kind: DefBuiltin, Name: name}, 9})
	}
	for _, name := range []string{"Some", "None", "Ok", "Err"} {
		out = append(out, Named{name, &Def{Kind: DefVariant, Name: name}, 9})
	}
	m := c.moduleOf(i)
	if c.cfg.Library == nil || m == nil {
		return out
	}
	for _, name := range c.cfg.Library.Names() {
		if d := c.entityDef(c.universe(m, name)); d != nil {
			out = append(out, Named{name, d, 9})
		}
	}
	return out
}

// NamesAfterPath returns the names that may follow path and a `::`: the names of a module, the
// variants of an enum, or the functions of a type. using reports that the path is part of a `use`.
func (p *Program) NamesAfterPath(i *Info, around []ast.Node, path []string, using bool) []Named {
	c := p.checker
	defer c.muteDiagnostics()()
	m := c.moduleAt(i, around)
	if m == nil || len(path) == 0 {
		return nil
	}
	if len(path) == 1 && path[0] == "std" {
		return c.stdModules()
	}
	segs := make([]*ast.Ident, len(path))
	for k, name := range path {
		segs[k] = &ast.Ident{Name: name}
	}
	var e *entity
	if using {
		e = c.followImports(c.importPath(m, segs))
	} else {
		r := &refs{c: c, info: i, m: m}
		if t := (&body{c: c, m: m, ts: &typeScope{m: m}}).builtinOwner(append(segs[:len(segs):len(segs)], &ast.Ident{Name: "x"})); t != nil {
			return asNamed(c.functionsOf(t, false))
		}
		e = r.prefixOf(segs)
	}
	switch {
	case e == nil || e.refused:
		return nil
	case e.module != nil:
		in := e.module
		return c.namesOf(in, 0, func(x *entity) bool { return x.pub || in.std != "" || m.isWithin(in) })
	}
	t := (&body{c: c, m: m}).entityOwner(e)
	if t == nil {
		return nil
	}
	var out []Named
	if n, ok := t.(*types.Named); ok {
		for _, v := range n.Decl.Variants {
			if d := c.variantDef(&VariantRef{Type: n, Name: v.Name, Index: v.Index, Variant: v}); d != nil {
				out = append(out, Named{v.Name, d, 0})
			}
		}
	}
	return append(out, asNamed(c.functionsOf(t, false))...)
}

func asNamed(ds []*Def) []Named {
	var out []Named
	for _, d := range ds {
		out = append(out, Named{d.Name, d, 0})
	}
	return out
}

func (c *checker) stdModules() []Named {
	var out []Named
	if c.cfg.Library != nil {
		for _, name := range c.cfg.Library.Modules() {
			out = append(out, Named{name, &Def{Kind: DefModule, Name: name}, 0})
		}
	}
	return out
}

// SameMethod returns the declarations of the method d in a trait and in the impls of the trait,
// including d. It returns nil if d is no method of a trait or of an impl of a trait.
func (p *Program) SameMethod(d *Def) []*Def {
	if d.Kind != DefMethod {
		return nil
	}
	c := p.checker
	for _, td := range c.conforms.traitOrder {
		family := []*Function{}
		if fn := td.methods[d.Name]; fn != nil {
			family = append(family, fn)
		}
		for _, im := range td.impls {
			if fn := im.methods[d.Name]; fn != nil {
				family = append(family, fn)
			}
		}
		mine := false
		var out []*Def
		for _, fn := range family {
			mine = mine || ast.Node(fn.Decl) == d.Node
			if f := c.functionDef(fn); f != nil {
				out = append(out, f)
			}
		}
		if mine {
			return out
		}
	}
	return nil
}

// Implementations returns the declarations of the types that implement the trait d. A type without
// a declaration, such as Int, is represented by its name in the impl.
func (p *Program) Implementations(d *Def) []*Def {
	var out []*Def
	c := p.checker
	for _, td := range c.conforms.traitOrder {
		if ast.Node(td.decl) != d.Node {
			continue
		}
		for _, im := range td.impls {
			def := c.ownerDef(im.target)
			if def == nil {
				def = &Def{Kind: DefBuiltin, Name: im.name(), Info: im.mod.info, At: im.decl.Target.Span()}
			}
			if def != nil {
				out = append(out, def)
			}
		}
	}
	return out
}
