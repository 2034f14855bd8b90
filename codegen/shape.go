package codegen

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
)

// The types table contains run-time information about types, each type once. A type parameter is
// represented as any.

var basicKinds = map[*types.Basic]string{
	types.Int: "int", types.Float: "float", types.String: "string", types.Bool: "bool", types.Nil: "nil",
	types.Any: "any", types.Never: "never", types.Error: "error", types.Range: "range", types.Agent: "agent",
	types.Host: "host", types.Tool: "tool", types.Memory: "memory", types.Ledger: "ledger", types.Shape: "any",
}

// typeTable contains the indices of types in the types table.
type typeTable struct {
	byKey map[string]int
	decls map[*types.Decl]int   // numbers of declarations, which distinguish declarations with the same name
	forms map[*types.Decl][]int // types of each declaration, with all combinations of type arguments that the program uses
	fault *types.Named          // type RuntimeError; nil until needed
}

func newTypeTable() typeTable {
	return typeTable{byKey: map[string]int{}, decls: map[*types.Decl]int{}, forms: map[*types.Decl][]int{}}
}

// typeIndex returns the index of t in the types table.
func (g *generator) typeIndex(t types.Type) int {
	t = types.Resolve(t)
	key := g.typeKey(t)
	if n, ok := g.types.byKey[key]; ok {
		return n
	}
	n := len(g.out.Types)
	g.types.byKey[key] = n
	if named, ok := t.(*types.Named); ok {
		g.types.forms[named.Decl] = append(g.types.forms[named.Decl], n)
	}
	g.out.Types = append(g.out.Types, ir.TypeInfo{})
	info := g.typeInfo(t)
	g.out.Types[n] = info
	return n
}

// typeKey returns a text that identifies the type t: only identical types have the same text.
func (g *generator) typeKey(t types.Type) string {
	switch t := types.Resolve(t).(type) {
	case *types.Basic:
		return basicKinds[t]
	case *types.Named:
		id, ok := g.types.decls[t.Decl]
		if !ok {
			id = len(g.types.decls)
			g.types.decls[t.Decl] = id
		}
		return "#" + strconv.Itoa(id) + g.typeKeys(t.Args)
	case *types.Array:
		return "array<" + g.typeKey(t.Elem) + ">"
	case *types.Map:
		return "map" + g.typeKeys([]types.Type{t.Key, t.Value})
	case *types.Tuple:
		return "tuple" + g.typeKeys(t.Elems)
	case *types.Option:
		return "option<" + g.typeKey(t.Elem) + ">"
	case *types.Result:
		return "result" + g.typeKeys([]types.Type{t.Ok, t.Err})
	case *types.Task:
		return "task<" + g.typeKey(t.Elem) + ">"
	case *types.Union:
		parts := make([]string, len(t.Values))
		for i, v := range t.Values {
			parts[i] = strconv.Quote(v)
		}
		return "union<" + strings.Join(parts, ",") + ">"
	case *types.Func:
		return "function"
	case *types.HashMap:
		return "hashmap"
	case *types.Queue:
		return "queue"
	case *types.Declared:
		return g.typeKey(declaredKind(t))
	}
	return "any"
}

func (g *generator) typeKeys(ts []types.Type) string {
	if len(ts) == 0 {
		return ""
	}
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = g.typeKey(t)
	}
	return "<" + strings.Join(parts, ",") + ">"
}

// declaredKind returns the general type of the type that an agent, host or tool declares. For a
// pipeline it returns any.
func declaredKind(d *types.Declared) types.Type {
	if d.Kind == nil {
		return types.Any
	}
	return d.Kind
}

func (g *generator) typeInfo(t types.Type) ir.TypeInfo {
	switch t := t.(type) {
	case *types.Basic:
		return ir.TypeInfo{Kind: basicKinds[t]}
	case *types.Named:
		return g.namedInfo(t)
	case *types.Array:
		return ir.TypeInfo{Kind: "array", Args: g.typeIndices(t.Elem)}
	case *types.Map:
		return ir.TypeInfo{Kind: "map", Args: g.typeIndices(t.Key, t.Value)}
	case *types.Tuple:
		return ir.TypeInfo{Kind: "tuple", Args: g.typeIndices(t.Elems...)}
	case *types.Option:
		return ir.TypeInfo{Kind: "option", Args: g.typeIndices(t.Elem)}
	case *types.Result:
		return ir.TypeInfo{Kind: "result", Args: g.typeIndices(t.Ok, t.Err)}
	case *types.Task:
		return ir.TypeInfo{Kind: "task", Args: g.typeIndices(t.Elem)}
	case *types.Union:
		return ir.TypeInfo{Kind: "union", Values: t.Values}
	case *types.Func:
		return ir.TypeInfo{Kind: "function"}
	case *types.HashMap:
		return ir.TypeInfo{Kind: "hashmap"}
	case *types.Queue:
		return ir.TypeInfo{Kind: "queue"}
	case *types.Declared:
		return g.typeInfo(declaredKind(t))
	}
	return ir.TypeInfo{Kind: "any"}
}

func (g *generator) typeIndices(ts ...types.Type) []int {
	out := make([]int, len(ts))
	for i, t := range ts {
		out[i] = g.typeIndex(t)
	}
	return out
}

var namedKinds = map[types.DeclKind]string{types.Struct: "struct", types.Schema: "schema", types.Enum: "enum", types.ErrorStruct: "error"}

func (g *generator) namedInfo(t *types.Named) ir.TypeInfo {
	d := t.Decl
	bound := map[*types.Param]types.Type{}
	for i, p := range d.Params {
		if i < len(t.Args) {
			bound[p] = t.Args[i]
		}
	}
	info := ir.TypeInfo{Kind: namedKinds[d.Kind], Name: d.Name, Doc: d.Doc, Elements: d.Elements, Members: d.Members}
	info.Fields = g.fieldInfos(d, nil, d.Fields, bound)
	for _, v := range d.Variants {
		info.Variants = append(info.Variants, ir.VariantInfo{Name: v.Name, Named: v.Named, Fields: g.fieldInfos(d, v, v.Fields, bound)})
	}
	return info
}

func (g *generator) fieldInfos(d *types.Decl, v *types.Variant, fields []*types.Field, bound map[*types.Param]types.Type) []ir.FieldInfo {
	var out []ir.FieldInfo
	for _, f := range fields {
		info := ir.FieldInfo{Name: f.Name, Type: g.typeIndex(types.Substitute(f.Type, bound)), Optional: f.Optional, Doc: f.Doc}
		if f.Default {
			info.Default = g.fieldDefault(d, v, f)
		}
		out = append(out, info)
	}
	return out
}

// fieldDefault returns the constant default of a field as JSON, or nil without a default.
func (g *generator) fieldDefault(d *types.Decl, v *types.Variant, f *types.Field) json.RawMessage {
	c := g.p.FieldDefault(d, v, f)
	if c == nil {
		return nil
	}
	return constJSON(c.Value)
}

// class returns the class of a register that contains a value of type t.
func class(t types.Type) ir.Class {
	switch types.Resolve(t) {
	case types.Int:
		return ir.Int
	case types.Float:
		return ir.Float
	case types.Bool:
		return ir.Bool
	}
	return ir.Full
}

// mayShare reports whether a value of type t can be a container. Two holders can share a container
// only if it is marked.
func mayShare(t types.Type) bool {
	switch t := types.Resolve(t).(type) {
	case *types.Basic:
		return t == types.Any || t == types.Error
	case *types.Option:
		return mayShare(t.Elem)
	case *types.Array, *types.Map, *types.Tuple, *types.Result, *types.Named, *types.Param:
		return true
	}
	return false
}

// boxable reports whether Some(v), where v has type t, may need a box. It needs one if v may be nil
// or a boxed Some.
func boxable(t types.Type) bool {
	switch t := types.Resolve(t).(type) {
	case *types.Option, *types.Param:
		return true
	case *types.Basic:
		return t == types.Nil
	}
	return false
}
