package ir

import (
	"encoding/json"
	"slices"
)

// Version is the format's version, "major.minor": a VM runs files of its own
// major version and of minor versions up to its own.
const Version = "1.13"

// rowSums are checksums of the rows of the instruction set, by the minor
// version that added them. A row must not change, since files of that version
// rely on its meaning.
var rowSums = [...]uint32{0x77de2567, 0xb0630147, 0x89049d99, 0x608f2950, 0x317b02e4, 0x1cd69dc6, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0xcc9de923}

// Program is a compiled program, self-contained: manifest data is embedded,
// secrets appear only by name, and there is no absolute path (spec/ir.md).
type Program struct {
	Version     string
	Name        string // the project's name, or the entry file's
	Files       []File
	Types       []TypeInfo
	Constants   []Const
	Natives     []string // library functions in Go, by registered name
	Functions   []Function
	Methods     []Method // what CallMethod can find
	Connections []Connection
	Agents      []Agent
	Hosts       []Host
	Tools       []Tool
	Pipelines   []Pipeline // the public ones
	Servers     []Server
	Stores      []Store
	Limits      Limits
	Permissions *Permissions // nil without the section: nothing is refused
	Application
	Tests []Test
	Entry int // index into Functions of main; -1 without one
}

// Application is what the manifest says of the application's tools, and of what is recorded.
type Application struct {
	AppTools []AppTool
	// Called are the public functions of the main file, where the program was compiled so
	// that tools can be made of its functions. They are in no compiled file.
	Called []ToolMethod
	Audit  string          // the log of calls, relative to the program's root; "" without one
	Run    json.RawMessage // [run] as a JSON object, nil without one; internal/data/runconf reads it
}

// File is a source file: its name relative to the project's root, and its
// text, for the excerpts of runtime errors. Library files have no text.
type File struct {
	Name string
	Text string
}

// Const is a constant: exactly one of the pointers is set.
type Const struct {
	Int    *int64
	Float  *float64
	String *string
}

// ABI says how a function is called.
type ABI string

// The ABIs. A typed function takes each parameter in its class; a full one
// takes and returns Full registers, so that it can be called indirectly.
const (
	Typed   ABI = "typed"
	FullABI ABI = "full"
)

// Function is a function's code. Register 0 is the link; parameters are in
// registers 1…; Registers counts all.
type Function struct {
	Name      string
	File      int
	Line      int
	Params    []Class
	ABI       ABI
	Result    Class
	MutSelf   bool   // register 1 is given back to the caller
	Body      bool   // of a concurrent expression: its closures are run by JoinAll, Race and ParallelFor
	Captures  int    // captured values of a closure's function
	OnUnknown string // of effects within of which it is not known whether they were done: retry, fail, ask; "" says nothing
	Registers int
	// Start is the place where the function began in the source, when its first
	// instruction no longer stands there because instructions before it were
	// optimised away. Its PC is 0.
	Start *Position
	Block
	Listens []ListenInfo
}

// Block is a list of instructions with its positions and regions. Targets and
// region bounds index Code.
type Block struct {
	Code      []Instr
	Positions []Position
	Regions   []Region
	Inlined   []Inlined
	Locals    []Local // its variables, but for those of inlined calls
}

// Inlined says that the instructions in [From, To) are those of Function, which
// is called at Line and Column of the code around: a trace shows the call as if
// it were made. Calls within inlined calls are listed first; two ranges either
// nest or are disjoint. Positions in the range are in the function's file.
type Inlined struct {
	From, To     int
	Function     int
	Line, Column int
	Locals       []Local // of the call
}

// Position says where the instructions from PC on stand in the file, until
// the next Position.
type Position struct {
	PC, Line, Column int
}

// Region says that an error raised in [From, To) is put into Register (Full)
// and that control goes on at Target. Regions are listed innermost first.
type Region struct {
	From, To, Target int
	Register         int
}

// ListenInfo is a listen expression. Host is the index of the declaration, -1
// when only known at run time. In Execute mode, which is that of the library's
// default loop, the only listen:* events are those for messages that are
// invalid or unhandled.
type ListenInfo struct {
	Host     int
	Execute  bool
	Handlers []Handler
}

// Handler is one handler: a block over the function's registers. Param (Full)
// receives the payload, decoded as Types[Schema] when Schema is not -1. An
// implicit handler is generated for tool_call and runs only when the host has
// tools.
type Handler struct {
	Type     string
	Param    int
	Schema   int
	Implicit bool
	Start    *Position // where it begins in the source; its PC is 0
	Block
}

// Method is a function that CallMethod finds by Name and the receiver's
// run-time type. Type indexes Types; the type's parameters are ignored, so that
// Array<Int> stands for every array.
type Method struct {
	Name     string
	Type     int
	Function int
}

// TypeInfo describes a type for run time: for decoding, validation, JSON
// Schema, catch clauses and printing. Kind is one of int float string bool nil
// any array map option result tuple struct schema enum union error function
// range agent host tool memory hashmap ledger task never type. "error" with a
// Name is a built-in error type; without a Name it is the type Error.
type TypeInfo struct {
	Kind     string
	Name     string // of struct, schema, enum, error
	Doc      string // doc comment, a description in JSON Schema
	Args     []int  // element types: array 1, map key and value, option 1, result 2, tuple n
	Fields   []FieldInfo
	Variants []VariantInfo
	Values   []string // of a union
	Elements bool     // of a struct: as JSON it is the array of its first field's elements or values
	Members  bool     // of a struct: its last field is a map, which it is as JSON, and whose entries count as fields
}

// FieldInfo is a field of a struct or schema, or of a named variant. Default is
// JSON; nil means that there is none.
type FieldInfo struct {
	Name     string
	Type     int
	Optional bool
	Default  json.RawMessage
	Doc      string
}

// VariantInfo is a variant of an enum. Unnamed payloads have fields named "0",
// "1", …
type VariantInfo struct {
	Name   string
	Named  bool
	Fields []FieldInfo
}

// Connection is a [connections.X] of the manifest, as JSON that runtime/llm
// reads. API keys appear only as the name of their environment variable.
type Connection struct {
	Name   string
	Config json.RawMessage
}

// Agent is an agent declaration. Nil pointers mean "not set".
type Agent struct {
	Name       string
	Connection string
	Model      string
	System     string
	Sampling
	Tools          []int
	Memory         int   // index into Stores, -1 without
	Knowledge      []int // indices into Stores, of ledgers
	Timeout        float64
	MaxToolRounds  int64
	MaxToolCalls   int64 // of one reply
	SchemaAttempts int64
	Retry          *Retry
	AppTools       *[]string // which of the application's tools it is told of: names, `name@version`, `category:name`; nil: all
	OnToolError    *int      // function (error) that decides what a failed tool call gives; nil without
	Decorator      *int      // function (call, shown, key) that makes a call within its decorators; nil without
	Streamed       *int      // as Decorator, for a call that gives a stream; nil without
}

// Sampling says how a model makes an agent's replies.
type Sampling struct {
	Temperature *float64
	TopP        *float64
	MaxTokens   *int64
	Seed        *int64
	Effort      string // reasoning_effort
	Stop        []string
}

// Retry is an agent's retry_policy.
type Retry struct {
	MaxAttempts  int64
	Backoff      string
	InitialDelay int64
	MaxDelay     int64
}

// Host is a host declaration with its manifest section. Config holds the
// section's keys as a JSON object; where the declaration gives a key too, its
// value counts. The code that uses a key decodes it. Params are the parameters
// of the init message, a JSON object in their order, or nil.
type Host struct {
	Name      string
	Connector string
	Params    json.RawMessage
	Config    json.RawMessage
	Tools     []int
	AppTools  *[]string // as an Agent's
	Decorator *int      // as an Agent's
}

// Server is an MCP server: the manifest's [mcp.X], where Name is X and Config its
// keys as a JSON object.
type Server struct {
	Name   string
	Config json.RawMessage
}

// AppTool is a tool of the application's that the manifest defines: [tools.X], where Name
// is X and Config its full form as a JSON object (spec/21-application-tools.md). Relative
// paths in it start at the program's root.
type AppTool struct {
	Name   string
	Config json.RawMessage
}

// Tool is a tool declaration. State is its struct-like type; Init, a function
// without parameters, gives a tuple of the initial values of the fields.
type Tool struct {
	Name        string
	Server      string // the MCP server whose functions these are; "" for a tool of the program
	Public      bool   // `concerto mcp serve` offers its functions
	Description string
	State       int
	Init        int
	Methods     []ToolMethod
	// For an MCP server that has functions besides those declared: List is the
	// function that lists its tools, given the tool's value. Call is the
	// function that calls one of them, given the server, the tool's name there
	// and the arguments. Both are nil for other tools.
	List *int
	Call *int
}

// ToolMethod is a tool function. Described methods are offered to models and
// hosts. The function is full; its first parameter is the tool.
type ToolMethod struct {
	Name        string
	Signature   string // of an MCP server's function, as declared
	Description string
	Described   bool
	Sequential  bool // its calls of one round run one after the other
	Approve     bool // the application is asked before each call
	Context     bool // the last parameter is a ToolContext, which callers from outside do not give
	Function    int
	Params      []ToolParam
	Result      int // type
}

// ToolParam is a parameter of a tool function. Default is a full function
// without parameters that computes the default, -1 when there is none.
type ToolParam struct {
	Name        string
	Description string
	Type        int
	Default     int
}

// Pipeline is a public pipeline, which `concerto mcp serve` offers: its run
// function, which is full, and its number of stages. When its input cannot be
// made from data, the pipeline is not offered: Withheld then says why, and it
// has no function.
type Pipeline struct {
	Run      ToolMethod
	Stages   int
	Withheld string
}

// Store is a store declaration. Kind is "hashmap", "ledger" or "memory". Window
// is the length of a memory, 0 for unbounded. File is the path of a store that
// is kept in a file, "" for one in memory; Key and Value are then the types of
// a hashmap.
type Store struct {
	Name   string
	Kind   string
	Window int
	File   string
	Key    int // index into Types
	Value  int // index into Types
}

// Limits is [limits]; zero means none.
type Limits struct {
	MaxRunSeconds float64
	MaxMemoryMB   int64
	MaxTokens     int64
	MaxCostUSD    float64
	MaxTasks      int64
	// MaxTestSeconds bounds each test of the program.
	MaxTestSeconds float64
}

// Permissions is [permissions]: what the program may touch; everything else is
// refused, but for the kinds that Open names ("fs", "env", "net"), of which nothing is.
// FS lists directories, relative ones from the program's root; Env
// names environment variables, Net hosts, Run commands. With ToolsLimited,
// models, hosts and dispatch_tool may call only Tools, which are given as Tool
// or Tool::function. Approve are filters of the application's tools whose calls must be
// approved of.
type Permissions struct {
	FS   []string
	Env  []string
	Net  []string
	Run  []string
	Open []string

	ToolsLimited bool
	Tools        []string
	Approve      []string
}

// LetsCall says whether models, hosts and dispatch_tool may call a tool's function.
// p is nil without the section.
func (p *Permissions) LetsCall(tool, function string) bool {
	return p == nil || !p.ToolsLimited || slices.Contains(p.Tools, tool) || slices.Contains(p.Tools, tool+"::"+function)
}

// Test is an @test function. Name is its description, or else the function's
// name. ExpectFail says that the test must fail with a message that contains
// Expect.
type Test struct {
	Name       string
	Function   int
	ExpectFail bool
	Expect     string
}
