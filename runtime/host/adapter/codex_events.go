//go:build !js

package adapter

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/schema"
)

func (c *codex) delta(s *Output, e *codexEvent) {
	c.Streamed[e.ItemID] = true
	s.partial(e.Delta, "")
}

func codexThinks(_ *codex, s *Output, e *codexEvent) { s.thought(e.Delta) }

func codexWarns(_ *codex, s *Output, e *codexEvent) {
	message := e.Message
	if message == "" {
		message = e.Summary
	}
	s.warn(message)
}

func (c *codex) started(s *Output, e *codexEvent) {
	c.Turn = e.Turn.ID
	c.beginTurn(c.Session)
	s.progress("start", strings.TrimPrefix(c.Model+", Codex "+c.Version, ", "), e.line)
	c.steer(s)
	c.interrupt(s)
}

// codexItem contains the fields of an item, which is an action or a message of the agent.
type codexItem struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Text    string          `json:"text"`
	Command string          `json:"command"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Status  string          `json:"status"`
	Changes json.RawMessage `json:"changes"`

	Receivers []string `json:"receiverThreadIds"`
	Prompt    string   `json:"prompt"`
	Thread    string   `json:"agentThreadId"`
	Path      string   `json:"agentPath"`
	Model     string   `json:"model"` // of the subagent
}

// reportedElsewhere contains the types of items that handlers of other notifications report: the
// agent's messages, and calls of the program's tools.
var reportedElsewhere = map[string]bool{"userMessage": true, "agentMessage": true, "reasoning": true, "plan": true, "dynamicToolCall": true}

func (c *codex) item(s *Output, e *codexEvent) (item codexItem, complete bool) {
	complete = json.Unmarshal(e.Item, &item) == nil && !reportedElsewhere[item.Type]
	if !complete {
		s.Quiet = typeName(e.method, item.Type)
	}
	return item, complete
}

// toolName returns the name of an item's tool, as approvals show it.
func (i *codexItem) toolName() string {
	switch i.Type {
	case "commandExecution":
		return "command"
	case "mcpToolCall":
		return i.Server + "." + i.Tool
	}
	return i.Type
}

// summary returns a short description of an item.
func (i *codexItem) summary(raw []byte) string {
	if i.Command != "" {
		return short(bareCommand(i.Command))
	}
	if paths := changedPaths(i.Changes); len(paths) > 0 {
		return short(strings.Join(paths, ", "))
	}
	var args struct {
		Arguments json.RawMessage `json:"arguments"`
		Path      string          `json:"path"`
		Query     string          `json:"query"`
	}
	if json.Unmarshal(raw, &args) != nil {
		return ""
	}
	return short(args.Path + args.Query + subject(args.Arguments))
}

func (c *codex) itemStarted(s *Output, e *codexEvent) {
	item, reported := c.item(s, e)
	c.trackItem(s, e, &item, false)
	if !reported {
		return
	}
	if item.Type == "fileChange" {
		c.Items[item.ID] = item.Changes
	}
	s.progress("tool", about(item.toolName(), item.summary(e.Item)), e.line)
}

func (c *codex) itemCompleted(s *Output, e *codexEvent) {
	item, reported := c.item(s, e)
	c.trackItem(s, e, &item, true)
	if item.Type == "agentMessage" {
		c.Text = item.Text
		if !c.Streamed[item.ID] {
			s.partial(item.Text, "")
		}
	}
	delete(c.Streamed, item.ID)
	delete(c.Items, item.ID)
	if reported {
		s.progress("tool_result", about(item.toolName(), item.Status), e.line)
	}
}

func codexPlans(_ *codex, s *Output, e *codexEvent) {
	var p plan
	for _, step := range e.Plan {
		p.addStep(step.Step, step.Status == "completed", step.Status == "inProgress")
	}
	s.progress("plan", p.String(), e.line)
}

func (c *codex) uses(s *Output, e *codexEvent) {
	now := usage(e.Usage.Total)
	c.addUse(c.Session, c.Model, now.minus(c.Total))
	c.Total = now
	if !c.Busy || !c.Counted && c.isForeign(e) { // the usage is that of earlier turns: a resumed thread reports it late
		beginUsage(c)
		s.Quiet = e.method
		return
	}
	c.showUsage(s, e)
}

// showUsage reports what the exchange has used so far.
func (c *codex) showUsage(s *Output, e *codexEvent) {
	if !c.Busy {
		s.Quiet = e.method
		return
	}
	c.Counted = true
	used := c.sum().minus(c.Used)
	s.agent = nil
	s.spent(fmt.Sprintf("%d tokens", used.In+used.Out), totals{Usage: &used}, e.line)
}

// codexWindow is the use of the plan in a period.
type codexWindow struct {
	Used    float64 `json:"usedPercent"`
	Minutes int64   `json:"windowDurationMins"`
	Resets  int64   `json:"resetsAt"` // in seconds since 1970
}

// limits reports that a limit of the plan is near or reached. The agent also reports the limits
// between exchanges.
func (c *codex) limits(s *Output, e *codexEvent) {
	for _, w := range []*codexWindow{e.Limits.Primary, e.Limits.Secondary} {
		if w != nil && c.Busy {
			c.Plan.report(s, planWindow{Window: windowName(w.Minutes), Status: planStatus(w.Used), Percent: &w.Used, Resets: w.Resets}, e.line)
		}
	}
	if len(s.Messages) == 0 {
		s.Quiet = e.method
	}
}

// codexRetries reports an error after which the agent retries. After any other error, the agent
// ends the turn, and the turn's handler reports the error.
func codexRetries(_ *codex, s *Output, e *codexEvent) {
	if e.WillRetry {
		s.progress("retry", short(e.Error.text()), e.line)
		return
	}
	s.other(e.method, e.line)
}

func (c *codex) completed(s *Output, e *codexEvent) {
	if c.isForeign(e) {
		s.foreignTurn("a turn of its own ended as "+e.Turn.Status, e.line)
		return
	}
	c.Turn, c.Cancel = "", false
	r := outcome{Text: c.Text, Session: c.Session, Payload: e.line, Message: "the turn ended as " + e.Turn.Status}
	c.Text = ""
	if c.Reply.Wrapped {
		r.Text = schema.Unwrap(r.Text)
	}
	if e.Turn.Error != nil {
		r.Message = e.Turn.Error.text()
	}
	setTotals(c, &r)
	switch e.Turn.Status {
	case "completed":
		r.Message = ""
	case "interrupted":
		r.Code = "interrupted"
		if e.Turn.Error == nil {
			r.Message = "the turn was interrupted"
		}
	default:
		r.Code = "turn_failed"
	}
	c.listCommands(s, "")
	waits := c.Tasks.Held != nil || !c.Tasks.Interrupted && (len(c.Tasks.Lists) > 0 || len(c.Tasks.Live) > 0 && c.cfg.Background != BackgroundDetach)
	if !waits {
		c.finishExchange(s, r)
		return
	}
	c.withdrawThread(s, c.Session)
	if c.Tasks.Held == nil {
		c.Tasks.Before = len(c.Tasks.Past)
	}
	c.Tasks.hold(s, r)
	if c.Tasks.Held.Code != "" || c.cfg.Background == BackgroundForbid {
		c.stop(s, "")
	}
}

// withdrawResolved withdraws a request that was answered by another client or is obsolete.
func (c *codex) withdrawResolved(s *Output, e *codexEvent) {
	id := idText(e.RequestID)
	if _, open := c.RPC.removeRequest(id); open {
		s.withdraw(id)
		return
	}
	c.confirm(id)
	s.Quiet = e.method
}

// shellCall matches a command line that runs a shell with a command.
var shellCall = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^(?:/usr)?(?:/bin/)?(?:bash|zsh|sh) -l?c (.*)$`) })

// bareCommand returns the command that a shell runs, or the command itself if it runs no shell.
func bareCommand(command string) string {
	found := shellCall().FindStringSubmatch(command)
	if found == nil {
		return command
	}
	if text, ok := unquoted(found[1]); ok {
		return text
	}
	return found[1]
}

// unquoted returns the text of one word of a shell command in which the shell expands nothing. ok
// is false for any other command: its text is shown as it is.
func unquoted(s string) (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'':
			n := strings.IndexByte(s[i+1:], '\'')
			if n < 0 {
				return "", false
			}
			b.WriteString(s[i+1 : i+1+n])
			i += n + 1
		case c == '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\\"$`", s[i+1]) >= 0 {
					i++
				} else if s[i] == '$' || s[i] == '`' {
					return "", false
				}
				b.WriteByte(s[i])
			}
			if i == len(s) {
				return "", false
			}
		case c == '\\' && i+1 < len(s) && s[i+1] != '\n':
			i++
			b.WriteByte(s[i])
		case strings.IndexByte(" \t\n\\$`;|&<>()*?[#~!{", c) >= 0:
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}
