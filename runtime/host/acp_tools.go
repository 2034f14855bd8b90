package host

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// bridgeEntry is how an agent reaches the server of the program's tools: it starts a
// program that passes lines on between it and us.
type bridgeEntry struct {
	command string
	args    []string
}

// bridged is a line to one of those who have come over the bridge.
type bridged struct {
	client int
	line   []byte
}

// acpBridged is a call of a tool that came over the bridge.
type acpBridged struct {
	Client int
	ID     json.RawMessage
}

// servers are the MCP servers that a session has.
func (a *acp) servers() []any {
	if a.cfg.bridge == nil {
		return []any{}
	}
	return []any{obj{"name": toolServer, "command": a.cfg.bridge.command, "args": a.cfg.bridge.args, "env": []any{}}}
}

// titled says that an agent's call of that title is of one of the tools. Claude's name it
// by the first form, Gemini by the others, OpenCode by the third. A title that is a
// command or a path, which a model chooses, is of a call of another kind.
func (t tools) titled(title string) bool {
	return slices.ContainsFunc(t, func(f effect.ToolSpec) bool {
		switch title {
		case claudeOurs + f.Name, "mcp_" + toolServer + "_" + f.Name, toolServer + "_" + f.Name, f.Name + " (" + toolServer + " MCP Server)":
			return true
		}
		return false
	})
}

// overBridge hears a line of one who has come over the bridge.
func (a *acp) overBridge(client int, line []byte) (s said) {
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
	result, failure, call := a.cfg.tools.served(&m)
	switch {
	case failure != nil:
		s.bridged = append(s.bridged, bridged{client, rpcFailure(m.ID, failure.number(), failure.Message)})
	case call != nil:
		a.Calling++
		id := "tool-" + strconv.Itoa(a.Calling)
		a.Bridged[id] = acpBridged{client, m.ID}
		s.toolCall(id, call.Name, call.Arguments)
	default:
		s.bridged = append(s.bridged, bridged{client, rpcResult(m.ID, result)})
	}
	return s
}

// bridgeTakesBack hears that a call is not wanted any more.
func (a *acp) bridgeTakesBack(s *said, client int, m *rpcMessage) {
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

// leftBridge hears that one has gone: nobody waits for its calls any more.
func (a *acp) leftBridge(client int) (s said) {
	for _, id := range sortedKeys(a.Bridged) {
		if a.Bridged[id].Client == client {
			delete(a.Bridged, id)
			s.withdraw(id)
		}
	}
	return s
}

// answerBridged answers a call that came over the bridge; false when o is about none.
func (a *acp) answerBridged(s *said, o *ours) bool {
	call, ok := a.Bridged[o.AnswerTo]
	if ok {
		delete(a.Bridged, o.AnswerTo)
		s.bridged = append(s.bridged, bridged{call.Client, rpcResult(call.ID, structured(mcpResult(o), o))})
	}
	return ok
}

// openCalls returns the ids of the calls that came over the bridge and are not answered.
func (a *acp) openCalls() []string { return sortedKeys(a.Bridged) }

// endBridged answers all calls that nobody will answer any more.
func (a *acp) endBridged(s *said, why string) {
	for _, id := range sortedKeys(a.Bridged) {
		call := a.Bridged[id]
		s.bridged = append(s.bridged, bridged{call.Client, rpcFailure(call.ID, rpcCancelled, why)})
	}
	clear(a.Bridged)
}

// refuseBridged answers a call that the program cannot be asked for.
func (a *acp) refuseBridged(id, why string) (s said) {
	if call, ok := a.Bridged[id]; ok {
		delete(a.Bridged, id)
		s.bridged = append(s.bridged, bridged{call.Client, rpcFailure(call.ID, rpcInternal, why)})
	}
	return s
}

// refused is a line of ours for adapters alone: a call cannot be handed on.
const refused = "refused"

func refusal(id, why string) []byte {
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

// path is where the bridge is; "" when there is none.
func (e *bridgeEntry) path() string {
	if e == nil {
		return ""
	}
	return e.args[len(e.args)-1]
}

// shown is a line as it is recorded: where the bridge is, is another place each time.
func (e *bridgeEntry) shown(line string) string {
	if e == nil {
		return line
	}
	return strings.NewReplacer(e.path(), "***CONCERTO_BRIDGE***", e.command, "***CONCERTO***").Replace(line)
}
