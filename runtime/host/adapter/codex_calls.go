//go:build !js

package adapter

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// toolStdin is the tool of an approval of text for a running program.
const toolStdin = "stdin"

// stdinApproval returns the approval of text for a program that is running. The text is shown as
// Codex reports it, which may be the whole call.
func (c *codex) stdinApproval(p *codexApproval, line []byte) approval {
	text, program := p.command(), cmp.Or(c.Tasks.Commands[p.ItemID].Text, "a program")
	return approval{tool: toolStdin, kind: "execute", description: stdinText(program, text), Args: jsonwrite.MustEncode(obj{"text": text, "command": program, "process": p.ItemID}),
		reason: p.Reason, Options: []string{decision.Once, decision.Deny}, payload: line}
}

// stdinText describes text for a running program.
func stdinText(program, text string) string {
	return described(toolStdin+" of "+string(jsonwrite.MustEncode(program)), text)
}

// interacts reports text that Codex has sent to a running program. Codex does not request it.
func (c *codex) interacts(s *Output, e *codexEvent) {
	if e.Stdin == "" {
		s.Quiet = e.method
		return
	}
	s.progress("tool", stdinText(cmp.Or(c.Tasks.Commands[e.ItemID].Text, "a program"), e.Stdin), e.line)
}

// codexReview is a decision of Codex's reviewer, which decides instead of the user.
type codexReview struct {
	Status    string `json:"status"`
	Rationale string `json:"rationale"`
}

// codexReviewed is the action that was reviewed.
type codexReviewed struct {
	Type    string          `json:"type"`
	Command string          `json:"command"`
	Program string          `json:"program"`
	Words   []string        `json:"argv"`
	Files   json.RawMessage `json:"files"`
	Host    string          `json:"host"`
}

// reviews reports what Codex's reviewer does, and its decision.
func (c *codex) reviews(s *Output, e *codexEvent) {
	var action codexReviewed
	_ = json.Unmarshal(e.Action, &action) // an action of another form is shown by its type
	text := cmp.Or(bareCommand(action.Command), strings.Join(action.Words, " "), action.Program, action.Host, action.Type)
	s.progress("review", about(cmp.Or(e.Review.Status, "review"), text), e.line)
	if e.Review.Status == "" || e.Review.Status == "inProgress" {
		return
	}
	a := approval{call: e.Target, tool: "command", kind: "execute", Args: e.Action, payload: e.line}
	if action.Type != "command" && action.Type != "execve" {
		a.tool, a.kind = cmp.Or(action.Type, "other"), "other"
	}
	a.description = described(a.tool, text)
	s.decides(a, e.Review.Status == "approved", "auto_review", e.Review.Rationale)
}
