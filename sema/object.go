package sema

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Object is anything that a name can refer to: *Local, *Function, *Const, *Agent, *Host, *Tool,
// *Store, *Pipeline, *VariantRef (a constructor or unit variant).
type Object interface{ object() }

// Local is a variable: a let, a parameter, a pattern's name, a pipeline's stage name. Cell reports
// that it must be stored in a cell, because a closure captures it by reference. Late reports that
// it is declared without a value.
type Local struct {
	Name  string
	Type  types.Type
	Mut   bool
	Late  bool
	Cell  bool
	Param bool
	// Offered reports that callers outside the program pass it by name: it is a parameter of a tool
	// function that models may call.
	Offered bool
	At      source.Span

	let            source.Pos // after the word `let`, if one declares it
	assigner       string     // what assigns it repeatedly, if not a `let`: "for", "match"
	used, assigned bool
	frame          *frame // the function or closure that declares it
	depth          int    // the number of scopes around its declaration
}

// Function is a function with a body, or a native or effect of the library.
type Function struct {
	// Name is its name in traces: "route", "Box.add", "Users.lookup", "BuildAndTest.implement".
	Name     string
	Decl     *ast.FnDecl
	Info     *Info
	Generics []*types.Param
	Params   []*Param // the receiver first, if there is one
	Result   types.Type
	// Recv is the receiver's type; nil for plain functions and associated ones (Box::new).
	Recv    types.Type
	MutSelf bool
	External
	// Shape reports that calls pass, after the declared arguments, the run-time type of each type
	// argument (LoadType) as parameters of type Shape.
	Shape bool
	// Async reports that a call starts a task and returns Task<Result>.
	Async bool
	// Tool is set for tool functions, whose self is the tool itself.
	Tool *Tool
	// Undeclared reports that no declaration names it: it is a server's function that `..` of the
	// `mcp` block includes, created for its calls.
	Undeclared bool
	CallDecorators

	assoc   types.Type // the type whose impl declares it
	mod     *module
	pub     bool
	trait   *traitDecl // of a trait's default method
	checked bool
	// instance reports that it is a copy for some type arguments.
	instance bool
}

// CallDecorators holds the decorators of calls.
type CallDecorators struct {
	// Decorations wrap each call, the outermost first.
	Decorations []*Decoration
	// OnUnknown is the policy for effects inside whose outcome is unknown: "retry", "fail" or
	// "ask", or "" if not set.
	OnUnknown string
}

// External describes a function that is implemented outside the program. Its body is ignored.
type External struct {
	Native string // the registered name of a Go function
	Effect string // of an effect
	// Wraps reports that the declared result is a Result that the call creates (the wrap operand of
	// CallNative and Perform).
	Wraps bool
}

// Param is a parameter. Default is nil if there is none. It is evaluated in the callee's file at
// each call.
type Param struct {
	Name    string
	Type    types.Type
	Local   *Local
	Default ast.Expr
	At      source.Span
	// Doc is the text of @param.
	Doc string

	regex bool // of a library function: a regular expression
}

// Const is a constant. Value is an int64, float64, string, bool, nil, or []any, *ConstMap, Object
// of these.
type Const struct {
	Name  string
	Type  types.Type
	Expr  ast.Expr
	Info  *Info
	Value any

	state uint8
	mod   *module
	decl  *ast.ConstDecl
}

// ConstMap is a constant map in written order.
type ConstMap struct {
	Keys   []string
	Values []any
}

// VariantRef refers to a variant of an enum. Type is an Option for Some and None, a Result for Ok
// and Err, else a Named of kind Enum. Index counts from 0 (Ok, Some: 0; Err, None: 1).
type VariantRef struct {
	Type  types.Type
	Name  string
	Index int
	// Variant is nil for Some, None, Ok, Err.
	Variant *types.Variant
}

// Agent is an agent declaration with its constant fields.
type Agent struct {
	Name       string
	Decl       *ast.AgentDecl
	Type       *types.Declared
	Info       *Info
	Connection string
	Fields     map[string]any // constants, by field name; tools are *Tool, memory is a *Store
	Knowledge  []*Store       // ledgers
	CallDecorators
	mod *module
}

// Host is a host declaration with its constant fields.
type Host struct {
	Name      string
	Decl      *ast.HostDecl
	Type      *types.Declared
	Info      *Info
	Connector string
	Fields    map[string]any
	Tools     []*Tool
	CallDecorators
	mod *module
}

// Tool is a tool declaration. State holds its fields, the slots of the tool value in order.
type Tool struct {
	Name        string
	Decl        *ast.ToolDecl
	Type        *types.Declared
	Info        *Info
	Description string
	State       []*types.Field
	Methods     []*Function
	Described   []string // @describe's text by method, or ""
	// Server is the MCP server that implements the functions, or "" for a tool of the program. Call
	// and Try are the library functions that call one and return the value, or a Result.
	Server    string
	Call, Try *Function
	// Rest reports that the server's other functions can be called, too. The library function List
	// requests them, and CallRest calls one for a model or a host.
	Rest           bool
	List, CallRest *Function
	mod            *module
}

// Store is a hashmap, ledger or memory declaration.
type Store struct {
	Name   string
	Kind   ast.StoreKind
	Decl   *ast.StoreDecl
	Type   types.Type
	Window int64  // Memory::new(n); 0 if not limited
	File   string // of with_persistence; "" for a store in memory
}

// Pipeline is a pipeline declaration.
type Pipeline struct {
	Name   string
	Decl   *ast.PipelineDecl
	Type   *types.Declared
	Info   *Info
	Params []*Param // of run
	Result types.Type
	// ResultConv converts the last stage's output, or is nil.
	ResultConv types.Type
	Stages     []*Stage

	// Withheld is the reason why callers outside the program cannot run it: a parameter that cannot
	// be decoded. It is "" if they can.
	Withheld string

	pending types.Type // Result until it is known
	mod     *module
}

// Stage is a stage. A function stage has Params: the pipeline's first one receives all of run's
// arguments, later ones the previous output. Name is visible to later stages as Local.
type Stage struct {
	Name   string
	Decl   *ast.Stage
	Local  *Local
	Params []*Param
	// Output is the type of the stage's value, of a Result its Ok value.
	Output types.Type
	// Unwraps reports that the stage's own value is a Result.
	Unwraps bool
	// ReceivesParameters reports that a function stage receives the pipeline's parameters instead
	// of the previous output.
	ReceivesParameters bool
	// InputConv converts the previous output to the parameter's type, or is nil.
	InputConv types.Type
	// Decorations wrap the stage, the outermost first. A decorated stage is a closure with the
	// captures of Body.
	Decorations []*Decoration
	Body        *Closure
}

func (*Local) object()      {}
func (*Function) object()   {}
func (*Const) object()      {}
func (*Agent) object()      {}
func (*Host) object()       {}
func (*Tool) object()       {}
func (*Store) object()      {}
func (*Pipeline) object()   {}
func (*VariantRef) object() {}

// describe returns the kind of an object in words: "a function", "an agent".
func describe(o Object) string {
	switch o := o.(type) {
	case *Local:
		return "a variable"
	case *Function:
		return "a function"
	case *Const:
		return "a constant"
	case *Agent:
		return "an agent"
	case *Host:
		return "a host"
	case *Tool:
		return "a tool"
	case *Store:
		return "a " + o.Kind.String()
	case *Pipeline:
		return "a pipeline"
	case *VariantRef:
		return "a variant"
	}
	return "no value"
}

// basics are the predeclared types.
var basics = map[string]types.Type{
	"Int": types.Int, "Float": types.Float, "String": types.String, "Bool": types.Bool, "Nil": types.Nil,
	"Any": types.Any, "Never": types.Never, "Error": types.Error, "Range": types.Range,
	"Agent": types.Agent, "Host": types.Host, "Tool": types.Tool, "Memory": types.Memory, "Ledger": types.Ledger,
}

// BuiltinTypes returns the names of all built-in types, sorted.
func BuiltinTypes() []string {
	names := append(sortedKeys(basics), sortedKeys(constructors)...)
	slices.Sort(names)
	return names
}

// basicEntities are the entities of the basic types. They are never modified.
var basicEntities = func() map[string]*entity {
	m := make(map[string]*entity, len(basics))
	for name, t := range basics {
		m[name] = &entity{name: name, builtin: t}
	}
	return m
}()

// constructors are the built-in types with type arguments, and the number of their arguments.
var constructors = map[string]struct{ min, max int }{
	"Array": {1, 1}, "Map": {2, 2}, "Option": {1, 1}, "Result": {1, 2}, "Task": {1, 1}, "HashMap": {2, 2},
}

func newContainer(name string, args []types.Type) types.Type {
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

// universe finds a predeclared name: a basic type, or a declaration of the library's prelude. Names
// that start with two underscores are internal to the library.
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

// methodFile returns the name of the library file with the methods of a built-in type, or "".
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

// implKey returns the key of a type's impls.
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
