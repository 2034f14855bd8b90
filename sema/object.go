package sema

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Object is a declaration to which a name can refer: *Local, *Function, *Const, *Agent, *Host,
// *Tool, *Store, *Pipeline or *VariantRef.
type Object interface{ object() }

// Local is a variable: the name of a let, a parameter, a pattern or a pipeline's stage. Cell
// reports that the variable is stored in a cell, because a closure captures it by reference. Late
// reports that the variable is declared without a value.
type Local struct {
	Name  string
	Type  types.Type
	Mut   bool
	Late  bool
	Cell  bool
	Param bool
	// Offered reports that the variable is a parameter of a tool function. Models pass its argument
	// by name, so its name cannot be changed.
	Offered bool
	// Lost reports that the variable holds a Result, and that no code reads it.
	Lost bool
	At   source.Span

	let            source.Pos // position after the word `let`, or 0 without a `let`
	value          ast.Expr   // value of `let name = value`, or nil
	known          types.Type // type that the value of an Any probably has (message.go), or nil
	assigner       string     // construct other than a `let` that assigns the variable, such as "for" or "the condition"; or ""
	used, assigned bool
	frame          *frame // function or closure that declares the variable
	depth          int    // number of scopes that enclose the declaration
}

// Function is a function. Its body is in the program, or it is a native function or an effect of
// the library.
type Function struct {
	// Name is the name of the function in traces, such as "route", "Box.add", "Users.lookup" or
	// "BuildAndTest.implement".
	Name     string
	Decl     *ast.FnDecl
	Info     *Info
	Generics []*types.Param
	Params   []*Param // parameters; the receiver, if any, is the first
	Result   types.Type
	// Recv is the type of the receiver. It is nil for functions and associated functions
	// (Box::new).
	Recv    types.Type
	MutSelf bool
	External
	// Shape reports that a call passes the run-time type of each type argument (LoadType). These
	// arguments follow the declared ones and belong to parameters of type Shape.
	Shape bool
	// Async reports that a call starts a task and returns a Task<Result>.
	Async bool
	// Tool is the tool that declares the function, or nil. Its self is the tool itself.
	Tool *Tool
	// Undeclared reports that the function has no declaration. It is a function of an MCP server
	// that the `..` of an `mcp` block includes, and the checker created it for a call.
	Undeclared bool
	CallDecorators

	assoc   types.Type // type whose impl declares the function
	mod     *module
	pub     bool
	trait   *traitDecl // trait that declares the default method, or nil
	ofTrait bool       // a method whose signature a trait decides
	checked bool
	// instance reports that the function is a copy for certain type arguments.
	instance bool
}

// CallDecorators contains the decorators that affect calls of a declaration.
type CallDecorators struct {
	// Decorations wrap each call. The outermost is first.
	Decorations []*Decoration
	// OnUnknown is the policy for effects during a call whose outcome is unknown: "retry", "fail",
	// "ask", or "" without a policy.
	OnUnknown string
}

// External describes a function that is implemented outside the program. The function's body is
// ignored.
type External struct {
	Native string // name under which the Go function is registered
	Effect string // name of the effect
	// Wraps reports that the call converts its outcome to the declared Result. It is the wrap
	// operand of CallNative and Perform.
	Wraps bool
}

// Param is a parameter. Default is the default expression, or nil. Each call evaluates it in the
// callee's file.
type Param struct {
	Name    string
	Type    types.Type
	Local   *Local
	Default ast.Expr
	At      source.Span
	// Doc is the text of the @param decorator, or "".
	Doc string

	regex bool // parameter of a library function that is a regular expression
}

// Const is a constant. Value is an int64, float64, string, bool, nil, *ConstMap or Object, or a
// []any of such values.
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

// ConstMap is a constant map. Its entries are in written order.
type ConstMap struct {
	Keys   []string
	Values []any
}

// VariantRef refers to a variant of an enum. Type is an Option for Some and None, a Result for Ok
// and Err, and a Named of kind Enum otherwise. Index is the position of the variant in its enum,
// from 0. The index of Ok and Some is 0, that of Err and None is 1.
type VariantRef struct {
	Type  types.Type
	Name  string
	Index int
	// Variant is nil for Some, None, Ok and Err.
	Variant *types.Variant
}

// Agent is an agent declaration. Fields contains the constant values of its fields.
type Agent struct {
	Name       string
	Decl       *ast.AgentDecl
	Type       *types.Declared
	Info       *Info
	Connection string
	Fields     map[string]any // constants by field name; a tool is a *Tool, the memory is a *Store
	Knowledge  []*Store       // ledgers of the field `knowledge`
	CallDecorators
	mod *module
}

// Host is a host declaration. Fields contains the constant values of its fields.
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

// Tool is a tool declaration. State contains its fields, in the order of the slots of the tool's
// value.
type Tool struct {
	Name        string
	Decl        *ast.ToolDecl
	Type        *types.Declared
	Info        *Info
	Description string
	State       []*types.Field
	Methods     []*Function
	Described   []string // text of @describe for each method, or ""
	// Server is the MCP server that implements the functions, or "" for a tool of the program. Call
	// and Try are library functions that call a function of the server. Call returns the value, and
	// Try a Result.
	Server    string
	Call, Try *Function
	// Rest reports that the program can also call the server's undeclared functions. The library
	// function List requests their names. CallRest calls one of them for a model or a host.
	Rest           bool
	List, CallRest *Function
	mod            *module
}

// Store is a hashmap, ledger, memory or queue declaration.
type Store struct {
	Name   string
	Kind   ast.StoreKind
	Decl   *ast.StoreDecl
	Info   *Info
	Type   types.Type
	Window int64  // argument n of Memory::new(n): maximum number of messages, or 0 without a limit
	Trim   int64  // argument trim of Memory::new: number of messages that a full memory drops at once; 0 means 1
	File   string // file of with_persistence, or "" for a store in memory
	// MaxAttempts and RetrySeconds are the arguments of Queue::new.
	MaxAttempts  int64
	RetrySeconds float64
}

// Pipeline is a pipeline declaration.
type Pipeline struct {
	Name   string
	Decl   *ast.PipelineDecl
	Type   *types.Declared
	Info   *Info
	Params []*Param // parameters of run
	Result types.Type
	// ResultConv is the type to which the last stage's output is converted, or nil without a
	// conversion.
	ResultConv types.Type
	Stages     []*Stage

	// Withheld is the reason why external callers cannot run the pipeline, such as a parameter that
	// cannot be decoded. It is "" if they can.
	Withheld string

	pending types.Type // result type while it is not known completely
	mod     *module
}

// Stage is a stage of a pipeline. The first function stage receives all arguments of run. Any later
// function stage has one parameter for the previous output. Local is the variable that makes the
// stage's value available to later stages.
type Stage struct {
	Name   string
	Decl   *ast.Stage
	Local  *Local
	Params []*Param
	// Output is the type of the stage's value. If the value is a Result, it is the type of the Ok
	// value.
	Output types.Type
	// Unwraps reports that the value of the stage's code is a Result, which is unwrapped.
	Unwraps bool
	// ReceivesParameters reports that a function stage receives the parameters of the pipeline
	// instead of the previous output.
	ReceivesParameters bool
	// InputConv is the type to which the previous output is converted, or nil without a conversion.
	InputConv types.Type
	// Decorations wrap the stage. The outermost is first. The body of a decorated stage is a
	// closure with the captures of Body.
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

// describe returns the kind of an object for messages, such as "a function" or "an agent".
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

// basics contains the predeclared types by name.
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

// basicEntities contains the entities of the predeclared types. They are never modified.
var basicEntities = func() map[string]*entity {
	m := make(map[string]*entity, len(basics))
	for name, t := range basics {
		m[name] = &entity{name: name, builtin: t}
	}
	return m
}()

// constructors contains the built-in types with type arguments, and the allowed number of
// arguments.
var constructors = map[string]struct{ min, max int }{
	"Array": {1, 1}, "Map": {2, 2}, "Option": {1, 1}, "Result": {1, 2}, "Task": {1, 1}, "HashMap": {2, 2}, "Queue": {1, 1},
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
	case "Queue":
		return &types.Queue{Elem: args[0]}
	default:
		return &types.HashMap{Key: args[0], Value: args[1]}
	}
}

// universe returns the entity of a predeclared name: a basic type, or a declaration in the
// library's prelude. Names that start with two underscores are available only in the library.
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

// methodFile returns the name of the library file that contains the methods of a built-in type, or
// "".
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
	case *types.Queue:
		return "Queue"
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

// implKey returns the key of type t in the table of impls.
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
