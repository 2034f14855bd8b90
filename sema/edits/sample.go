package edits

import (
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/types"
)

// deepestPlaceholder is the maximum nesting of structs in a placeholder.
const deepestPlaceholder = 3

// Placeholder returns the shortest expression of type t. A fix inserts it where the user must write
// the intended value.
func Placeholder(t types.Type) string { return placeholderIn(t, 0) }

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
		return NamedPlaceholder(x.Decl, depth)
	}
	return NotWritten
}

var leastBasic = map[*types.Basic]string{
	types.Int: "0", types.Float: "0.0", types.String: `""`, types.Bool: "false", types.Nil: "nil", types.Any: "nil",
}

func NamedPlaceholder(d *types.Decl, depth int) string {
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
		return d.Name + " " + FieldPlaceholders(d.Fields, depth+1)
	}
	return NotWritten
}

// FieldPlaceholders returns the text of a struct literal's braces, with placeholders for the fields
// that have no default. depth is the current nesting.
func FieldPlaceholders(fields []*types.Field, depth int) string {
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

// Sample returns the text of an example value of type t.
func Sample(t types.Type) string {
	switch x := types.Resolve(t).(type) {
	case *types.Basic:
		if s := basicSamples[x]; s != "" {
			return s
		}
	case *types.Array:
		return "write an array, such as `[" + Example(x.Elem) + "]`"
	case *types.Map:
		return "write a map, such as `{\"key\": " + Example(x.Value) + "}`"
	case *types.Tuple:
		return "write a tuple of " + strconv.Itoa(len(x.Elems)) + " values: `(…, …)`"
	case *types.Func:
		return "write a function or a closure: `|…| …`"
	case *types.Result:
		return "write `Ok(…)` or `Err(…)`"
	case *types.Option:
		return "write `Some(…)` or `None`"
	case *types.Union:
		return "write one of " + x.String()
	case *types.Named:
		if x.Decl.Kind == types.Enum && len(x.Decl.Variants) > 0 {
			return "use one of its variants, such as `" + VariantExample(x.Decl, x.Decl.Variants[0]) + "`"
		}
		if !x.Decl.Library {
			return "create one: `" + StructExample(x.Decl) + "`"
		}
	}
	return "use a value of type `" + types.Full(t).String() + "`"
}

// basicSamples contains example values of the basic types.
var basicSamples = map[*types.Basic]string{
	types.Int:    "write an integer, such as `1`",
	types.Float:  "write a number, such as `0.5`",
	types.String: "write text in quotes: `\"…\"`",
	types.Bool:   "write `true`, `false` or a comparison",
	types.Agent:  "use the name of an agent, declared with `agent Name uses … { … }`",
	types.Host:   "use the name of a host, declared with `host Name { connector: … }`",
	types.Tool:   "use the name of a tool, declared with `tool Name { … }`",
	types.Memory: "use the name of a memory, declared with `memory name: Memory = Memory::new();`",
	types.Ledger: "use the name of a ledger, declared with `ledger name: Ledger = Ledger::new();`",
	types.Range:  "write a range: `0..n`",
	types.Error:  "create an error: `Error::new(\"…\")`",
}

// Example returns the text of an example value of type t for a hint.
func Example(t types.Type) string {
	switch x := types.Resolve(t).(type) {
	case *types.Basic:
		switch x {
		case types.Int:
			return "1"
		case types.Float:
			return "0.5"
		case types.String:
			return "\"…\""
		case types.Bool:
			return "true"
		}
	case *types.Option:
		return Example(x.Elem)
	case *types.Array:
		return "[" + Example(x.Elem) + "]"
	case *types.Named:
		if x.Decl.Kind == types.Enum && len(x.Decl.Variants) > 0 {
			return VariantExample(x.Decl, x.Decl.Variants[0])
		}
		if x.Decl.Kind == types.ErrorStruct {
			return x.Decl.Name + "::new(\"…\")"
		}
		if x.Decl.Kind != types.Enum && !x.Decl.Elements && !x.Decl.Members {
			return StructExample(x.Decl)
		}
	}
	return "…"
}

// StructExample returns a literal of the struct d with the fields that have no default.
func StructExample(d *types.Decl) string {
	var fields []string
	for _, f := range d.Fields {
		if !f.Default {
			fields = append(fields, f.Name+": …")
		}
	}
	return d.Name + " { " + strings.Join(fields, ", ") + " }"
}

func VariantExample(d *types.Decl, v *types.Variant) string {
	s := d.Name + "::" + v.Name
	if len(v.Fields) == 0 {
		return s
	}
	var parts []string
	for _, f := range v.Fields {
		if v.Named {
			parts = append(parts, f.Name+": …")
		} else {
			parts = append(parts, "…")
		}
	}
	if v.Named {
		return s + " { " + strings.Join(parts, ", ") + " }"
	}
	return s + "(" + strings.Join(parts, ", ") + ")"
}
