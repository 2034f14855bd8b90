package adapter

import (
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// asksForTool handles a request to use a tool. It reports a question to the program, allows calls
// of the program's tools, and otherwise requests an approval.
func (c *claude) asksForTool(s *Output, m *claudeLine) {
	r := &m.Request
	if len(r.Input) == 0 {
		r.Input = json.RawMessage("{}")
	}
	switch {
	case strings.HasPrefix(r.ToolName, claudeOurs):
		s.addLines(controlled(m.RequestID, claudeAllow(r.Input)))
		return
	case r.ToolName == claudeAsks:
		c.Open[m.RequestID] = claudeRequest{Tool: r.ToolName, Input: r.Input}
		s.question(m.RequestID, "", claudeQuestions(r.Input), nil, m.line)
		return
	}
	q := claudeRequest{Tool: r.ToolName, Input: r.Input, Options: []string{decision.Once}}
	for _, suggestion := range r.Suggestions {
		var of struct{ Type string }
		if json.Unmarshal(suggestion, &of) == nil && of.Type == "addRules" {
			q.Suggestions = append(q.Suggestions, suggestion)
		}
	}
	if q.Suggestions != nil {
		q.Options = append(q.Options, decision.Session, decision.Always)
	}
	q.Options = append(q.Options, decision.Deny)
	c.Open[m.RequestID] = q
	kind := claudeKinds[r.ToolName]
	if kind == "" {
		kind = "other"
	}
	s.approval(approval{
		ID: m.RequestID, tool: r.ToolName, kind: kind, description: described(r.ToolName, subject(r.Input)), Args: r.Input,
		paths: claudePaths(r.Input, r.BlockedPath), reason: r.Reason, Options: q.Options, payload: m.line,
	})
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

// asksForOther refuses control requests of unknown types.
func (c *claude) asksForOther(s *Output, m *claudeLine) {
	name := m.Request.Subtype
	s.other(name, m.line)
	s.addLines(jsonwrite.MustEncode(obj{"type": "control_response", "response": obj{"subtype": "error", "request_id": m.RequestID, "error": "concerto does not know " + name}}))
}

// mcp handles an MCP message to the server of the program's tools.
func (c *claude) mcp(s *Output, m *claudeLine) {
	q := &m.Request.Message
	answer := func(member string, v any) {
		response := obj{"jsonrpc": "2.0", member: v}
		if len(q.ID) > 0 {
			response["id"] = q.ID
		}
		s.addLines(controlled(m.RequestID, obj{"mcp_response": response}))
	}
	if m.Request.ServerName != toolServer {
		c.asksForOther(s, m)
		return
	}
	switch result, failure, call := c.cfg.Tools.serveMCP(q); {
	case call != nil:
		c.Open[m.RequestID] = claudeRequest{Call: q.ID}
		s.toolCall(m.RequestID, call.Name, call.Arguments)
	case failure != nil:
		s.other("mcp/"+q.Method, m.line)
		answer("error", obj{"code": failure.Number(), "message": failure.Message})
	default:
		answer("result", result)
	}
}

// respond answers a control request, if it is still open.
func (c *claude) respond(s *Output, o *ours) {
	q, ok := c.Open[o.AnswerTo]
	if !ok {
		return
	}
	delete(c.Open, o.AnswerTo)
	switch q.Tool {
	case "":
		s.addLines(controlled(o.AnswerTo, obj{"mcp_response": obj{"jsonrpc": "2.0", "id": q.Call, "result": mcpResult(o)}}))
	case claudeAsks:
		s.addLines(controlled(o.AnswerTo, q.answered(o)))
	default:
		s.addLines(controlled(o.AnswerTo, q.decided(o)))
	}
}

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
	asks := claudeQuestions(q.Input)
	answers := map[string]string{}
	for i, v := range answersTo(asks, o.Value) {
		if chosen := asks[i].chosen(v); len(chosen) > 0 {
			answers[asks[i].Question] = strings.Join(chosen, ", ")
		}
	}
	if len(answers) == 0 {
		return claudeDeny("there was no usable answer", false)
	}
	input := map[string]json.RawMessage{}
	if json.Unmarshal(q.Input, &input) != nil {
		return claudeDeny("the question could not be read", false)
	}
	input["answers"] = jsonwrite.MustEncode(answers)
	return obj{"behavior": "allow", "updatedInput": input}
}
