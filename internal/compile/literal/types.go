package literal

import (
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// The functions in this file return the type of a part from the type of the whole value. A nil type
// is unknown.

// optionOf returns the element type of an Option. It returns false if t is no Option.
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

// argument returns the nth type argument of t, or nil.
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

// element returns the type of the nth element of a tuple, or nil.
func element(t types.Type, n int) types.Type {
	if t == nil {
		return nil
	}
	if x, is := types.Resolve(t).(*types.Tuple); is && n < len(x.Elems) {
		return types.Resolve(x.Elems[n])
	}
	return nil
}

// fieldType returns the type of a field of a struct or a schema, or nil.
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
