package sema

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/types"
)

// basics are the types that are there without any declaration.
var basics = map[string]types.Type{
	"Int": types.Int, "Float": types.Float, "String": types.String, "Bool": types.Bool, "Nil": types.Nil,
	"Any": types.Any, "Never": types.Never, "Error": types.Error, "Range": types.Range,
	"Agent": types.Agent, "Host": types.Host, "Tool": types.Tool, "Memory": types.Memory, "Ledger": types.Ledger,
}

// BuiltinTypes are the names of all built-in types, in order.
func BuiltinTypes() []string {
	names := append(keys(basics), keys(constructors)...)
	slices.Sort(names)
	return names
}

// basicEntities are the entities of the basic types; nothing is noted in them.
var basicEntities = func() map[string]*entity {
	m := make(map[string]*entity, len(basics))
	for name, t := range basics {
		m[name] = &entity{name: name, builtin: t}
	}
	return m
}()

// constructors are the built-in types with arguments, and how many they take.
var constructors = map[string]struct{ min, max int }{
	"Array": {1, 1}, "Map": {2, 2}, "Option": {1, 1}, "Result": {1, 2}, "Task": {1, 1}, "HashMap": {2, 2},
}

func construct(name string, args []types.Type) types.Type {
	switch name {
	case "Array":
		return &types.Array{Elem: args[0]}
	case "Map":
		return &types.Map{Key: args[0], Value: args[1]}
	case "Option":
		return types.NewOption(args[0])
	case "Result":
		if len(args) == 1 {
			return &types.Result{Ok: args[0], Err: types.Error}
		}
		return &types.Result{Ok: args[0], Err: args[1]}
	case "Task":
		return &types.Task{Elem: args[0]}
	default:
		return &types.HashMap{Key: args[0], Value: args[1]}
	}
}

// universe finds a predeclared name: a basic type, or what the library's
// prelude declares. Names that begin with two underscores are the library's
// own.
func (c *checker) universe(m *module, name string) *entity {
	if e := basicEntities[name]; e != nil {
		return e
	}
	if name == "Shape" && m.info.Library {
		return &entity{name: name, builtin: types.Shape}
	}
	if c.cfg.Library == nil || strings.HasPrefix(name, "__") && !m.info.Library {
		return nil
	}
	lib := c.libraryModule(c.cfg.Library.Prelude(name))
	if lib == nil {
		return nil
	}
	return lib.names[name]
}

// methodFile names the library file with the methods of a built-in type; ""
// for a type that has none.
func methodFile(t types.Type) string {
	switch x := types.Resolve(t).(type) {
	case *types.Basic:
		switch x {
		case types.Nil, types.Never, types.Bad, types.Shape:
			return ""
		}
		return x.String()
	case *types.Union:
		return "String"
	case *types.Array:
		return "Array"
	case *types.Map:
		return "Map"
	case *types.HashMap:
		return "HashMap"
	case *types.Option:
		return "Option"
	case *types.Result:
		return "Result"
	case *types.Task:
		return "Task"
	case *types.Tuple:
		return "Tuple"
	case *types.Declared:
		if x.Kind != nil {
			return x.Kind.String()
		}
	case *types.Named:
		if x.Decl.Kind == types.ErrorStruct {
			return "Error"
		}
	}
	return ""
}

// implKey is what impls of a type are filed under.
func implKey(t types.Type) any {
	switch x := types.Resolve(t).(type) {
	case *types.Named:
		return x.Decl
	case *types.Declared:
		return x.Origin
	default:
		return methodFile(t)
	}
}
