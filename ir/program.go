package ir

import (
	"encoding/json"
	"slices"
)

// Version is the version of the format as "major.minor". A VM runs files with its own major version
// and a minor version that is not greater than its own.
const Version = "1.18"

// rowSums contains checksums of the rows of the instruction set, by the minor version that added
// the rows. A row must not change, because files of that version depend on its meaning.
var rowSums = [...]uint32{0x77de2567, 0xb0630147, 0x89049d99, 0x608f2950, 0x317b02e4, 0x1cd69dc6, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0x811c9dc5, 0xcc9de923, 0x29bee99d, 0x484ee963, 0x1d5f2ed3, 0x811c9dc5, 0x811c9dc5}

// TaskEntry is the name of the function that calls a main with a parameter. Traces omit it.
const TaskEntry = "__main"

// The library functions that return the task of a run to a main with a parameter. With
// RequiredTask, a run without a task fails.
const (
	RequiredTask = "env.task"
	OptionalTask = "env.task_if_any"
)

// Program is a compiled, self-contained program. It contains the data of the manifest, but only the
// names of secrets, and no absolute paths (spec/ir.md).
type Program struct {
	Version     string
	Name        string // name of the project, or of the entry file
	Files       []File
	Types       []TypeInfo
	Constants   []Const
	Natives     []string // library functions in Go, by their registered names
	Functions   []Function
	Methods     []Method // methods that CallMethod can find
	Connections []Connection
	Agents      []Agent
	Hosts       []Host
	Tools       []Tool
	Pipelines   []Pipeline // the public pipelines
	Servers     []Server
	Stores      []Store
	Limits      Limits
	Permissions *Permissions // nil if the manifest has no [permissions]: then everything is allowed
	Application
	Tests   []Test
	Outline []Declaration
	Entry   int // index in Functions of main, or of what calls main with its task; -1 if there is none
}

// Application contains the data of the manifest about the application's tools and about recording.
type Application struct {
	AppTools []AppTool
	// Called contains the public functions of the main file if the program was compiled to use its
	// functions as tools. Files do not contain Called.
	Called []ToolMethod
	// Evals contains the evals if the program was compiled to run them. Files do not contain Evals.
	Evals []Eval
	// Guard is the function that decides about calls of agents, or nil. Files do not contain Guard.
	Guard *Guard
	Audit string          // path of the audit log, relative to the program's root; "" if there is none
	Run   json.RawMessage // [run] as a JSON object, which internal/data/runconf reads; nil if there is none
	// Workspace is [workspace] as a JSON object, which runtime/workspace reads; nil if there is
	// none.
	Workspace json.RawMessage
	Merges    []MergeQueue
}

// MergeQueue is [merge.X] of the manifest. Config contains its keys as a JSON object.
type MergeQueue struct {
	Name   string
	Config json.RawMessage
}

// File is a source file. Its name is relative to the project's root. Excerpts in run-time errors
// use its text. Library files have no text.
type File struct {
	Name string
	Text string
}

// Const is a constant. Exactly one of the pointers is set.
type Const struct {
	Int    *int64
	Float  *float64
	String *string
}

// ABI is the calling convention of a function.
type ABI string

// The calling conventions. A typed function receives each parameter in the parameter's class. A
// full function receives and returns Full registers, so that it can be called indirectly.
const (
	Typed   ABI = "typed"
	FullABI ABI = "full"
)

// Function is the code of a function. Register 0 is the link, and the parameters are in the
// registers from 1 on. Registers is the total number of registers.
type Function struct {
	Name      string
	File      int
	Line      int
	Params    []Class
	ABI       ABI
	Result    Class
	MutSelf   bool   // the caller receives the content of register 1 after the call
	Body      bool   // the function is the body of a concurrent expression: JoinAll, Race and ParallelFor run its closures
	Captures  int    // number of values that the function captures as a closure
	OnUnknown string // policy for effects within the function whose outcome is unknown: retry, fail or ask; "" if not set
	Registers int
	// Start is the position at which the function starts in the source, if the optimiser has
	// removed its first instructions. Its PC is 0.
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
	Locals    []Local // variables of the block, without those of inlined calls
}

// Inlined specifies that the instructions [From, To) belong to Function, which the surrounding code
// calls at Line and Column. A trace shows a call there. Calls inside inlined calls are listed
// first. Two ranges either nest or are disjoint. Positions in the range refer to the file of
// Function.
type Inlined struct {
	From, To     int
	Function     int
	Line, Column int
	Locals       []Local // variables of the inlined call
}

// Position is the source position of the instructions from PC up to the PC of the next Position.
type Position struct {
	PC, Line, Column int
}

// Region specifies that an error raised in [From, To) is stored in Register (Full) and that control
// continues at Target. Regions are listed innermost first.
type Region struct {
	From, To, Target int
	Register         int
}

// ListenInfo is a listen expression. Host is the index of the host declaration, or -1 if only the
// run determines the host. Execute is the mode of the library's default loop. In this mode the
// listen emits listen:* events only for messages that are invalid or unhandled.
type ListenInfo struct {
	Host     int
	Execute  bool
	Handlers []Handler
}

// Handler is a handler of a listen: a block that uses the registers of its function. Param (Full)
// receives the payload, which is decoded as Types[Schema] if Schema is not -1. An implicit handler
// is generated for tool_call and runs only if the host has tools.
type Handler struct {
	Type     string
	Param    int
	Schema   int
	Implicit bool
	Start    *Position // position at which the handler starts in the source; its PC is 0
	Block
}

// Method is a function that CallMethod finds by Name and by the receiver's run-time type. Type is
// an index in Types. The parameters of the type are ignored, so that Array<Int> represents every
// array.
type Method struct {
	Name     string
	Type     int
	Function int
}

// TypeInfo describes a type at run time. It is used for decoding, validation, JSON Schema, catch
// clauses and printing. Kind is one of int float string bool nil any array map option result tuple
// struct schema enum union error function range agent host tool memory hashmap ledger queue task
// never type. "error" with a Name is a built-in error type, and without a Name it is the type
// Error.
type TypeInfo struct {
	Kind     string
	Name     string // name of a struct, schema, enum or error
	Doc      string // doc comment, which becomes the description in a JSON Schema
	Args     []int  // element types: 1 for an array, key and value for a map, 1 for an option, 2 for a result, n for a tuple
	Fields   []FieldInfo
	Variants []VariantInfo
	Values   []string // values of a union
	Elements bool     // for a struct: its JSON form is an array of the elements or values of its first field
	Members  bool     // for a struct: the last field is a map, whose entries count as fields of the struct's JSON form
}

// FieldInfo is a field of a struct, a schema or a named variant. Default is JSON, or nil if the
// field has no default.
type FieldInfo struct {
	Name     string
	Type     int
	Optional bool
	Default  json.RawMessage
	Doc      string
}

// VariantInfo is a variant of an enum. The fields of an unnamed payload are named "0", "1", …
type VariantInfo struct {
	Name   string
	Named  bool
	Fields []FieldInfo
}

// Connection is a section [connections.X] of the manifest, as JSON for runtime/llm. For an API key
// it contains only the name of the environment variable.
type Connection struct {
	Name   string
	Config json.RawMessage
}

// Agent is an agent declaration. A nil pointer means that the key is not set.
type Agent struct {
	Name       string
	Connection string
	Model      string
	System     string
	Sampling
	Tools          []int
	Memory         int   // index in Stores; -1 if there is none
	Knowledge      []int // indices of ledgers in Stores
	Timeout        float64
	MaxToolRounds  int64
	MaxToolCalls   int64 // maximum number of tool calls for one reply
	SchemaAttempts int64
	Retry          *Retry
	AppTools       *[]string // application's tools that the agent may call: names, `name@version`, `category:name`; nil means all
	OnToolError    *int      // index of the function (error) that determines the result of a failed tool call; nil if there is none
	Decorator      *int      // index of the function (call, shown, key) that makes a call with the agent's decorators; nil if there is none
	Streamed       *int      // index of the function that does the same for a call that returns a stream; nil if there is none
}

// Sampling contains the sampling parameters for a model's replies.
type Sampling struct {
	Temperature *float64
	TopP        *float64
	MaxTokens   *int64
	Seed        *int64
	Effort      string // value of reasoning_effort
	Stop        []string
}

// Retry is the retry_policy of an agent.
type Retry struct {
	MaxAttempts  int64
	Backoff      string
	InitialDelay int64
	MaxDelay     int64
}

// Host is a host declaration together with its section of the manifest. Config contains the keys of
// the section as a JSON object, overridden by the values of the declaration. The code that uses a
// key decodes it. Params contains the parameters of the init message as a JSON object in their
// order, or nil.
type Host struct {
	Name      string
	Connector string
	Params    json.RawMessage
	Config    json.RawMessage
	Tools     []int
	AppTools  *[]string // see Agent.AppTools
	Decorator *int      // see Agent.Decorator
}

// Server is an MCP server, the section [mcp.X] of the manifest. Name is X, and Config contains the
// keys of the section as a JSON object.
type Server struct {
	Name   string
	Config json.RawMessage
}

// AppTool is a tool of the application that the manifest defines in the section [tools.X]. Name is
// X, and Config is the complete definition as a JSON object (spec/21-application-tools.md).
// Relative paths in it start at the program's root.
type AppTool struct {
	Name   string
	Config json.RawMessage
}

// Tool is a tool declaration. State is the type of its state, which is similar to a struct. Init is
// a function without parameters that returns a tuple of the initial values of the fields.
type Tool struct {
	Name        string
	Server      string // name of the MCP server that implements the functions; "" for a tool of the program
	Public      bool   // `concerto mcp serve` offers the functions
	Description string
	State       int
	Init        int
	Methods     []ToolMethod
	// List and Call are set for an MCP server that has functions which the program does not
	// declare. List is the function that lists the server's tools; its argument is the tool's
	// value. Call is the function that calls a tool of the server; its arguments are the server,
	// the name of the tool, and the arguments of the call.
	List *int
	Call *int
}

// ToolMethod is a function of a tool. Models and hosts can call the functions that have a
// description. Function is a full function, whose first parameter is the tool.
type ToolMethod struct {
	Name        string
	Signature   string // signature of an MCP server's function, as declared
	Description string
	Described   bool
	Sequential  bool // calls of the function in one round run one after the other
	Approve     bool // the application must approve each call
	Context     bool // the last parameter is a ToolContext, which callers from outside of the program do not pass
	Function    int
	Params      []ToolParam
	Result      int // index in Types
}

// ToolParam is a parameter of a tool function. Default is a full function without parameters that
// computes the default value, or -1 if there is none.
type ToolParam struct {
	Name        string
	Description string
	Type        int
	Default     int
}

// Pipeline is a public pipeline, which `concerto mcp serve` offers. Run is the full function that
// runs it, and Stages the number of its stages. If the input of a pipeline cannot be decoded from
// JSON, the pipeline is not offered. Withheld then contains the reason, and there is no function.
type Pipeline struct {
	Run      ToolMethod
	Stages   int
	Withheld string
}

// Store is a store declaration. Kind is "hashmap", "ledger", "memory" or "queue". Window is the
// maximum length of a memory, or 0. File is the path of a store in a file, or "" for a store in
// memory. Key and Value are the types of a hashmap in a file. Value is also the type of the values
// of a queue, in a file or not; MaxAttempts and RetrySeconds are its settings.
type Store struct {
	Name   string
	Kind   string
	Window int
	Trim   int // 0 in a program of an older compiler; means 1
	File   string
	Key    int // index in Types
	Value  int // index in Types

	MaxAttempts  int64
	RetrySeconds float64
}

// Limits contains the values of [limits], with the names of their keys. Zero means that there is no
// limit.
type Limits struct {
	MaxRunSeconds float64 `json:"max_run_seconds"`
	MaxMemoryMB   int64   `json:"max_memory_mb"`
	MaxTokens     int64   `json:"max_tokens"`
	MaxCostUSD    float64 `json:"max_cost_usd"`
	// MaxDayTokens and MaxDayCostUSD limit all runs of a day. DayFile is the file in which these
	// store what they use; "" means that they store nothing.
	MaxDayTokens  int64   `json:"max_day_tokens"`
	MaxDayCostUSD float64 `json:"max_day_cost_usd"`
	DayFile       string  `json:"day_file"`
	MaxTasks      int64   `json:"max_tasks"`
	// MaxTestSeconds is the time limit for each test of the program.
	MaxTestSeconds float64 `json:"max_test_seconds"`
}

// Permissions contains the values of [permissions]: the resources that the program may use. All
// other resources are denied, except that the kinds in Open ("fs", "env", "net") are not
// restricted. FS contains directories; relative ones start at the program's root. Env contains
// names of environment variables, Net network hosts, and Run commands. If ToolsLimited is set,
// models, hosts and dispatch_tool may call only Tools, which have the form Tool or Tool::function.
// Approve contains filters for tools of the application whose calls need an approval.
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

// AllowsCall reports whether models, hosts and dispatch_tool may call a function of a tool. p may
// be nil, which means that there is no [permissions] section.
func (p *Permissions) AllowsCall(tool, function string) bool {
	return p == nil || !p.ToolsLimited || slices.Contains(p.Tools, tool) || slices.Contains(p.Tools, tool+"::"+function)
}

// Test is an @test function. Name is its description, or the function's name if it has none. If
// ExpectFail is set, the test must fail with a message that contains Expect.
type Test struct {
	Name       string
	Function   int
	ExpectFail bool
	Expect     string
}

// Guard is a @guard function (spec/51-guard.md).
type Guard struct {
	Function int `json:"function"`
	Approval int `json:"approval"` // index in Types of the type of its parameter
}

// Eval is an @eval function (spec/49-eval.md).
type Eval struct {
	Name         string
	Function     int
	FunctionName string // as declared, also if the function has other decorators
	Data         string // path of the dataset, relative to the source file, or the name of the function DataFunction
	DataFunction int    // function that returns the rows, or -1
	Row          int    // index in Types of the type of the rows
	Repeat       int
	Cluster      string   // field of the row that groups cases, or ""
	Margin       *float64 // nil for the default
	// Fields reports that each metric is a field of the returned struct. Otherwise the returned
	// value is the only metric.
	Fields       bool
	Metrics      []Metric
	GateBuiltins []string // built-in metrics that decide the verdict
}

// MaxMetric is the maximum of the absolute values of metrics and of what is compared with them, so
// that sums and differences are finite.
const MaxMetric = 1e300

// Metric is a metric of an eval. Type is "bool", "int", "float", "score" or "agreement". Lower
// means that lower values are better, and Gate that the metric decides the verdict.
type Metric struct {
	Name, Type  string
	Lower, Gate bool
}
