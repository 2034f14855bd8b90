package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// endless refuses types of which no value can ever be made, because each value
// would need another one first: `struct P { p: P }`. A type is finite when all
// fields of it, or those of one variant, are; the rest is what is left once
// nothing more can be shown finite. A round asks a type's parts before the type,
// so that a chain of types takes one round.
func (c *checker) endless() {
	finite := map[*types.Decl]bool{}
	for again := true; again; {
		again = false
		asked := map[*types.Decl]bool{}
		var ask func(d *types.Decl) bool
		ask = func(d *types.Decl) bool {
			if !finite[d] && !asked[d] {
				asked[d] = true
				if finiteDecl(d, ask) {
					finite[d], again = true, true
				}
			}
			return finite[d]
		}
		for _, d := range c.decls {
			ask(d)
		}
	}
	structs := map[*module]map[*ast.DeclHead]*ast.StructDecl{}
	for _, d := range c.decls {
		if !finite[d] {
			o := originOf(d)
			if structs[o.mod] == nil {
				structs[o.mod] = o.mod.structs()
			}
			c.report(o.mod, diag.EndlessType.At(o.head.Name.Sp, "no value of `%s` can be made: each holds another one", d.Name).
				By(c.optionalField(o.mod, structs[o.mod][o.head])...).Hint("let it end somewhere: with `Option<%s>`, `Array<%s>` or a variant without one", d.Name, d.Name))
		}
	}
}

func finiteDecl(d *types.Decl, finite func(*types.Decl) bool) bool {
	if d.Kind != types.Enum {
		return finiteFields(d.Fields, finite)
	}
	for _, v := range d.Variants {
		if finiteFields(v.Fields, finite) {
			return true
		}
	}
	return len(d.Variants) == 0 // told as such
}

func finiteFields(fields []*types.Field, finite func(*types.Decl) bool) bool {
	for _, f := range fields {
		if !finiteType(f.Type, finite) {
			return false
		}
	}
	return true
}

func finiteType(t types.Type, finite func(*types.Decl) bool) bool {
	switch x := types.Resolve(t).(type) {
	case *types.Named:
		return x.Decl.Library || finite(x.Decl)
	case *types.Tuple:
		for _, e := range x.Elems {
			if !finiteType(e, finite) {
				return false
			}
		}
	}
	return true
}
