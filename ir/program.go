package ir

import (
	"encoding/json"
	"slices"
)

// Version is the format's version, "major.minor". A VM runs files of its own major version and of
// minor versions up to its own.
const Version = "1.14"

// rowSums are checksums of the rows of the instruction set, by the minor version that added them. A
// row must not change, because files of that version depend on its meaning.
var rowSums = [...]uint32{0x77de2567, 0xb0630147, 0x89049d99, 0x608f2950, 0x317b02e4, 0x1cd69dc6, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0xcc9de923, 0x29bee99d}

// Program is a compiled, self-contained program: it contains the manifest's data, secrets only by
// name, and no absolute path (spec/ir.md).
type Program struct {
	Version     string
	Name        string // the project's name, or the entry file's
	Files       []File
	Types       []TypeInfo
	Constants   []Const
	Natives     []string // library functions in Go, by registered name
	Functions   []Function
	Methods     []Method // the methods that CallMethod can find
	Connections []Connection
	Agents      []Agent
	Hosts       []Host
	Tools       []Tool
	Pipelines   []Pipeline // the public ones
	Servers     []Server
	Stores      []Store
	Limits      Limits
	Permissions *Permissions // nil without the section: everything is allowed
	Application
	Tests []Test
	Entry int // index in Functions of main, or -1
}

// Application contains the manifest's data about the application's tools and about recording.
type Application struct {
	AppTools []AppTool
	// Called are the public functions of the main file, if the program was compiled to use its
	// functions as tools. Compiled files do not contain them.
	Called []ToolMethod
	Audit  string          // the audit log, relative to the program's root, or ""
	Run    json.RawMessage // [run] as a JSON object, or nil; internal/data/runconf reads it
}

// File is a source file: its name relative to the project's root, and its text, for the excerpts of
// runtime errors. Library files have no text.
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

// ABI is the calling convention of a function.
type ABI string

// The ABIs. A typed function receives each parameter in its class. A full one receives and returns
// Full registers, so that it can be called indirectly.
const (
	Typed   ABI = "typed"
	FullABI ABI = "full"
)

// Function is a function's code. Register 0 is the link. Parameters are in registers 1…. Registers
// is the total number.
type Function struct {
	Name      string
	File      int
	Line      int
	Params    []Class
	ABI       ABI
	Result    Class
	MutSelf   bool   // register 1 is returned to the caller
	Body      bool   // of a concurrent expression: JoinAll, Race and ParallelFor run its closures
	Captures  int    // captured values of a closure's function
	OnUnknown string // the policy for effects inside with an unknown outcome: retry, fail, ask; "" if not set
	Registers int
	// Start is the position where the function started in the source, if its first instructions
	// were optimised away. Its PC is 0.
	Start *Position
	Block
	Listens []ListenInfo
}

// Block is a list of instructions with its positions and regions. Targets and region bounds are
// indices in Code.
type Block struct {
	Code      []Instr
	Positions []Position
	Regions   []Region
	Inlined   []Inlined
	Locals    []Local // its variables, without those of inlined calls
}

// Inlined reports that the instructions in [From, To) are those of Function, which the surrounding
// code calls at Line and Column: a trace shows the call as if it were made. Calls inside inlined
// calls are listed first. Two ranges either nest or are disjoint. Positions in the range are in the
// function's file.
type Inlined struct {
	From, To     int
	Function     int
	Line, Column int
	Locals       []Local // of the call
}

// Position is the source position of the instructions from PC on, until the next Position.
type Position struct {
	PC, Line, Column int
}

// Region specifies that an error raised in [From, To) is stored in Register (Full) and that control
// continues at Target. Regions are listed innermost first.
type Region struct {
	From, To, Target int
	Register         int
}

// ListenInfo is a listen expression. Host is the index of the declaration, or -1 if it is only
// known at run time. In Execute mode, the mode of the library's default loop, the only listen:*
// events are those for messages that are invalid or unhandled.
type ListenInfo struct {
	Host     int
	Execute  bool
	Handlers []Handler
}

// Handler is one handler: a block that uses the function's registers. Param (Full) receives the
// payload, decoded as Types[Schema] if Schema is not -1. An implicit handler is generated for
// tool_call and runs only if the host has tools.
type Handler struct {
	Type     string
	Param    int
	Schema   int
	Implicit bool
	Start    *Position // where it starts in the source; its PC is 0
	Block
}

// Method is a function that CallMethod finds by Name and the receiver's run-time type. Type is an
// index in Types. The type's parameters are ignored, so Array<Int> represents every array.
type Method struct {
	Name     string
	Type     int
	Function int
}

// TypeInfo describes a type at run time, for decoding, validation, JSON Schema, catch clauses and
// printing. Kind is one of int float string bool nil any array map option result tuple struct
// schema enum union error function range agent host tool memory hashmap ledger task never type.
// "error" with a Name is a built-in error type; without a Name it is the type Error.
type TypeInfo struct {
	Kind     string
	Name     string // of struct, schema, enum, error
	Doc      string // doc comment, a description in JSON Schema
	Args     []int  // element types: array 1, map key and value, option 1, result 2, tuple n
	Fields   []FieldInfo
	Variants []VariantInfo
	Values   []string // of a union
	Elements bool     // of a struct: its JSON form is the array of its first field's elements or values
	Members  bool     // of a struct: its last field is a map, which is its JSON form, and whose entries count as fields
}

// FieldInfo is a field of a struct or schema, or of a named variant. Default is JSON, or nil if
// there is none.
type FieldInfo struct {
	Name     string
	Type     int
	Optional bool
	Default  json.RawMessage
	Doc      string
}

// VariantInfo is a variant of an enum. Unnamed payloads have fields named "0", "1", …
type VariantInfo struct {
	Name   string
	Named  bool
	Fields []FieldInfo
}

// Connection is a [connections.X] of the manifest, as JSON for runtime/llm. API keys appear only as
// the name of their environment variable.
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
	Memory         int   // index in Stores, or -1
	Knowledge      []int // indices in Stores, of ledgers
	Timeout        float64
	MaxToolRounds  int64
	MaxToolCalls   int64 // of one reply
	SchemaAttempts int64
	Retry          *Retry
	AppTools       *[]string // the application's tools for the agent: names, `name@version`, `category:name`; nil means all
	OnToolError    *int      // function (error) that determines the result of a failed tool call; nil if there is none
	Decorator      *int      // function (call, shown, key) that makes a call with its decorators; nil if there is none
	Streamed       *int      // as Decorator, for a call that returns a stream; nil if there is none
}

// Sampling holds the parameters of a model's replies.
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

// Host is a host declaration with its manifest section. Config contains the section's keys as a
// JSON object. Values of the declaration override it. The code that uses a key decodes it. Params
// are the parameters of the init message, a JSON object in their order, or nil.
type Host struct {
	Name      string
	Connector string
	Params    json.RawMessage
	Config    json.RawMessage
	Tools     []int
	AppTools  *[]string // as in Agent
	Decorator *int      // as in Agent
}

// Server is an MCP server: the manifest's [mcp.X], where Name is X and Config its keys as a JSON
// object.
type Server struct {
	Name   string
	Config json.RawMessage
}

// AppTool is a tool of the application that the manifest defines: [tools.X], where Name is X and
// Config its full form as a JSON object (spec/21-application-tools.md). Relative paths in it start
// at the program's root.
type AppTool struct {
	Name   string
	Config json.RawMessage
}

// Tool is a tool declaration. State is its struct-like type. Init, a function without parameters,
// returns a tuple of the initial values of the fields.
type Tool struct {
	Name        string
	Server      string // the MCP server that implements these functions, or "" for a tool of the program
	Public      bool   // `concerto mcp serve` offers its functions
	Description string
	State       int
	Init        int
	Methods     []ToolMethod
	// For an MCP server with functions that are not declared: List is the function that lists its
	// tools, from the tool's value. Call is the function that calls one of them, from the server,
	// the tool's name there and the arguments. Both are nil for other tools.
	List *int
	Call *int
}

// ToolMethod is a tool function. Methods with a description are offered to models and hosts. The
// function is full. Its first parameter is the tool.
type ToolMethod struct {
	Name        string
	Signature   string // of an MCP server's function, as declared
	Description string
	Described   bool
	Sequential  bool // its calls of one round run one after the other
	Approve     bool // the application must approve each call
	Context     bool // the last parameter is a ToolContext, which external callers do not pass
	Function    int
	Params      []ToolParam
	Result      int // type
}

// ToolParam is a parameter of a tool function. Default is a full function without parameters that
// computes the default, or -1.
type ToolParam struct {
	Name        string
	Description string
	Type        int
	Default     int
}

// Pipeline is a public pipeline, which `concerto mcp serve` offers: its run function, which is
// full, and its number of stages. A pipeline whose input cannot be decoded is not offered: Withheld
// is then the reason, and it has no function.
type Pipeline struct {
	Run      ToolMethod
	Stages   int
	Withheld string
}

// Store is a store declaration. Kind is "hashmap", "ledger" or "memory". Window is the maximum
// length of a memory, or 0. File is the path of a store in a file, or "" for a store in memory. Key
// and Value are the types of a hashmap in a file.
type Store struct {
	Name   string
	Kind   string
	Window int
	File   string
	Key    int // index in Types
	Value  int // index in Types
}

// Limits is [limits]. Zero means no limit.
type Limits struct {
	MaxRunSeconds float64
	MaxMemoryMB   int64
	MaxTokens     int64
	MaxCostUSD    float64
	MaxTasks      int64
	// MaxTestSeconds limits the time of each test of the program.
	MaxTestSeconds float64
}

// Permissions is [permissions]: the resources that the program may use. Everything else is refused,
// except the kinds in Open ("fs", "env", "net"), which are not restricted. FS contains directories,
// relative ones from the program's root, Env names of environment variables, Net hosts, Run
// commands. With ToolsLimited, models, hosts and dispatch_tool may call only Tools, which have the
// form Tool or Tool::function. Approve contains filters of the application's tools whose calls need
// approval.
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

// AllowsCall reports whether models, hosts and dispatch_tool may call a tool's function. p is nil
// without the section.
func (p *Permissions) AllowsCall(tool, function string) bool {
	return p == nil || !p.ToolsLimited || slices.Contains(p.Tools, tool) || slices.Contains(p.Tools, tool+"::"+function)
}

// Test is an @test function. Name is its description, or else the function's name. ExpectFail
// reports that the test must fail with a message that contains Expect.
type Test struct {
	Name       string
	Function   int
	ExpectFail bool
	Expect     string
}
