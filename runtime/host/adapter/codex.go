//go:build !js

package adapter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
)

// codex implements the protocol of `codex app-server`, which is JSON-RPC without the member
// "jsonrpc". The exported fields are its state.
type codex struct {
	cfg      Config
	RPC      rpc
	Version  string
	Model    string
	Session  string                     // ID of the thread
	Turn     string                     // ID of the running turn, or ""
	Own      string                     // ID of the turn that the newest prompt began, or ""
	Early    [][]byte                   // notifications about turns before the ID of Own is known
	Cancel   bool                       // interrupt the turn as soon as its ID is known
	Prompt   string                     // prompt that waits for a new thread; "" for none
	Prompts  int                        // number of prompts so far
	Streamed map[string]bool            // messages of which a part of the text has arrived, by item ID
	Items    map[string]json.RawMessage // changes of the file-change items, by item ID
	Text     string                     // text of the newest message
	Reply    codexReply                 // form of the exchange's results
	Used     usage                      // usage of all threads before the current exchange
	Total    usage                      // usage of the main thread so far
	Counted  bool                       // the agent has reported the usage of the current exchange
	Plan     planLimits
	Busy     bool         // an exchange is running
	Unknown  unknownNames `json:",omitempty"`
	codexModels
	codexSteering
	Tasks codexWork
	confirmations
}

// codexReply is the form of an exchange's results.
type codexReply struct {
	Schema  json.RawMessage `json:",omitempty"` // in strict form; nil for none
	Wrapped bool            // the value is the member of an object
	Prompt  string          // prompt of the exchange's newest turn, with the schema in it
	Refused bool            // Codex has refused a schema: prompts contain it
}

// promptOf returns the text of a prompt. Its schema becomes that of the exchange's results if Codex
// accepts it in strict form; otherwise it is part of the text.
func (r *codexReply) promptOf(o ours) string {
	r.Schema, r.Wrapped, r.Prompt = nil, false, o.prompt()
	if len(o.Schema) == 0 || r.Refused {
		return r.Prompt
	}
	if form, wrapped := schema.AsObject(o.Schema); schema.IsStrict(form) {
		r.Schema, r.Wrapped, o.Schema = form, wrapped, nil
	}
	return o.prompt()
}

// codexSteering is the state of messages to the running turn.
type codexSteering struct {
	Unsent   []ours            // messages that wait for the turn's ID
	Steering map[string]string // IDs of messages that the agent has not answered, by the ID of the request
	Result   []byte            // terminal message that waits for these answers; nil for none
}

// codexOldest is the oldest supported version: the first one that sends its questions to the
// client.
const codexOldest = "0.107.0"

// codexRow describes a notification. A method that ends in "*" matches every method with that
// prefix for which no earlier row exists.
type codexRow struct {
	method string
	handle func(c *codex, s *Output, m *codexEvent) // nil: the program does not receive the notification
}

var codexRows = []codexRow{
	{"item/agentMessage/delta", (*codex).delta},
	{"item/reasoning/summaryTextDelta", codexThinks},
	{"item/reasoning/textDelta", codexThinks},
	{"item/reasoning/*", nil},
	{"warning", codexWarns},
	{"configWarning", codexWarns},
	{"deprecationNotice", codexWarns},
	{"guardianWarning", codexWarns},
	{"model/rerouted", codexReroutes},
	{"modelProvider/authRecoveryStarted", codexInforms},
	{"modelProvider/authRecoveryCompleted", codexInforms},
	{"item/autoApprovalReview/started", (*codex).reviews},
	{"item/autoApprovalReview/completed", (*codex).reviews},
	{"item/commandExecution/terminalInteraction", (*codex).interacts},
	{"item/mcpToolCall/progress", codexToolProgress},
	{"thread/compacted", codexCompacts},
	{"turn/started", (*codex).started},
	{"item/started", (*codex).itemStarted},
	{"item/completed", (*codex).itemCompleted},
	{"turn/plan/updated", codexPlans},
	{"thread/tokenUsage/updated", (*codex).uses},
	{"error", codexRetries},
	{"turn/completed", (*codex).completed},
	{"serverRequest/resolved", (*codex).withdrawResolved},
	{"turn/diff/updated", nil},
	{"item/commandExecution/outputDelta", nil},
	{"item/fileChange/outputDelta", nil},
	{"item/fileChange/patchUpdated", nil},
	{"item/plan/delta", nil},
	{"command/exec/outputDelta", nil},
	{"process/outputDelta", nil},
	{"mcpServer/startupStatus/updated", nil},
	{"thread/started", (*codex).threadStarted},
	{"thread/status/changed", (*codex).threadChanged},
	{"thread/*", nil},
	{"account/rateLimits/updated", (*codex).limits},
	{"account/*", nil},
	{"hook/*", nil},
	{"skills/*", nil},
	{"app/*", nil},
	{"remoteControl/*", nil},
}

// codexEvent contains the fields of all notifications, and the agent's line.
type codexEvent struct {
	ThreadID  string          `json:"threadId"`
	TurnID    string          `json:"turnId"`
	ItemID    string          `json:"itemId"`
	Delta     string          `json:"delta"`
	Message   string          `json:"message"`
	Summary   string          `json:"summary"`
	RequestID json.RawMessage `json:"requestId"`
	Item      json.RawMessage `json:"item"`
	Action    json.RawMessage `json:"action"`
	Review    codexReview     `json:"review"`
	Target    string          `json:"targetItemId"`
	Stdin     string          `json:"stdin"`
	WillRetry bool            `json:"willRetry"`
	Error     codexTurnError  `json:"error"`
	Turn      struct {
		ID     string          `json:"id"`
		Root   string          `json:"rootTurnId"` // turn of the main thread that has led to it
		Status string          `json:"status"`
		Error  *codexTurnError `json:"error"`
	} `json:"turn"`
	Thread struct {
		ID       string `json:"id"`
		Parent   string `json:"parentThreadId"`
		Model    string `json:"model"`
		Nickname string `json:"agentNickname"`
		Role     string `json:"agentRole"`
	} `json:"thread"`
	Status struct {
		Type string `json:"type"`
	} `json:"status"`
	Plan []struct {
		Step   string `json:"step"`
		Status string `json:"status"`
	} `json:"plan"`
	Usage struct {
		Total codexUsage `json:"total"`
	} `json:"tokenUsage"`

	Limits struct {
		Primary   *codexWindow `json:"primary"`
		Secondary *codexWindow `json:"secondary"`
	} `json:"rateLimits"`

	method string
	line   []byte
}

// codexTurnError is the reason why a turn, or an attempt to call the model, has failed.
type codexTurnError struct {
	Message string `json:"message"`
	Details string `json:"additionalDetails"`
}

func (e *codexTurnError) text() string { return joinDetails(e.Message, e.Details) }

type codexUsage struct {
	In     int64 `json:"inputTokens"`
	Out    int64 `json:"outputTokens"`
	Cached int64 `json:"cachedInputTokens"`
	Made   int64 `json:"cacheWriteInputTokens"`
}

func newCodex(v Config) *codex {
	return &codex{cfg: v, RPC: newRPC(), Session: v.Resume, Streamed: map[string]bool{}, Items: map[string]json.RawMessage{}, Plan: planLimits{}, Tasks: newCodexWork()}
}

func (c *codex) Conversation() string { return c.Session }

func (c *codex) FromAgent(line []byte) (s Output) {
	s.session = c.Session
	m, kind := parseRPC(line)
	switch kind {
	case rpcIsRequest:
		c.handleRequest(&s, &m, line)
	case rpcIsNotification:
		c.handleNotification(&s, &m, line)
	case rpcIsAnswer:
		c.handleResponse(&s, &m, line)
	default:
		return foreign(line)
	}
	c.settle(&s)
	return s
}

func (c *codex) handleNotification(s *Output, m *rpcMessage, line []byte) {
	for _, row := range codexRows {
		prefix, family := strings.CutSuffix(row.method, "*")
		if m.Method != row.method && !(family && strings.HasPrefix(m.Method, prefix)) {
			continue
		}
		e := codexEvent{method: m.Method, line: line}
		if row.handle == nil || json.Unmarshal(m.Params, &e) != nil {
			s.Quiet = m.Method
			return
		}
		isOther := e.ThreadID != "" && c.Session != "" && e.ThreadID != c.Session
		switch {
		case isOther && m.Method == "thread/status/changed":
			c.threadChanged(s, &e)
		case isOther:
			c.fromSubagent(s, &e)
		case c.holdEarly(&e) || c.elsewhere(&e):
			s.Quiet = m.Method
		default:
			row.handle(c, s, &e)
		}
		return
	}
	c.Unknown.report(s, codexUnused, "notification", m.Method, line)
}

// maxEarly is the number of notifications that wait for the ID of the prompt's turn.
const maxEarly = 1000

// holdEarly holds a notification about a turn until the answer to turn/start, which shows whether
// the turn is that of the prompt. It returns false for any other notification.
func (c *codex) holdEarly(e *codexEvent) bool {
	if c.Own != "" || !c.isForeign(e) || len(c.Early) == maxEarly {
		return false
	}
	c.Early = append(c.Early, bytes.Clone(e.line))
	return true
}

// elsewhere reports whether an event belongs to another turn than that of the newest prompt. A turn
// that the main thread begins while the exchange waits is part of the exchange.
func (c *codex) elsewhere(e *codexEvent) bool {
	if e.method == "turn/started" && c.Tasks.Held != nil && c.Turn == "" {
		c.Own = e.Turn.ID
	}
	return e.method != "turn/completed" && e.method != "thread/tokenUsage/updated" && !c.Tasks.endsCommand(e) && c.isForeign(e)
}

// isForeign reports whether an event belongs to another turn than that of the newest prompt, whose
// ID is known from the answer to turn/start.
func (c *codex) isForeign(e *codexEvent) bool {
	id := cmp.Or(e.TurnID, e.Turn.ID)
	return id != "" && id != c.Own && (c.Own != "" || c.Prompt != "" || c.RPC.awaits("turn/start"))
}

func (c *codex) ToAgent(line []byte) (s Output) {
	o := parseOurs(line)
	switch o.Type {
	case hostmsg.Init:
		s.addLines(c.RPC.request("initialize", obj{
			"clientInfo":   obj{"name": "concerto", "title": "Concerto", "version": "1"},
			"capabilities": obj{"experimentalApi": true},
		}))
	case hostmsg.Prompt:
		c.Prompts++
		c.Turn, c.Own, c.Cancel, c.Text, c.Counted, c.Busy = "", "", false, "", false, true
		c.Early = nil
		if !o.Queued {
			clear(c.Plan)
			c.codexSteering = codexSteering{}
			c.Tasks.begin()
		}
		c.Tasks.Interrupted, c.Tasks.Before = false, 0
		beginUsage(c)
		if c.cfg.Fresh && c.Prompts > 1 && !o.Queued {
			c.Prompt = c.Reply.promptOf(o)
			s.addLines(c.RPC.request("thread/start", c.thread()))
			return s
		}
		s.addLines(c.startTurn(c.Reply.promptOf(o)))
	case hostmsg.Response:
		c.respond(&s, &o)
	case hostmsg.Steer:
		if c.Tasks.Held != nil && c.Turn == "" {
			c.Own = ""
			s.addLines(c.startTurn(o.Text))
			s.Steered = append(s.Steered, Steered{ID: o.ID, Begins: true})
			break
		}
		c.Unsent = append(c.Unsent, o)
		c.steer(&s)
	case hostmsg.Cancel:
		c.Tasks.Cancelled = true
		steered := o.Reason == effect.SteerInterrupted
		if !steered || c.Tasks.Held != nil {
			c.stop(&s, "")
		}
		if c.Tasks.Held != nil && c.Turn == "" && !c.RPC.awaits("turn/start") {
			break
		}
		c.Tasks.Interrupted, c.Cancel = steered, true
		c.interrupt(&s)
	case pollLine:
		if len(c.Tasks.Lists) == 0 {
			c.listCommands(&s, "")
		}
	case stopLine:
		c.stop(&s, o.Reason)
	}
	return s
}

// thread returns the parameters that start a thread.
func (c *codex) thread() obj {
	t := obj{"cwd": c.cfg.Dir, "approvalPolicy": c.cfg.Policy, "sandbox": c.cfg.Sandbox}
	if c.cfg.Model != "" {
		t["model"] = c.cfg.Model
	}
	if len(c.cfg.Tools) > 0 {
		var all []any
		for _, tool := range c.cfg.Tools {
			all = append(all, obj{"type": "function", "name": tool.Name, "description": tool.Description, "inputSchema": tool.Parameters})
		}
		t["dynamicTools"] = all
	}
	return t
}

func (c *codex) startTurn(prompt string) []byte {
	turn := obj{"threadId": c.Session, "input": []any{obj{"type": "text", "text": prompt, "text_elements": []any{}}}}
	if c.Reply.Schema != nil {
		turn["outputSchema"] = c.Reply.Schema
	}
	return c.RPC.request("turn/start", turn)
}

// steer sends the waiting messages to the running turn, if the turn's ID is known.
func (c *codex) steer(s *Output) {
	if c.Turn == "" {
		return
	}
	for i := range c.Unsent {
		s.addLines(c.RPC.request("turn/steer", obj{"threadId": c.Session, "expectedTurnId": c.Turn,
			"input": []any{obj{"type": "text", "text": c.Unsent[i].Text, "text_elements": []any{}}}}))
		if c.Steering == nil {
			c.Steering = map[string]string{}
		}
		c.Steering[strconv.FormatInt(c.RPC.Sent, 10)] = c.Unsent[i].ID
	}
	c.Unsent = nil
}

// refuseUnsent refuses the waiting messages, because the turn has ended before its ID was known.
func (c *codex) refuseUnsent(s *Output) {
	for i := range c.Unsent {
		s.Steered = append(s.Steered, Steered{ID: c.Unsent[i].ID})
	}
	c.Unsent = nil
}

// handleSteered handles the response to turn/steer. The agent refuses a message if the turn has
// ended, or cannot be steered.
func (c *codex) handleSteered(s *Output, m *rpcMessage) {
	id := idText(m.ID)
	s.Steered = append(s.Steered, Steered{ID: c.Steering[id], Accepted: m.Error == nil})
	delete(c.Steering, id)
	if len(c.Steering) == 0 && c.Result != nil {
		c.refuseUnsent(s)
		s.Messages = append(s.Messages, c.Result)
		c.Result = nil
		c.Tasks.moveRequests(s)
	}
}

// interrupt asks the agent to end the turn, if the turn's ID is known.
func (c *codex) interrupt(s *Output) {
	if c.Cancel && c.Turn != "" {
		c.Cancel = false
		s.addLines(c.RPC.request("turn/interrupt", obj{"threadId": c.Session, "turnId": c.Turn}))
	}
}

var codexVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/(\d+\.\d+\.\d+)`) })

// handleResponse handles a response of the agent. It continues the handshake, or fails the
// exchange.
func (c *codex) handleResponse(s *Output, m *rpcMessage, line []byte) {
	method, ok := c.RPC.matchResponse(m)
	if !ok {
		s.warn("a response to an unknown request: " + stderrlog.Quote(line))
		return
	}
	switch method {
	case "turn/steer":
		c.handleSteered(s, m)
		return
	case codexLists:
		c.handleList(s, m)
		return
	}
	if m.Error != nil {
		c.handleFailure(s, method, m)
		return
	}
	var r struct {
		UserAgent string `json:"userAgent"`
		Model     string `json:"model"`
		Thread    struct {
			ID string `json:"id"`
		} `json:"thread"`
		Turn struct {
			ID string `json:"id"`
		} `json:"turn"`
	}
	if json.Unmarshal(m.Result, &r) != nil && method != "turn/interrupt" && method != codexEnds {
		c.handleFailure(s, method, &rpcMessage{Error: &RPCError{Message: "its answer cannot be read: " + stderrlog.Quote(line)}})
		return
	}
	switch method {
	case "initialize":
		c.handleInitialized(s, r.UserAgent)
	case "thread/start", "thread/resume":
		c.Session, c.Model = r.Thread.ID, r.Model
		c.Tasks.beginSession()
		c.Total = usage{}
		beginUsage(c)
		if c.Prompts == 0 {
			s.ready(c.Version, true)
		} else {
			s.addLines(c.startTurn(c.Prompt))
			c.Prompt = ""
		}
	case "turn/start":
		c.Turn, c.Own = r.Turn.ID, r.Turn.ID
		early := c.Early
		c.Early = nil
		for _, line := range early {
			m, _ := parseRPC(line)
			c.handleNotification(s, &m, line)
		}
		c.steer(s)
		c.interrupt(s)
	}
}

// handleInitialized checks the agent's version and begins the thread.
func (c *codex) handleInitialized(s *Output, agent string) {
	if found := codexVersion().FindStringSubmatch(agent); found != nil {
		c.Version = found[1]
	}
	switch {
	case c.Version == "":
		s.warn(fmt.Sprintf("host '%s' does not report its version: %s", c.cfg.Host, agent))
	case Older(c.Version, codexOldest):
		s.failed(fmt.Sprintf("host '%s' is Codex %s, but at least %s is required", c.cfg.Host, c.Version, codexOldest), "version", "", nil)
		return
	}
	s.addLines(notification("initialized", nil))
	t := c.thread()
	if c.cfg.Resume == "" {
		s.addLines(c.RPC.request("thread/start", t))
		return
	}
	delete(t, "dynamicTools") // a thread retains its original tools
	t["threadId"] = c.cfg.Resume
	s.addLines(c.RPC.request("thread/resume", t))
}

// handleFailure handles an error response. It ends the handshake or the exchange that needed the
// response.
func (c *codex) handleFailure(s *Output, method string, m *rpcMessage) {
	if method == "turn/interrupt" || method == codexEnds {
		s.Quiet = method
		return
	}
	if method == "turn/start" && c.Reply.Schema != nil && c.Tasks.Held == nil {
		s.warn("Codex refuses the schema of the result, which is now part of the prompt: " + m.Error.text())
		c.Reply.Refused, c.Reply.Schema, c.Reply.Wrapped = true, nil, false
		s.addLines(c.startTurn(c.Reply.Prompt))
		return
	}
	text := fmt.Sprintf("host '%s': %s: %s", c.cfg.Host, method, m.Error.text())
	if !c.Busy {
		s.failed(text, string(m.Error.Code), c.Session, nil)
		return
	}
	r := outcome{Code: cmp.Or(string(m.Error.Code), method), Message: text, Session: c.Session}
	if c.Tasks.Held == nil {
		c.finishExchange(s, r)
		return
	}
	r.Result = c.Tasks.Held.message(nil)
	c.Tasks.Held = &r
	c.stop(s, "")
}

// codexFlags returns flags that allow Codex to ask questions outside its plan mode. A version of
// Codex without this feature ignores the flags.
func codexFlags(*Vendor, string) []string {
	return []string{"-c", "features.default_mode_request_user_input=true", "app-server"}
}
