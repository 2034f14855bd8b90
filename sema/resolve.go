package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// typeScope is the context of a type expression: its module, the type parameters in scope, and the
// type to which Self refers.
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

// resolve returns the type to which a type expression refers. It records the type under the id of
// the type expression.
func (c *checker) resolve(ts *typeScope, t ast.Type) types.Type {
	if t == nil {
		return types.Nil
	}
	out := c.resolveForm(ts, t)
	ts.m.info.noteWritten(t.ID(), out)
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
	case *ast.BadType: // the parser has reported it
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

// nilTypeNames contains the names of the type of a missing value in other languages.
var nilTypeNames = []string{"null", "None", "none", "nil", "Nil", "undefined", "Null", "Nothing"}

// reportUnionWithNull reports `T | null`. It returns false if the union contains no name of
// nilTypeNames.
func (c *checker) reportUnionWithNull(ts *typeScope, t *ast.UnionType) bool {
	var rest []ast.Type
	for _, alt := range t.Alts {
		if n, ok := alt.(*ast.NamedType); !ok || len(n.Segments) != 1 || !slices.Contains(nilTypeNames, n.Segments[0].Name) {
			rest = append(rest, alt)
		}
	}
	if len(rest) != 1 || len(t.Alts) != 2 {
		return false
	}
	written := ts.m.info.File.Source.Slice(rest[0].Span())
	if w := foreign.Type.Find(written); len(w.Ours) == 1 {
		written = w.Ours[0]
	}
	c.report(ts.m, diag.UnionMember.At(t.Sp, "a union can only contain string literals, not `%s`", ts.m.info.File.Source.Slice(t.Alts[1].Span())).
		Repair(diag.Change(t.Sp, written+"?", written+"?", false), "write `%s?` for a value that can be missing", written))
	return true
}

func (c *checker) resolveUnion(ts *typeScope, t *ast.UnionType) types.Type {
	if c.reportUnionWithNull(ts, t) {
		return types.Bad
	}
	u := &types.Union{}
	for _, alt := range t.Alts {
		if _, missing := alt.(*ast.BadType); missing {
			return types.Bad
		}
	}
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
				c.report(ts.m, diag.UnionMember.At(alt.Span(), "a union can only contain string literals, not `%s`", a).
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
		c.report(ts.m, diag.UnknownType.At(t.Sp, "`Self` is only allowed in an impl").Hint("write the name of the type"))
		return types.Bad
	}
	if p := ts.param(name); p != nil {
		c.rejectTypeArguments(ts.m, t, name)
		return p
	}
	if e := c.findDeclared(ts.m, name); e != nil {
		return c.entityType(ts, e, t)
	}
	if k, ok := constructors[name]; ok {
		return c.resolveConstructor(ts, t, name, k.min, k.max)
	}
	if e := c.universe(ts.m, name); e != nil {
		return c.entityType(ts, e, t)
	}
	c.reportUnknownType(ts, t.Segments[0])
	c.resolveAll(ts, t.Args)
	return types.Bad
}

// resolvePath resolves the path of a type, such as std::collections::Set.
func (c *checker) resolvePath(ts *typeScope, t *ast.NamedType) types.Type {
	e, i := c.prefix(ts.m, t.Segments, len(t.Segments))
	if e == nil {
		c.resolveAll(ts, t.Args)
		return types.Bad
	}
	if i < len(t.Segments) && e.refused {
		c.resolveAll(ts, t.Args)
		return types.Bad
	}
	if i < len(t.Segments) {
		c.report(ts.m, diag.UnknownPath.At(t.Segments[i].Sp, "`%s` is not a module, so it contains no types", t.Segments[i-1].Name).Hint("only modules contain types"))
		return types.Bad
	}
	return c.entityType(ts, e, t)
}

func (c *checker) resolveConstructor(ts *typeScope, t *ast.NamedType, name string, least, most int) types.Type {
	args := c.resolveAll(ts, t.Args)
	if len(args) < least || len(args) > most {
		c.report(ts.m, diag.TypeArguments.At(t.Sp, "`%s` takes %s, but got %d", name, count(most, "type argument"), len(args)).
			WithFixes(removeTypesFix(t, most)...).Hint("write `%s`", exampleOf(name)))
		return types.Bad
	}
	if (name == "Map" || name == "HashMap") && !types.IsHashable(args[0]) {
		c.report(ts.m, diag.MapKey.At(t.Args[0].Span(), "`%s` cannot be the key of a map", args[0]).
			Hint("a key must be a String, Int or Bool"))
	}
	return newContainer(name, args)
}

func exampleOf(name string) string {
	return map[string]string{"Array": "Array<Int>", "Map": "Map<String, Int>", "Option": "Option<Int>",
		"Result": "Result<Int, Error>", "Task": "Task<Int>", "HashMap": "HashMap<String, Int>", "Queue": "Queue<String>"}[name]
}

// entityType returns the type to which an entity and its type arguments refer.
func (c *checker) entityType(ts *typeScope, e *entity, t *ast.NamedType) types.Type {
	args := c.resolveAll(ts, t.Args)
	if e.refused {
		return types.Bad
	}
	switch {
	case e.builtin != nil:
		c.rejectTypeArguments(ts.m, t, e.name)
		return e.builtin
	case e.typ != nil:
		if !c.checkTypeArgumentCount(ts.m, t, e.name, len(e.typ.Params)) {
			return types.Bad
		}
		return &types.Named{Decl: e.typ, Args: args}
	case e.alias != nil:
		if !c.checkTypeArgumentCount(ts.m, t, e.name, len(e.alias.params)) {
			return types.Bad
		}
		return types.Substitute(c.aliasType(e.mod, e.alias), types.Bindings(e.alias.params, args))
	}
	what, hint := describe(e.obj), typeHint(e.obj)
	switch {
	case e.module != nil:
		what, hint = "a module", "write the name of a type in the module"
	case e.trait != nil && len(e.trait.decl.Generics) == 0:
		c.rejectTypeArguments(ts.m, t, e.name)
		return c.traitType(e.trait)
	case e.trait != nil:
		what, hint = "a generic trait", "use it as a bound: `fn f<T: "+e.name+"<…>>(x: T)`"
	}
	d := diag.NotAType.At(t.Sp, "`%s` is %s, not a type", e.name, what)
	if e.mod != nil && !e.at.IsZero() {
		d.LabelIn(e.mod.info.File.Source, e.at, "declared here")
	}
	c.report(ts.m, d.Hint("%s", hint))
	return types.Bad
}

func typeHint(o Object) string {
	switch o.(type) {
	case *Agent:
		return "every agent has the type `Agent`"
	case *Host:
		return "every host has the type `Host`"
	case *Tool:
		return "every tool has the type `Tool`"
	}
	return "declare a struct, schema, enum or type with this name"
}

func (c *checker) rejectTypeArguments(m *module, t *ast.NamedType, name string) {
	if len(t.Args) > 0 {
		c.report(m, diag.TypeArguments.At(t.Sp, "`%s` takes no type arguments", name).
			Repair(diag.UnsafeFix(diag.Replace(t.Sp, name), "Write `%s`", name), "write `%s`", name))
	}
}

func (c *checker) checkTypeArgumentCount(m *module, t *ast.NamedType, name string, want int) bool {
	if len(t.Args) == want {
		return true
	}
	c.report(m, diag.TypeArguments.At(t.Sp, "`%s` takes %s, but got %d", name, count(want, "type argument"), len(t.Args)).
		Hint("write one for each type parameter of the declaration"))
	return false
}

// aliasType returns the type to which an alias refers. It reports a recursive alias.
func (c *checker) aliasType(m *module, a *aliasDecl) types.Type {
	if a.typ != nil {
		return a.typ
	}
	if a.pending {
		c.report(m, diag.AliasCycle.At(a.decl.Name.Sp, "recursive type alias `%s`", a.decl.Name.Name).
			Hint("declare a struct or enum, which can contain itself"))
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

func (c *checker) reportUnknownType(ts *typeScope, name *ast.Ident) {
	d := diag.UnknownType.At(name.Sp, "unknown type `%s`", name.Name)
	names := c.typeNames(ts)
	near := names.Nearest(name.Name)
	imports := c.importTypes(ts.m, name.Name)
	switch hint := foreign.Type.Hint(name.Name); {
	case hint != "" && (near == "" || suggest.EditDistance(name.Name, near) > 1 || c.findDeclared(ts.m, near) == nil):
		d.Advise(foreignTypeAdvice(hint, name)).WithFixes(imports...)
	case len(imports) > 0:
		d.WithFixes(imports...).Hint("add `use std::%s::%s;`", c.stdModulesOf(name.Name, stdType)[0], name.Name)
	case near != "":
		d.SuggestName(name.Sp, near, names.Certain(name.Name, near))
	default:
		d.Hint("declare it: `struct %s { … }`, or `schema`, `enum`, `type`", name.Name)
	}
	c.report(ts.m, d)
}

// prefix resolves the first upto segments of a path, as long as they are modules. It returns the
// last entity and the number of resolved segments. It reports unknown names.
func (c *checker) prefix(m *module, segs []*ast.Ident, upto int) (*entity, int) {
	var e *entity
	i := 1
	switch first := segs[0]; {
	case first.Name == "std":
		if len(segs) < 3 {
			return c.stdPath(m, segs, false), len(segs)
		}
		e, i = c.stdPath(m, segs[:2], true), 2
	case first.Name == "super":
		e, i = c.relativeModule(m, segs)
	default:
		if len(segs) > 1 {
			e = c.hiddenModule(m, first.Name)
		}
		if e == nil {
			e = c.findDeclared(m, first.Name)
		}
		if e == nil {
			e = c.rootModule(m, first)
		}
		if e == nil && len(segs) > 1 {
			e = c.packageNamed(m, first.Name)
		}
		if e == nil {
			e = c.universe(m, first.Name)
		}
		if e == nil {
			c.reportUnknownModule(m, segs)
			return nil, 0
		}
	}
	for i < upto && e != nil && e.module != nil {
		e = c.member(m, e.module, segs, i)
		i++
	}
	return e, i
}

// hiddenModule returns the nearest module whose name is also the name of a value.
func (c *checker) hiddenModule(m *module, name string) *entity {
	for ; m != nil; m = m.around {
		if e := m.mods[name]; e != nil {
			return c.followImports(e)
		}
		if m.names[name] != nil {
			return nil
		}
	}
	return nil
}

// rootModule returns the entity of a module that the root module declares. Paths in any module may
// start with it.
func (c *checker) rootModule(m *module, id *ast.Ident) *entity {
	root := m.root()
	if e := root.moduleNamed(id.Name); e != nil && root != m.home() && (e.module != nil || e.imported != nil) {
		return c.followImports(e)
	}
	return nil
}

// quietPrefix resolves a path that may not be a path of entities. It returns nil unless the whole
// path refers to an entity. It does not report unknown names in the path. It reports errors in
// imports, because an import is resolved only once.
func (c *checker) quietPrefix(m *module, segs []*ast.Ident) *entity {
	saved, quiet := c.diags, c.bodies.quiet
	reports := 0
	if c.bodies.noting != nil {
		reports = len(c.bodies.noting.diags)
	}
	c.bodies.quiet = true
	e, i := c.prefix(m, segs, len(segs))
	c.diags, c.bodies.quiet = saved, quiet
	if !quiet {
		c.diags.Append(c.bodies.ofImports)
		c.bodies.ofImports = diag.List{}
	}
	if c.bodies.noting != nil {
		c.bodies.noting.diags = c.bodies.noting.diags[:reports]
	}
	if i < len(segs) || e == nil || e.refused {
		return nil
	}
	return e
}
