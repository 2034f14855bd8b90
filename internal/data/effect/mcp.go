package effect

import "encoding/json"

// The kinds of requests of an MCP call. Open begins the call, next returns its events until the
// result, reply answers a question of the server.
const (
	KindMCPOpen  Kind = "mcp.open"
	KindMCPNext  Kind = "mcp.next"
	KindMCPReply Kind = "mcp.reply"
)

// The methods of a call, as in the protocol; "" is MCPCallTool.
const (
	MCPCallTool      = "tools/call"
	MCPListTools     = "tools/list"
	MCPListResources = "resources/list"
	MCPListTemplates = "resources/templates/list"
	MCPReadResource  = "resources/read"
	MCPListPrompts   = "prompts/list"
	MCPGetPrompt     = "prompts/get"
)

// MCPMethods are the library's methods of every server.
var MCPMethods = []string{"resources", "resource_templates", "read_resource", "prompts", "get_prompt"}

// MCPOpen begins a call and returns *MCPOpened at once; errors are reported by the first MCPNext.
// Tool is the tool, the resource's URI, the prompt's name, or "" for a list; Args belong to a tool
// or a prompt. Declared are the tools that the program declares of the server; when connecting, the
// server's own tools are checked against them.
type MCPOpen struct {
	Server   string          `json:"server"` // the declaration's name, a key of [mcp]
	Method   string          `json:"method,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	Declared []MCPTool       `json:"declared,omitempty"`
}

// Function returns the name that the program calls: a tool, or the library's method for one of the
// protocol's.
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

// MCPTool is a declared tool: its signature as written, and the JSON Schema of
// its parameters. An undeclared one is a called tool that the server's block
// leaves to `..`; its signature has only the names of the arguments.
type MCPTool struct {
	Name       string          `json:"name"`
	Signature  string          `json:"signature"`
	Parameters json.RawMessage `json:"parameters"`
	Undeclared bool            `json:"undeclared,omitempty"`
}

// MCPOpened is a call under way.
type MCPOpened struct {
	ID int64 `json:"id"`
}

// MCPNext waits for the next event of a call. Its *Error is a ToolError and ends the call.
// Cancelling the request cancels the call.
type MCPNext struct {
	ID int64 `json:"id"`
}

// MCPResult is the kind of a call's last event.
const MCPResult = "result"

// MCPEvent is an event of a call: "progress" or "elicitation" with its data, or "result", the last,
// with its text and, if there is one, its structured value. The value of a list or a resource is an
// array of the library's McpResource, McpTemplate, McpContent or McpPrompt. The value of a prompt
// contains its messages, that of the list of tools their names, descriptions and parameters.
type MCPEvent struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
	Text string          `json:"text,omitempty"`
}

// MCPReply answers the call's elicitation, with JSON; nil declines it.
type MCPReply struct {
	ID     int64           `json:"id"`
	Answer json.RawMessage `json:"answer"`
}

// Kind is KindMCPOpen.
func (*MCPOpen) Kind() Kind { return KindMCPOpen }

// Kind is KindMCPNext.
func (*MCPNext) Kind() Kind { return KindMCPNext }

// Kind is KindMCPReply.
func (*MCPReply) Kind() Kind { return KindMCPReply }
