package repl

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/compile/types"
)

// mentions reports whether a type contains a declared type with one of the names.
func mentions(t types.Type, names map[string]bool, seen map[*types.Decl]bool) bool {
	any := func(all ...types.Type) bool {
		return slices.ContainsFunc(all, func(t types.Type) bool { return t != nil && mentions(t, names, seen) })
	}
	switch t := types.Resolve(t).(type) {
	case *types.Array:
		return any(t.Elem)
	case *types.Map:
		return any(t.Key, t.Value)
	case *types.HashMap:
		return any(t.Key, t.Value)
	case *types.Queue:
		return any(t.Elem)
	case *types.Tuple:
		return any(t.Elems...)
	case *types.Option:
		return any(t.Elem)
	case *types.Result:
		return any(t.Ok, t.Err)
	case *types.Task:
		return any(t.Elem)
	case *types.Func:
		return any(append(slices.Clone(t.Params), t.Result)...)
	case *types.Named:
		if names[t.Decl.Name] && !t.Decl.Library || any(t.Args...) {
			return true
		}
		if seen[t.Decl] {
			return false
		}
		seen[t.Decl] = true
		for _, f := range t.Decl.Fields {
			if any(f.Type) {
				return true
			}
		}
		for _, v := range t.Decl.Variants {
			for _, f := range v.Fields {
				if any(f.Type) {
					return true
				}
			}
		}
	}
	return false
}
