package adapter

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// BridgeEntry describes how an agent reaches the MCP server of the program's tools: the agent
// starts a program that passes lines to this process.
type BridgeEntry struct {
	Command string
	Args    []string
}

// BridgeLine is a line to send to a client of the bridge.
type BridgeLine struct {
	Client int
	Line   []byte
}

// acpBridged is an open tool call that a client sent over the bridge.
type acpBridged struct {
	Client int
	ID     json.RawMessage
}

// claudeOurs begins Claude Code's names of the program's tools.
const claudeOurs = "mcp__" + toolServer + "__"

// servers returns the MCP servers that a new session uses.
func (a *ACP) servers() []any {
	if a.cfg.Bridge == nil {
		return []any{}
	}
	return []any{obj{"name": toolServer, "command": a.cfg.Bridge.Command, "args": a.cfg.Bridge.Args, "env": []any{}}}
}

// matchesTitle reports whether the title of an agent's call refers to one of the tools. Claude uses
// the first form below, Gemini the others, and OpenCode the third. A call of another kind may have
// a title that the model can choose, such as a command or a path; such a title must not match.
func (t Tools) matchesTitle(title string) bool {
	return slices.ContainsFunc(t, func(f effect.ToolSpec) bool {
		switch title {
		case claudeOurs + f.Name, "mcp_" + toolServer + "_" + f.Name, toolServer + "_" + f.Name, f.Name + " (" + toolServer + " MCP Server)":
			return true
		}
		return false
	})
}

// FromBridge handles a line that a client of the bridge has sent.
func (a *ACP) FromBridge(client int, line []byte) (s Output) {
	m, kind := parseRPC(line)
	switch {
	case kind == rpcIsNotification && m.Method == "notifications/cancelled":
		a.cancelBridgeCall(&s, client, &m)
		return s
	case kind == rpcIsNotification, kind == rpcIsAnswer:
		return s
	case kind == rpcIsNone:
		s.warn("over the bridge to the tools: " + stderrlog.Quote(line))
		return s
	}
	result, failure, call := a.cfg.Tools.serveMCP(&m)
	switch {
	case failure != nil:
		s.Bridge = append(s.Bridge, BridgeLine{client, rpcFailure(m.ID, failure.Number(), failure.Message)})
	case call != nil:
		a.Calling++
		id := "tool-" + strconv.Itoa(a.Calling)
		a.Bridged[id] = acpBridged{client, m.ID}
		s.toolCall(id, call.Name, call.Arguments)
	default:
		s.Bridge = append(s.Bridge, BridgeLine{client, rpcResult(m.ID, result)})
	}
	return s
}

// cancelBridgeCall handles a client's cancellation of a tool call.
func (a *ACP) cancelBridgeCall(s *Output, client int, m *rpcMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	for _, id := range sortedKeys(a.Bridged) {
		if call := a.Bridged[id]; call.Client == client && string(call.ID) == string(p.ID) {
			delete(a.Bridged, id)
			s.withdraw(id)
		}
	}
}

// LeftBridge handles the disconnection of a client, whose open calls need no answer any more.
func (a *ACP) LeftBridge(client int) (s Output) {
	for _, id := range sortedKeys(a.Bridged) {
		if a.Bridged[id].Client == client {
			delete(a.Bridged, id)
			s.withdraw(id)
		}
	}
	return s
}

// answerBridged answers a tool call that came over the bridge. It returns false if o does not
// answer such a call.
func (a *ACP) answerBridged(s *Output, o *ours) bool {
	call, ok := a.Bridged[o.AnswerTo]
	if ok {
		delete(a.Bridged, o.AnswerTo)
		s.Bridge = append(s.Bridge, BridgeLine{call.Client, rpcResult(call.ID, structured(mcpResult(o), o))})
	}
	return ok
}

// OpenCalls returns the IDs of the open tool calls that came over the bridge.
func (a *ACP) OpenCalls() []string { return sortedKeys(a.Bridged) }

// endBridged answers all open tool calls with the error why.
func (a *ACP) endBridged(s *Output, why string) {
	for _, id := range sortedKeys(a.Bridged) {
		call := a.Bridged[id]
		s.Bridge = append(s.Bridge, BridgeLine{call.Client, rpcFailure(call.ID, CodeCancelled, why)})
	}
	clear(a.Bridged)
}

// RefuseCall answers a tool call that cannot be passed to the program with the error why.
func (a *ACP) RefuseCall(id, why string) (s Output) {
	if call, ok := a.Bridged[id]; ok {
		delete(a.Bridged, id)
		s.Bridge = append(s.Bridge, BridgeLine{call.Client, rpcFailure(call.ID, CodeInternal, why)})
	}
	return s
}

// refused is the type of an internal message to an adapter: a tool call cannot be passed to the
// program.
const refused = "refused"

func Refusal(id, why string) []byte {
	o := jsonobject.New(refused)
	o.Text("answer_to", id)
	o.Text("error", why)
	return o.End()
}

// structured adds the tool's JSON value to an MCP result. Without it, an agent's MCP client may
// parse the text as JSON, and fail because the value is not an object.
func structured(result obj, o *ours) obj {
	text, failed := o.toolText()
	switch {
	case failed, !json.Valid([]byte(text)):
	case jsonobject.Begins([]byte(text)):
		result["structuredContent"] = json.RawMessage(text)
	default:
		result["structuredContent"] = obj{"result": json.RawMessage(text)}
	}
	return result
}

// Path returns the path of the bridge's socket, or "" if e is nil.
func (e *BridgeEntry) Path() string {
	if e == nil {
		return ""
	}
	return e.Args[len(e.Args)-1]
}

// Mask replaces the bridge's path in a traced line, because the path differs in each run.
func (e *BridgeEntry) Mask(line string) string {
	if e == nil {
		return line
	}
	return strings.NewReplacer(e.Path(), "***CONCERTO_BRIDGE***", e.Command, "***CONCERTO***").Replace(line)
}
