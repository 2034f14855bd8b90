package effect

import "encoding/json"

// The kinds of requests for calls of MCP servers. An MCPOpen starts a call, an MCPNext returns its
// next event, and an MCPReply answers a question of the server. An MCPChanged checks whether the
// program has the current list of a server's tools.
const (
	KindMCPOpen    Kind = "mcp.open"
	KindMCPNext    Kind = "mcp.next"
	KindMCPReply   Kind = "mcp.reply"
	KindMCPChanged Kind = "mcp.changed"
)

// The protocol's methods for calls. "" in MCPOpen means MCPCallTool.
const (
	MCPCallTool      = "tools/call"
	MCPListTools     = "tools/list"
	MCPListResources = "resources/list"
	MCPListTemplates = "resources/templates/list"
	MCPReadResource  = "resources/read"
	MCPListPrompts   = "prompts/list"
	MCPGetPrompt     = "prompts/get"
)

// MCPMethods contains the names of the methods that the library adds to every server.
var MCPMethods = []string{"resources", "resource_templates", "read_resource", "prompts", "get_prompt"}

// MCPOpen starts a call. It returns *MCPOpened at once; the first MCPNext reports errors. Tool is
// the name of the tool, the URI of the resource, the name of the prompt, or "" for a list. Args are
// the arguments of a tool or a prompt. Declared contains the tools that the program declares for
// the server; the connection fails if the server's tools differ.
type MCPOpen struct {
	Server   string          `json:"server"` // name of a section [mcp.X]
	Method   string          `json:"method,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	Declared []MCPTool       `json:"declared,omitempty"`
}

// Function returns the name that the program called: the name of a tool, or of a library method.
func (r *MCPOpen) Function() string {
	switch r.Method {
	case MCPListTools:
		return "tools"
	case MCPListResources:
		return "resources"
	case MCPListTemplates:
		return "resource_templates"
	case MCPReadResource:
		return "read_resource"
	case MCPListPrompts:
		return "prompts"
	case MCPGetPrompt:
		return "get_prompt"
	}
	return r.Tool
}

// MCPTool is a declared tool: its signature as written, and the JSON Schema of its parameters. For
// a called tool that the server's block only covers by `..`, the signature contains only the names
// of the arguments.
type MCPTool struct {
	Name       string          `json:"name"`
	Signature  string          `json:"signature"`
	Parameters json.RawMessage `json:"parameters"`
	Undeclared bool            `json:"undeclared,omitempty"`
}

// MCPOpened contains the number by which later requests identify the call.
type MCPOpened struct {
	ID int64 `json:"id"`
}

// MCPNext waits for the next event of a call. Its *Error is a ToolError and ends the call.
// Cancelling the request cancels the call.
type MCPNext struct {
	ID int64 `json:"id"`
}

// MCPResult is the kind of the last event of a call.
const MCPResult = "result"

// MCPEvent is an event of a call. "progress", "elicitation" and
// "elicitation_complete" have data. "result" is the last
// event; it has a text and optionally a structured value. For a list or a resource, the value is an
// array of the library's McpResource, McpTemplate, McpContent or McpPrompt. For a prompt, it
// contains the messages. For the list of tools, it contains names, descriptions and parameters, and
// first MCPChanges if the server announces changes of the list.
type MCPEvent struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
	Text string          `json:"text,omitempty"`
	// RequestID is the id of the JSON-RPC request, and Protocol the version of the protocol, of a
	// result. Records do not contain them.
	RequestID string `json:"-"`
	Protocol  string `json:"-"`
}

// MCPReply answers the elicitation of a call with JSON; nil declines it.
type MCPReply struct {
	ID     int64           `json:"id"`
	Answer json.RawMessage `json:"answer"`
}

// MCPChanges is the member of an element in a list of tools which means that the server announces
// changes of the list. Only then is an MCPChanged performed.
const MCPChanges = "changes"

// MCPChanged checks whether the list of a server's tools may differ from the last one that the
// program has received, because the server has announced a change or the connection is another one.
// It returns *MCPChange at once.
type MCPChanged struct {
	Server string `json:"server"`
}

// MCPChange contains the result of an MCPChanged.
type MCPChange struct {
	Changed bool `json:"changed"`
}

// Kind returns KindMCPOpen.
func (*MCPOpen) Kind() Kind { return KindMCPOpen }

// Kind returns KindMCPNext.
func (*MCPNext) Kind() Kind { return KindMCPNext }

// Kind returns KindMCPReply.
func (*MCPReply) Kind() Kind { return KindMCPReply }

// Kind returns KindMCPChanged.
func (*MCPChanged) Kind() Kind { return KindMCPChanged }
