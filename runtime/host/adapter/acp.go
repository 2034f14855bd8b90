package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
)

// ACP implements version 1 of the Agent Client Protocol, which is based on JSON-RPC. The agent's
// response to session/prompt ends an exchange. The state is in exported fields so that it can be
// encoded as JSON.
type ACP struct {
	cfg     Config
	RPC     rpc
	Asked   int64  // number of requests received from the agent
	Version string // version that the agent reported
	Session string
	Ready   bool                  // the handshake is complete
	Closes  bool                  // the agent can close sessions
	Loading bool                  // the agent is replaying the history of a session
	Prompt  string                // prompt that waits until a new session is ready; "" for none
	Prompts int                   // number of prompts so far
	Text    []string              // text blocks that the agent has sent in the current exchange
	Calls   map[string]acpCall    // the agent's tool calls, by the agent's IDs
	Bridged map[string]acpBridged // open calls of the program's tools over the bridge, by the adapter's IDs
	Calling int                   // number of calls of the program's tools over the bridge
	Cost    float64               // cost of the session so far, in USD
	Before  float64               // cost of the session before the current exchange, in USD
	Costs   bool                  // the agent has reported the cost of the current exchange
	Unknown unknownNames          `json:",omitempty"`
	Trace   map[string]string     // position of the current exchange in the trace; nil for none

	late bool // the line that is being translated is older than the newest prompt
}

// acpVersion is the version of the Agent Client Protocol.
const acpVersion = 1

// acpRow maps one kind of session update to its handler.
type acpRow struct {
	update string
	handle func(a *ACP, s *Output, u *acpUpdate) // nil ignores the update
}

var acpRows = []acpRow{
	{"agent_message_chunk", (*ACP).translateText},
	{"agent_thought_chunk", (*ACP).translateThought},
	{"tool_call", (*ACP).translateToolCall},
	{"tool_call_update", (*ACP).translateToolCall},
	{"plan", (*ACP).translatePlan},
	{"usage_update", (*ACP).translateUsage},
	{"available_commands_update", nil},
	{"current_mode_update", nil},
	{"config_option_update", nil},
	{"session_info_update", nil},
	{"user_message_chunk", nil},
	{"notice", (*ACP).translateNotice},
	{"compaction_update", (*ACP).translateCompaction},
}

// acpUpdate contains the fields of all kinds of session updates. line is the agent's whole line,
// raw the update in it.
type acpUpdate struct {
	Kind    string          `json:"sessionUpdate"`
	Content json.RawMessage `json:"content"`
	Entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
	Used int64 `json:"used"`
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
	raw, line []byte
}

// acpCall contains the members of a tool call that the agent has reported so far.
type acpCall struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	Input     json.RawMessage `json:"rawInput,omitempty"`
	Locations []acpPath       `json:"locations"`
	Content   []acpPath       `json:"content"` // the changed files
}

type acpPath struct {
	Path string `json:"path"`
}

func newACP(v Config) *ACP {
	return &ACP{cfg: v, RPC: newRPC(), Session: v.Resume, Calls: map[string]acpCall{}, Bridged: map[string]acpBridged{}}
}

func (a *ACP) Conversation() string { return a.Session }

func (a *ACP) FromAgent(line []byte) (s Output) {
	s.session = a.Session
	m, kind := parseRPC(line)
	switch kind {
	case rpcIsRequest:
		a.handleRequest(&s, &m, line)
	case rpcIsNotification:
		a.handleNotification(&s, &m, line)
	case rpcIsAnswer:
		a.handleResponse(&s, &m, line)
	default:
		return foreign(line)
	}
	return s
}

func (a *ACP) FromAgentLate(line []byte) Output {
	a.late = true
	defer func() { a.late = false }()
	return a.FromAgent(line)
}

func (a *ACP) handleNotification(s *Output, m *rpcMessage, line []byte) {
	switch m.Method {
	case "session/update":
		var p struct {
			Session string          `json:"sessionId"`
			Update  json.RawMessage `json:"update"`
		}
		u := acpUpdate{line: line}
		if json.Unmarshal(m.Params, &p) != nil || json.Unmarshal(p.Update, &u) != nil || u.Kind == "" {
			s.other(m.Method, line)
			return
		}
		u.raw = p.Update
		a.handleUpdate(s, &u, a.Loading || a.Prompt != "" || p.Session != a.Session)
	case "$/cancel_request":
		a.withdrawRequest(s, m)
	case "elicitation/complete":
		a.withdrawElicitation(s, m, line)
	default:
		a.Unknown.report(s, acpUnused, "notification", m.Method, line)
	}
}

// handleUpdate handles a session update. It ignores replayed updates and updates of other
// sessions.
func (a *ACP) handleUpdate(s *Output, u *acpUpdate, elsewhere bool) {
	at := slices.IndexFunc(acpRows, func(r acpRow) bool { return r.update == u.Kind })
	switch {
	case elsewhere, at >= 0 && acpRows[at].handle == nil:
		s.Quiet = u.Kind
	case at < 0:
		a.Unknown.report(s, acpUnused, "update", u.Kind, u.line)
	default:
		acpRows[at].handle(a, s, u)
	}
}

func (a *ACP) withdrawRequest(s *Output, m *rpcMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &p) == nil {
		if _, open := a.RPC.removeRequest(idText(p.ID)); open {
			s.withdraw(idText(p.ID))
			return
		}
	}
	s.Quiet = m.Method
}

// withdrawElicitation withdraws the elicitation that the user has completed in another way, and
// ends the agent's request.
func (a *ACP) withdrawElicitation(s *Output, m *rpcMessage, line []byte) {
	done := elicitationID(m.Params)
	for _, id := range sortedKeys(a.RPC.Open) {
		q := a.RPC.Open[id]
		if q.Method != "elicitation/create" || done == "" || elicitationID(q.Params) != done {
			continue
		}
		a.RPC.removeRequest(id)
		s.withdraw(id)
		s.addLines(rpcResult(q.ID, obj{"action": "accept"}))
		return
	}
	s.other(m.Method, line)
}

// elicitationID returns the ID of an elicitation in the parameters of a message, or "".
func elicitationID(params json.RawMessage) string {
	var p struct {
		ID    string `json:"elicitationId"`
		Snake string `json:"elicitation_id"`
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	return cmp.Or(p.ID, p.Snake)
}

func (a *ACP) ToAgent(line []byte) (s Output) {
	o := parseOurs(line)
	switch o.Type {
	case hostmsg.Init:
		s.addLines(a.RPC.request("initialize", obj{"protocolVersion": acpVersion,
			"clientInfo":         obj{"name": "concerto", "title": "Concerto", "version": "1"},
			"clientCapabilities": a.capabilities()}))
	case hostmsg.Prompt:
		a.Prompts++
		a.Text, a.Costs, a.Before = nil, false, a.Cost
		if !o.Queued {
			a.Trace = o.Trace
		}
		if a.cfg.Fresh && a.Prompts > 1 && !o.Queued {
			a.Prompt = o.prompt()
			if a.Closes {
				s.addLines(a.RPC.request("session/close", obj{"sessionId": a.Session}))
			}
			s.addLines(a.RPC.request("session/new", a.sessionParams()))
			return s
		}
		s.addLines(a.promptRequest(o.prompt()))
	case hostmsg.Response:
		a.respond(&s, &o)
	case refused:
		s = a.RefuseCall(o.AnswerTo, o.Error)
	case hostmsg.Cancel:
		a.cancel(&s)
	}
	return s
}

// capabilities returns the client capabilities, which list the requests that the agent may send.
func (a *ACP) capabilities() obj {
	all := obj{"elicitation": obj{"form": obj{}, "url": obj{}}}
	if a.cfg.Serves {
		all["fs"] = obj{"readTextFile": true, "writeTextFile": true}
		all["terminal"] = true
	}
	return all
}

// sessionParams returns the parameters that create a session: its directory and its MCP servers.
func (a *ACP) sessionParams() obj { return obj{"cwd": a.cfg.Dir, "mcpServers": a.servers()} }

func (a *ACP) promptRequest(prompt string) []byte {
	params := obj{"sessionId": a.Session, "prompt": []any{obj{"type": "text", "text": prompt}}}
	if a.Trace != nil {
		params["_meta"] = a.Trace
	}
	return a.RPC.request("session/prompt", params)
}

// cancel cancels the exchange and answers the agent's open requests.
func (a *ACP) cancel(s *Output) {
	s.addLines(notification("session/cancel", obj{"sessionId": a.Session}))
	a.endBridged(s, "the exchange is cancelled")
	for _, id := range sortedKeys(a.RPC.Open) {
		q, _ := a.RPC.removeRequest(id)
		if cancelled := acpRequestOf(q.Method).cancelled; cancelled != "" {
			s.addLines(rpcResult(q.ID, json.RawMessage(cancelled)))
		} else {
			s.addLines(rpcFailure(q.ID, CodeCancelled, "the exchange is cancelled"))
		}
	}
}

// acpAnswer contains the fields of the agent's responses.
type acpAnswer struct {
	Version      json.Number `json:"protocolVersion"`
	Capabilities struct {
		Load    bool `json:"loadSession"`
		Session struct {
			Resume json.RawMessage `json:"resume"`
			Close  json.RawMessage `json:"close"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Agent struct {
		Version string `json:"version"`
	} `json:"agentInfo"`
	Session string      `json:"sessionId"`
	Options []acpOption `json:"configOptions"`
	Modes   struct {
		Current string    `json:"currentModeId"`
		All     []acpMode `json:"availableModes"`
	} `json:"modes"`
	Models struct {
		All []struct {
			ID string `json:"modelId"`
		} `json:"availableModels"`
	} `json:"models"`
	Stop  string    `json:"stopReason"`
	Usage *acpUsage `json:"usage"`
	Meta  struct {
		Quota struct {
			Tokens *struct {
				In  int64 `json:"input_tokens"`
				Out int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta"`
}

type acpMode struct {
	ID string `json:"id"`
}

type acpUsage struct {
	In     int64 `json:"inputTokens"`
	Out    int64 `json:"outputTokens"`
	Cached int64 `json:"cachedReadTokens"`
	Made   int64 `json:"cachedWriteTokens"`
}

// handleResponse handles a response of the agent. Depending on the request, it continues the
// handshake or ends the exchange.
func (a *ACP) handleResponse(s *Output, m *rpcMessage, line []byte) {
	method, ok := a.RPC.matchResponse(m)
	if !ok {
		s.warn("a response to an unknown request: " + stderrlog.Quote(line))
		return
	}
	if m.Error != nil {
		a.handleFailure(s, method, m, line)
		return
	}
	var r acpAnswer
	if json.Unmarshal(m.Result, &r) != nil {
		a.handleFailure(s, method, &rpcMessage{Error: &RPCError{Message: "the response cannot be parsed: " + stderrlog.Quote(line)}}, line)
		return
	}
	switch method {
	case "initialize":
		a.handleInitialized(s, &r)
	case "session/prompt":
		a.endExchange(s, &r, line)
	case "session/close":
		s.Quiet = method
	case "session/new", "session/load", "session/resume":
		a.Loading = false
		if r.Session != "" {
			a.Session = r.Session
		}
		a.Cost, a.Before = 0, 0
		a.applySettings(s, &r)
	default: // the response to a request that sets an option of the session
		a.continueWhenSet(s)
	}
}

// handleInitialized checks the agent's protocol version and begins or resumes the session.
func (a *ACP) handleInitialized(s *Output, r *acpAnswer) {
	a.Version = r.Agent.Version
	a.Closes = isSupported(r.Capabilities.Session.Close)
	place := a.sessionParams()
	switch {
	case r.Version.String() != fmt.Sprint(acpVersion):
		s.failed(fmt.Sprintf("host '%s' uses version %s of ACP, but version %d is required", a.cfg.Host, r.Version, acpVersion), "version", "", nil)
		return
	case a.cfg.Resume == "":
		s.addLines(a.RPC.request("session/new", place))
		return
	}
	place["sessionId"] = a.cfg.Resume
	switch {
	case isSupported(r.Capabilities.Session.Resume):
		s.addLines(a.RPC.request("session/resume", place))
	case r.Capabilities.Load:
		a.Loading = true
		s.addLines(a.RPC.request("session/load", place))
	default:
		s.failed(fmt.Sprintf("host '%s' cannot resume a session", a.cfg.Host), "resume", a.cfg.Resume, nil)
	}
}

// isSupported reports whether an agent has a capability, which is an object.
func isSupported(capability json.RawMessage) bool {
	return len(capability) > 0 && string(capability) != "null"
}

// handleFailure handles an error response. It ends the exchange or the handshake with an error.
// The conversation that could not be closed is no longer needed.
func (a *ACP) handleFailure(s *Output, method string, m *rpcMessage, line []byte) {
	code := string(m.Error.Code)
	switch method {
	case "session/close":
		s.warn("session/close: " + m.Error.text())
		return
	case "session/prompt":
		clear(a.RPC.Open)
		s.failed(m.Error.text(), code, a.Session, line)
		return
	}
	s.failed(fmt.Sprintf("host '%s': %s: %s", a.cfg.Host, method, m.Error.text()), code, a.Session, nil)
}

// endExchange ends the exchange with the result of session/prompt.
func (a *ACP) endExchange(s *Output, r *acpAnswer, line []byte) {
	// The agent may report the cancellation of these calls later, over the bridge.
	for _, id := range sortedKeys(a.Bridged) {
		s.withdraw(id)
	}
	a.endBridged(s, "the exchange has ended")
	clear(a.RPC.Open)
	clear(a.Calls)
	switch r.Stop {
	case "end_turn", "max_tokens", "max_turn_requests":
	case "":
		s.failed("the agent's answer to session/prompt has no stopReason", "", a.Session, line)
		return
	default:
		s.failed("the exchange ended as "+r.Stop, r.Stop, a.Session, line)
		return
	}
	end := outcome{Text: strings.Join(a.Text, ""), Session: a.Session, totals: totals{Cost: a.cost()}, Stop: r.Stop, Payload: line}
	switch tokens := r.Meta.Quota.Tokens; {
	case r.Usage != nil:
		end.Usage = &usage{In: r.Usage.In + r.Usage.Cached + r.Usage.Made, Out: r.Usage.Out, Cached: r.Usage.Cached, Made: r.Usage.Made}
	case tokens != nil:
		end.Usage = &usage{In: tokens.In, Out: tokens.Out}
	}
	s.result(end)
}
