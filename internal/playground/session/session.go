// Package session connects a run with the page that shows it: the page answers awaited emits and
// agents, plays hosts and steps through the program by messages, and receives events.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/playground/world"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// Request describes a run that the page requests.
type Request struct {
	Dir     string            `json:"dir"`
	Path    string            `json:"path"`
	Args    []string          `json:"args"`
	Inputs  json.RawMessage   `json:"inputs"`
	Environ map[string]string `json:"environ"`
	// Agents selects who answers agents: "hand", "mock" or "provider".
	Agents string `json:"agents"`
	Key    string `json:"key"`  // of the provider
	Emit   string `json:"emit"` // form of emits, "text" or "ndjson"
	Step   bool   `json:"step"` // stop before each line
	// Alone means that no user answers, as in a run of the command without a terminal. Stdin is
	// then the standard input.
	Alone bool    `json:"alone"`
	Stdin *string `json:"stdin"`
	// Answers are the values of `--answer`, as CHANNEL=VALUE.
	Answers []Answer `json:"answers"`
}

// Answer is a predefined answer to the awaited emits on a channel.
type Answer struct {
	Channel string `json:"channel"`
	Value   string `json:"value"`
}

// Event is an event for the page. Kind is "stdout", "stderr", "event", "emit", "notice", "host",
// "host-start", "host-end", "ask", "asked", "agent", "agent-done", "waiting", "computing", "at" or
// "end".
type Event struct {
	Kind string `json:"kind"`
	Data any    `json:"data,omitempty"`
}

// Session is one run of a page.
type Session struct {
	send func(Event)
	step *stepper

	mu      sync.Mutex
	last    int
	waiting map[int]chan string     // answers that the page owes, by number
	hosts   map[string]func(string) // functions that send output of hosts, by process
}

// New returns a session that sends its events to a page.
func New(send func(Event)) *Session {
	return &Session{send: send, waiting: map[int]chan string{}, hosts: map[string]func(string){}}
}

// Run runs the program and returns its exit code. It sends the event "end" last.
func (s *Session) Run(ctx context.Context, r Request) int {
	out := &output{session: s, kind: "stdout"}
	o := world.Options{Dir: r.Dir, Path: r.Path, Args: r.Args, Inputs: r.Inputs, Mock: r.Agents == "mock", Mode: emit.Text, Out: out, Err: &output{session: s, kind: "stderr"},
		Event:  func(line string) { s.send(Event{"event", line + "\n"}) },
		Notice: func(text string) { s.send(Event{"notice", text}) },
		Trace:  func(l world.Line) { s.send(Event{"host", l}) },
		OnEmit: func(channel string, payload json.RawMessage) {
			s.send(Event{"emit", map[string]any{"channel": channel, "payload": payload}})
		}}
	if mode, ok := emit.Modes[r.Emit]; ok {
		o.Mode = mode
	}
	for _, a := range r.Answers {
		o.Answers = append(o.Answers, emit.Fixed{Channel: a.Channel, Value: a.Value})
	}
	for name, v := range r.Environ {
		o.Environ = append(o.Environ, name+"="+v)
	}
	switch {
	case r.Alone && r.Stdin != nil:
		o.Stdin = strings.NewReader(*r.Stdin)
	case r.Alone:
		o.Stdin = strings.NewReader("")
	default:
		o.Prompter, o.Actor = s, s
	}
	if r.Agents == "hand" && !r.Alone {
		o.ByHand = s.answerAgent
	}
	if r.Agents == "provider" {
		o.Key = r.Key
	}
	if r.Step {
		s.step = newStepper(s)
		o.Debugger = s.step
	}
	code := world.Run(ctx, o)
	s.send(Event{"end", code})
	return code
}

// output sends what is written to the page.
type output struct {
	session *Session
	kind    string
}

// Write sends text.
func (o *output) Write(b []byte) (int, error) {
	o.session.send(Event{o.kind, string(b)})
	return len(b), nil
}

// expect registers an answer that the page owes and returns its number.
func (s *Session) expect() (int, chan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	c := make(chan string, 1)
	s.waiting[s.last] = c
	return s.last, c
}

// Answer passes an answer of the page: to an awaited emit, or of an agent.
func (s *Session) Answer(number int, value string) {
	s.mu.Lock()
	c := s.waiting[number]
	delete(s.waiting, number)
	s.mu.Unlock()
	if c != nil {
		c <- value
	}
}

// await waits for an answer of the page.
func (s *Session) await(ctx context.Context, number int, c chan string) (string, error) {
	s.send(Event{Kind: "waiting"})
	defer s.send(Event{Kind: "computing"})
	select {
	case v := <-c:
		return v, nil
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.waiting, number)
		s.mu.Unlock()
		return "", context.Cause(ctx)
	}
}

// Ask lets the user answer an awaited emit; it implements emit.Prompter.
func (s *Session) Ask(ctx context.Context, prompt string) (string, error) {
	number, c := s.expect()
	s.send(Event{"ask", map[string]any{"number": number, "prompt": prompt}})
	v, err := s.await(ctx, number, c)
	s.send(Event{"asked", number})
	return v, err
}

// AskHost lets the user answer a question or an approval of a host for which the program has no
// handler. It implements emit.HostPrompter. The event "ask" then has choices: pairs of an answer
// and its label.
func (s *Session) AskHost(ctx context.Context, q effect.Asking, message json.RawMessage) (json.RawMessage, error) {
	var m struct {
		Question string
		Options  []string
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, err
	}
	prompt, choices := " asks: "+m.Question, [][2]string{}
	for _, o := range m.Options {
		choices = append(choices, [2]string{o, o})
	}
	isApproval := q.Type == effect.ToolApproval || hostmsg.Lookup(q.Type).Form == hostmsg.YesNo
	if isApproval {
		prompt, choices = " requests approval: "+request.Of(message, nil).Summary(), [][2]string{{"yes", "Approve"}, {"no", "Deny"}}
	}
	number, c := s.expect()
	s.send(Event{"ask", map[string]any{"number": number, "prompt": hostmsg.SenderName(q.Host, message) + prompt, "choices": choices, "closed": isApproval}})
	v, err := s.await(ctx, number, c)
	s.send(Event{"asked", number})
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// answerAgent lets the user answer for an agent.
func (s *Session) answerAgent(ctx context.Context, q *llm.Request) (*effect.AgentReply, error) {
	number, c := s.expect()
	type message struct {
		Role string `json:"role"`
		Text string `json:"text"`
	}
	all := []message{}
	for _, m := range q.Messages {
		all = append(all, message{m.Role, m.Content})
	}
	s.send(Event{"agent", map[string]any{"number": number, "agent": q.Agent, "model": q.Model, "system": q.System, "messages": all, "schema": q.Schema}})
	v, err := s.await(ctx, number, c)
	s.send(Event{"agent-done", number})
	if err != nil {
		return nil, err
	}
	return &effect.AgentReply{Text: v}, nil
}

// Start implements world.Actor.
func (s *Session) Start(p world.Line, send func(text string)) {
	s.mu.Lock()
	s.hosts[processName(p.Host, p.Proc)] = send
	s.mu.Unlock()
	s.send(Event{"host-start", p})
}

// Receive implements world.Actor. The page has the line from the event of the trace.
func (s *Session) Receive(world.Line, string) { s.send(Event{Kind: "waiting"}) }

// End implements world.Actor.
func (s *Session) End(p world.Line) {
	s.mu.Lock()
	delete(s.hosts, processName(p.Host, p.Proc))
	s.mu.Unlock()
	s.send(Event{"host-end", p})
}

func processName(host string, proc int) string { return fmt.Sprintf("%s %d", host, proc) }

// ErrNoProcess is the error of a message to a host that is not running.
var ErrNoProcess = errors.New("this host is not running")

// HostSend writes a line to the output of a host that the user plays.
func (s *Session) HostSend(host string, proc int, line string) error {
	s.mu.Lock()
	send := s.hosts[processName(host, proc)]
	s.mu.Unlock()
	if send == nil {
		return ErrNoProcess
	}
	s.send(Event{Kind: "computing"})
	send(line + "\n")
	return nil
}

// Step continues a run that has stopped: to the next line, or to the end.
func (s *Session) Step(toEnd bool) {
	if s.step != nil {
		s.step.proceed(toEnd)
	}
}
