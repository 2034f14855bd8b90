package vm

import (
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Who decided what a run was asked: what hosts ask, calls of tools that are to be approved of,
// and awaited emits. It is told where the decision is made, from what the run itself knows, so
// that a run that is played again tells the same.

// Decisions hears of each decision, on the run's goroutine, in the order in which the program
// makes them.
type Decisions interface {
	// Now is the time in milliseconds, from whenever.
	Now() int64
	// Decided is told of a decision before anything that follows from it leaves the run. Its
	// error ends the run. It may keep what it is given.
	Decided(d *Decision) error
}

// The kinds of Decision, besides the types of hosts' messages.
const (
	DecidedTool    = "tool"    // a call of a tool, which was to be approved of
	DecidedAwait   = "await"   // an awaited emit
	DecidedUnknown = "unknown" // an effect of which nobody knew whether it had been done
)

// Decision is what was asked and decided.
type Decision struct {
	Kind    string
	Effect  int64 // the number of the effect by which it was made or learnt of
	Host    string
	ID      json.RawMessage // the host's for what it asked, or the call's; nil for none
	Channel string          // of an awaited emit
	Asked   json.RawMessage // nil for nothing
	Answer  json.RawMessage // nil for none
	Problem string          // why there is none, or why it is not taken
	By      string          // effect.ByHandler, …
	Name    string          // whose it is, where that is known
	At      Place           // of a handler's: where it stands in the program; none for the library's
	Path    []Part          // of a handler's: who took part, in order, each once
	MS      int64           // that it took
	Call    *effect.AppDecided
}

// Part is somebody who took part in a decision, by an effect.
type Part struct {
	effect.Actor
	Effect int64
}

// hearing is the time in which the program has what a host asks, and decides about it.
type hearing struct {
	outer  *hearing // within which it began
	asked  json.RawMessage
	since  int64
	stream bool // it is over when the program takes the stream's next message
	parts  []Part
}

// deciding is what a listen knows of who decides.
type deciding struct {
	heard  *hearing // of the message that is dealt with
	effect int64    // the number of the last request for messages
}

// telling is what is known of a task for who decides. It is kept beside the tasks, most of which
// never have one.
type telling struct {
	hearing *hearing // the innermost of what the task decides; nil for none
	effect  int64    // the number of the last request that it may wait for
	since   int64    // when it made an awaited emit, the first time
}

// tells gives it; nil without Config.Decisions.
func (t *task) tells() *telling {
	if t.m.config.Decisions == nil {
		return nil
	}
	x := t.m.telling[t]
	if x == nil {
		if t.m.telling == nil {
			t.m.telling = map[*task]*telling{}
		}
		x = &telling{}
		t.m.telling[t] = x
	}
	return x
}

// numbers notes the number of the request that the task has just made.
func (t *task) numbers() {
	if x := t.tells(); x != nil {
		x.effect = t.m.stats.Requests
	}
}

// hearing is the innermost of what the task decides; nil for none.
func (t *task) hearing() *hearing {
	if x := t.m.telling[t]; x != nil {
		return x.hearing
	}
	return nil
}

// hears puts it in.
func (t *task) hears(h *hearing) {
	if h != nil || t.m.telling[t] != nil {
		t.tells().hearing = h
	}
}

// hearingOf begins a hearing of a message; nil when nobody wants to know.
func (t *task) hearingOf(m *effect.HostMessage, stream bool) *hearing {
	d := t.m.config.Decisions
	if d == nil || !hostmsg.Of(m.Type).ByPerson() {
		return nil
	}
	h := &hearing{outer: t.hearing(), asked: value.AppendJSON(nil, m.Payload), since: d.Now(), stream: stream}
	t.hears(h)
	return h
}

// endHearing ends one, and those within it.
func (t *task) endHearing(h *hearing) {
	if h != nil {
		t.hears(h.outer)
	}
}

// leaveMessage ends the hearing of the message that a stream gave the task last.
func (t *task) leaveMessage() {
	if h := t.hearing(); h != nil && h.stream {
		t.endHearing(h)
	}
}

// takesPart notes who takes part in what the task decides.
func (t *task) takesPart(who effect.Actor, e int64) {
	for h := t.hearing(); h != nil; h = h.outer {
		h.add(Part{who, e})
	}
}

func (h *hearing) add(p Part) {
	for _, x := range h.parts {
		if x.Actor == p.Actor {
			return
		}
	}
	h.parts = append(h.parts, p)
}

// consulted notes the model that an effect of the library has asked.
func (t *task) consulted(w *wait) {
	if t.hearing() == nil {
		return
	}
	switch r := w.request.(type) {
	case *effect.AgentCall:
		t.takesPart(effect.Actor{Type: effect.ActorAgent, Name: r.Agent}, t.tells().effect)
	case *effect.StreamOpen:
		t.takesPart(effect.Actor{Type: effect.ActorAgent, Name: r.Agent}, t.tells().effect)
	}
}

// worked notes a host that has given its result.
func (t *task) worked(host *Host, e int64) {
	if t.hearing() != nil {
		t.takesPart(effect.Actor{Type: effect.ActorAgent, Name: host.Name}, e)
	}
}

// decide tells of a decision that was made elsewhere than in a task's turn.
func (m *VM) decide(d *Decision) {
	if err := m.config.Decisions.Decided(d); err != nil {
		m.fail(err)
	}
}

// fail ends the run, or leaves it, where no status says so.
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

// undecided is what comes of a decision that could not be told.
func (t *task) undecided(err error) status {
	if errors.Is(err, ErrSuspended) {
		t.m.fail(err)
	}
	return t.broken(err)
}

// heard fills in what is known of a hearing; without one it has taken no time.
func (d *Decision) heard(h *hearing, now int64) *Decision {
	if h != nil {
		d.Asked, d.MS = h.asked, now-h.since
	}
	return d
}

// decideReply tells of the decision that a reply to a host is.
func (t *task) decideReply(host string, payload value.Slot, h *hearing, r *effect.ExchangeReply, at func() Place) error {
	listener := t.m.config.Decisions
	if listener == nil || !hostmsg.Of(r.InReplyTo).ByPerson() {
		return nil
	}
	d := (&Decision{Kind: r.InReplyTo, Effect: t.m.stats.Requests, Host: host, ID: json.RawMessage(r.AnswerTo), Answer: r.Value, Problem: r.Error, By: r.By}).
		heard(h, listener.Now())
	if h == nil {
		d.Asked = value.AppendJSON(nil, payload)
	}
	if r.By == effect.ByDefault {
		d.Name = hostmsg.Of(r.InReplyTo).Default
	}
	if r.By == effect.ByHandler {
		d.At = at()
		if h != nil {
			d.Path = h.parts
		}
	} else if r.Error == "" {
		t.takesPart(effect.ActorBy(r.By, ""), d.Effect)
	}
	return listener.Decided(d)
}

// handlerPlace is where the handler of a listen for a type of message stands; none for one of
// the library's.
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

// here is where the task is in the program; none where it is the library alone that asks.
func (t *task) here() Place {
	if at := visible(t.frames(nil, t.pc())); !at.library() {
		return at
	}
	return Place{}
}

// decideArrived tells of what rules have decided of what a host asked, which comes with its
// messages, and takes it out of what the program hears.
func (m *VM) decideArrived(host *Host, x *effect.HostMessage, e int64) {
	if !x.Decided {
		return
	}
	asked, told := x.Payload.Map().Delete(value.String(effect.DecidedAsked))
	if m.config.Decisions == nil {
		return
	}
	if !told { // of a tape that was written before
		asked = x.Payload
	}
	// Permission rules decide approvals alone: they read a kind, paths and arguments.
	d := &Decision{Kind: hostmsg.Approval, Effect: e, Host: host.Name, Asked: value.AppendJSON(nil, asked), By: effect.ByRules, Name: "[hosts." + host.Connector + ".permissions]"}
	if id, _ := x.Payload.Map().GetString("id"); !id.IsNil() {
		d.ID = value.AppendJSON(nil, id)
	}
	if answer, ok := x.Payload.Map().GetString("decision"); ok {
		d.Answer = value.AppendJSON(nil, answer)
	}
	m.decide(d)
}

// decideWithdrawn tells that a host has taken back what it asked.
func (t *task) decideWithdrawn(host *Host, x *effect.HostMessage, h *hearing, e int64) {
	if !hostmsg.Of(x.Type).ByPerson() || t.m.config.Decisions == nil {
		return
	}
	d := &Decision{Kind: x.Type, Effect: e, Host: host.Name, ID: json.RawMessage(x.ID), By: effect.ByHost, Name: host.Name, Problem: errWithdrawn.Error()}
	if h == nil {
		d.Asked = value.AppendJSON(nil, x.Payload)
	}
	t.m.decide(d.heard(h, t.m.config.Decisions.Now()))
}

// decideAwaited tells who answered an awaited emit. What the library hands on of a host's is
// told of with the reply to the host; here it is noted who took part.
func (t *task) decideAwaited(w *wait, v value.Slot, problem string) error {
	listener := t.m.config.Decisions
	if listener == nil {
		return nil
	}
	asked, x := w.request.(*effect.AwaitEmit), t.tells()
	d := &Decision{Kind: DecidedAwait, Effect: x.effect, Channel: asked.Channel, Asked: asked.Payload, Problem: problem, MS: listener.Now() - x.since}
	if a, ok := w.result.(*effect.Answer); ok && w.err == nil {
		d.By, d.Name = a.By, a.Name
		if d.Answer = a.Value; problem == "" {
			d.Answer = value.AppendJSON(nil, v)
			t.takesPart(effect.ActorBy(a.By, a.Name), x.effect)
		}
	} else {
		d.By, d.Name = unansweredBy(w.err)
	}
	if asked.Asks == nil {
		return listener.Decided(d)
	}
	if d.Answer == nil && t.hearing() != nil {
		who := effect.ActorBy(d.By, "")
		if who.Type != effect.ActorTimeout { // what the library then gives is nobody's
			who = effect.ActorBy(effect.ByDefault, "")
		}
		t.hearing().add(Part{who, x.effect})
	}
	return nil
}

// unansweredBy is who decided that an awaited emit has no answer, and their name where it is known.
func unansweredBy(err error) (by, name string) {
	if e, ok := err.(*effect.Error); ok {
		switch {
		case e.By != "":
			return e.By, e.Name
		case e.Fields["reason"] == "timeout":
			return effect.ByTimeout, ""
		case e.Fields["reason"] == "refused":
			return effect.ByApplication, ""
		}
	}
	return effect.ByNobody, ""
}

// DecidesCall gives what tells of a decision about the call of a tool with this key, which
// argument question asked about; it is made by the next effect.
func (a *Args) DecidesCall(call string, question int) func(answer json.RawMessage, x *effect.AppDecided) error {
	m := a.run()
	if m.config.Decisions == nil {
		return func(json.RawMessage, *effect.AppDecided) error { return nil }
	}
	id, _ := json.Marshal(call)
	d := &Decision{Kind: DecidedTool, Effect: a.NextEffect(), ID: id, Asked: value.AppendJSONWithin(nil, a.Slot(question), a.TextBound())}
	return func(answer json.RawMessage, x *effect.AppDecided) error {
		if x == nil {
			return nil
		}
		d.Answer, d.Call, d.MS = answer, x, x.MS
		if t := x.Actor.Type; t != effect.ActorDefault && t != effect.ActorTimeout {
			m.sched.current.takesPart(x.Actor, d.Effect)
		}
		if err := m.config.Decisions.Decided(d); err != nil {
			return &endsRun{err}
		}
		return nil
	}
}

// endsRun is the error of a native that no program may catch.
type endsRun struct{ error }

func (e *endsRun) Unwrap() error { return e.error }
