package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// blockText returns the text of a content block, or "".
func (u *acpUpdate) blockText() string {
	var b struct{ Type, Text string }
	if json.Unmarshal(u.Content, &b) != nil || b.Type != "text" {
		return ""
	}
	return b.Text
}

func (a *ACP) translateText(s *Output, u *acpUpdate) {
	text := u.blockText()
	if a.late {
		s.Quiet = u.Kind
		return
	}
	a.Text = append(a.Text, text)
	s.partial(text, "")
}

func (a *ACP) translateThought(s *Output, u *acpUpdate) { s.thought(u.blockText()) }

// translateToolCall reports a tool call. An update of a call contains only the members that have
// changed.
func (a *ACP) translateToolCall(s *Output, u *acpUpdate) {
	var head struct {
		ID string `json:"toolCallId"`
	}
	if json.Unmarshal(u.raw, &head) != nil {
		s.other(u.Kind, u.line)
		return
	}
	call, ok := a.Calls[head.ID].with(u.raw)
	if !ok {
		s.other(u.Kind, u.line)
		return
	}
	a.Calls[head.ID] = call
	name := about(call.kind(), short(call.Title))
	switch call.Status {
	case "completed", "failed":
		s.progress("tool_result", about(name, call.Status), u.line)
	default:
		s.progress("tool", name, u.line)
	}
}

// with returns the call with the members of an update applied. It returns false if the update
// cannot be parsed.
func (c acpCall) with(update []byte) (acpCall, bool) {
	var u acpCall
	if json.Unmarshal(update, &u) != nil {
		return c, false
	}
	if u.Title == "" {
		u.Title = c.Title
	}
	if u.Kind == "" {
		u.Kind = c.Kind
	}
	if u.Status == "" {
		u.Status = c.Status
	}
	if len(u.Input) == 0 || string(u.Input) == "null" {
		u.Input = c.Input
	}
	if u.Locations == nil {
		u.Locations = c.Locations
	}
	if u.Content == nil {
		u.Content = c.Content
	}
	return u, true
}

func (c *acpCall) kind() string {
	if slices.Contains(kinds, c.Kind) {
		return c.Kind
	}
	return "other"
}

func (a *ACP) translatePlan(s *Output, u *acpUpdate) {
	var p plan
	for _, e := range u.Entries {
		p.addStep(e.Content, e.Status == "completed", e.Status == "in_progress")
	}
	s.progress("plan", p.String(), u.line)
}

// cost returns the cost of the turn in USD, or nil if the agent has not reported it.
func (a *ACP) cost() *float64 {
	if !a.Costs {
		return nil
	}
	cost := max(a.Cost-a.Before, 0)
	return &cost
}

func (a *ACP) translateUsage(s *Output, u *acpUpdate) {
	if u.Cost != nil && strings.EqualFold(u.Cost.Currency, "USD") {
		a.Cost, a.Costs = u.Cost.Amount, true
	}
	// The tokens are those in the agent's context, and not those that it has used.
	s.spent(fmt.Sprintf("%d tokens", u.Used), totals{Cost: a.cost()}, u.line)
}

// acpLevels maps the severities of ACP's notices to levels of log messages.
var acpLevels = map[string]string{"warning": "warn", "error": "error"}

func (a *ACP) translateNotice(s *Output, u *acpUpdate) {
	var n struct{ Severity, Title, Description string }
	_ = json.Unmarshal(u.raw, &n) // members with the wrong type are not shown
	s.log(cmp.Or(acpLevels[n.Severity], "info"), joinDetails(n.Title, n.Description))
}

func (a *ACP) translateCompaction(s *Output, u *acpUpdate) { s.compact(u.line) }

// compact reports that the agent has shortened the conversation.
func (s *Output) compact(line []byte) {
	s.progress("compact", "the agent has shortened the conversation", line)
}
