// Package host makes a program a host for Concerto. It consists of one file and has no
// dependencies.
//
//	host.Serve(func(t *host.Task) (any, error) {
//		style, err := t.Ask(host.Question{Text: "Tabs or spaces?", Options: []string{"tabs", "spaces"}})
//		if err != nil {
//			return nil, err
//		}
//		return map[string]any{"text": "done, with " + style.Text()}, nil
//	}, host.Capabilities("cancel"))
//
// Serve reads prompts from standard input until it ends. The value or the error that the handler
// returns is the result of the exchange. Standard output contains only messages of the protocol
// (spec/host-protocol.md). Text that the handler prints is written to standard error instead, which
// the run's log contains.
package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// grace is the time for which a handler may continue to run after the end of standard input.
const grace = 5 * time.Second

// checks is the prefix of the prompts that `concerto host test` sends.
const checks = "concerto test: "

// Value is a JSON value from the program. The zero Value is null.
type Value struct{ raw json.RawMessage }

// Text returns a string without quotes, "" for null, and any other value as JSON.
func (v Value) Text() string {
	var s string
	if v.isNull() || json.Unmarshal(v.raw, &s) == nil {
		return s
	}
	return string(v.raw)
}

// Into decodes the value into p, like json.Unmarshal.
func (v Value) Into(p any) error {
	if v.isNull() {
		return json.Unmarshal([]byte("null"), p)
	}
	return json.Unmarshal(v.raw, p)
}

// MarshalJSON returns the value as it was received.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.raw == nil {
		return []byte("null"), nil
	}
	return v.raw, nil
}

// UnmarshalJSON stores the value as it was received.
func (v *Value) UnmarshalJSON(b []byte) error {
	v.raw = bytes.Clone(b)
	return nil
}

// asJSON returns the value as JSON, also if it is a string.
func (v Value) asJSON() string {
	if v.raw == nil {
		return "null"
	}
	return string(v.raw)
}

func (v Value) isNull() bool { return v.raw == nil || string(v.raw) == "null" }

// RefusedError is the error of a request that received no answer. Either the program has no
// handler, or the handler failed, or the request was withdrawn, or the exchange was cancelled.
// Reason describes the cause.
//
//	var refused *host.RefusedError
//	if errors.As(err, &refused) {
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Question is a question to the program.
type Question struct {
	Text      string
	Options   []string      // answers that the question offers; others are possible
	Questions []SubQuestion // several questions for a single answer
	Schema    any           // JSON Schema of the answer; nil if any value is accepted
	ID        string        // ID for Withdraw; "" for a generated one
}

// SubQuestion is one of the questions of a Question.
type SubQuestion struct {
	ID      string   `json:"id"`
	Text    string   `json:"question"`
	Header  string   `json:"header,omitempty"` // title of the question
	Options []Choice `json:"options"`
	Multi   bool     `json:"multi"` // whether the answer can have several options
}

// Choice is an answer that a SubQuestion offers.
type Choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Approval is a request for permission.
type Approval struct {
	Description string
	Tool        string // tool to use
	Args        any    // arguments of the tool
	Kind        string // kind of action: read, edit, delete, execute, …
	RiskLevel   string // low, medium or high
	ID          string // ID for Withdraw; "" for a generated one
}

// Decision is the answer to an approval. Allowed is true only if the answer is an explicit yes.
type Decision struct {
	Allow  bool
	Reason string // reason for a denial
	Input  Value  // arguments to use: the original arguments, or those to which the answer has changed them
	Scope  string // scope of the approval: once, session or always
}

var (
	yes    = strings.Fields("yes y ok okay allow approve approved accept once true")
	no     = append(strings.Fields("no n deny denied reject rejected decline false"), "")
	scopes = []string{"once", "session", "always"}
)

func decide(v, args Value) Decision {
	var value any
	if err := v.Into(&value); err != nil {
		return Decision{Reason: "not a decision: " + v.asJSON(), Scope: "once"}
	}
	switch value := value.(type) {
	case bool:
		if value {
			return Decision{Allow: true, Input: args, Scope: "once"}
		}
		return Decision{Reason: "denied", Scope: "once"}
	case string:
		word := strings.ToLower(strings.Trim(value, " \t\r\n.!"))
		switch {
		case slices.Contains(yes, word):
			return Decision{Allow: true, Input: args, Scope: "once"}
		case slices.Contains(scopes, word):
			return Decision{Allow: true, Input: args, Scope: word}
		case slices.Contains(no, word):
			return Decision{Reason: "denied", Scope: "once"}
		}
		return Decision{Reason: strings.Trim(value, " \t\r\n"), Scope: "once"}
	case map[string]any:
		return decodeDecision(v, value, args)
	}
	return Decision{Reason: "not a decision: " + v.asJSON(), Scope: "once"}
}

// decodeDecision decodes a decision that is an object.
func decodeDecision(v Value, members map[string]any, args Value) Decision {
	d := Decision{Scope: "once"}
	d.Reason, _ = members["reason"].(string)
	if s, ok := members["scope"].(string); ok && slices.Contains(scopes, s) {
		d.Scope = s
	}
	switch members["decision"] {
	case "allow":
		d.Allow, d.Input = true, args
		var edited struct{ Input Value }
		if v.Into(&edited) == nil && !edited.Input.isNull() {
			d.Input = edited.Input
		}
	case "deny":
		if d.Reason == "" {
			d.Reason = "denied"
		}
	default:
		return Decision{Reason: "not a decision: " + v.asJSON(), Scope: "once"}
	}
	return d
}

// field is a member of a message.
type field struct {
	name  string
	value any
}

// ProgressField is a member of Progress.
type ProgressField field

// PlanLimitField is a member of PlanLimit.
type PlanLimitField field

// Percent sets the progress in Progress, from 0 to 100.
func Percent(n int) ProgressField { return ProgressField{"percent", n} }

// Stage sets the name of the current step in Progress.
func Stage(name string) ProgressField { return ProgressField{"stage", name} }

// Usage sets the tokens that the exchange has used in Progress; in includes cached ones.
func Usage(in, out, cached int64) ProgressField {
	return ProgressField{"usage", map[string]int64{"tokens_in": in, "tokens_out": out, "tokens_cached": cached}}
}

// CostUSD sets the cost of the exchange in Progress, in US dollars.
func CostUSD(usd float64) ProgressField { return ProgressField{"cost_usd", usd} }

// Turns sets the number of turns of the exchange in Progress.
func Turns(n int64) ProgressField { return ProgressField{"turns", n} }

// UsedPercent sets the used part of the limit in PlanLimit.
func UsedPercent(p float64) PlanLimitField { return PlanLimitField{"used_percent", p} }

// ResetsAt sets the time at which the limit in PlanLimit no longer applies.
func ResetsAt(t time.Time) PlanLimitField { return PlanLimitField{"resets_at", t.Format(time.RFC3339)} }

// Option configures Serve.
type Option func(*server)

// Init sets a function that receives the parameters from the manifest. Its result is a map with a
// "version", which is added to init_ack. If it returns an error, the parameters are rejected.
func Init(f func(params Value) (any, error)) Option { return func(s *server) { s.init = f } }

// Capabilities sets the names that init_ack announces. "cancel" means that the handler checks
// Task.Ctx, and "steer" that it reads Task.Messages.
func Capabilities(names ...string) Option {
	return func(s *server) { s.capabilities = append(s.capabilities, names...) }
}

// Testable makes Serve answer the prompts of `concerto host test`, without calling the handler.
func Testable() Option {
	return func(s *server) { s.testable = true; s.capabilities = append(s.capabilities, "testable") }
}

// Task is a prompt that the host handles. Its methods are safe for concurrent use.
type Task struct {
	Ctx     context.Context // cancelled when the program no longer needs the result
	Text    string
	Context Value      // null if there is none
	Schema  Value      // JSON Schema of the expected result; null if there is none
	Params  Value      // parameters from the manifest, which Init has received
	Session string     // session to continue; "" if there is none
	Queued  bool       // the prompt continues the exchange of the last one
	Tools   []ToolSpec // tools that the host may call; sent only to hosts with the capability "tools"

	server *server
	cancel context.CancelFunc
	open   map[string]chan answer // requests without an answer, by ID
	over   string                 // reason why no further requests are possible; "" while they are
	texts  []string               // messages that Messages has not returned
}

// ToolSpec describes a tool that the host may call. Parameters is a JSON Schema.
type ToolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  Value  `json:"parameters"`
}

type answer struct {
	value Value
	err   error
}

// Progress reports progress to the program. Usage, CostUSD and Turns are totals since the exchange
// began.
func (t *Task) Progress(message string, fields ...ProgressField) {
	all := []field{{"message", message}}
	for _, f := range fields {
		all = append(all, field(f))
	}
	t.sendNote("progress", all)
}

// Log sends a log line to the program. The level is debug, info, warn or error.
func (t *Task) Log(level, message string) {
	t.sendNote("log", []field{{"level", level}, {"message", message}})
}

// PlanLimit reports a limit of the plan under which the host works. The window is "5h", "week" or
// another text, the status near or reached.
func (t *Task) PlanLimit(window, status string, fields ...PlanLimitField) {
	all := []field{{"window", window}, {"status", status}}
	for _, f := range fields {
		all = append(all, field(f))
	}
	t.sendNote("plan_limit", all)
}

// Partial sends a part of the result.
func (t *Task) Partial(text string) { t.sendNote("partial", []field{{"text", text}}) }

// PartialOf sends a part of the result that belongs to a message, so that Retract can remove it.
func (t *Task) PartialOf(message, text string) {
	t.sendNote("partial", []field{{"text", text}, {"message", message}})
}

// Retract removes the parts of messages from the result.
func (t *Task) Retract(messages ...string) {
	t.sendNote("retract", []field{{"messages", messages}})
}

// Ask asks the program a question and returns the answer. The error is a *RefusedError if there is
// no answer, or reports that the schema cannot be encoded as JSON.
func (t *Task) Ask(q Question) (Value, error) {
	fields := []field{{"question", q.Text}}
	if q.Options != nil {
		fields = append(fields, field{"options", q.Options})
	}
	if q.Questions != nil {
		fields = append(fields, field{"questions", q.Questions})
	}
	if q.Schema != nil {
		fields = append(fields, field{"schema", q.Schema})
	}
	return t.request("question", q.ID, fields)
}

// Approve asks the program whether an action is allowed. The error is a *RefusedError if there is
// no answer, or reports that the arguments cannot be encoded as JSON.
func (t *Task) Approve(a Approval) (Decision, error) {
	fields := []field{{"description", a.Description}}
	for _, f := range []field{{"tool", a.Tool}, {"kind", a.Kind}, {"risk_level", a.RiskLevel}} {
		if f.value != "" {
			fields = append(fields, f)
		}
	}
	var args Value
	if a.Args != nil {
		raw, err := encode(a.Args)
		if err != nil {
			return Decision{}, err
		}
		args = Value{raw}
		fields = append(fields, field{"args", args})
	}
	v, err := t.request("approval", a.ID, fields)
	if err != nil {
		return Decision{}, err
	}
	return decide(v, args), nil
}

// Call calls one of the program's tools and returns its result. The error is a *RefusedError if
// there is no result, or reports that the arguments cannot be encoded as JSON.
func (t *Task) Call(tool string, args any) (Value, error) { return t.CallWithID("", tool, args) }

// CallWithID is like Call. The ID is the one that Withdraw accepts.
func (t *Task) CallWithID(id, tool string, args any) (Value, error) {
	return t.request("tool_call", id, []field{{"tool", tool}, {"args", args}})
}

// Messages returns the texts that the program has sent to the task since the last call. Only hosts
// with the capability "steer" receive them.
func (t *Task) Messages() []string {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	received := t.texts
	t.texts = nil
	return received
}

// Withdraw withdraws the requests with these IDs, or all open requests if there are no arguments.
// Their callers receive a *RefusedError.
func (t *Task) Withdraw(ids ...string) {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	if len(ids) == 0 {
		for id := range t.open {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if waiter := t.open[id]; waiter != nil {
			delete(t.open, id)
			// a text can always be encoded
			_ = t.server.write("withdraw", []field{{"id", id}})
			waiter <- answer{err: &RefusedError{"withdrawn"}}
		}
	}
}

func (t *Task) sendNote(typ string, fields []field) {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	if t.server.current == t {
		// the fields are texts and numbers, which can always be encoded
		_ = t.server.write(typ, fields)
	}
}

func (t *Task) request(typ, id string, fields []field) (Value, error) {
	waiter, err := t.send(typ, id, fields)
	if err != nil {
		return Value{}, err
	}
	a := <-waiter
	return a.value, a.err
}

func (t *Task) send(typ, id string, fields []field) (chan answer, error) {
	s := t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.over != "" {
		return nil, &RefusedError{t.over}
	}
	if id == "" {
		s.requests++
		id = fmt.Sprintf("%c%d", typ[0], s.requests)
	}
	if t.open[id] != nil {
		return nil, fmt.Errorf("a request with the id %q is waiting already", id)
	}
	if err := s.write(typ, append([]field{{"id", id}}, fields...)); err != nil {
		return nil, err
	}
	waiter := make(chan answer, 1)
	t.open[id] = waiter
	return waiter, nil
}

// stop rejects open and future requests. The caller holds the lock.
func (t *Task) stop(reason string) {
	if t.over == "" {
		t.over = reason
	}
	for id, waiter := range t.open {
		delete(t.open, id)
		waiter <- answer{err: &RefusedError{reason}}
	}
}

type server struct {
	handler      func(*Task) (any, error)
	init         func(Value) (any, error)
	capabilities []string
	testable     bool
	output       *os.File

	mu       sync.Mutex
	params   Value
	requests int
	current  *Task         // task of the newest prompt; nil if there is none
	last     chan struct{} // closed when the newest job is done
}

// Serve handles prompts one at a time until standard input ends. It then cancels a running handler,
// waits up to five seconds for it, and exits with code 0.
func Serve(handler func(*Task) (any, error), options ...Option) {
	s := &server{handler: handler, capabilities: []string{}, output: os.Stdout, last: make(chan struct{})}
	for _, o := range options {
		o(s)
	}
	os.Stdout = os.Stderr // standard output is only for messages of the protocol
	close(s.last)
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 && err == nil {
			s.handleLine(line)
		}
		if err != nil {
			break
		}
	}
	s.cancel("the program has ended")
	select {
	case <-s.last:
	case <-time.After(grace):
	}
	os.Exit(0)
}

// incoming is a message from the program.
type incoming struct {
	Type     string     `json:"type"`
	Text     string     `json:"text"`
	Context  Value      `json:"context"`
	Schema   Value      `json:"schema"`
	Session  string     `json:"session"`
	Queued   bool       `json:"queued"`
	AnswerTo Value      `json:"answer_to"`
	Value    Value      `json:"value"`
	Error    *string    `json:"error"`
	Reason   string     `json:"reason"`
	Params   Value      `json:"params"`
	Tools    []ToolSpec `json:"tools"`
}

func (s *server) handleLine(line []byte) {
	var m incoming
	if err := json.Unmarshal(line, &m); err != nil || m.Type == "" {
		m = incoming{Type: "prompt", Text: strings.TrimRight(string(line), "\r\n")} // input_format = "text"
	}
	switch m.Type {
	case "response":
		s.answer(&m)
	case "prompt":
		t := &Task{Text: m.Text, Context: m.Context, Schema: m.Schema, Session: m.Session, Queued: m.Queued, Tools: m.Tools, server: s, open: map[string]chan answer{}}
		t.Ctx, t.cancel = context.WithCancel(context.Background())
		s.mu.Lock()
		t.Params, s.current = s.params, t
		s.mu.Unlock()
		s.enqueue(func() { s.runHandler(t) })
	case "steer":
		s.mu.Lock()
		if s.current != nil {
			s.current.texts = append(s.current.texts, m.Text)
		}
		s.mu.Unlock()
	case "cancel":
		s.cancel("cancelled: " + m.Reason)
	case "init":
		s.mu.Lock()
		s.params = m.Params
		s.mu.Unlock()
		s.enqueue(func() { s.acknowledge(m.Params) })
	}
}

// enqueue runs a job after all jobs that were enqueued before.
func (s *server) enqueue(job func()) {
	before, done := s.last, make(chan struct{})
	s.last = done
	go func() {
		defer close(done)
		<-before
		job()
	}()
}

func (s *server) answer(m *incoming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := m.AnswerTo.Text()
	if s.current == nil || s.current.open[id] == nil {
		return
	}
	a := answer{value: m.Value}
	if m.Error != nil {
		a = answer{err: &RefusedError{*m.Error}}
	}
	s.current.open[id] <- a
	delete(s.current.open, id)
}

func (s *server) cancel(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.cancel() // first, so that refused callers see it
		s.current.stop(reason)
	}
}

func (s *server) acknowledge(params Value) {
	fields := []field{{"capabilities", s.capabilities}}
	var more any
	var err error
	if s.init != nil {
		more, err = s.init(params)
	}
	if err == nil {
		err = s.end(nil, "init_ack", fields, more)
	}
	if err != nil {
		s.fail(nil, err)
	}
}

func (s *server) runHandler(t *Task) {
	defer t.cancel()
	value, err := s.handle(t)
	if err == nil {
		switch v := value.(type) {
		case string:
			err = s.end(t, "result", []field{{"text", v}}, nil)
		default:
			err = s.end(t, "result", nil, v)
		}
	}
	if err != nil {
		s.fail(t, err)
	}
}

// handle calls the handler. If the handler panics, handle returns the panic as an error.
func (s *server) handle(t *Task) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", p, debug.Stack())
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if name, ok := strings.CutPrefix(t.Text, checks); ok && s.testable {
		if test := tests[name]; test != nil {
			return test(t)
		}
	}
	return s.handler(t)
}

func (s *server) fail(t *Task, err error) {
	fields := []field{{"message", err.Error()}}
	var coded interface{ Code() string }
	if errors.As(err, &coded) {
		fields = append(fields, field{"code", coded.Code()})
	}
	// texts can always be encoded
	_ = s.end(t, "error", fields, nil)
}

// end writes a message of type typ, which ends the exchange of a task. The message contains the
// fields and the members of an object.
func (s *server) end(t *Task, typ string, fields []field, object any) error {
	raw, err := encode(object)
	if err != nil {
		return err
	}
	members := membersOf(raw)
	if members == nil {
		members = []field{{"value", Value{raw}}}
	}
	for _, m := range members {
		fields = slices.DeleteFunc(fields, func(f field) bool { return f.name == m.name })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(typ, append(fields, members...)); err != nil {
		return err
	}
	if t != nil {
		t.stop("the exchange has ended")
		if s.current == t {
			s.current = nil
		}
	}
	return nil
}

// membersOf returns the members of an object in order, without members that are null. It returns
// nil for any other value.
func membersOf(raw []byte) []field {
	members := []field{}
	if string(raw) == "null" {
		return members
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var v Value
		if err != nil || d.Decode(&v) != nil {
			return nil
		}
		members = append(members, field{name.(string), v})
	}
	return members
}

// write writes a message as one line. The caller holds the lock.
func (s *server) write(typ string, fields []field) error {
	line, err := encode(typ)
	if err != nil {
		return err
	}
	line = append([]byte(`{"type":`), line...)
	for _, f := range fields {
		if f.name == "type" {
			continue
		}
		name, err := encode(f.name)
		if err != nil {
			return err
		}
		value, err := encode(f.value)
		if err != nil {
			return err
		}
		line = append(append(append(append(line, ','), name...), ':'), value...)
	}
	if _, err := s.output.Write(append(line, '}', '\n')); err != nil {
		os.Exit(1) // the program has closed its end of the pipe
	}
	return nil
}

// encode returns a value as JSON without escaping HTML characters.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// tests contains the handlers for the prompts of `concerto host test`.
var tests = map[string]func(*Task) (any, error){
	"prompt": func(*Task) (any, error) { return "prompt", nil },
	"progress": func(t *Task) (any, error) {
		t.Progress("half of it", Percent(50), Stage("test"))
		return "progress", nil
	},
	"question": func(t *Task) (any, error) {
		v, err := t.Ask(Question{Text: "Which one?", Options: []string{"one", "two"}})
		return map[string]any{"text": v}, err
	},
	"approval": testApproval,
	"tool_call": func(t *Task) (any, error) {
		v, err := t.Call("concerto_test", map[string]any{"n": 1})
		if err != nil {
			return nil, err
		}
		var refused *RefusedError
		if _, err := t.Call("concerto_test", map[string]any{"n": 2}); errors.As(err, &refused) {
			return map[string]any{"value": v, "refused": refused.Reason}, nil
		}
		return map[string]any{"value": v}, nil
	},
	"error": func(*Task) (any, error) { return nil, errors.New("concerto test") },
	"cancel": func(t *Task) (any, error) {
		t.Progress("waiting")
		<-t.Ctx.Done()
		return "cancelled", nil
	},
	"text": func(*Task) (any, error) {
		fmt.Println("a remark, which is no message")
		return "text", nil
	},
	"big_line": echo,
	"utf8":     echo,
}

func testApproval(t *Task) (any, error) {
	var allowed []bool
	reason := ""
	for _, n := range []string{"one", "two"} {
		d, err := t.Approve(Approval{Description: n, Tool: "concerto_test", Args: map[string]any{"n": n}, Kind: "other", RiskLevel: "low"})
		if err != nil {
			return nil, err
		}
		allowed, reason = append(allowed, d.Allow), d.Reason
	}
	return map[string]any{"allowed": allowed, "reason": reason}, nil
}

// echo returns the text of the task's context.
func echo(t *Task) (any, error) {
	var c struct{ Text string }
	err := t.Context.Into(&c)
	return map[string]any{"text": c.Text}, err
}
