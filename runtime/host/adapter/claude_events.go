//go:build !js

package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

func (c *claude) stream(s *Output, m *claudeLine) {
	var e struct {
		Type    string
		Message struct{ ID string }
		Delta   struct {
			Type, Text, Thinking string
			Stop                 string `json:"stop_reason"`
		}
	}
	if json.Unmarshal(m.Event, &e) != nil || c.isForeign() || m.Parent != nil {
		s.Quiet = m.Type
		return
	}
	switch {
	case e.Type == "message_start":
		c.Message, c.Streamed = e.Message.ID, false
		c.Pieces.abandon()
	case e.Delta.Type == "text_delta":
		c.Streamed = true
		s.partial(e.Delta.Text, c.Pieces.pieceOf(m.UUID))
		return
	case e.Delta.Stop == "refusal":
		c.Pieces.abandon()
	case e.Delta.Type == "thinking_delta":
		s.thought(e.Delta.Thinking)
		return
	}
	s.Quiet = typeName(m.Type, e.Type)
}

// claudeBlock is a content block of a message.
type claudeBlock struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content json.RawMessage `json:"content"`
}

// claudeMessage is a message of the model or of the user.
type claudeMessage struct {
	ID      string          `json:"id"`
	Content json.RawMessage `json:"content"`
	Usage   *claudeUsage    `json:"usage"`
}

// blocks returns the message in the line and its content blocks.
func (m *claudeLine) blocks() (message claudeMessage, all []claudeBlock) {
	if json.Unmarshal(m.Message, &message) != nil || json.Unmarshal(message.Content, &all) != nil {
		return message, nil
	}
	return message, all
}

// count reports what the turn has used after a line of a reply. All lines of a reply have its
// ID, and the tokens in them grow.
func (c *claude) count(s *Output, m *claudeLine, message *claudeMessage) {
	now := message.Usage.usage()
	if now == nil {
		return
	}
	before, known := c.Replies[message.ID]
	if known && *now == before {
		return
	}
	c.Replies[message.ID] = *now
	if !known && m.Parent == nil {
		c.Turns++
	}
	var all usage
	for _, u := range c.Replies {
		all = all.plus(u)
	}
	all = all.plus(c.Spent.Usage)
	s.spent(fmt.Sprintf("%d tokens", all.In+all.Out), totals{Usage: &all, Turns: c.Spent.Turns + c.Turns}, m.line)
}

func (c *claude) assistant(s *Output, m *claudeLine) {
	message, all := m.blocks()
	if c.isForeign() {
		all = nil
	} else if m.Parent == nil {
		claudeRetracts(c, s, m.Supersedes, false)
	}
	for _, b := range all {
		if b.Type == "tool_use" {
			c.Calls.Open[b.ID] = claudeCall{b.Name, b.Input}
		}
	}
	for _, b := range all {
		switch {
		case b.Type == "text" && m.Parent != nil:
			s.subagentText(b.Text)
		case b.Type == "text":
			c.addText(message.ID, b.Text)
			if c.Streamed && message.ID == c.Message {
				c.Pieces.complete(m.UUID, message.ID, c.Pieces.Piece)
				c.Pieces.Piece = ""
			} else {
				c.Pieces.complete(m.UUID, message.ID, m.UUID)
				s.partial(b.Text, m.UUID)
			}
		case b.Type == "tool_use" && b.Name == "Monitor":
			c.Tasks.Watches[b.ID] = true
			s.progress("tool", about(b.Name, short(subject(b.Input))), m.line)
		case b.Type != "tool_use", b.Name == claudeAsks, strings.HasPrefix(b.Name, claudeOurs):
		case b.Name == claudePlans:
			s.progress("plan", claudePlan(b.Input), m.line)
		default:
			s.progress("tool", about(b.Name, short(subject(b.Input))), m.line)
		}
	}
	if !c.isForeign() {
		c.count(s, m, &message)
	}
	if len(s.Messages) == 0 {
		s.Quiet = m.Type
	}
}

// addText adds a text of the agent itself. The lines of one reply have the same ID.
func (c *claude) addText(reply, text string) {
	if reply != c.TextOf || reply == "" {
		c.Text, c.TextOf = "", reply
	}
	c.Text += text
}

func claudePlan(input []byte) string {
	var in struct {
		Todos []struct{ Content, Status string }
	}
	if json.Unmarshal(input, &in) != nil {
		return claudePlans
	}
	var p plan
	for _, t := range in.Todos {
		p.addStep(t.Content, t.Status == "completed", t.Status == "in_progress")
	}
	return p.String()
}

// user reports the results of tools and handles the repetition of a message that Claude Code has
// read. It ignores other messages of the user.
func (c *claude) user(s *Output, m *claudeLine) {
	if m.IsReplay {
		var message struct {
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(m.Message, &message) // without content, no message was read
		c.markRead(m.UUID, contentText(message.Content))
		s.Quiet = typeName(m.Type, "replay")
		return
	}
	_, all := m.blocks()
	if c.isForeign() {
		s.Quiet = m.Type
		return
	}
	var meta []claudeMeta
	_ = json.Unmarshal(m.Meta, &meta) // without it, the version does not report who has decided
	c.executed(s, meta, m.line)
	for _, b := range all {
		if b.Type == "tool_result" {
			s.progress("tool_result", short(contentText(b.Content)), m.line)
		}
	}
	if len(s.Messages) == 0 {
		s.other(m.Type, m.line)
	}
}

// contentText returns the text of a message's content, which is either a string or a list of
// blocks; of a list, it returns the first text.
func contentText(content []byte) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []claudeBlock
	if json.Unmarshal(content, &blocks) == nil {
		for _, b := range blocks {
			if b.Text != "" {
				return b.Text
			}
		}
	}
	return ""
}

func (c *claude) started(s *Output, m *claudeLine) {
	var init struct {
		Model   string `json:"model"`
		Version string `json:"claude_code_version"`
	}
	c.Text, c.TextOf = "", ""
	c.Tasks.Turn, c.Tasks.Idle = true, false
	if c.isForeign() {
		s.Quiet = typeName(m.Type, m.Subtype)
		return
	}
	_ = json.Unmarshal(m.line, &init) // members with the wrong type are ignored
	s.progress("start", strings.TrimSpace(init.Model+", Claude Code "+init.Version), m.line)
}

func (c *claude) informs(s *Output, m *claudeLine) {
	var line struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(m.line, &line) != nil || line.Content == "" {
		line.Content = string(m.line)
	}
	s.warn(line.Content)
}

func (c *claude) retries(s *Output, m *claudeLine) {
	var r struct {
		Attempt int             `json:"attempt"`
		Of      int             `json:"max_retries"`
		Status  json.RawMessage `json:"error_status"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(m.line, &r) != nil {
		s.other("system/api_retry", m.line)
		return
	}
	why := r.Status
	if len(why) == 0 || string(why) == "null" {
		why = r.Error
	}
	s.progress("retry", fmt.Sprintf("model call failed (%s), attempt %d of %d", idText(why), r.Attempt, r.Of), m.line)
}

// handleResponse handles the response that ends the handshake, and the repetition of an answer.
func (c *claude) handleResponse(s *Output, m *claudeLine) {
	var r struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Error     string `json:"error"`
		Response  struct {
			Permissions  []claudePending `json:"pending_permission_requests"`
			Dialogs      []claudePending `json:"pending_user_dialog_requests"`
			Elicitations []claudePending `json:"pending_elicitation_requests"`
		} `json:"response"`
	}
	err := json.Unmarshal(m.Response, &r)
	if err == nil && r.RequestID == claudeUsed {
		c.setBase(m.Response)
		s.ready("", true)
		return
	}
	if err != nil || r.RequestID != claudeFirst {
		c.confirm(r.RequestID) // Claude Code repeats each answer that it receives
		if r.RequestID == c.Tasks.Ping && c.Tasks.Ping != "" {
			c.Tasks.Ping, c.Tasks.Idle = "", c.silent
		}
		s.Quiet = m.Type
		return
	}
	if r.Subtype == "error" {
		s.failed(fmt.Sprintf("host '%s': initialize: %s", c.cfg.Host, r.Error), "initialize", c.Session, nil)
		return
	}
	if c.cfg.Resume != "" { // the session's totals contain those of its earlier processes
		s.addLines(jsonwrite.MustEncode(obj{"type": "control_request", "request_id": claudeUsed, "request": obj{"subtype": "get_usage"}}))
	} else {
		s.ready("", true)
	}
	for _, q := range slices.Concat(r.Response.Permissions, r.Response.Dialogs, r.Response.Elicitations) {
		c.request(s, q.ID, q.Request, jsonwrite.MustEncode(obj{"type": "control_request", "request_id": q.ID, "request": q.Request}))
	}
}

// claudePending is a request that Claude Code made before the handshake.
type claudePending struct {
	ID      string          `json:"request_id"`
	Request json.RawMessage `json:"request"`
}

// claudeStatus maps Claude Code's states of a limit to those of plan_limit.
var claudeStatus = map[string]string{"allowed_warning": effect.PlanNear, "rejected": effect.PlanReached}

// claudeWindows maps Claude Code's names of periods to those of plan_limit. Others are used as they
// are.
var claudeWindows = map[string]string{"five_hour": "5h", "seven_day": "week"}

// limits reports that a limit of the plan is near or reached.
func (c *claude) limits(s *Output, m *claudeLine) {
	var e struct {
		Info struct {
			Status string   `json:"status"`
			Resets int64    `json:"resetsAt"`
			Type   string   `json:"rateLimitType"`
			Used   *float64 `json:"utilization"` // from 0 to 1
		} `json:"rate_limit_info"`
	}
	if json.Unmarshal(m.line, &e) != nil {
		s.other(m.Type, m.line)
		return
	}
	w := planWindow{Window: cmp.Or(claudeWindows[e.Info.Type], e.Info.Type, "plan"), Status: claudeStatus[e.Info.Status], Resets: e.Info.Resets}
	if e.Info.Used != nil {
		w.Percent = new(*e.Info.Used * 100)
	}
	c.Plan.report(s, w, m.line)
	if len(s.Messages) == 0 {
		s.Quiet = m.Type
	}
}

// claudeResult contains the fields of the line that ends a turn.
type claudeResult struct {
	IsError  bool            `json:"is_error"`
	Result   string          `json:"result"`
	Typed    json.RawMessage `json:"structured_output"`
	Errors   []string        `json:"errors"`
	Turns    int64           `json:"num_turns"`
	Stop     string          `json:"stop_reason"`
	Cost     *float64        `json:"total_cost_usd"`
	Usage    *claudeUsage    `json:"usage"`
	Message  string          `json:"user_message_uuid"`
	Messages []string        `json:"user_message_uuids"`
	Denials  []claudeDenial  `json:"permission_denials"`
	Origin   *struct {
		Kind string `json:"kind"`
		Run  string `json:"runId"`
	} `json:"origin"`
	Models map[string]claudeModelUse `json:"modelUsage"` // what the session has used, subagents included
}

// claudeModelUse is what a model has used in a session.
type claudeModelUse struct {
	In     int64 `json:"inputTokens"`
	Out    int64 `json:"outputTokens"`
	Cached int64 `json:"cacheReadInputTokens"`
	Made   int64 `json:"cacheCreationInputTokens"`

	Cost float64 `json:"costUSD"`
}

func (m claudeModelUse) usage() usage {
	return usage{In: m.In + m.Cached + m.Made, Out: m.Out, Cached: m.Cached, Made: m.Made}
}

// claudeTotals are sums of what turns have used.
type claudeTotals struct {
	Usage  usage
	Cost   float64 // in USD
	Turns  int64
	Models map[string]claudeModelUse `json:",omitempty"` // of a session; nil if it does not report them
}

// claudeTotal returns the sum of what models have used.
func claudeTotal(models map[string]claudeModelUse) (all usage) {
	for _, m := range models {
		all = all.plus(m.usage())
	}
	return all
}

// modelsSince returns what models have used since their totals were before.
func modelsSince(before, now map[string]claudeModelUse) map[string]modelUse {
	since := map[string]modelUse{}
	for name, m := range now {
		used, cost := m.usage().minus(before[name].usage()), usd(max(m.Cost-before[name].Cost, 0))
		if used != (usage{}) || cost > 0 {
			since[name] = modelUse{used, &cost}
		}
	}
	return since
}

// setBase sets what the session that was resumed had used before. A version that does not report it
// counts from 0.
func (c *claude) setBase(response []byte) {
	var r struct {
		Response struct {
			Session struct {
				Cost   float64                   `json:"total_cost_usd"`
				Models map[string]claudeModelUse `json:"model_usage"`
			} `json:"session"`
		} `json:"response"`
	}
	_ = json.Unmarshal(response, &r) // an answer of another form contains no totals
	models := r.Response.Session.Models
	c.Total = claudeTotals{Usage: claudeTotal(models), Cost: r.Response.Session.Cost, Models: models}
	c.Base = c.Total
}

// addResult adds what a turn has used, and returns what the exchange has used. A version that does
// not report what the session has used reports what each turn has.
func (c *claude) addResult(r *claudeResult) (used totals) {
	c.Spent.Turns += r.Turns
	used.Turns = c.Spent.Turns
	if r.Cost != nil {
		c.Total.Cost = *r.Cost
		used.Cost = new(max(c.Total.Cost-c.Base.Cost, 0))
	}
	switch {
	case len(r.Models) > 0:
		c.Total.Usage, c.Total.Models = claudeTotal(r.Models), r.Models
		c.Spent.Usage = c.Total.Usage.minus(c.Base.Usage)
		used.Models = modelsSince(c.Base.Models, r.Models)
	case r.Usage != nil:
		c.Spent.Usage = c.Spent.Usage.plus(*r.Usage.usage())
	default:
		return used
	}
	used.Usage = new(c.Spent.Usage)
	return used
}

// answers reports whether the turn that has ended belongs to the running exchange.
func (c *claude) answers(r *claudeResult) bool {
	isMine := func(id string) bool { return slices.Contains(c.Mine, id) }
	switch {
	case c.late:
		return false
	case isMine(r.Message), slices.ContainsFunc(r.Messages, isMine):
		return true
	case len(c.Mine) > 0 && (r.Message != "" || len(r.Messages) > 0):
		return false
	case r.Origin != nil && c.Tasks.Runs[r.Origin.Run]:
		return true
	case r.Origin != nil && len(c.Mine) > 0:
		return r.Origin.Kind == "auto-continuation" && c.Read
	}
	return r.IsError || !c.isForeign()
}

func (c *claude) result(s *Output, m *claudeLine) {
	var r claudeResult
	wrong := json.Unmarshal(m.line, &r)
	text := cmp.Or(r.Result, c.Text)
	c.Text, c.TextOf = "", ""
	c.Tasks.Turn, c.Tasks.Idle = false, false
	r.IsError = r.IsError || m.Subtype != "success" || wrong != nil
	if !c.answers(&r) {
		s.foreignTurn(text, m.line)
		return
	}
	clear(c.Replies) // Claude Code may begin the next turn by itself
	c.Turns = 0
	c.Unread = slices.DeleteFunc(c.Unread, func(u claudeInput) bool { return !u.Steers })
	c.Read = c.Read && len(c.Unread) == 0 // another turn may precede that with the unread messages
	c.deniesAll(s, r.Denials, m.line)
	out := outcome{Text: text, Session: c.Session, totals: c.addResult(&r), Stop: r.Stop, Payload: m.line}
	out.Code, out.Message = c.failure(m.Subtype, &r)
	if wrong != nil {
		out.Code, out.Message = "result", "Claude Code's result cannot be read: "+problem(wrong)
	}
	if out.Code == "" && len(r.Typed) > 0 && string(r.Typed) != "null" && (c.Typed || text == "") {
		out.Text = string(r.Typed)
		if _, wrapped := schema.AsObject(c.cfg.Schema); wrapped && len(c.cfg.Schema) > 0 {
			out.Text = schema.Unwrap(out.Text)
		}
	}
	waits := c.Tasks.Held != nil || !c.Interrupted && c.cfg.Background != BackgroundForbid && c.cfg.Background != BackgroundDetach && (len(c.Tasks.Live) > 0 || c.Tasks.Worked)
	if !waits {
		c.finishExchange(s, out)
		return
	}
	c.withdrawOwn(s)
	c.Tasks.hold(s, out)
	if c.Tasks.Held.Code != "" {
		c.stop(s, "")
	}
}

// withdrawOwn withdraws the open requests of the turn that has ended. Those that subagents may have
// made stay open.
func (c *claude) withdrawOwn(s *Output) {
	for _, id := range sortedKeys(c.Open) {
		if q := c.Open[id]; q.isOfTurn() {
			delete(c.Open, id)
			s.withdraw(id)
		}
	}
}

// failure returns the error of an exchange whose turn has ended with r. code is "" if the exchange
// has succeeded.
func (c *claude) failure(subtype string, r *claudeResult) (code, message string) {
	switch {
	case r.IsError && subtype == "success":
		code = "api_error"
	case r.IsError:
		code = subtype
	case c.cfg.Background == BackgroundForbid && c.Tasks.Worked:
		return "background", c.forbiddenError()
	default:
		return "", ""
	}
	return code, cmp.Or(r.Result, strings.Join(r.Errors, "\n"), subtype)
}
