package adapter

import (
	"encoding/json"
	"strings"
)

// An agent that supports MCP servers receives the program's tools as an MCP server. This file
// answers the agent's requests to that server. The program handles the calls.

// toolServer is the name of the MCP server of the program's tools.
const toolServer = "concerto"

// mcpCall contains the fields of a tool call.
type mcpCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// serveMCP handles an MCP message to the server. Exactly one result is set for a request: result,
// failure or, if the program must answer, call. For a notification, which needs no answer, result
// is empty.
func (t Tools) serveMCP(q *rpcMessage) (result obj, failure *RPCError, call *mcpCall) {
	var params struct {
		mcpCall
		Protocol string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(q.Params, &params) // missing members remain empty
	switch {
	case q.Method == "initialize":
		return obj{"protocolVersion": params.Protocol, "capabilities": obj{"tools": obj{}}, "serverInfo": obj{"name": toolServer, "version": "1"}}, nil, nil
	case q.Method == "tools/list":
		return obj{"tools": t.mcpList()}, nil, nil
	case q.Method == "tools/call":
		return nil, nil, &params.mcpCall
	case q.Method == "ping", strings.HasPrefix(q.Method, "notifications/"):
		return obj{}, nil, nil
	}
	return nil, NewRPCError(CodeUnknown, "concerto does not support "+q.Method), nil
}

// mcpResult returns a tool's value or error in the form of MCP.
func mcpResult(o *ours) obj {
	text, failed := o.toolText()
	return obj{"content": []any{obj{"type": "text", "text": text}}, "isError": failed}
}
