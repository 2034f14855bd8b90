package eventstream

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/vm"
)

// request is an open request to a model.
type request struct {
	p        *part // the agent's call
	effect   int64
	shown    *effect.AgentCall // the request without secrets
	attempt  *item             // the attempt that has begun and not ended
	isStream bool              // the program receives the reply in pieces
	reported bool              // the model client has reported an attempt
	stage    string            // see event.Event
}

// beginRequest handles a request to a model. It begins the call of the agent, unless the request is
// another one of the same call. calls are the places of the task's calls, or nil.
func (s *Stream) beginRequest(t *task, e int64, at vm.Caller, calls []vm.Place, call, shown *effect.AgentCall, isStream bool) *request {
	n := len(t.within)
	if n == 0 || t.within[n-1].call == nil || t.within[n-1].name != call.Agent {
		if calls == nil {
			calls = at.Places()
		}
		c := newAgentCall(calls)
		began := s.enter(t, &part{item: item{kind: event.Agent, parent: t.cause(), task: t.id, effect: e, name: call.Agent}, call: c})
		began.Attempt = &event.Attempt{Call: shown}
		if s.places {
			began.Place = placeOf(c.place)
		}
		s.emitEvent(began)
	}
	x := &request{p: t.within[len(t.within)-1], effect: e, shown: shown, isStream: isStream, stage: t.stage()}
	x.p.call.done = false
	s.requests[call] = x
	return x
}

// endRequest handles the outcome of a request to a model.
func (s *Stream) endRequest(x *request, reply *effect.AgentReply, err error) {
	s.reportAttempts(x, reply, err)
	if err != nil && !x.reported { // the request was refused before its first attempt
		a := event.Attempt{Connection: x.shown.Connection, Model: x.shown.Model}
		if e, ok := errors.AsType[*effect.Error](err); ok {
			a.Reason, _ = e.Fields["reason"].(string)
		}
		s.reportAttempt(x, event.Model, event.End, &a, err)
	}
	c := x.p.call
	c.at, c.err, c.done = s.options.Since(), s.cleanError(err), err != nil || reply == nil || len(reply.ToolCalls) == 0
	if reply != nil {
		c.reply, _ = s.cleanResult(effect.KindAgentCall, reply).(*effect.AgentReply)
	}
}

// reportAttempts reports the attempts at a call from its recorded result, unless the model client
// has reported them.
func (s *Stream) reportAttempts(x *request, reply *effect.AgentReply, err error) {
	if f := s.options.Attempts; f != nil && !x.reported {
		x.reported = f(func(k event.Kind, phase event.Phase, a *event.Attempt, err error) {
			s.reportAttempt(x, k, phase, a, err)
		}, x.shown, reply, err)
	}
}

// ReportAttempt reports an event of the model client: the Begin or the End of an attempt (Model),
// or that another attempt follows (Retry or Fallback). a.Call is the request that the program made.
// ReportAttempt changes a. err is the reason of a failure.
func (s *Stream) ReportAttempt(k event.Kind, phase event.Phase, a *event.Attempt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.requests[a.Call]
	if x == nil { // not a call of an agent of the program
		x = &request{p: &part{item: item{name: a.Call.Agent}}, shown: a.Call}
		s.requests[a.Call] = x
	}
	x.reported = true
	s.reportAttempt(x, k, phase, a, err)
}

// CallEnded reports that the model client makes no further attempt at a call.
func (s *Stream) CallEnded(call *effect.AgentCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.requests[call]; x != nil && x.attempt != nil {
		s.reportAttempt(x, event.Model, event.End, &event.Attempt{Connection: call.Connection, Model: call.Model}, errCancelled)
	}
	delete(s.requests, call)
}

func (s *Stream) reportAttempt(x *request, k event.Kind, phase event.Phase, a *event.Attempt, err error) {
	a.Call, a.IsStream = x.shown, x.isStream
	if a.Reply != nil {
		a.Reply, _ = s.cleanResult(effect.KindAgentCall, a.Reply).(*effect.AgentReply)
	}
	i := &item{kind: k, parent: x.p.number, task: x.p.task, effect: x.effect, name: x.p.name}
	var e *event.Event
	switch {
	case k != event.Model:
		e = s.point(i)
	case phase == event.Begin:
		x.attempt = i
		e = s.begin(i)
	default:
		if x.attempt == nil { // the attempt could not be made
			s.emitEvent(withAttempt(s.begin(i), &event.Attempt{Call: x.shown, Connection: a.Connection, Model: a.Model}))
			x.attempt = i
		}
		e = s.end(x.attempt)
		x.attempt = nil
	}
	e.Err, e.Stage = s.cleanError(err), x.stage
	s.emitEvent(withAttempt(e, a))
}

func withAttempt(e *event.Event, a *event.Attempt) *event.Event {
	e.Attempt = a
	return e
}
