package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/diag"
	"github.com/concerto-lang/concerto/internal/spell"
	"github.com/concerto-lang/concerto/source"
	"github.com/concerto-lang/concerto/types"
)

// typeScope is where a written type is read: its module, the type parameters
// in reach, and what Self stands for.
type typeScope struct {
	m      *module
	params []*types.Param
	self   types.Type
	parent *typeScope
}

func (ts *typeScope) param(name string) *types.Param {
	for ; ts != nil; ts = ts.parent {
		for _, p := range ts.params {
			if p.Name == name {
				return p
			}
		}
	}
	return nil
}

func (ts *typeScope) selfType() types.Type {
	for ; ts != nil; ts = ts.parent {
		if ts.self != nil {
			return ts.self
		}
	}
	return nil
}

// resolve is the type that a written one stands for, recorded under its id.
func (c *checker) resolve(ts *typeScope, t ast.Type) types.Type {
	if t == nil {
		return types.Nil
	}
	out := c.resolveForm(ts, t)
	ts.m.info.types[t.ID()] = out
	return out
}

func (c *checker) resolveForm(ts *typeScope, t ast.Type) types.Type {
	switch t := t.(type) {
	case *ast.NamedType:
		return c.resolveNamed(ts, t)
	case *ast.OptionType:
		return types.NewOption(c.resolve(ts, t.Elem))
	case *ast.TupleType:
		return &types.Tuple{Elems: c.resolveAll(ts, t.Elems)}
	case *ast.FnType:
		return &types.Func{Params: c.resolveAll(ts, t.Params), Result: c.resolve(ts, t.Result)}
	case *ast.LitType:
		return &types.Union{Values: []string{t.Value}}
	case *ast.UnionType:
		return c.resolveUnion(ts, t)
	}
	return types.Bad
}

func (c *checker) resolveAll(ts *typeScope, all []ast.Type) []types.Type {
	out := make([]types.Type, len(all))
	for i, t := range all {
		out[i] = c.resolve(ts, t)
	}
	return out
}

func (c *checker) resolveUnion(ts *typeScope, t *ast.UnionType) types.Type {
	u := &types.Union{}
	for _, alt := range t.Alts {
		switch a := c.resolve(ts, alt).(type) {
		case *types.Union:
			for _, v := range a.Values {
				if !u.Has(v) {
					u.Values = append(u.Values, v)
				}
			}
		default:
			if a != types.Bad {
				c.report(ts.m, diag.UnionMember.At(alt.Span(), "a union holds string literals, not `%s`", a).
					Hint("declare an enum for alternatives of different types"))
			}
			return types.Bad
		}
	}
	return u
}

func (c *checker) resolveNamed(ts *typeScope, t *ast.NamedType) types.Type {
	if len(t.Segments) > 1 {
		return c.resolvePath(ts, t)
	}
	name := t.Segments[0].Name
	if name == "Self" {
		if self := ts.selfType(); self != nil {
			return self
		}
		c.report(ts.m, diag.UnknownType.At(t.Sp, "`Self` stands only within an impl").Hint("name the type"))
		return types.Bad
	}
	if p := ts.param(name); p != nil {
		c.noTypeArgs(ts.m, t, name)
		return p
	}
	if e := ts.m.names[name]; e != nil {
		return c.entityType(ts, e, t)
	}
	if k, ok := constructors[name]; ok {
		return c.resolveConstructor(ts, t, name, k.min, k.max)
	}
	if e := c.universe(ts.m, name); e != nil {
		return c.entityType(ts, e, t)
	}
	c.unknownType(ts, t.Segments[0])
	c.resolveAll(ts, t.Args)
	return types.Bad
}

// resolvePath is a type of a library module: std::collections::Set.
func (c *checker) resolvePath(ts *typeScope, t *ast.NamedType) types.Type {
	e := c.path(ts.m, t.Segments)
	if e == nil {
		return types.Bad
	}
	return c.entityType(ts, e, t)
}

func (c *checker) resolveConstructor(ts *typeScope, t *ast.NamedType, name string, least, most int) types.Type {
	args := c.resolveAll(ts, t.Args)
	if len(args) < least || len(args) > most {
		c.report(ts.m, diag.TypeArguments.At(t.Sp, "`%s` takes %s, not %d", name, count(most, "type argument"), len(args)).
			Hint("write `%s`", exampleOf(name)))
		return types.Bad
	}
	if (name == "Map" || name == "HashMap") && !types.IsHashable(args[0]) {
		c.report(ts.m, diag.MapKey.At(t.Args[0].Span(), "`%s` cannot be a map's key", args[0]).
			Hint("keys are String, Int or Bool"))
	}
	return construct(name, args)
}

func exampleOf(name string) string {
	return map[string]string{"Array": "Array<Int>", "Map": "Map<String, Int>", "Option": "Option<Int>",
		"Result": "Result<Int, Error>", "Task": "Task<Int>", "HashMap": "HashMap<String, Int>"}[name]
}

// entityType is the type that an entity stands for, with its arguments.
func (c *checker) entityType(ts *typeScope, e *entity, t *ast.NamedType) types.Type {
	e.used = true
	args := c.resolveAll(ts, t.Args)
	if e.refused {
		return types.Bad
	}
	switch {
	case e.builtin != nil:
		c.noTypeArgs(ts.m, t, e.name)
		return e.builtin
	case e.typ != nil:
		if !c.fits(ts.m, t, e.name, len(e.typ.Params)) {
			return types.Bad
		}
		return &types.Named{Decl: e.typ, Args: args}
	case e.alias != nil:
		if !c.fits(ts.m, t, e.name, len(e.alias.params)) {
			return types.Bad
		}
		return types.Substitute(c.aliasType(e.mod, e.alias), bindings(e.alias.params, args))
	}
	c.report(ts.m, diag.NotAType.At(t.Sp, "`%s` is %s, not a type", e.name, describe(e.obj)).
		Label(e.at, "declared here").Hint("%s", typeInstead(e.obj)))
	return types.Bad
}

func typeInstead(o Object) string {
	switch o.(type) {
	case *Agent:
		return "the type of every agent is `Agent`"
	case *Host:
		return "the type of every host is `Host`"
	case *Tool:
		return "the type of every tool is `Tool`"
	}
	return "declare a struct, schema, enum or type of that name"
}

func (c *checker) noTypeArgs(m *module, t *ast.NamedType, name string) {
	if len(t.Args) > 0 {
		c.report(m, diag.TypeArguments.At(t.Sp, "`%s` takes no type arguments", name).Hint("write `%s`", name))
	}
}

func (c *checker) fits(m *module, t *ast.NamedType, name string, want int) bool {
	if len(t.Args) == want {
		return true
	}
	c.report(m, diag.TypeArguments.At(t.Sp, "`%s` takes %s, not %d", name, count(want, "type argument"), len(t.Args)).
		Hint("give one for each type parameter of the declaration"))
	return false
}

// aliasType is what a type alias stands for; an alias of itself is an error.
func (c *checker) aliasType(m *module, a *aliasDecl) types.Type {
	if a.typ != nil {
		return a.typ
	}
	if a.pending {
		c.report(m, diag.AliasCycle.At(a.decl.Name.Sp, "type `%s` stands for itself", a.decl.Name.Name).
			Hint("declare a struct or enum, which may contain itself"))
		a.typ = types.Bad
		return a.typ
	}
	a.pending = true
	t := c.resolve(&typeScope{m: m, params: a.params}, a.decl.Type)
	if a.typ == nil {
		a.typ = t
	}
	return a.typ
}

func (c *checker) unknownType(ts *typeScope, name *ast.Ident) {
	known := c.typeNames(ts)
	d := diag.UnknownType.At(name.Sp, "unknown type `%s`", name.Name)
	if near := spell.Nearest(name.Name, known); near != "" {
		d.Hint("did you mean `%s`?", near)
	} else {
		d.Hint("declare it with struct, schema, enum or type")
	}
	c.report(ts.m, d)
}

func (c *checker) typeNames(ts *typeScope) []string {
	var known []string
	for name := range basics {
		known = append(known, name)
	}
	for name := range constructors {
		known = append(known, name)
	}
	for name, e := range ts.m.names {
		if e.typ != nil || e.alias != nil {
			known = append(known, name)
		}
	}
	if c.cfg.Library != nil {
		known = append(known, c.cfg.Library.Names()...)
	}
	for s := ts; s != nil; s = s.parent {
		for _, p := range s.params {
			known = append(known, p.Name)
		}
	}
	return known
}

// path finds what `std::module::name` names, reporting what it does not find.
func (c *checker) path(m *module, segs []*ast.Ident) *entity {
	last := segs[len(segs)-1]
	if e := m.names[segs[0].Name]; e != nil && e.refused {
		return nil
	}
	if segs[0].Name != "std" || len(segs) != 3 {
		span := source.Join(segs[0].Sp, last.Sp)
		c.report(m, diag.UnknownPath.At(span, "no module `%s` here", segs[0].Name).
			Hint("library modules are reached as `std::name::item`"))
		return nil
	}
	if c.cfg.Library == nil {
		c.report(m, diag.UnknownPath.At(segs[0].Sp, "there is no library here").Hint("remove the path"))
		return nil
	}
	mod := c.libraryModule(c.cfg.Library.Module(segs[1].Name))
	if mod == nil {
		d := diag.UnknownPath.At(segs[1].Sp, "no module `%s` in std", segs[1].Name)
		if near := spell.Nearest(segs[1].Name, c.cfg.Library.Modules()); near != "" {
			d.Hint("did you mean `std::%s`?", near)
		} else {
			d.Hint("`concerto doc std` lists the modules")
		}
		c.report(m, d)
		return nil
	}
	e := mod.names[last.Name]
	if e == nil || len(last.Name) > 2 && last.Name[:2] == "__" && !m.info.Library {
		var names []string
		for n := range mod.names {
			names = append(names, n)
		}
		d := diag.UnknownPath.At(last.Sp, "no `%s` in std::%s", last.Name, segs[1].Name)
		if near := spell.Nearest(last.Name, names); near != "" {
			d.Hint("did you mean `%s`?", near)
		} else {
			d.Hint("see spec/std for what the module holds")
		}
		c.report(m, d)
		return nil
	}
	return e
}

func bindings(params []*types.Param, args []types.Type) map[*types.Param]types.Type {
	m := make(map[*types.Param]types.Type, len(params))
	for i, p := range params {
		m[p] = args[i]
	}
	return m
}
