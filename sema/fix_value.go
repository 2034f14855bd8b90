package sema

import (
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/types"
)

// deepestPlaceholder is how many structs within each other a placeholder fills.
const deepestPlaceholder = 3

// placeholder is an expression of a type, the least one there is: what stands in a program until
// somebody writes the value that is meant.
func placeholder(t types.Type) string { return placeholderIn(t, 0) }

func placeholderIn(t types.Type, depth int) string {
	switch x := types.Resolve(t).(type) {
	case *types.Basic:
		if s, ok := leastBasic[x]; ok {
			return s
		}
	case *types.Option:
		return "None"
	case *types.Array:
		return "[]"
	case *types.Map:
		return "{}"
	case *types.Union:
		if len(x.Values) > 0 {
			return strconv.Quote(x.Values[0])
		}
	case *types.Named:
		return namedPlaceholder(x.Decl, depth)
	}
	return notWritten
}

var leastBasic = map[*types.Basic]string{
	types.Int: "0", types.Float: "0.0", types.String: `""`, types.Bool: "false", types.Nil: "nil", types.Any: "nil",
}

func namedPlaceholder(d *types.Decl, depth int) string {
	switch {
	case depth == deepestPlaceholder || len(d.Params) > 0 || d.Library:
	case d.Kind == types.Enum:
		for _, v := range d.Variants {
			if len(v.Fields) == 0 && !v.Named {
				return d.Name + "::" + v.Name
			}
		}
	case d.Kind == types.ErrorStruct:
		return d.Name + `::new("")`
	default:
		return d.Name + " " + fieldPlaceholders(d.Fields, depth+1)
	}
	return notWritten
}

// fieldPlaceholders are the fields, in braces, that have no default.
func fieldPlaceholders(fields []*types.Field, depth int) string {
	var rows []string
	for _, f := range fields {
		if !f.Default {
			rows = append(rows, f.Name+": "+placeholderIn(f.Type, depth))
		}
	}
	if len(rows) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(rows, ", ") + " }"
}
