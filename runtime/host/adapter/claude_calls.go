//go:build !js

package adapter

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// claudeCalls are the calls of tools in the running exchange, from which the decisions that Claude
// Code makes without a request are known.
type claudeCalls struct {
	Open      map[string]claudeCall // calls without a result, by ID
	Requested map[string]bool       // calls for which it has made a request, or whose decision is reported
	Unasked   map[string]int64      // number of calls that it makes without a request, by kind
}

type claudeCall struct {
	Tool  string
	Input json.RawMessage
}

func newClaudeCalls() claudeCalls {
	return claudeCalls{Open: map[string]claudeCall{}, Requested: map[string]bool{}, Unasked: map[string]int64{}}
}

// clear forgets the calls of an exchange that has ended.
func (c *claudeCalls) clear() {
	clear(c.Open)
	clear(c.Requested)
	clear(c.Unasked)
}

func (c *claudeCalls) request(call string) {
	if call != "" {
		c.Requested[call] = true
	}
}

// unaskedKinds are the kinds of calls that need no request, because they change nothing.
var unaskedKinds = []string{"read", "search", "think"}

// ClaudeInside lists the tools of Claude Code that act only inside the agent. Requests to the user
// are among them.
var ClaudeInside = []string{
	"AskUserQuestion", "CronDelete", "CronList", "DeferredToolPlaceholder", "EnterPlanMode", "ExitPlanMode", "ListAgents", "ReportFindings",
	"SendMessage", "StructuredOutput", "TaskCreate", "TaskGet", "TaskList", "TaskStop", "TaskUpdate",
}

// claudeSources maps Claude Code's reasons of a denial to sources. Another one is "other".
var claudeSources = map[string]string{"classifier": "classifier", "mode": "mode", "rule": "rule", "hook": "hook"}

// approvalOf returns a call in the form of an approval.
func (c *claude) approvalOf(call, tool string, input json.RawMessage, line []byte) approval {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return approval{call: call, tool: tool, kind: hostmsg.ClaudeKind(tool), description: described(tool, subject(input)), Args: input, paths: claudePaths(input, ""), payload: line}
}

// denies handles the report that Claude Code has denied a call itself.
func (c *claude) denies(s *Output, m *claudeLine) {
	var d struct {
		Tool   string `json:"tool_name"`
		Call   string `json:"tool_use_id"`
		Type   string `json:"decision_reason_type"`
		Reason string `json:"decision_reason"`
		Text   string `json:"message"`
	}
	s.Quiet = typeName(m.Type, m.Subtype)
	if json.Unmarshal(m.line, &d) != nil || c.Calls.Requested[d.Call] && d.Call != "" {
		return
	}
	c.Calls.request(d.Call)
	s.decides(c.approvalOf(d.Call, d.Tool, c.Calls.Open[d.Call].Input, m.line), false, cmp.Or(claudeSources[d.Type], "other"), cmp.Or(d.Reason, d.Text))
}

// claudeDenial is a call that Claude Code lists as denied at the end of a turn.
type claudeDenial struct {
	Tool  string          `json:"tool_name"`
	Call  string          `json:"tool_use_id"`
	Input json.RawMessage `json:"tool_input"`
}

// deniesAll reports the calls that were denied without a request or a report.
func (c *claude) deniesAll(s *Output, all []claudeDenial, line []byte) {
	for _, d := range all {
		if !c.Calls.Requested[d.Call] {
			c.Calls.request(d.Call)
			s.decides(c.approvalOf(d.Call, d.Tool, d.Input, line), false, "other", "")
		}
	}
}

// claudeMeta describes the result of a call.
type claudeMeta struct {
	ID       string `json:"id"`
	Decision *struct {
		Decision string `json:"decision"`
		Source   string `json:"source"`
		Type     string `json:"reason_type"`
	} `json:"permission_decision"`
}

// executed handles the results of calls. Claude Code has executed some of them without a request.
func (c *claude) executed(s *Output, all []claudeMeta, line []byte) {
	for _, x := range all {
		call, known := c.Calls.Open[x.ID]
		delete(c.Calls.Open, x.ID)
		if !known || x.Decision == nil || x.Decision.Decision != "accept" || strings.HasPrefix(x.Decision.Source, "user_") || strings.HasPrefix(call.Tool, claudeOurs) || c.Calls.Requested[x.ID] {
			continue
		}
		if kind := hostmsg.ClaudeKind(call.Tool); slices.Contains(unaskedKinds, kind) || slices.Contains(ClaudeInside, call.Tool) {
			c.Calls.Unasked[kind]++
			continue
		}
		c.Calls.request(x.ID)
		s.decides(c.approvalOf(x.ID, call.Tool, call.Input, line), true, x.Decision.Source, x.Decision.Type)
	}
}

// hooks reports that a hook of Claude Code has denied a call.
func (c *claude) hooks(s *Output, m *claudeLine) {
	var h struct {
		Name   string `json:"hook_name"`
		Output string `json:"output"`
		Stdout string `json:"stdout"`
	}
	var out struct {
		Specific struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	s.Quiet = typeName(m.Type, m.Subtype)
	if json.Unmarshal(m.line, &h) != nil || json.Unmarshal([]byte(cmp.Or(h.Stdout, h.Output)), &out) != nil || out.Specific.Decision != "deny" {
		return // it has decided nothing; what it allows is reported with the call's result
	}
	s.decides(approval{tool: h.Name, kind: "other", description: described("hook", h.Name), payload: m.line}, false, "hook", out.Specific.Reason)
}
