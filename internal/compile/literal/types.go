package literal

import (
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// The types of a value's parts, by that of the whole; nil where it is not known.

// optionOf reports whether a type is an Option, and of what.
func optionOf(t types.Type) (types.Type, bool) {
	if t == nil {
		return nil, false
	}
	o, is := types.Resolve(t).(*types.Option)
	if !is {
		return nil, false
	}
	return o.Elem, true
}

// argument is the nth type in the brackets of another.
func argument(t types.Type, n int) types.Type {
	if t == nil {
		return nil
	}
	var all []types.Type
	switch t := types.Resolve(t).(type) {
	case *types.Option:
		return argument(t.Elem, n)
	case *types.Array:
		all = []types.Type{t.Elem}
	case *types.Map:
		all = []types.Type{t.Key, t.Value}
	case *types.Result:
		all = []types.Type{t.Ok, t.Err}
	}
	if n >= len(all) {
		return nil
	}
	return types.Resolve(all[n])
}

// element is the type of an element of a tuple.
func element(t types.Type, n int) types.Type {
	if t == nil {
		return nil
	}
	if x, is := types.Resolve(t).(*types.Tuple); is && n < len(x.Elems) {
		return types.Resolve(x.Elems[n])
	}
	return nil
}

// fieldType is the type of a field of a struct or a schema.
func fieldType(t types.Type, name string, _ *value.Type) types.Type {
	if t == nil {
		return nil
	}
	x, is := types.Resolve(t).(*types.Named)
	if !is || len(x.Decl.Params) > 0 {
		return nil
	}
	for _, f := range x.Decl.Fields {
		if f.Name == name {
			return types.Resolve(f.Type)
		}
	}
	return nil
}
