package sema

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Object is anything a name can stand for: *Local, *Function, *Const, *Agent,
// *Host, *Tool, *Store, *Pipeline, *VariantRef (a constructor or unit
// variant).
type Object interface{ object() }

// Local is a variable: a let, a parameter, a pattern's name, a pipeline's
// stage name. Cell says that it must live in a cell: a closure captures it by
// reference. Late says that it is declared without a value.
type Local struct {
	Name  string
	Type  types.Type
	Mut   bool
	Late  bool
	Cell  bool
	Param bool
	// Offered says that callers outside of the program give it by its name: it
	// is a parameter of a tool function that models may call.
	Offered bool
	At      source.Span

	let            source.Pos // behind the word `let`, when one declares it
	given          string     // what gives it anew, when no `let` does: "for", "match"
	used, assigned bool
	frame          *frame // the function or closure it belongs to
	depth          int    // scopes around its declaration
}

// Function is a function with a body, or one of the library's natives and
// effects.
type Function struct {
	// Name is how traces show it: "route", "Box.add", "Users.lookup",
	// "BuildAndTest.implement".
	Name     string
	Decl     *ast.FnDecl
	Info     *Info
	Generics []*types.Param
	Params   []*Param // the receiver first, when there is one
	Result   types.Type
	// Recv is the receiver's type; nil for plain functions and associated ones
	// (Box::new).
	Recv    types.Type
	MutSelf bool
	Outside
	// Shape says that calls pass, behind the declared arguments, the run-time
	// type of each type argument (LoadType) as parameters of type Shape.
	Shape bool
	// Async says that a call starts a task and gives Task<Result>.
	Async bool
	// Tool is set for tool functions, whose self is the tool itself.
	Tool *Tool
	// Undeclared says that no declaration names it: it is a server's function
	// that the `mcp` block leaves to `..`, made for the calls of it.
	Undeclared bool
	Around

	assoc   types.Type // the type whose impl declares it
	mod     *module
	pub     bool
	trait   *traitDecl // of a trait's default method
	checked bool
	// instance says that it is another function for some type arguments.
	instance bool
}

// Around is what decorators say of calls.
type Around struct {
	// Decorations stand around each call, the outermost first.
	Decorations []*Decoration
	// OnUnknown is what becomes of effects within of which it is not known whether they were done:
	// "retry", "fail" or "ask"; "" where nothing says it.
	OnUnknown string
}

// Outside says what is done in place of a function's body, which is then
// ignored.
type Outside struct {
	Native string // the registered name of a Go function
	Effect string // of an effect
	// Wraps says that the declared result is a Result, made by the call (the
	// wrap operand of CallNative and Perform).
	Wraps bool
}

// Param is a parameter. Default is nil without one; it is evaluated in the
// callee's file, for each call.
type Param struct {
	Name    string
	Type    types.Type
	Local   *Local
	Default ast.Expr
	At      source.Span
	// Doc is @param's text.
	Doc string

	regex bool // of a library function: a regular expression
}

// Const is a constant. Value is an int64, float64, string, bool, nil, or
// []any, *ConstMap, Object of these.
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

// VariantRef names a variant of an enum. For Some and None Type is an Option,
// for Ok and Err a Result, else a Named of kind Enum. Index counts from 0 (Ok,
// Some: 0; Err, None: 1).
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
	Fields     map[string]any // constants, by field name; tools are *Tool, memory a *Store
	Knowledge  []*Store       // ledgers
	Around
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
	Around
	mod *module
}

// Tool is a tool declaration. State are its fields, the slots of the tool
// value in order.
type Tool struct {
	Name        string
	Decl        *ast.ToolDecl
	Type        *types.Declared
	Info        *Info
	Description string
	State       []*types.Field
	Methods     []*Function
	Described   []string // @describe's text by method, "" for one without
	// Server is the MCP server that has the functions, "" for a tool of the
	// program. Call and Try are the library's functions that call one: the value,
	// or a Result.
	Server    string
	Call, Try *Function
	// Rest says that the server's other functions can be called, too: List, of the
	// library, asks for them, and CallRest calls one for a model or a host.
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
	Window int64  // Memory::new(n); 0 for none
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
	// ResultConv converts the last stage's output, nil for none.
	ResultConv types.Type
	Stages     []*Stage

	// Withheld says why nobody outside can run it: a parameter that data cannot
	// give; "" when they can.
	Withheld string

	pending types.Type // Result while it is not known
	mod     *module
}

// Stage is a stage. A function stage has Params: the pipeline's own first
// stage receives all of run's arguments, later ones the previous output. Name
// is visible to later stages as Local.
type Stage struct {
	Name   string
	Decl   *ast.Stage
	Local  *Local
	Params []*Param
	// Output is the stage's payload type, a Result unwrapped.
	Output types.Type
	// Unwraps says that the stage's own value is a Result.
	Unwraps bool
	// TakesAll says that a function stage gets the pipeline's parameters, not
	// the previous output.
	TakesAll bool
	// InputConv converts the previous output to the parameter, nil for none.
	InputConv types.Type
	// Decorations stand around the stage, the outermost first. A stage with some
	// is a closure over what Body captures.
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

// describe says what an object is: "a function", "an agent".
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
