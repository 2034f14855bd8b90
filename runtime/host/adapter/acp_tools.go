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

// BridgeEntry describes how an agent reaches the server of the program's tools: it starts a program
// that passes lines to us.
type BridgeEntry struct {
	Command string
	Args    []string
}

// BridgeLine is a line for a client of the bridge.
type BridgeLine struct {
	Client int
	Line   []byte
}

// acpBridged is a tool call that came over the bridge.
type acpBridged struct {
	Client int
	ID     json.RawMessage
}

// servers returns the MCP servers of a session.
func (a *ACP) servers() []any {
	if a.cfg.Bridge == nil {
		return []any{}
	}
	return []any{obj{"name": toolServer, "command": a.cfg.Bridge.Command, "args": a.cfg.Bridge.Args, "env": []any{}}}
}

// matchesTitle reports whether an agent's call with that title calls one of the tools. Claude uses
// the first form, Gemini the others, OpenCode the third. A title that is a command or a path, which
// a model can choose, belongs to another kind of call.
func (t Tools) matchesTitle(title string) bool {
	return slices.ContainsFunc(t, func(f effect.ToolSpec) bool {
		switch title {
		case claudeOurs + f.Name, "mcp_" + toolServer + "_" + f.Name, toolServer + "_" + f.Name, f.Name + " (" + toolServer + " MCP Server)":
			return true
		}
		return false
	})
}

// FromBridge handles a line of a client of the bridge.
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

// cancelBridgeCall handles the cancellation of a call.
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

// LeftBridge handles the disconnection of a client: its calls need no answer.
func (a *ACP) LeftBridge(client int) (s Output) {
	for _, id := range sortedKeys(a.Bridged) {
		if a.Bridged[id].Client == client {
			delete(a.Bridged, id)
			s.withdraw(id)
		}
	}
	return s
}

// answerBridged answers a call that came over the bridge; false if o is not about one.
func (a *ACP) answerBridged(s *Output, o *ours) bool {
	call, ok := a.Bridged[o.AnswerTo]
	if ok {
		delete(a.Bridged, o.AnswerTo)
		s.Bridge = append(s.Bridge, BridgeLine{call.Client, rpcResult(call.ID, structured(mcpResult(o), o))})
	}
	return ok
}

// OpenCalls returns the ids of the open calls that came over the bridge.
func (a *ACP) OpenCalls() []string { return sortedKeys(a.Bridged) }

// endBridged answers all open calls with an error.
func (a *ACP) endBridged(s *Output, why string) {
	for _, id := range sortedKeys(a.Bridged) {
		call := a.Bridged[id]
		s.Bridge = append(s.Bridge, BridgeLine{call.Client, rpcFailure(call.ID, CodeCancelled, why)})
	}
	clear(a.Bridged)
}

// RefuseCall answers a call that cannot be passed to the program.
func (a *ACP) RefuseCall(id, why string) (s Output) {
	if call, ok := a.Bridged[id]; ok {
		delete(a.Bridged, id)
		s.Bridge = append(s.Bridge, BridgeLine{call.Client, rpcFailure(call.ID, CodeInternal, why)})
	}
	return s
}

// refused is the type of an internal line for adapters: a call cannot be passed on.
const refused = "refused"

func Refusal(id, why string) []byte {
	o := jsonobject.New(refused)
	o.Text("answer_to", id)
	o.Text("error", why)
	return o.End()
}

// structured adds a JSON value to a result. Otherwise an agent's MCP client may parse the text
// itself, and fail because a number is not an object.
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

// Path returns the path of the bridge, or "".
func (e *BridgeEntry) Path() string {
	if e == nil {
		return ""
	}
	return e.Args[len(e.Args)-1]
}

// Mask replaces the bridge's path in a traced line, because it differs in each run.
func (e *BridgeEntry) Mask(line string) string {
	if e == nil {
		return line
	}
	return strings.NewReplacer(e.Path(), "***CONCERTO_BRIDGE***", e.Command, "***CONCERTO***").Replace(line)
}
