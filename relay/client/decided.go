package client

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Kinds of decisions that are not types of a host's messages.
const (
	decidedTool  = "tool"
	decidedAwait = "await"
)

// handleDecision reports a decision of the run, unless hostd reports it as the outcome of a
// request.
func (s *Source) handleDecision(e *event.Event) {
	d := e.Decided
	q := &request{}
	switch row := hostmsg.Lookup(d.Kind); {
	case d.Kind == decidedTool:
		if !q.fillTool(d.Asked, time.Time{}) {
			return
		}
	case d.Kind == decidedAwait:
		q.fillEmit(&effect.AwaitEmit{Channel: d.Channel, Payload: d.Asked})
	case row.ByPerson():
		q.fillHost(&effect.Asking{Host: d.Host, Type: d.Kind}, d.Asked, time.Time{})
	default:
		return // no request was decided
	}
	key := decidedKey(d.Host, d.Asked)
	s.mu.Lock()
	id := s.requests.asked[key]
	delete(s.requests.asked, key)
	s.mu.Unlock()
	if d.By == effect.ByRelay {
		return
	}
	out := protocol.Decided{RequestID: id, Actor: d.Actor.Type, By: d.Actor.Name, Host: d.Host}
	if d.Handler && d.At.File != "" && (out.By == "" || d.Actor.Type == effect.ActorRule) {
		out.By = fmt.Sprintf("%s:%d", d.At.File, d.At.Line)
	}
	out.MessageID = q.From.MessageID
	out.Title, out.Line = q.Headline()
	out.Decision, out.Reason, out.Answer = outcomeOf(q, d)
	s.report(protocol.RunDecision, out)
}

// askedKey returns the decidedKey of the decision on a request.
func askedKey(r effect.Request) string {
	switch r := r.(type) {
	case *effect.AskHost:
		return decidedKey(r.Host, r.Message)
	case *effect.AwaitEmit:
		return decidedKey("", r.Payload)
	}
	return ""
}

// decidedKey identifies an open request of a run by its host and its content.
func decidedKey(host string, asked json.RawMessage) string { return host + "\x00" + string(asked) }

// outcomeOf returns the decision, the reason and the answer that a decision consists of.
func outcomeOf(q *request, d *event.Decided) (how, reason string, answer json.RawMessage) {
	approval := q.From.Kind == protocol.FromApproval
	switch {
	case d.Call != nil && d.Call.Decision == protocol.DecisionDeny:
		return protocol.DecisionDeny, d.Call.Reason, nil
	case d.Call != nil:
		return protocol.DecisionApprove, d.Call.Reason, nil
	case d.Actor.Type == effect.ActorHost:
		return protocol.DecisionWithdrawn, d.Problem, nil
	case d.Problem != "" && d.Actor.Type == effect.ActorTimeout:
		return protocol.DecisionExpired, d.Problem, nil
	case d.Problem != "":
		return protocol.DecisionDeny, d.Problem, nil
	case !approval:
		return protocol.DecisionAnswer, "", protocol.ShortJSON(d.Answer, protocol.MaxAnswer)
	}
	a := decision.Parse(d.Answer)
	if a.Allow {
		return protocol.DecisionApprove, a.Reason, nil
	}
	return protocol.DecisionDeny, a.Reason, nil
}
