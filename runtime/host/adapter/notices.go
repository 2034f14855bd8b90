package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// Handlers of messages about the agent itself, which need no answer.

// compacts reports that the agent has shortened the conversation.
func (c *claude) compacts(s *Output, m *claudeLine) { s.compact(m.line) }

func (c *codex) compacts(s *Output, e *codexEvent) { s.compact(e.line) }

func (s *Output) compact(line []byte) {
	s.progress("compact", "the agent has shortened the conversation", line)
}

// warnsUser logs a message that Claude Code shows to its user.
func (c *claude) warnsUser(s *Output, m *claudeLine) {
	var line struct {
		Content, Text, Error, Message, Priority string
	}
	_ = json.Unmarshal(m.line, &line) // members with the wrong type are not shown
	name := typeName(m.Type, m.Subtype)
	if m.Subtype == "notification" && line.Priority != "high" && line.Priority != "immediate" {
		s.Quiet = name
		return
	}
	s.warn(cmp.Or(line.Content, line.Text, line.Error, line.Message, "Claude Code sends "+name+": "+string(m.line)))
}

// codexNotice contains the fields of these messages.
type codexNotice struct {
	Message string `json:"message"`
	Stdin   string `json:"stdin"`
	From    string `json:"fromModel"`
	To      string `json:"toModel"`
	Review  struct {
		Status    string `json:"status"`
		Rationale string `json:"rationale"`
	} `json:"review"`
}

func (e *codexEvent) notice() codexNotice {
	var line struct{ Params codexNotice }
	_ = json.Unmarshal(e.line, &line) // members with the wrong type are not shown
	return line.Params
}

// reviews reports what Codex's own reviewer decides about an action.
func (c *codex) reviews(s *Output, e *codexEvent) {
	n := e.notice()
	s.progress("review", about("automatic review", short(joinDetails(cmp.Or(n.Review.Status, "started"), n.Review.Rationale))), e.line)
}

func (c *codex) interacts(s *Output, e *codexEvent) {
	s.progress("tool", about("input", short(e.notice().Stdin)), e.line)
}

func (c *codex) toolProgress(s *Output, e *codexEvent) {
	s.progress("tool", short(e.Message), e.line)
}

func (c *codex) reroutes(s *Output, e *codexEvent) {
	n := e.notice()
	s.warn(fmt.Sprintf("Codex uses the model %s instead of %s", n.To, n.From))
}

func (c *codex) informs(s *Output, e *codexEvent) { s.log("info", e.Message) }

// acpLevels maps the severities of ACP's notices to levels of log messages.
var acpLevels = map[string]string{"warning": "warn", "error": "error"}

func (a *ACP) translateNotice(s *Output, u *acpUpdate) {
	var n struct{ Severity, Title, Description string }
	_ = json.Unmarshal(u.raw, &n) // members with the wrong type are not shown
	s.log(cmp.Or(acpLevels[n.Severity], "info"), joinDetails(n.Title, n.Description))
}

func (a *ACP) translateCompaction(s *Output, u *acpUpdate) { s.compact(u.line) }
