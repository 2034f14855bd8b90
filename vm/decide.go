package vm

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Decisions: who answered a host's question, who decided whether a tool may be called, and who
// answered an awaited emit. They are reported where the decision is made, from data that the run
// itself has, so that a replayed run reports the same decisions.

// Decisions receives each decision, on the run's goroutine, in the order in which the program makes
// them.
type Decisions interface {
	// Now returns the time in milliseconds since an arbitrary moment.
	Now() int64
	// Decided receives a decision before any of its consequences leave the run. An error ends the
	// run. It may retain d.
	Decided(d *Decision) error
}

// The kinds of Decision in addition to the types of hosts' messages.
const (
	DecidedTool    = "tool"    // a call of a tool that needs approval
	DecidedAwait   = "await"   // an awaited emit
	DecidedUnknown = "unknown" // an effect that may or may not have been performed
	DecidedSteer   = "steer"   // a message to a running host
	DecidedGate    = "gate"    // a gate of an exchange
)

// Decision is a request and the decision on it.
type Decision struct {
	Kind    string
	Effect  int64 // number of the effect that made or received the request
	Host    string
	ID      json.RawMessage // ID of the host's message, or of the call; nil if there is none
	Channel string          // channel of an awaited emit; otherwise ""
	Asked   json.RawMessage // the request; nil if there is none
	Answer  json.RawMessage // the answer; nil if there is none
	Problem string          // reason why there is no answer or why the answer was rejected
	By      string          // kind of the decider: effect.ByHandler, …
	Name    string          // name of the decider; "" if unknown
	At      Place           // place of the handler that decided; zero if no handler of the program did
	Path    []Part          // if a handler decided: the participants in the order of their first effect
	MS      int64           // duration in milliseconds
	Source  string          // what has decided in a host's agent, without a request; "" for other decisions
	Session string          // of a refused request: the agent's conversation; the messages of other requests contain it
	Seal    json.RawMessage // signature of the decision, as in effect.Answer; nil if there is none
	Call    *effect.AppDecided
	Gate    *GateResult // of a gate
}

// GateResult is what a gate has decided about a turn of an exchange.
type GateResult struct {
	Turn   int64 // number of the turn, from 1
	Passed bool
	Output string // the end of a command's output, or the error of a function
	Tree   string // as in effect.GateOutput
}

// Part is a participant in a decision, and the number of the effect by which it took part.
type Part struct {
	effect.Actor
	Effect int64
}

// openDecision is a host's question that the program has received and not decided yet.
type openDecision struct {
	outer  *openDecision // the enclosing decision of the task; nil if there is none
	asked  json.RawMessage
	since  int64
	stream bool // the decision ends when the program reads the stream's next message
	parts  []Part
	// answered is the answer to the question that the library has passed on, and answer its value;
	// both are nil if there is none.
	answered *effect.Answer
	answer   json.RawMessage
}

// listenDecisions is what a listen records about its decisions.
type listenDecisions struct {
	decision *openDecision // the decision on the message that is being handled
	effect   int64         // number of the last request for messages
}

// taskDecisions is the state that a task needs to report its decisions. The task refers to it by a
// pointer, because most tasks have none.
type taskDecisions struct {
	open   *openDecision // innermost open decision of the task; nil if there is none
	effect int64         // number of the last request for which the task may wait
	since  int64         // time at which the task first performed the current awaited emit, in milliseconds
}

// decisionState returns the state that the task needs to report its decisions. It returns nil
// without Observer.Decisions.
func (t *task) decisionState() *taskDecisions {
	if t.m.observed.decisions == nil {
		return nil
	}
	x := t.m.taskDecisions[t]
	if x == nil {
		if t.m.taskDecisions == nil {
			t.m.taskDecisions = map[*task]*taskDecisions{}
		}
		x = &taskDecisions{}
		t.m.taskDecisions[t] = x
	}
	return x
}

// recordRequestNumber records the number of the request that the task has just made.
func (t *task) recordRequestNumber() {
	if x := t.decisionState(); x != nil {
		x.effect = t.m.stats.Requests
	}
}

// openDecision returns the innermost open decision of the task, or nil if there is none.
func (t *task) openDecision() *openDecision {
	if x := t.m.taskDecisions[t]; x != nil {
		return x.open
	}
	return nil
}

// setOpenDecision sets the innermost open decision of the task.
func (t *task) setOpenDecision(h *openDecision) {
	if h != nil || t.m.taskDecisions[t] != nil {
		t.decisionState().open = h
	}
}

// beginDecision begins a decision on a message. It returns nil if decisions are not recorded, or if
// messages of this type need no decision.
func (t *task) beginDecision(m *effect.HostMessage, stream bool) *openDecision {
	d := t.m.observed.decisions
	if d == nil || !hostmsg.Lookup(m.Type).ByPerson() {
		return nil
	}
	h := &openDecision{outer: t.openDecision(), asked: value.AppendJSON(nil, m.Payload), since: d.Now(), stream: stream}
	t.setOpenDecision(h)
	return h
}

// endDecision ends a decision and those nested in it.
func (t *task) endDecision(h *openDecision) {
	if h != nil {
		t.setOpenDecision(h.outer)
	}
}

// endStreamDecision ends the decision on the message that the task last read from a stream.
func (t *task) endStreamDecision() {
	if h := t.openDecision(); h != nil && h.stream {
		t.endDecision(h)
	}
}

// addParticipant adds a participant to all open decisions of the task.
func (t *task) addParticipant(who effect.Actor, e int64) {
	for h := t.openDecision(); h != nil; h = h.outer {
		h.add(Part{who, e})
	}
}

func (h *openDecision) add(p Part) {
	for _, x := range h.parts {
		if x.Actor == p.Actor {
			return
		}
	}
	h.parts = append(h.parts, p)
}

// addModel adds the model that the library called by a request to the task's open decisions.
func (t *task) addModel(w *wait) {
	if t.openDecision() == nil {
		return
	}
	switch r := w.request.(type) {
	case *effect.AgentCall:
		t.addParticipant(effect.Actor{Type: effect.ActorAgent, Name: r.Agent}, t.decisionState().effect)
	case *effect.StreamOpen:
		t.addParticipant(effect.Actor{Type: effect.ActorAgent, Name: r.Agent}, t.decisionState().effect)
	}
}

// addHost adds a host that has returned its result to the task's open decisions.
func (t *task) addHost(host *Host, e int64) {
	if t.openDecision() != nil {
		t.addParticipant(effect.Actor{Type: effect.ActorAgent, Name: host.Name}, e)
	}
}

// recordDecision reports a decision that was made outside of a running task.
func (m *VM) recordDecision(d *Decision) {
	if err := m.observed.decisions.Decided(d); err != nil {
		m.fail(err)
	}
}

// fail ends or suspends the run. It is for callers that return no status.
func (m *VM) fail(err error) {
	if errors.Is(err, ErrSuspended) {
		m.ending.fatal = ErrSuspended
		if m.sched.current != nil {
			panic(suspending{})
		}
	}
	if m.ending.fatal == nil {
		m.ending.fatal = err
		m.sched.cancelAll()
	}
}

// decisionFailed ends or suspends the run because a decision could not be recorded. It returns the
// task's status.
func (t *task) decisionFailed(err error) status {
	if errors.Is(err, ErrSuspended) {
		t.m.fail(err)
	}
	return t.failRun(err)
}

// addTiming sets the request and the duration of d from an open decision. If h is nil, the duration
// stays zero.
func (d *Decision) addTiming(h *openDecision, now int64) *Decision {
	if h != nil {
		d.Asked, d.MS = h.asked, now-h.since
	}
	return d
}

// recordReply reports the decision that a reply to a host contains, if decisions are recorded and
// the message needs one.
func (t *task) recordReply(host string, payload value.Slot, h *openDecision, r *effect.ExchangeReply, at func() Place) error {
	listener := t.m.observed.decisions
	if listener == nil || !hostmsg.Lookup(r.InReplyTo).ByPerson() {
		return nil
	}
	d := (&Decision{Kind: r.InReplyTo, Effect: t.m.stats.Requests, Host: host, ID: messageID(r.AnswerTo), Answer: r.Value, Problem: r.Error, By: r.By}).
		addTiming(h, listener.Now())
	if h == nil {
		d.Asked = value.AppendJSON(nil, payload)
	}
	if r.By == effect.ByDefault {
		d.Name = hostmsg.Lookup(r.InReplyTo).Default
	}
	if h != nil && h.answered != nil && bytes.Equal(r.Value, h.answer) { // otherwise a handler has decided something else
		if d.Seal = h.answered.Seal; r.By == h.answered.By {
			d.Name = h.answered.Name
		}
	}
	if r.By == effect.ByHandler {
		d.At = at()
		if h != nil {
			d.Path = h.parts
		}
	} else if r.Error == "" {
		t.addParticipant(effect.ActorOf(r.By, ""), d.Effect)
	}
	return listener.Decided(d)
}

// handlerPlace returns the place of the program's handler for a message type. It returns the zero
// Place if there is no handler or the handler belongs to the library.
func (s *scope) handlerPlace(typ string) Place {
	h := s.handler(typ)
	if h == nil {
		return Place{}
	}
	p := s.t.m.image.place(call{pc: int32(h.entry)})
	if at := h.info.Start; at != nil {
		p.Line, p.Column = at.Line, at.Column
	}
	if p.library() {
		return Place{}
	}
	return p
}

// programPlace returns the task's place in the program. It returns the zero Place if the task only
// executes functions of the library.
func (t *task) programPlace() Place {
	if at := visible(t.frames(nil, t.pc())); !at.library() {
		return at
	}
	return Place{}
}

// recordOwn reports what a message of the runtime records: a decision of permission rules, or a
// message of another process to the host.
func recordOwn(m *VM, host *Host, x *effect.HostMessage, e int64) {
	switch {
	case x.IsOutside(): // recorded when it was made
	case x.IsRuling():
		m.recordRuleDecisions(host, x, e)
	case x.IsRefusal():
		recordRefusal(m, host, x, e)
	case x.IsUndelivered():
		recordUndelivered(m, host, x, e)
	case x.IsSteered():
		recordSteered(m, host, x, e)
	}
}

// recordRuleDecisions reports the decisions that permission rules made on a host's messages. The
// decisions arrive as messages. recordRuleDecisions removes them from the messages that the program
// receives.
func (m *VM) recordRuleDecisions(host *Host, x *effect.HostMessage, e int64) {
	asked, found := x.Payload.Map().Delete(value.String(effect.DecidedAsked))
	if m.observed.decisions == nil {
		return
	}
	if !found { // the tape was recorded before these fields existed
		asked = x.Payload
	}
	// Permission rules decide only approvals, because rules match a kind, paths and arguments.
	d := &Decision{Kind: hostmsg.Approval, Effect: e, Host: host.Name, Asked: value.AppendJSON(nil, asked), By: effect.ByRules, Name: "[hosts." + host.Connector + ".permissions]"}
	if id, _ := x.Payload.Map().GetString("id"); !id.IsNil() {
		d.ID = value.AppendJSON(nil, id)
	}
	if answer, ok := x.Payload.Map().GetString("decision"); ok {
		d.Answer = value.AppendJSON(nil, answer)
	}
	if by, _ := x.Payload.Map().GetString("by"); by.Kind() == value.KindString {
		d.Name = by.AsString()
	}
	if source, _ := x.Payload.Map().GetString("source"); source.Kind() == value.KindString {
		d.By, d.Name, d.Source = effect.ByAgent, host.Name, source.AsString()
	}
	m.recordDecision(d)
}

// recordRefusal reports a request of a host that Concerto has refused.
func recordRefusal(m *VM, host *Host, x *effect.HostMessage, e int64) {
	asked, _ := x.Payload.Map().Delete(value.String(effect.DecidedAsked))
	session, _ := x.Payload.Map().Delete(value.String("session"))
	if m.observed.decisions == nil {
		return
	}
	reason, _ := x.Payload.Map().GetString("reason")
	id, _ := x.Payload.Map().GetString("id")
	d := &Decision{Kind: effect.RefusedRequest, Effect: e, Host: host.Name, ID: value.AppendJSON(nil, id), Asked: value.AppendJSON(nil, asked), Problem: reason.AsString(), By: effect.ByRules, Name: "concerto"}
	if session.Kind() == value.KindString {
		d.Session = session.AsString()
	}
	m.recordDecision(d)
}

// recordUndelivered reports a decision that the host did not receive.
func recordUndelivered(m *VM, host *Host, x *effect.HostMessage, e int64) {
	if m.observed.decisions == nil {
		return
	}
	reason, _ := x.Payload.Map().GetString("reason")
	id, _ := x.Payload.Map().GetString("id")
	m.recordDecision(&Decision{Kind: effect.UndeliveredDecision, Effect: e, Host: host.Name, ID: value.AppendJSON(nil, id), Problem: reason.AsString(), By: effect.ByHost, Name: host.Name})
}

// The reasons for which a request of a host has no answer because its exchange has ended.
const (
	exchangeClosed = "the exchange is cancelled"
	exchangeFailed = "the exchange has failed"
)

// IsAbandoned reports whether the request has no answer, because its exchange has ended.
func (d *Decision) IsAbandoned() bool {
	return d.By == effect.ByRules && (d.Problem == exchangeClosed || d.Problem == exchangeFailed)
}

// recordUnanswered reports that a host's message will not be answered. h is nil if the program has
// not handled it; why is the text of errWithdrawn if the host has withdrawn it.
func (t *task) recordUnanswered(host *Host, x *effect.HostMessage, h *openDecision, e int64, why string) {
	if x.Decided || !hostmsg.Lookup(x.Type).ByPerson() || t.m.observed.decisions == nil {
		return
	}
	d := &Decision{Kind: x.Type, Effect: e, Host: host.Name, ID: messageID(x.ID), By: effect.ByRules, Name: "concerto", Problem: why}
	if why == errWithdrawn.Error() {
		d.By, d.Name = effect.ByHost, host.Name
	}
	if h == nil {
		d.Asked = value.AppendJSON(nil, x.Payload)
	}
	t.m.recordDecision(d.addTiming(h, t.m.observed.decisions.Now()))
}

// recordWithdrawn reports that the host has withdrawn the message x by the message w. A request
// that stays open has its record when it is decided.
func recordWithdrawn(t *task, host *Host, w, x *effect.HostMessage, h *openDecision, e int64) {
	if !w.IsMoved() {
		t.recordUnanswered(host, x, h, e, errWithdrawn.Error())
	}
}

// abandon reports that neither the message that is being handled nor the queued ones will be
// answered, except for the one with the ID answered; "" for none.
func (s *scope) abandon(why, answered string) {
	if s.run != nil && s.run.cause == nil {
		s.t.recordUnanswered(s.decl, &s.run.message, s.run.decision, s.effect, why)
	}
	for i := range s.queue {
		if m := &s.queue[i]; answered == "" || m.ID != answered {
			s.t.recordUnanswered(s.decl, m, nil, s.effect, why)
		}
	}
}

// recordAwaitedAnswer reports who answered an awaited emit. If the library emits a host's message
// on behalf of the program, the decision is reported with the reply to the host, and
// recordAwaitedAnswer only adds the participant.
func (t *task) recordAwaitedAnswer(w *wait, v value.Slot, problem string) error {
	listener := t.m.observed.decisions
	if listener == nil {
		return nil
	}
	asked, x := w.request.(*effect.AwaitEmit), t.decisionState()
	d := &Decision{Kind: DecidedAwait, Effect: x.effect, Channel: asked.Channel, Asked: asked.Payload, Problem: problem, MS: listener.Now() - x.since}
	if a, ok := w.result.(*effect.Answer); ok && w.err == nil {
		d.By, d.Name, d.Seal = a.By, a.Name, a.Seal
		if problem != "" {
			d.Answer = recordable(a.Value)
		} else {
			d.Answer = value.AppendJSON(nil, v)
			t.addParticipant(effect.ActorOf(a.By, a.Name), x.effect)
			if h := t.openDecision(); h != nil && asked.Asks != nil {
				h.answered, h.answer = a, d.Answer
			}
		}
	} else {
		d.By, d.Name, d.Seal = unansweredBy(w.err)
	}
	if asked.Asks == nil {
		return listener.Decided(d)
	}
	if d.Answer == nil && t.openDecision() != nil {
		who := effect.ActorOf(d.By, "")
		if who.Type != effect.ActorTimeout { // an answer that the library uses after a timeout has no author
			who = effect.ActorOf(effect.ByDefault, "")
		}
		t.openDecision().add(Part{who, x.effect})
	}
	return nil
}

// recordable returns the form in which records contain a refused answer. A text that is not a value
// becomes a JSON string, because a record is canonical JSON.
func recordable(answer json.RawMessage) json.RawMessage {
	if schema.CheckAnswer(answer, nil) != nil {
		return value.AppendString(nil, string(answer))
	}
	return answer
}

// unansweredBy returns the kind of the party because of which an awaited emit has no answer, the
// party's name, or "" if unknown, and the signature of its decision or nil.
func unansweredBy(err error) (by, name string, seal json.RawMessage) {
	if e, ok := err.(*effect.Error); ok {
		switch {
		case e.By != "":
			return e.By, e.Name, e.Seal
		case e.Fields["reason"] == "timeout":
			return effect.ByTimeout, "", nil
		case e.Fields["reason"] == "refused":
			return effect.ByApplication, "", nil
		}
	}
	return effect.ByNone, "", nil
}

// SealCall stores the signature of the answer to a question about the tool call with the key call,
// until DecidesCall reports the decision.
func (a *Args) SealCall(call string, seal json.RawMessage) {
	m := a.run()
	if m.observed.seals == nil {
		m.observed.seals = map[string]json.RawMessage{}
	}
	m.observed.seals[call] = seal
}

// DecidesCall returns a function that reports the decision on the tool call with the key call.
// Argument question of the native contains the question about the call. The next effect of the run
// makes the decision.
func (a *Args) DecidesCall(call string, question int) func(answer json.RawMessage, x *effect.AppDecided) error {
	m := a.run()
	seal := m.observed.seals[call]
	delete(m.observed.seals, call)
	if m.observed.decisions == nil {
		return func(json.RawMessage, *effect.AppDecided) error { return nil }
	}
	id, _ := json.Marshal(call)
	d := &Decision{Kind: DecidedTool, Effect: a.NextEffect(), ID: id, Asked: value.AppendJSONWithin(nil, a.Slot(question), a.TextBound())}
	return func(answer json.RawMessage, x *effect.AppDecided) error {
		if x == nil {
			return nil
		}
		d.Answer, d.Call, d.MS = answer, x, x.MS
		if x.Actor.Type == effect.ActorHuman { // and not the time limit, which can end at the same moment
			d.Seal = seal
		}
		if t := x.Actor.Type; t != effect.ActorDefault && t != effect.ActorTimeout {
			m.sched.current.addParticipant(x.Actor, d.Effect)
		}
		if err := m.observed.decisions.Decided(d); err != nil {
			return &endsRun{err}
		}
		return nil
	}
}

// endsRun wraps an error that ends the run: no program may catch it.
type endsRun struct{ error }

func (e *endsRun) Unwrap() error { return e.error }

// messageID returns the id of a message as JSON; nil for a message without one.
func messageID(id string) json.RawMessage {
	if id == "" {
		return nil
	}
	return json.RawMessage(id)
}
