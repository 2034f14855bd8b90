//go:build !js

package adapter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// claudeRequests lists the subtypes of Claude Code's requests with their handlers, which return the
// reason why they cannot answer. Any other request is refused.
var claudeRequests = []struct {
	subtype string
	handle  func(c *claude, s *Output, id string, request, line []byte) error
}{
	{"can_use_tool", (*claude).asksForTool},
	{"mcp_message", (*claude).mcp},
	{"elicitation", (*claude).elicits},
	{"request_user_dialog", (*claude).asksForDialog},
}

// handleRequest handles a line with a request.
func (c *claude) handleRequest(s *Output, m *claudeLine) {
	c.request(s, m.RequestID, m.Request, m.line)
}

// request handles a request, or refuses it: Claude Code waits for the answer to each. It may send
// an open request again.
func (c *claude) request(s *Output, id string, request, line []byte) {
	if _, open := c.Open[id]; open || c.Answered[id] {
		s.Quiet = "control_request"
		return
	}
	var head struct {
		Subtype string `json:"subtype"`
	}
	_ = json.Unmarshal(request, &head) // a request without a subtype has no handler
	if id == "" {
		c.refuse(s, id, cmp.Or(head.Subtype, "a request"), "it has no request_id that is a text", line)
		return
	}
	for _, row := range claudeRequests {
		if row.subtype != head.Subtype {
			continue
		}
		if err := row.handle(c, s, id, request, line); err != nil {
			c.refuse(s, id, head.Subtype, problem(err), line)
		}
		if q, isOpen := c.Open[id]; isOpen && q.Call == nil {
			q.detached = c.Tasks.mark(s, c.cfg.Background == BackgroundDetach && !(q.isOfTurn() && c.Tasks.Active), false)
			c.Open[id] = q
		}
		return
	}
	c.refuse(s, id, cmp.Or(head.Subtype, "a request without a subtype"), "", line)
}

// refuse answers a request with an error. If problem is "", the request is not supported.
func (c *claude) refuse(s *Output, id, name, problem string, line []byte) {
	reason := s.refused(id, name, problem, line)
	s.addLines(jsonwrite.MustEncode(obj{"type": "control_response", "response": obj{"subtype": "error", "request_id": id, "error": reason}}))
}

// claudeToolRequest is a request to use a tool.
type claudeToolRequest struct {
	ToolName    string            `json:"tool_name"`
	Call        string            `json:"tool_use_id"`
	Input       json.RawMessage   `json:"input"`
	Suggestions []json.RawMessage `json:"permission_suggestions"`
	Reason      string            `json:"decision_reason"`
	BlockedPath string            `json:"blocked_path"`
	NoAlways    bool              `json:"suppress_always_allow_rule"`
	No          bool              `json:"default_to_no"`
	Person      bool              `json:"requires_user_interaction"`
	AskRule     json.RawMessage   `json:"matched_ask_rule"` // rule of the user that requires a request; nil for none
	Agent       string            `json:"agent_id"`         // subagent that asks; "" for none
}

// asksForTool handles a request to use a tool. It reports a question to the program, allows calls
// of the program's tools, and otherwise requests an approval.
func (c *claude) asksForTool(s *Output, id string, request, line []byte) error {
	var r claudeToolRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return err
	}
	if r.ToolName == "" {
		return errors.New("it names no tool")
	}
	if len(r.Input) == 0 {
		r.Input = json.RawMessage("{}")
	}
	c.setAgent(s, r.Agent)
	c.Calls.request(r.Call)
	switch {
	case strings.HasPrefix(r.ToolName, claudeOurs) && c.cfg.Tools.matchesTitle(r.ToolName):
		s.addLines(controlled(id, claudeAllow(r.Input)))
		return nil
	case r.ToolName == claudeAsks:
		c.Open[id] = claudeRequest{Tool: r.ToolName, Input: r.Input, Agent: r.Agent}
		s.question(question{ID: id, call: r.Call, asks: claudeQuestions(r.Input), payload: line})
		return nil
	}
	q := claudeRequest{Tool: r.ToolName, Input: r.Input, Options: []string{decision.Once}, Agent: r.Agent}
	for _, suggestion := range r.Suggestions {
		var of struct{ Type string }
		if json.Unmarshal(suggestion, &of) == nil && of.Type == "addRules" {
			q.Suggestions = append(q.Suggestions, suggestion)
		}
	}
	if r.NoAlways {
		q.Suggestions = nil
	}
	if q.Suggestions != nil {
		q.Options = append(q.Options, decision.Session)
		if c.cfg.Stores {
			q.Options = append(q.Options, decision.Always)
		}
	}
	q.Options = append(q.Options, decision.Deny)
	c.Open[id] = q
	s.approval(approval{
		ID: id, call: r.Call, tool: r.ToolName, kind: hostmsg.ClaudeKind(r.ToolName), description: described(r.ToolName, subject(r.Input)), Args: r.Input,
		paths: claudePaths(r.Input, r.BlockedPath), reason: r.Reason, Options: q.Options, payload: line,
		person: r.Person || len(r.AskRule) > 0 && string(r.AskRule) != "null", no: r.No,
	})
	return nil
}

func claudePaths(input []byte, blocked string) []string {
	all := texts(input, "file_path", "notebook_path", "path")
	if len(all) == 0 && blocked != "" {
		all = []string{blocked}
	}
	return all
}

// claudeQuestion is a question of the tool AskUserQuestion. It has no ID.
type claudeQuestion struct {
	Question string `json:"question"`
	Header   string `json:"header"`
	Multi    bool   `json:"multiSelect"`
	Options  []askOption
}

func claudeQuestions(input []byte) []ask {
	var in struct {
		Questions []claudeQuestion `json:"questions"`
	}
	_ = json.Unmarshal(input, &in) // a question that cannot be parsed is not asked
	var out []ask
	for _, q := range in.Questions {
		out = append(out, ask{ID: q.Question, Question: q.Question, Header: q.Header, Options: q.Options, Multi: q.Multi})
	}
	return out
}

// asksForDialog ends a dialog of Claude Code's own. Concerto shows none, and Claude Code ignores
// errors and waits.
func (c *claude) asksForDialog(s *Output, id string, _, line []byte) error {
	s.refused(id, "request_user_dialog", "", line)
	s.addLines(controlled(id, obj{"behavior": "cancelled"}))
	return nil
}

// elicits handles a request of an MCP server that Claude Code has started.
func (c *claude) elicits(s *Output, id string, request, line []byte) error {
	e, err := readElicitation(request)
	if err != nil {
		return err
	}
	c.Open[id] = claudeRequest{Elicits: &e}
	s.elicits(id, e, line)
	return nil
}

// completeElicitation answers the request whose page was completed.
func (c *claude) completeElicitation(s *Output, m *claudeLine) {
	done := elicitationID(m.line)
	for _, id := range sortedKeys(c.Open) {
		if e := c.Open[id].Elicits; e != nil && done != "" && e.ID == done {
			delete(c.Open, id)
			s.withdraw(id)
			s.addLines(controlled(id, obj{"action": "accept"}))
			return
		}
	}
	s.Quiet = typeName(m.Type, m.Subtype)
}

// mcp handles an MCP message to the server of the program's tools.
func (c *claude) mcp(s *Output, id string, request, line []byte) error {
	var r struct {
		Server  string     `json:"server_name"`
		Message rpcMessage `json:"message"`
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return err
	}
	if r.Server != toolServer {
		return fmt.Errorf("concerto has no MCP server %q", r.Server)
	}
	q := &r.Message
	answer := func(member string, v any) {
		response := obj{"jsonrpc": "2.0", member: v}
		if len(q.ID) > 0 {
			response["id"] = q.ID
		}
		s.addLines(controlled(id, obj{"mcp_response": response}))
	}
	switch result, failure, call := c.cfg.Tools.serveMCP(q); {
	case call != nil:
		c.Open[id] = claudeRequest{Call: q.ID}
		s.toolCall(id, call.Name, call.Arguments)
	case failure != nil:
		s.other("mcp/"+q.Method, line)
		answer("error", obj{"code": failure.Number(), "message": failure.Message})
	default:
		answer("result", result)
	}
	return nil
}

// respond answers a control request, if it is still open.
func (c *claude) respond(s *Output, o *ours) {
	q, ok := c.Open[o.AnswerTo]
	if !ok {
		s.Lost = append(s.Lost, Undelivered{o.AnswerTo, ReasonClosed})
		return
	}
	delete(c.Open, o.AnswerTo)
	if q.Tool != "" || q.Elicits != nil {
		c.add(o.AnswerTo)
	}
	s.addLines(controlled(o.AnswerTo, q.answer(o)))
}

// answer returns the answer to a request.
func (q *claudeRequest) answer(o *ours) obj {
	switch {
	case q.Elicits != nil:
		return q.Elicits.answer(o)
	case q.Tool == "":
		return obj{"mcp_response": obj{"jsonrpc": "2.0", "id": q.Call, "result": mcpResult(o)}}
	case q.Tool == claudeAsks:
		return q.answered(o)
	}
	return q.decided(o)
}

// endRequests withdraws the open requests, because the exchange ends. Others than those of the turn
// that has ended are refused, or stay open with background = "detach": a subagent or a foreign turn
// waits for the answer.
func (c *claude) endRequests(s *Output) {
	for _, id := range sortedKeys(c.Open) {
		q := c.Open[id]
		if c.Tasks.leavesOpen(s, id, &q.detached) {
			c.Open[id] = q
			continue
		}
		delete(c.Open, id)
		s.withdraw(id)
		if c.isForeign() || !q.isOfTurn() {
			s.addLines(controlled(id, q.answer(&ours{Error: exchangeEnded})))
		}
	}
}

// isOfTurn reports whether a request is known to be one of the agent's turn, with which it ends. A
// subagent may have made any other one.
func (q *claudeRequest) isOfTurn() bool { return q.Tool != "" && q.Agent == "" }

func (q *claudeRequest) decided(o *ours) obj {
	d := o.decide(q.Options, q.Input, true)
	if !d.Allow {
		return claudeDeny(d.Reason, d.Stop)
	}
	input := q.Input
	if d.Input != nil {
		input = d.Input
	}
	answer := claudeAllow(input)
	var rules []any
	for _, suggestion := range q.Suggestions {
		rule := map[string]json.RawMessage{}
		if json.Unmarshal(suggestion, &rule) == nil {
			if d.Scope == decision.Session {
				rule["destination"] = json.RawMessage(`"session"`)
			}
			rules = append(rules, rule)
		}
	}
	if d.Scope != decision.Once {
		answer["updatedPermissions"] = rules
	}
	return answer
}

// answered returns the input of AskUserQuestion with the answers added, by question.
func (q *claudeRequest) answered(o *ours) obj {
	if o.Error != "" {
		return claudeDeny(o.Error, false)
	}
	input := ClaudeAnswered(q.Input, o.Value)
	if input == nil {
		return claudeDeny("there was no usable answer", false)
	}
	return obj{"behavior": "allow", "updatedInput": input}
}

// ClaudeAnswered returns the input of AskUserQuestion with the answers in value, by question, or
// nil if value answers no question.
func ClaudeAnswered(input, value json.RawMessage) json.RawMessage {
	asks := claudeQuestions(input)
	answers := map[string]string{}
	for i, v := range answersTo(asks, value) {
		if chosen := asks[i].chosen(v); len(chosen) > 0 {
			answers[asks[i].Question] = strings.Join(chosen, ", ")
		}
	}
	all := map[string]json.RawMessage{}
	if len(answers) == 0 || json.Unmarshal(input, &all) != nil {
		return nil
	}
	all["answers"] = jsonwrite.MustEncode(answers)
	return jsonwrite.MustEncode(all)
}

// ClaudeQuestion returns the message of the questions in the input of AskUserQuestion.
func ClaudeQuestion(input json.RawMessage) json.RawMessage {
	q := question{asks: claudeQuestions(input)}
	return q.object().End()
}
