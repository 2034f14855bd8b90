package activity

import (
	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// textMember returns a member of a message that is a text, or "".
func textMember(m *value.Map, name string) string {
	v, ok := m.GetString(name)
	if !ok || v.IsNil() {
		return ""
	}
	return value.Text(v)
}

// numberMember returns a member of a message that is a number.
func numberMember(m *value.Map, name string) (n float64, ok bool) {
	v, _ := m.GetString(name)
	switch v.Kind() {
	case value.KindInt:
		return float64(v.AsInt()), true
	case value.KindFloat:
		return v.AsFloat(), true
	}
	return 0, false
}

// questionText returns the text of a question, or what an approval is about.
func questionText(m *effect.HostMessage) string {
	p := m.Payload.Map()
	if s := textMember(p, "question"); s != "" {
		return s
	}
	if v, ok := p.GetString("questions"); ok && v.Kind() == value.KindArray && v.Array().Len > 0 {
		if first := v.Array().At(0); first.Kind() == value.KindMap {
			return textMember(first.Map(), "question")
		}
	}
	return request.Of(value.AppendJSON(nil, m.Payload), nil).Summary()
}

// updateProgress sets the progress of a message in e. It reports whether the message is about
// progress.
func (x *exchange) updateProgress(m *effect.HostMessage, e *Event) bool {
	p := m.Payload.Map()
	if m.Type == hostmsg.Progress {
		if n, ok := numberMember(p, "percent"); ok {
			e.Percent = min(max(n, 0), 100)
		}
		switch textMember(p, "stage") {
		case "usage": // the message has the number of tokens
			return true
		case "tool":
			if v := request.OfCall(value.AppendJSON(nil, m.Payload)); v != nil {
				e.Text = v.Summary()
				return true
			}
		}
		if s := textMember(p, "message"); s != "" {
			e.Text = s
		}
		return true
	}
	if hostmsg.Lookup(m.Type).Unhandled == hostmsg.ByTools {
		e.Text = textMember(p, "tool")
		return true
	}
	return false
}

// handleRuling emits the request and the answer for an approval that the host's rules decided.
func (f *Follower) handleRuling(x *exchange, m *effect.HostMessage) {
	p := m.Payload.Map()
	e := x.event(Asked)
	// A rule inspects the kind, paths and arguments of an action, so it can decide only approvals.
	e.Type, e.ID, e.Text = hostmsg.Approval, textMember(p, "id"), questionText(m)
	if asked, ok := p.GetString(effect.DecidedAsked); ok {
		e.Text = request.Of(value.AppendJSON(nil, asked), nil).Summary()
	}
	f.emitEvent(e)
	e.Kind, e.By, e.Text = Answered, effect.ByRules, ""
	if e.Denied = textMember(p, "decision") == decision.Deny; !e.Denied {
		e.Scope = decision.Once
	}
	f.emitEvent(e)
}

// usage returns what the exchange has used so far.
func (x *exchange) usage() Usage {
	u := x.used.Use()
	return Usage{Tokens: u.Tokens(), Cost: u.USD()}
}
