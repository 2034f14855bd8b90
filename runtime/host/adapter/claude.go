//go:build !js

package adapter

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// claude implements the protocol of `claude -p --input-format stream-json`: each line is one
// message, and both sides send control requests. The exported fields are its state.
type claude struct {
	cfg       Config
	Session   string
	Interrupt int64                    // number of interrupts sent
	Open      map[string]claudeRequest // open requests of the agent, by ID
	Message   string                   // ID of the message that is being streamed; "" for none
	Streamed  bool                     // a part of that message's text has arrived
	Total     claudeTotals             // what the session has used so far, according to the last result
	Base      claudeTotals             // Total at the beginning of the exchange
	Spent     claudeTotals             // what the exchange has used before the running turn
	Replies   map[string]usage         // what each reply of the model in the turn has used, by ID
	Turns     int64                    // number of those replies, without the replies of subagents
	Plan      planLimits
	Unknown   unknownNames `json:",omitempty"`
	claudeTurns
	Pieces claudePieces
	Tasks  claudeWork
	Calls  claudeCalls
	confirmations

	late   bool // the line that is being translated is older than the newest prompt
	silent bool // Claude Code had sent no other line since the last poll
}

// claudeTurns distinguishes the turns of an exchange from those that Claude Code begins by itself,
// for example because a background task has ended.
type claudeTurns struct {
	Sent     int           // number of messages of the user so far; each has a UUID
	Unread   []claudeInput // messages of the user that Claude Code has not read
	Mine     []string      // UUIDs of the messages of the running exchange
	Confirms bool          // Claude Code reports when it reads a message
	Read     bool          // it has read one of the running exchange
	Typed    bool          // the exchange needs a result with a schema
	Text     string        // newest text of the agent itself in the turn
	TextOf   string        // ID of the reply with this text

	Interrupted bool // the program has ended the turn, and the exchange does not wait for tasks
}

// claudeInput is a message of the user. Claude Code repeats each message when it reads it: a
// prompt at the beginning of its turn, and a message that steers it during the turn, or at the
// beginning of the next one, together with all others that it has not read.
type claudeInput struct {
	UUID   string
	Text   string
	Steers bool
}

// claudeRequest is a control request that the program must answer.
type claudeRequest struct {
	Tool        string            // tool for which the agent requests approval; "" for a call of one of the program's tools
	Input       json.RawMessage   `json:",omitempty"`
	Suggestions []json.RawMessage // rules that Claude Code would store if the user allowed the tool permanently
	Options     []string
	Call        json.RawMessage `json:",omitempty"` // JSON-RPC id of a call of one of our tools
	Elicits     *elicitation    `json:",omitempty"` // request of an MCP server of Claude Code; nil for others
	Agent       string          `json:",omitempty"` // ID of the subagent that asks; "" for none
	detached
}

// ClaudeAsks is the name of Claude Code's tool that asks questions.
const ClaudeAsks = "AskUserQuestion"

// Names that Claude Code uses: for the server of the program's tools, and for the tool that asks
// questions.
const (
	claudeAsks  = ClaudeAsks
	claudePlans = "TodoWrite"
	claudeFirst = "i1" // the id of the handshake
	claudeUsed  = "u1" // the id of the request for what a resumed session has used
)

// claudeRow describes a type of line. A row with a subtype precedes the row for its type alone.
type claudeRow struct {
	typ, subtype string
	handle       func(c *claude, s *Output, m *claudeLine) // nil: the program does not receive the line
}

var claudeRows = []claudeRow{
	{"stream_event", "", (*claude).stream},
	{"assistant", "", (*claude).assistant},
	{"user", "", (*claude).user},
	{"result", "", (*claude).result},
	{"rate_limit_event", "", (*claude).limits},
	{"system", "init", (*claude).started},
	{"system", "informational", (*claude).informs},
	{"system", "api_retry", (*claude).retries},
	{"system", "status", nil},
	{"system", "thinking_tokens", nil},
	{"system", "session_state_changed", (*claude).changesState},
	{"system", "background_tasks_changed", (*claude).tasksChanged},
	{"system", "task_started", (*claude).taskStarted},
	{"system", "task_notification", (*claude).taskEnded},
	{"system", "task_progress", nil},
	{"system", "task_updated", (*claude).taskEnded},
	{"system", "permission_denied", (*claude).denies},
	{"system", "hook_response", (*claude).hooks},
	{"system", "hook_started", nil},
	{"system", "hook_progress", nil},
	{"tool_progress", "", nil},
	{"tool_use_summary", "", nil},
	{"keep_alive", "", nil},
	{"command_lifecycle", "", (*claude).handleLifecycle},
	{"control_response", "", (*claude).handleResponse},
	{"control_request", "", (*claude).handleRequest},
	{"control_cancel_request", "", (*claude).cancelRequest},
	{"system", "elicitation_complete", (*claude).completeElicitation},
	{"system", "compact_boundary", claudeCompacts},
	{"system", "notification", (*claude).warnsUser},
	{"system", "model_refusal_fallback", claudeFallsBack},
	{"system", "model_refusal_no_fallback", (*claude).warnsUser},
	{"system", "session_writes_lost", (*claude).warnsUser},
	{"system", "mirror_error", (*claude).warnsUser},
	{"conversation_reset", "", (*claude).warnsUser},
}

// claudeLine contains the fields of all types of lines, and the line itself.
type claudeLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	RequestID string `json:"request_id"`
	UUID      string `json:"uuid"`
	Agent     string `json:"agent_id"` // subagent from which the line comes; "" for none

	Request  json.RawMessage `json:"request"`
	Message  json.RawMessage `json:"message"`
	Event    json.RawMessage `json:"event"`
	Response json.RawMessage `json:"response"`
	Meta     json.RawMessage `json:"tool_result_meta"`
	Parent   *string         `json:"parent_tool_use_id"` // call of the subagent; nil for the agent itself
	IsReplay bool            `json:"isReplay"`

	Supersedes json.RawMessage `json:"supersedes"` // UUIDs of lines that the line replaces

	line []byte
}

// claudeUsage is the usage of a reply or of a turn.
type claudeUsage struct {
	In     int64 `json:"input_tokens"`
	Made   int64 `json:"cache_creation_input_tokens"`
	Cached int64 `json:"cache_read_input_tokens"`
	Out    int64 `json:"output_tokens"`
}

func (u *claudeUsage) usage() *usage {
	if u == nil {
		return nil
	}
	return &usage{In: u.In + u.Made + u.Cached, Out: u.Out, Cached: u.Cached, Made: u.Made}
}

func newClaude(v Config) *claude {
	return &claude{cfg: v, Session: v.Resume, Open: map[string]claudeRequest{}, Replies: map[string]usage{}, Plan: planLimits{},
		Tasks: newClaudeWork(), Calls: newClaudeCalls()}
}

func (c *claude) Conversation() string { return c.Session }

func (c *claude) FromAgent(line []byte) (s Output) {
	m := claudeLine{line: line}
	if !readMembers(line, &m) || m.Type == "" {
		return foreign(line)
	}
	if m.SessionID != "" {
		c.Session = m.SessionID
	}
	c.silent, c.Tasks.Received = !c.Tasks.Received, true
	s.session = c.Session
	c.setAgent(&s, m.Agent)
	defer func() { c.silent = false; c.settle(&s) }()
	for _, row := range claudeRows {
		if row.typ != m.Type || row.subtype != "" && row.subtype != m.Subtype {
			continue
		}
		if row.handle == nil {
			s.Quiet = typeName(m.Type, m.Subtype)
		} else {
			row.handle(c, &s, &m)
		}
		return s
	}
	c.Unknown.report(&s, claudeUnused, "message", typeName(m.Type, m.Subtype), line)
	return s
}

// FromAgentLate translates a line that was written before the newest prompt was sent. A result in
// it is that of another turn.
func (c *claude) FromAgentLate(line []byte) Output {
	c.late = true
	defer func() { c.late = false }()
	return c.FromAgent(line)
}

// typeName returns the name of a message's type and subtype.
func typeName(typ, subtype string) string {
	if subtype == "" {
		return typ
	}
	return typ + "/" + subtype
}

func (c *claude) ToAgent(line []byte) (s Output) {
	o := parseOurs(line)
	switch o.Type {
	case hostmsg.Init:
		request := obj{"subtype": "initialize"}
		if len(c.cfg.Tools) > 0 {
			request["sdkMcpServers"] = []string{toolServer}
		}
		if len(c.cfg.Schema) > 0 {
			request["jsonSchema"], _ = schema.AsObject(c.cfg.Schema)
		}
		s.addLines(jsonwrite.MustEncode(obj{"type": "control_request", "request_id": claudeFirst, "request": request}))
	case hostmsg.Prompt:
		clear(c.Replies)
		c.Turns = 0
		c.Tasks.Busy, c.Interrupted = true, false
		if !o.Queued {
			clear(c.Plan)
			c.Unread, c.Mine = nil, nil
			c.Tasks.begin()
			c.Calls.clear()
		}
		c.Pieces = claudePieces{}
		c.Read, c.Typed = false, len(o.Schema) > 0
		if len(c.cfg.Schema) > 0 {
			o.Schema = nil // the agent has it
		}
		c.sendText(&s, o.prompt(), false)
	case hostmsg.Steer:
		c.sendText(&s, o.Text, true)
	case hostmsg.Response:
		c.respond(&s, &o)
	case hostmsg.Cancel:
		c.Tasks.Cancelled = true
		prompt := func(u claudeInput) bool { return !u.Steers }
		steered := o.Reason == effect.SteerInterrupted
		if !steered || c.Tasks.Held != nil {
			c.stop(&s, "")
		}
		if c.Tasks.Held != nil && !c.Tasks.Turn {
			break
		}
		c.Interrupted = steered
		whole := !steered || c.isForeign() && slices.ContainsFunc(c.Unread, prompt)
		c.interrupt(&s, whole)
		if whole && steered { // the messages begin no turn
			c.Unread = slices.DeleteFunc(c.Unread, func(u claudeInput) bool { return u.Steers })
		}
	case pollLine:
		c.poll(&s)
	case stopLine:
		c.stop(&s, o.Reason)
	}
	return s
}

func (c *claude) sendText(s *Output, text string, steers bool) {
	c.Sent++
	line := obj{"type": "user", "session_id": "", "parent_tool_use_id": nil,
		"message": obj{"role": "user", "content": []any{obj{"type": "text", "text": text}}}}
	id := ""
	if c.cfg.Seed != "" { // an earlier Concerto began the process without
		id = messageUUID(c.cfg.Seed, c.Sent)
		line["uuid"] = id
		c.Mine = append(c.Mine, id)
	}
	c.Unread = append(c.Unread, claudeInput{id, text, steers})
	c.Tasks.Idle = false
	s.addLines(jsonwrite.MustEncode(line))
}

// interrupt asks Claude Code to end its turn. whole also cancels the messages that it has not
// read.
func (c *claude) interrupt(s *Output, whole bool) {
	c.Interrupt++
	request := obj{"subtype": "interrupt"}
	if whole {
		request["cancel_queued"] = true
	}
	s.addLines(jsonwrite.MustEncode(obj{"type": "control_request", "request_id": fmt.Sprintf("c%d", c.Interrupt), "request": request}))
}

// messageUUID returns the UUID of the nth message to a process. Claude Code begins no turn for a
// message whose UUID its session contains.
func messageUUID(seed string, n int) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", seed, n))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // version 8 of RFC 9562, section 5.8
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// handleLifecycle handles a report about a message of the user.
func (c *claude) handleLifecycle(s *Output, m *claudeLine) {
	var e struct {
		Message string `json:"command_uuid"`
		State   string `json:"state"`
	}
	_ = json.Unmarshal(m.line, &e) // a report without these members is about no message of the exchange
	s.Quiet = typeName(m.Type, e.State)
	if !slices.Contains(c.Mine, e.Message) {
		return
	}
	c.Confirms = true
	if e.State == "started" {
		c.Read, c.Tasks.Turn, c.Tasks.Idle = true, true, false
	}
	prompt := func(u claudeInput) bool { return u.UUID == e.Message && !u.Steers }
	if e.State == "cancelled" && !c.Read && slices.ContainsFunc(c.Unread, prompt) { // no result follows
		s.Quiet = ""
		c.finishExchange(s, outcome{Code: "interrupted", Message: "the prompt was cancelled before Claude Code read it", Session: c.Session, Payload: m.line})
	}
	if at := slices.IndexFunc(c.Unread, func(u claudeInput) bool { return u.UUID == e.Message && u.Steers }); e.State == "cancelled" && at >= 0 {
		s.Quiet = ""
		s.warn("Claude Code was interrupted before it read a message: " + short(c.Unread[at].Text))
		c.Unread = slices.Delete(c.Unread, at, at+1)
	}
}

// markRead handles the repetition of a message. A version that does not repeat the UUID may join
// several messages in the text.
func (c *claude) markRead(id, text string) {
	c.Confirms, c.Tasks.Idle = true, false
	c.Read = c.Read || slices.Contains(c.Mine, id)
	for _, is := range []func(u claudeInput) bool{
		func(u claudeInput) bool { return id != "" && u.UUID == id },
		func(u claudeInput) bool { return u.Text == text },
	} {
		if at := slices.IndexFunc(c.Unread, is); at >= 0 {
			c.Unread, c.Read = slices.Delete(c.Unread, at, at+1), true
			return
		}
	}
	before := len(c.Unread)
	c.Unread = slices.DeleteFunc(c.Unread, func(u claudeInput) bool { return u.Text != "" && strings.Contains(text, u.Text) })
	c.Read = c.Read || len(c.Unread) < before
}

// isForeign reports whether Claude Code works on a turn that the running exchange has not begun:
// it has not read the prompt. A version that never reports what it reads begins no such turns.
// While the exchange waits for tasks, only the result shows who has begun a turn.
func (c *claude) isForeign() bool { return c.Confirms && !c.Read && c.Tasks.Held == nil }

// BeginsTurn reports whether Claude Code has not read all messages that steer it.
func (c *claude) BeginsTurn() bool {
	return slices.ContainsFunc(c.Unread, func(u claudeInput) bool { return u.Steers })
}

func (c *claude) cancelRequest(s *Output, m *claudeLine) {
	if _, ok := c.Open[m.RequestID]; !ok {
		s.Quiet = m.Type
		return
	}
	delete(c.Open, m.RequestID)
	s.withdraw(m.RequestID)
}

// claudeAllow returns the answer that allows a tool call with the given input.
func claudeAllow(input json.RawMessage) obj {
	return obj{"behavior": "allow", "updatedInput": input}
}

func claudeDeny(reason string, stop bool) obj {
	return obj{"behavior": decision.Deny, "message": reason, "interrupt": stop}
}

// controlled returns the line that answers a control request.
func controlled(id string, response any) []byte {
	return jsonwrite.MustEncode(obj{"type": "control_response", "response": obj{"subtype": "success", "request_id": id, "response": response}})
}

// claudeFlags returns the flags of Claude Code.
func claudeFlags(v *Vendor, resume string) []string {
	mode := v.Mode
	if mode == "" {
		mode = "default"
	}
	flags := []string{"-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json", "--include-partial-messages", "--replay-user-messages",
		"--permission-prompt-tool", "stdio", "--permission-mode", mode, "--setting-sources", strings.Join(v.Settings, ",")}
	if without := claudeForbidden[cmp.Or(v.Background, BackgroundWait)]; without != nil {
		flags = append(flags, "--disallowedTools", strings.Join(without, ","))
	}
	if v.Model != "" {
		flags = append(flags, "--model", v.Model)
	}
	if resume != "" {
		flags = append(flags, "--resume", resume)
	}
	return flags
}
