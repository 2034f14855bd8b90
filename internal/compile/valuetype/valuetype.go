// Package valuetype converts types of the checker to types at run time.
package valuetype

import (
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Of returns the type at run time for a type whose values can be decoded from data. A part without
// such values is Any: it has been reported.
func Of(t types.Type) *value.Type { return (&converter{map[namedType]*value.Type{}}).of(t) }

type converter struct{ named map[namedType]*value.Type }

// namedType identifies a declared type with its type arguments.
type namedType struct {
	decl *types.Decl
	text string
}

func (c *converter) of(t types.Type) *value.Type {
	switch x := types.Resolve(t).(type) {
	case *types.Basic:
		switch x {
		case types.Int:
			return &value.Type{Kind: value.TypeInt}
		case types.Float:
			return &value.Type{Kind: value.TypeFloat}
		case types.String:
			return &value.Type{Kind: value.TypeString}
		case types.Bool:
			return &value.Type{Kind: value.TypeBool}
		case types.Nil:
			return &value.Type{Kind: value.TypeNil}
		}
	case *types.Array:
		return &value.Type{Kind: value.TypeArray, Args: []*value.Type{c.of(x.Elem)}}
	case *types.Map:
		return &value.Type{Kind: value.TypeMap, Args: []*value.Type{c.of(x.Key), c.of(x.Value)}}
	case *types.Option:
		return &value.Type{Kind: value.TypeOption, Args: []*value.Type{c.of(x.Elem)}}
	case *types.Tuple:
		out := &value.Type{Kind: value.TypeTuple}
		for _, elem := range x.Elems {
			out.Args = append(out.Args, c.of(elem))
		}
		return out
	case *types.Union:
		return &value.Type{Kind: value.TypeUnion, Values: x.Values}
	case *types.Named:
		return c.ofNamed(x)
	}
	return value.AnyType
}

// ofNamed returns the type for a struct, schema or enum, which may contain itself.
func (c *converter) ofNamed(n *types.Named) *value.Type {
	name := namedType{n.Decl, types.Full(n).String()}
	if known := c.named[name]; known != nil {
		return known
	}
	out := &value.Type{Kind: value.TypeStruct, Name: n.Decl.Name}
	c.named[name] = out
	bindings := types.Bindings(n.Decl.Params, n.Args)
	fields := func(all []*types.Field) (out []value.Field) {
		for _, f := range all {
			out = append(out, value.Field{Name: f.Name, Type: c.of(types.Substitute(f.Type, bindings)), Optional: f.Optional, HasDefault: f.Default})
		}
		return out
	}
	switch n.Decl.Kind {
	case types.Schema:
		out.Kind = value.TypeSchema
	case types.Enum:
		out.Kind = value.TypeEnum
		for _, v := range n.Decl.Variants {
			out.Variants = append(out.Variants, value.Variant{Name: v.Name, Named: v.Named, Fields: fields(v.Fields)})
		}
		out.Seal()
		return out
	}
	out.Fields = fields(n.Decl.Fields)
	return out
}
