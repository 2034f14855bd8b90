package concerto

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// Host is a host of a program in this process. It handles one prompt. The result of the exchange is
// the value of HostSession.Finish, or "" without it, and an error is the error of the exchange.
// When the program no longer needs the result, ctx ends, and the requests of the session fail. A
// Host handles one prompt at a time, unless the manifest sets instances.
type Host func(ctx context.Context, s *HostSession) error

// HostSession is the prompt that a Host handles, with its connection to the program. Its methods
// are safe for concurrent use.
type HostSession struct {
	// Prompt is the text of the prompt.
	Prompt string
	// Context is the value that the program passes with the prompt; nil if there is none. Schema is
	// the JSON Schema of the expected result; nil if it may be any.
	Context, Schema json.RawMessage
	// Params contains the parameters of the host in its declaration and in the manifest.
	Params json.RawMessage
	// ID is the conversation that the prompt continues; "" for a new one.
	ID string

	server *hostServer
	cancel context.CancelFunc
	mu     sync.Mutex
	result any
	over   error                       // why there are no further answers; nil while there may be
	open   map[string]chan hostMessage // requests without an answer, by ID
	number int
}

// HostMessage is a message of a host: one of the protocol, such as "progress", "question",
// "approval", "tool_call", "result" or "error", or one of a type that the program knows.
type HostMessage struct {
	// Type is the type of the message.
	Type string
	// Members contains its members, as a struct or a map; nil for none.
	Members any
}

// HostDecision is the answer to an approval.
type HostDecision struct {
	// Allow is set if the action is allowed.
	Allow bool
	// Scope is "once", "session" or "always" if the action is allowed.
	Scope string
	// Reason is the reason for a denial, or "".
	Reason string
	// Input contains the arguments to use if the answer has changed them; otherwise it is nil.
	Input json.RawMessage
}

// ErrRefused means that a request of a host has no answer. The error's message contains the reason.
var ErrRefused = errors.New("the request has no answer")

// Send sends a message that has no answer, such as {"progress", map[string]any{"message": "half",
// "percent": 50}}. The listen of the program receives its members. The error is ErrRefused after
// the end of the exchange.
func (s *HostSession) Send(m HostMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.send(m, "")
}

// send writes a message, unless the exchange has ended: a late line would belong to the next one.
// The caller holds the lock, so that the result is written after it.
func (s *HostSession) send(m HostMessage, id string) error {
	if s.over != nil {
		return s.over
	}
	return s.server.write(m.Type, m.Members, id)
}

// Progress reports progress to the program.
func (s *HostSession) Progress(message string) error {
	return s.Send(HostMessage{"progress", map[string]string{"message": message}})
}

// Request sends a message that waits for an answer, and returns the answer. The error is ErrRefused
// if the program has no handler or the handler failed.
func (s *HostSession) Request(m HostMessage) (json.RawMessage, error) {
	answer, err := s.ask(m)
	if err != nil {
		return nil, err
	}
	got := <-answer
	if got.Error != nil {
		return nil, &Error{Kind: ErrRefused, Message: *got.Error}
	}
	return got.Value, nil
}

// ask sends a request, and returns the channel that receives its answer.
func (s *HostSession) ask(m HostMessage) (chan hostMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	id := "h" + strconv.Itoa(s.number)
	if err := s.send(m, id); err != nil {
		return nil, err
	}
	answer := make(chan hostMessage, 1)
	s.open[id] = answer
	return answer, nil
}

// Ask asks the program a question and returns the answer, a text or any other JSON value.
func (s *HostSession) Ask(question string, options ...string) (json.RawMessage, error) {
	members := map[string]any{"question": question}
	if len(options) > 0 {
		members["options"] = options
	}
	return s.Request(HostMessage{"question", members})
}

// Approve asks the program whether an action is allowed. tool and args may be "" and nil.
func (s *HostSession) Approve(description, tool string, args any) (HostDecision, error) {
	members := map[string]any{"description": description}
	if tool != "" {
		members["tool"] = tool
	}
	if args != nil {
		members["args"] = args
	}
	answer, err := s.Request(HostMessage{"approval", members})
	if err != nil {
		return HostDecision{}, err
	}
	d := decision.Parse(answer)
	return HostDecision{d.Allow, d.Scope, d.Reason, d.Input}, nil
}

// CallTool calls a tool of the program or of Options.Tools, and returns its result.
func (s *HostSession) CallTool(name string, args any) (json.RawMessage, error) {
	return s.Request(HostMessage{"tool_call", map[string]any{"tool": name, "args": args}})
}

// Finish sets the result of the exchange: a text, or an object whose members the program receives.
func (s *HostSession) Finish(result any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result = result
}

// ScriptedHost returns a Host for tests. For each prompt it sends the messages in order, and waits
// for the answers of those that have one. A message of the type "result" or "error" ends the
// prompt.
func ScriptedHost(messages ...HostMessage) Host {
	return func(_ context.Context, s *HostSession) error {
		for _, m := range messages {
			switch m.Type {
			case "result":
				s.Finish(m.Members)
				return nil
			case "error":
				text, err := json.Marshal(m.Members)
				if err != nil {
					return err
				}
				return errors.New(string(text))
			case "question", "approval", "tool_call":
				if _, err := s.Request(m); err != nil {
					return err
				}
			default:
				if err := s.Send(m); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// checkHosts returns an error for a host that the program does not declare.
func (p *Program) checkHosts(o *Options) error {
	declared := p.engine.Hosts()
	for _, name := range slices.Sorted(maps.Keys(o.Hosts)) {
		if !slices.Contains(declared, name) {
			return &Error{Message: fmt.Sprintf("Options.Hosts[%q]: the program declares no host with this name. It declares %q", name, declared)}
		}
	}
	return nil
}

// addHosts adds the hosts to the engine's options.
func (o *Options) addHosts(x *engine.Options) error {
	if len(o.Hosts) == 0 {
		return nil
	}
	if o.Durable != nil {
		return &Error{Message: "Options.Hosts contains functions, which cannot survive this process: a durable run cannot have them"}
	}
	x.Hosts = map[string]host.Function{}
	for name, h := range o.Hosts {
		if h == nil {
			return &Error{Message: fmt.Sprintf("Options.Hosts[%q] is nil", name)}
		}
		x.Hosts[name] = h.serve
	}
	list, isLimited := x.Allow.Allow[permit.Host]
	if isLimited && !list.All || x.Limit == engine.Nothing {
		list.Names = slices.AppendSeq(slices.Clone(list.Names), maps.Keys(o.Hosts))
		x.Allow.Allow = maps.Clone(x.Allow.Allow)
		if x.Allow.Allow == nil {
			x.Allow.Allow = map[permit.Kind]permit.List{}
		}
		x.Allow.Allow[permit.Host] = list
	}
	return nil
}

// hostServer is a running Host, which speaks the protocol of hosts (spec/host-protocol.md).
type hostServer struct {
	ctx     context.Context
	handler Host
	params  json.RawMessage
	current *HostSession
	running sync.WaitGroup

	writing sync.Mutex
	out     io.Writer
}

// hostMessage is a line that a host receives.
type hostMessage struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Context  json.RawMessage `json:"context"`
	Schema   json.RawMessage `json:"schema"`
	Session  string          `json:"session"`
	Params   json.RawMessage `json:"params"`
	AnswerTo json.RawMessage `json:"answer_to"`
	Value    json.RawMessage `json:"value"`
	Error    *string         `json:"error"`
	Reason   string          `json:"reason"`
}

// serve handles prompts until in ends.
func (h Host) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &hostServer{ctx: ctx, handler: h, out: out}
	defer s.running.Wait()
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			s.stop("the program has ended")
			return nil
		}
		var m hostMessage
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("a line from the program is not JSON: %w", err)
		}
		switch m.Type {
		case "init":
			s.params = m.Params
			if err := s.write("init_ack", map[string]any{"capabilities": []string{"cancel"}}, ""); err != nil {
				return err
			}
		case "prompt":
			s.running.Wait() // the last result was sent
			s.begin(&m)
		case "response":
			s.current.answer(&m)
		case "cancel":
			s.stop("cancelled: " + m.Reason)
		}
	}
}

// begin starts the handler for a prompt.
func (s *hostServer) begin(m *hostMessage) {
	x := &HostSession{Prompt: m.Text, Context: m.Context, Schema: m.Schema, Params: s.params, ID: m.Session, server: s, open: map[string]chan hostMessage{}}
	ctx, cancel := context.WithCancel(s.ctx)
	x.cancel, s.current = cancel, x
	s.running.Go(func() {
		defer cancel()
		err := x.handle(ctx)
		x.end("the exchange has ended")
		if err == nil {
			x.mu.Lock()
			result := x.result
			x.mu.Unlock()
			switch v := result.(type) {
			case nil:
				result = map[string]string{"text": ""}
			case string:
				result = map[string]string{"text": v}
			}
			err = s.write("result", result, "")
		}
		if err != nil {
			_ = s.write("error", map[string]string{"message": err.Error()}, "") // it fails if the program has ended
		}
	})
}

// handle calls the handler. A panic is its error.
func (s *HostSession) handle(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.server.handler(ctx, s)
}

// answer passes an answer to the request that waits for it.
func (s *HostSession) answer(m *hostMessage) {
	if s == nil {
		return
	}
	var id string
	_ = json.Unmarshal(m.AnswerTo, &id) // another ID belongs to no request
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits := s.open[id]; waits != nil {
		delete(s.open, id)
		waits <- *m
	}
}

// end makes all requests fail.
func (s *HostSession) end(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.over = &Error{Kind: ErrRefused, Message: reason}
	}
	for id, waits := range s.open {
		delete(s.open, id)
		waits <- hostMessage{Error: &reason}
	}
}

// stop cancels the running handler.
func (s *hostServer) stop(reason string) {
	if s.current != nil {
		s.current.cancel()
		s.current.end(reason)
	}
}

// write writes a message as one line. id is the ID of a request, or "".
func (s *hostServer) write(typ string, members any, id string) error {
	body, err := json.Marshal(members)
	if err != nil {
		return convert(fmt.Errorf("encode the message %s: %w", typ, err))
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &all); err != nil {
		return &Error{Message: "the members of the message " + typ + " are not a JSON object: " + string(body)}
	}
	head := struct {
		Type string `json:"type"`
		ID   string `json:"id,omitempty"`
	}{typ, id}
	line, err := json.Marshal(head)
	if err != nil {
		return convert(err)
	}
	_, hasType := all["type"]
	_, hasID := all["id"]
	if hasType || hasID && id != "" {
		return &Error{Message: "the members of the message " + typ + " contain `type` or `id`, which the session sets"}
	}
	if len(all) > 0 {
		line = append(append(line[:len(line)-1], ','), body[1:]...)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err = s.out.Write(append(line, '\n'))
	return convert(err)
}
