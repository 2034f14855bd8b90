//go:build !js

package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// Handlers of messages about the agent itself, which need no answer.

// claudeCompacts reports that the agent has shortened the conversation.
func claudeCompacts(_ *claude, s *Output, m *claudeLine) { s.compact(m.line) }

func codexCompacts(_ *codex, s *Output, e *codexEvent) { s.compact(e.line) }

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

func codexToolProgress(_ *codex, s *Output, e *codexEvent) {
	s.progress("tool", short(e.Message), e.line)
}

func codexReroutes(c *codex, s *Output, e *codexEvent) {
	var line struct {
		Params struct {
			From string `json:"fromModel"`
			To   string `json:"toModel"`
		} `json:"params"`
	}
	_ = json.Unmarshal(e.line, &line) // members with the wrong type are not shown
	c.reroute(cmp.Or(e.ThreadID, c.Session), line.Params.To)
	s.warn(fmt.Sprintf("Codex uses the model %s instead of %s", line.Params.To, line.Params.From))
}

func codexInforms(_ *codex, s *Output, e *codexEvent) { s.log("info", e.Message) }
