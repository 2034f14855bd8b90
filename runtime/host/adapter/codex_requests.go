//go:build !js

package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// codexRequest describes a method of the agent's requests and how its requests are answered.
type codexRequest struct {
	method string
	ask    func(c *codex, s *Output, q *rpcRequest, line []byte)
	answer func(q *rpcRequest, o *ours) obj
}

var codexRequests = []codexRequest{
	{"item/commandExecution/requestApproval", (*codex).asksCommand, decidedCommand},
	{"item/fileChange/requestApproval", (*codex).asksChange, decidedChange},
	{"item/permissions/requestApproval", (*codex).asksPermissions, decidedPermissions},
	{"execCommandApproval", (*codex).asksCommand, decidedLegacy},
	{"applyPatchApproval", (*codex).asksChange, decidedLegacy},
	{"item/tool/requestUserInput", (*codex).asksUser, answeredUser},
	{"mcpServer/elicitation/request", (*codex).handleElicitation, answeredElicitation},
	{codexCalls, (*codex).callsTool, answeredCall},
}

func codexRequestOf(method string) *codexRequest {
	at := slices.IndexFunc(codexRequests, func(r codexRequest) bool { return r.method == method })
	if at < 0 {
		return nil
	}
	return &codexRequests[at]
}

// handleRequest handles a request of the agent. It refuses unknown methods.
func (c *codex) handleRequest(s *Output, m *rpcMessage, line []byte) {
	if c.RPC.isRepeated(s, m, line) {
		return
	}
	row := codexRequestOf(m.Method)
	if row == nil {
		s.refuse(m.ID, m.Method, "", line)
		return
	}
	q := &rpcRequest{ID: m.ID, Method: m.Method, Params: m.Params}
	s.agent = c.Tasks.Threads[q.thread()].Agent
	row.ask(c, s, q, line)
	id := idText(m.ID)
	if q, isOpen := c.RPC.Open[id]; isOpen && m.Method != codexCalls {
		_, isSubagent := c.Tasks.Threads[q.thread()]
		isSecret := slices.ContainsFunc(q.questions(), func(a ask) bool { return a.Secret })
		q.detached = c.Tasks.mark(s, c.cfg.Background == BackgroundDetach && (isSubagent || !c.Tasks.Active), isSecret)
		c.RPC.Open[id] = q
	}
}

// codexCalls is the method of calls of the program's tools.
const codexCalls = "item/tool/call"

// respond sends the response to a request of the agent, if the request is still open.
func (c *codex) respond(s *Output, o *ours) {
	q, ok := c.RPC.removeRequest(o.AnswerTo)
	if !ok {
		s.Lost = append(s.Lost, Undelivered{o.AnswerTo, ReasonClosed})
		return
	}
	if q.Method != codexCalls {
		c.add(o.AnswerTo)
	}
	s.addLines(rpcResult(q.ID, codexRequestOf(q.Method).answer(&q, o)))
}

// codexApproval contains the fields of all requests for approval.
type codexApproval struct {
	ItemID     string `json:"itemId"`
	CallID     string `json:"callId"`     // in old versions, instead of itemId
	ApprovalID string `json:"approvalId"` // of one of several approvals of an item
	// a string or, in old versions, a list of words
	Command     json.RawMessage            `json:"command"`
	Cwd         string                     `json:"cwd"`
	Reason      string                     `json:"reason"`
	GrantRoot   string                     `json:"grantRoot"`
	Actions     []codexAction              `json:"commandActions"`
	Parsed      []codexAction              `json:"parsedCmd"`
	Amendment   json.RawMessage            `json:"proposedExecpolicyAmendment"`
	Decisions   []json.RawMessage          `json:"availableDecisions"`
	Changes     map[string]json.RawMessage `json:"fileChanges"`
	Permissions json.RawMessage            `json:"permissions"`
	Network     *codexAddress              `json:"networkApprovalContext"`
	Kind        string                     `json:"kind"` // "command", "writeStdin" or "humanCommand"
	Proposed    []codexAmendment           `json:"proposedNetworkPolicyAmendments"`
}

// codexAddress is an address that a command of the agent is about to reach. Codex reports no port.
type codexAddress struct {
	Host     string `json:"host"`
	Protocol string `json:"protocol"`
}

// codexAmendment is a rule about a host that Codex would store.
type codexAmendment struct {
	Action string `json:"action"`
	Host   string `json:"host"`
}

// codexPorts are the ports of the protocols that have one.
var codexPorts = map[string]int{"https": 443, "http": 80}

// args returns the address as arguments of an approval, and as a text.
func (a *codexAddress) args() (args json.RawMessage, text string) {
	out := obj{"host": a.Host, "protocol": a.Protocol}
	text = a.Protocol + " " + a.Host
	if port := codexPorts[a.Protocol]; port != 0 {
		out["port"] = port
		text += fmt.Sprintf(":%d", port)
	}
	return jsonwrite.MustEncode(out), text
}

type codexAction struct {
	Type string `json:"type"`
	Path string `json:"path"`
}

func (q *rpcRequest) approval() (p codexApproval) {
	_ = json.Unmarshal(q.Params, &p) // members with the wrong type are not shown
	return p
}

// call returns the agent's ID of the call that an approval is about.
func (q *rpcRequest) call() string {
	p := q.approval()
	id := cmp.Or(p.ItemID, p.CallID)
	if p.ApprovalID != "" {
		id += "/" + p.ApprovalID
	}
	return id
}

// codexScopes maps Codex's decisions to the scopes of the host protocol.
var codexScopes = []struct{ theirs, ours string }{
	{"accept", decision.Once},
	{"acceptForSession", decision.Session},
	{codexAmends, decision.Always},
	{codexAmendsNet, decision.Always},
	{"decline", decision.Deny},
	{"cancel", decision.Deny},
}

// Codex's decisions with which it stores a rule.
const (
	codexAmends    = "acceptWithExecpolicyAmendment"
	codexAmendsNet = "applyNetworkPolicyAmendment"
)

// offers returns the scopes that the user can choose: those of the decisions in the request, or the
// default scopes.
func (p *codexApproval) offers() []string {
	var out []string
	for _, scope := range codexScopes {
		if p.has(scope.theirs) && !slices.Contains(out, scope.ours) {
			out = append(out, scope.ours)
		}
	}
	return out
}

// has reports whether the request offers a decision.
func (p *codexApproval) has(name string) bool {
	amends := name == codexAmends || name == codexAmendsNet
	switch {
	case name == codexAmends && (p.Network != nil || len(p.Amendment) == 0 || string(p.Amendment) == "null"):
		return false
	case name == codexAmendsNet && (p.Network == nil || !slices.Contains(p.Proposed, p.amendment())):
		return false
	}
	if p.Decisions == nil {
		return true
	}
	return slices.ContainsFunc(p.Decisions, func(d json.RawMessage) bool {
		return idText(d) == name || amends && len(jsonobject.MembersOf(d)) == 1 && jsonobject.MembersOf(d)[0].Name == name
	})
}

// amendment returns the rule that allows exactly the requested host.
func (p *codexApproval) amendment() codexAmendment {
	return codexAmendment{Action: "allow", Host: p.Network.Host}
}

// command returns the command as text. The words of a list are joined.
func (p *codexApproval) command() string {
	var list []string
	if json.Unmarshal(p.Command, &list) == nil {
		if len(list) == 3 && shellCall().MatchString(strings.Join(list[:2], " ")+" ") {
			return list[2]
		}
		return strings.Join(list, " ")
	}
	if len(p.Command) == 0 || string(p.Command) == "null" {
		return ""
	}
	return bareCommand(idText(p.Command))
}

// codexReads lists the kinds of command actions that only read.
var codexReads = []string{"read", "listFiles", "list_files", "search"}

func (c *codex) asksCommand(s *Output, q *rpcRequest, line []byte) {
	p := q.approval()
	if p.Network != nil {
		args, text := p.Network.args()
		c.approve(s, q, approval{tool: "network", kind: "fetch", description: described("network", text), Args: args, network: args, reason: p.Reason, Options: p.offers(), payload: line})
		return
	}
	if p.Kind == "writeStdin" {
		c.approve(s, q, c.stdinApproval(&p, line))
		return
	}
	actions := slices.Concat(p.Actions, p.Parsed)
	a := approval{tool: "command", reason: p.Reason, Options: p.offers(), payload: line}
	var types []string
	for _, x := range actions {
		types = append(types, x.Type)
		if x.Path != "" {
			a.paths = append(a.paths, x.Path)
		}
	}
	a.kind = CodexCommandKind(types)
	if q.Method == "execCommandApproval" {
		a.Options = []string{decision.Once, decision.Session, decision.Deny}
	}
	a.description = described(a.tool, p.command())
	a.Args = jsonwrite.MustEncode(obj{"command": p.command(), "cwd": p.Cwd})
	c.approve(s, q, a)
}

// approve sends an approval to the program and stores what the approval showed.
func (c *codex) approve(s *Output, q *rpcRequest, a approval) {
	q.Options, q.Args = a.Options, a.Args
	a.call = q.call()
	a.ID = c.RPC.storeRequest(*q)
	s.approval(a)
}

// changedPaths returns the paths of the changed files.
func changedPaths(changes []byte) []string {
	var list []struct{ Path string }
	if json.Unmarshal(changes, &list) != nil {
		return nil
	}
	var out []string
	for _, change := range list {
		out = append(out, change.Path)
	}
	return out
}

// deletes reports whether all changes delete files.
func deletes(changes []byte) bool {
	var list []struct{ Kind struct{ Type string } }
	if json.Unmarshal(changes, &list) != nil || len(list) == 0 {
		return false
	}
	for _, change := range list {
		if change.Kind.Type != "delete" {
			return false
		}
	}
	return true
}

func (c *codex) asksChange(s *Output, q *rpcRequest, line []byte) {
	p := q.approval()
	changes := c.Items[p.ItemID]
	a := approval{tool: "fileChange", kind: "edit", reason: p.Reason, payload: line, paths: changedPaths(changes),
		Options: []string{decision.Once, decision.Session, decision.Deny}}
	if deletes(changes) {
		a.kind = "delete"
	}
	args := obj{}
	if changes != nil {
		args["changes"] = changes
	}
	if p.Changes != nil {
		args["changes"] = p.Changes
		for path := range p.Changes {
			a.paths = append(a.paths, path)
		}
		slices.Sort(a.paths)
	}
	if p.GrantRoot != "" {
		args["grantRoot"] = p.GrantRoot
	}
	a.Args = jsonwrite.MustEncode(args)
	a.description = described(a.tool, strings.Join(a.paths, ", "))
	c.approve(s, q, a)
}

func (c *codex) asksPermissions(s *Output, q *rpcRequest, line []byte) {
	p := q.approval()
	a := approval{tool: "permissions", kind: "other", reason: p.Reason, payload: line,
		Options: []string{decision.Once, decision.Session, decision.Deny}}
	a.Args = jsonwrite.MustEncode(obj{"permissions": p.Permissions, "cwd": p.Cwd})
	a.description = described(a.tool, p.Reason)
	c.approve(s, q, a)
}

// questions returns the questions in a request for user input.
func (q *rpcRequest) questions() (all []ask) {
	var p struct {
		Questions []struct {
			ask
			Secret bool `json:"isSecret"`
		} `json:"questions"`
	}
	_ = json.Unmarshal(q.Params, &p) // a question that cannot be parsed is not asked
	for _, x := range p.Questions {
		x.ask.Secret = x.Secret
		all = append(all, x.ask)
	}
	return all
}

// asksUser passes questions to the program.
func (c *codex) asksUser(s *Output, q *rpcRequest, line []byte) {
	s.question(question{ID: c.RPC.storeRequest(*q), call: q.call(), asks: q.questions(), payload: line})
}

func answeredUser(q *rpcRequest, o *ours) obj {
	answers := obj{}
	asks := q.questions()
	if o.Error == "" {
		for i, v := range answersTo(asks, o.Value) {
			if chosen := asks[i].chosen(v); len(chosen) > 0 {
				answers[asks[i].ID] = obj{"answers": chosen}
			}
		}
	}
	return obj{"answers": answers}
}

// codexToolCall is a call of a tool of one of Codex's MCP servers, for which Codex requests
// approval in the form of an elicitation.
type codexToolCall struct {
	Server string `json:"serverName"`
	Meta   struct {
		Kind    string          `json:"codex_approval_kind"`
		Tool    string          `json:"tool_name"`
		Args    json.RawMessage `json:"tool_params"`
		Persist []string        `json:"persist"` // longer scopes that it offers
	} `json:"_meta"`
}

// toolCall returns the call that the elicitation is about. ok is false for other elicitations.
func (q *rpcRequest) toolCall() (call codexToolCall, ok bool) {
	err := json.Unmarshal(q.Params, &call)
	return call, err == nil && call.Meta.Kind == "mcp_tool_call" && call.Meta.Tool != ""
}

func (c *codex) handleElicitation(s *Output, q *rpcRequest, line []byte) {
	call, ok := q.toolCall()
	if !ok {
		c.RPC.elicits(s, q, line)
		return
	}
	a := approval{tool: call.Server + "." + call.Meta.Tool, kind: "other", Args: call.Meta.Args, Options: []string{decision.Once}, payload: line}
	for _, scope := range []string{decision.Session, decision.Always} {
		if slices.Contains(call.Meta.Persist, scope) {
			a.Options = append(a.Options, scope)
		}
	}
	a.Options = append(a.Options, decision.Deny)
	a.description = described(a.tool, subject(a.Args))
	c.approve(s, q, a)
}

// decidedToolCall returns the answer to an approval of a call of a tool of an MCP server.
func (q *rpcRequest) decidedToolCall(o *ours) obj {
	answer := obj{"action": "decline", "content": nil, "_meta": nil}
	switch d := o.decide(q.Options, q.Args, false); {
	case d.Allow:
		answer["action"], answer["content"] = "accept", obj{}
		if d.Scope != decision.Once {
			answer["_meta"] = obj{"persist": d.Scope}
		}
	case d.Stop:
		answer["action"] = "cancel"
	}
	return answer
}

func answeredElicitation(q *rpcRequest, o *ours) obj {
	if _, ok := q.toolCall(); ok {
		return q.decidedToolCall(o)
	}
	answer := q.elicited(o)
	if answer["content"] == nil {
		answer["content"] = nil
	}
	answer["_meta"] = nil
	return answer
}

func (c *codex) callsTool(s *Output, q *rpcRequest, line []byte) {
	var p struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(q.Params, &p) // a call without a name matches no tool of the program
	s.toolCall(c.RPC.storeRequest(*q), p.Tool, p.Arguments)
}

func answeredCall(q *rpcRequest, o *ours) obj {
	text, failed := o.toolText()
	return obj{"contentItems": []any{obj{"type": "inputText", "text": text}}, "success": !failed}
}
