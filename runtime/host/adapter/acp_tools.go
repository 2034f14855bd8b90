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

// BridgeEntry is how an agent reaches the server of the program's tools: it starts a
// program that passes lines on between it and us.
type BridgeEntry struct {
	Command string
	Args    []string
}

// BridgeLine is a line to one of those who have come over the bridge.
type BridgeLine struct {
	Client int
	Line   []byte
}

// acpBridged is a call of a tool that came over the bridge.
type acpBridged struct {
	Client int
	ID     json.RawMessage
}

// servers are the MCP servers that a session has.
func (a *ACP) servers() []any {
	if a.cfg.Bridge == nil {
		return []any{}
	}
	return []any{obj{"name": toolServer, "command": a.cfg.Bridge.Command, "args": a.cfg.Bridge.Args, "env": []any{}}}
}

// titled says that an agent's call of that title is of one of the tools. Claude's name it
// by the first form, Gemini by the others, OpenCode by the third. A title that is a
// command or a path, which a model chooses, is of a call of another kind.
func (t Tools) titled(title string) bool {
	return slices.ContainsFunc(t, func(f effect.ToolSpec) bool {
		switch title {
		case claudeOurs + f.Name, "mcp_" + toolServer + "_" + f.Name, toolServer + "_" + f.Name, f.Name + " (" + toolServer + " MCP Server)":
			return true
		}
		return false
	})
}

// HearBridge hears a line of one who has come over the bridge.
func (a *ACP) HearBridge(client int, line []byte) (s Output) {
	m, kind := parseRPC(line)
	switch {
	case kind == rpcIsNotification && m.Method == "notifications/cancelled":
		a.bridgeTakesBack(&s, client, &m)
		return s
	case kind == rpcIsNotification, kind == rpcIsAnswer:
		return s
	case kind == rpcIsNone:
		s.warn("over the bridge to the tools: " + stderrlog.Quote(line))
		return s
	}
	result, failure, call := a.cfg.Tools.served(&m)
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

// bridgeTakesBack hears that a call is not wanted any more.
func (a *ACP) bridgeTakesBack(s *Output, client int, m *rpcMessage) {
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

// LeftBridge hears that one has gone: nobody waits for its calls any more.
func (a *ACP) LeftBridge(client int) (s Output) {
	for _, id := range sortedKeys(a.Bridged) {
		if a.Bridged[id].Client == client {
			delete(a.Bridged, id)
			s.withdraw(id)
		}
	}
	return s
}

// answerBridged answers a call that came over the bridge; false when o is about none.
func (a *ACP) answerBridged(s *Output, o *ours) bool {
	call, ok := a.Bridged[o.AnswerTo]
	if ok {
		delete(a.Bridged, o.AnswerTo)
		s.Bridge = append(s.Bridge, BridgeLine{call.Client, rpcResult(call.ID, structured(mcpResult(o), o))})
	}
	return ok
}

// OpenCalls returns the ids of the calls that came over the bridge and are not answered.
func (a *ACP) OpenCalls() []string { return sortedKeys(a.Bridged) }

// endBridged answers all calls that nobody will answer any more.
func (a *ACP) endBridged(s *Output, why string) {
	for _, id := range sortedKeys(a.Bridged) {
		call := a.Bridged[id]
		s.Bridge = append(s.Bridge, BridgeLine{call.Client, rpcFailure(call.ID, CodeCancelled, why)})
	}
	clear(a.Bridged)
}

// RefuseCall answers a call that the program cannot be asked for.
func (a *ACP) RefuseCall(id, why string) (s Output) {
	if call, ok := a.Bridged[id]; ok {
		delete(a.Bridged, id)
		s.Bridge = append(s.Bridge, BridgeLine{call.Client, rpcFailure(call.ID, CodeInternal, why)})
	}
	return s
}

// refused is a line of ours for adapters alone: a call cannot be handed on.
const refused = "refused"

func Refusal(id, why string) []byte {
	o := jsonobject.New(refused)
	o.Text("answer_to", id)
	o.Text("error", why)
	return o.End()
}

// structured is a result with its value beside the text where that is JSON. An MCP
// client of an agent's makes it one itself otherwise, and then finds that a number
// is no object.
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

// Path is where the bridge is; "" when there is none.
func (e *BridgeEntry) Path() string {
	if e == nil {
		return ""
	}
	return e.Args[len(e.Args)-1]
}

// Mask is a line as it is recorded: where the bridge is, is another place each time.
func (e *BridgeEntry) Mask(line string) string {
	if e == nil {
		return line
	}
	return strings.NewReplacer(e.Path(), "***CONCERTO_BRIDGE***", e.Command, "***CONCERTO***").Replace(line)
}
