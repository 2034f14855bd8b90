package host

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// OutsideDecision is the answer to a request that a vendor's agent made while no exchange could
// decide it.
type OutsideDecision struct {
	Host    string
	Kind    string          // type of the message, or effect.RefusedRequest
	ID      json.RawMessage // ID of the request
	Asked   json.RawMessage // the message, or the agent's line
	Verdict string          // of an approval: "allow" or "deny"
	Problem string          // why the request was denied or refused; "" if it was allowed
	Rules   string          // who decided: the section of the rules, or "concerto"
	Line    string          // "PROCESS:LINE", which identifies the agent's line in the run
}

// Reasons for which requests are refused outside an exchange.
const (
	undecidable = "no exchange is running that could decide it"
	cancelled   = "the exchange is cancelled"
)

// answerOutside answers a request that no exchange can decide. The rules decide about an approval,
// unless the exchange was cancelled; what they leave open is denied, as is everything that could
// not be recorded. Everything else is refused.
func (r *reader) answerOutside(m *effect.HostMessage, l ndjson.Line, reason string) error {
	p := r.process
	d := p.outsideDecision(l, m.Type, json.RawMessage(m.ID), l.Text, reason)
	reply := &effect.ExchangeReply{InReplyTo: m.Type, AnswerTo: m.ID, Error: reason}
	if m.Type == hostmsg.Approval {
		d.Verdict = string(hostpolicy.Deny)
		if p.rules != nil && reason != cancelled {
			switch p.rules.Decide(hostpolicy.ParseRequest(l.Text)) {
			case hostpolicy.Allow:
				d.Verdict, d.Problem, d.Rules = string(hostpolicy.Allow), "", p.cfg.rulesName()
			case hostpolicy.Deny:
				d.Problem, d.Rules = p.cfg.denialReason(), p.cfg.rulesName()
			}
		}
	}
	if err := p.recordOutside(d); err != nil {
		d.Problem = fmt.Sprintf("its decision could not be recorded: %v", err)
		if d.Verdict != "" {
			d.Verdict = string(hostpolicy.Deny)
		}
	}
	switch {
	case d.Problem == "":
		reply = textReply(m, r.allowAnswer())
	case m.Type == hostmsg.Approval:
		reply = textReply(m, d.Problem)
	default:
		reply.Error = d.Problem
	}
	p.reportOutside(d, m)
	if _, ok := p.sendMessage(appendReply(nil, reply), false); !ok {
		return errNotReading
	}
	return nil
}

// outsideDecision returns a decision that Concerto itself has made.
func (p *process) outsideDecision(l ndjson.Line, kind string, id, asked json.RawMessage, problem string) *OutsideDecision {
	return &OutsideDecision{Host: p.cfg.Name, Kind: kind, ID: id, Asked: asked, Problem: problem, Rules: "concerto", Line: fmt.Sprintf("%d:%d", p.number, l.Number)}
}

func (p *process) recordOutside(d *OutsideDecision) error {
	if p.hosts.opts.Outside == nil {
		return nil
	}
	return p.hosts.opts.Outside(d)
}

// reportOutside logs a decision, and emits it with the messages of the process's next exchange.
func (p *process) reportOutside(d *OutsideDecision, m *effect.HostMessage) {
	what, _ := m.Payload.Map().GetString("description")
	if what.Kind() != value.KindString {
		what, _ = m.Payload.Map().GetString("question")
	}
	about := m.Type
	if what.Kind() == value.KindString {
		about = what.AsString()
	}
	if d.Problem == "" {
		p.hosts.logf(slog.LevelInfo, p.cfg, "was permitted outside an exchange: %s: allowed by %s", about, d.Rules)
	} else {
		p.hosts.logf(slog.LevelWarn, p.cfg, "was refused outside an exchange: %s: %s", about, d.Problem)
	}
	o := jsonobject.New(effect.Refused)
	if m.Type == hostmsg.Approval {
		o = jsonobject.New(effect.Decided)
		o.Text("host", d.Host)
		o.Raw("id", orNull(d.ID))
		o.Text("decision", d.Verdict)
		o.Raw("description", value.AppendJSON(nil, what))
	} else {
		o.Text("host", d.Host)
		o.Raw("id", orNull(d.ID))
		o.Text("name", m.Type)
		o.Text("reason", d.Problem)
	}
	o.Raw("outside", []byte("true"))
	p.addNotice(noticeMessage(o.End()))
}

func orNull(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return json.RawMessage("null")
	}
	return v
}

// refuseOutside records a request that the adapter has refused outside an exchange.
func (p *process) refuseOutside(x *adapter.RefusedRequest, l ndjson.Line) {
	if err := p.recordOutside(p.outsideDecision(l, effect.RefusedRequest, jsonwrite.MustEncode(x.ID), x.Request, x.Reason)); err != nil {
		p.hosts.logf(slog.LevelWarn, p.cfg, "made a request whose refusal could not be recorded: %v", err)
	}
	notice := refusedMessage(p.cfg.Name, x)
	notice.Payload.Map().Delete(value.String(effect.DecidedAsked))
	notice.Payload.Map().SetString("outside", value.Bool(true))
	p.addNotice(notice)
}

// notices are messages of Concerto that wait for a process's next exchange.
type notices struct {
	mu  sync.Mutex
	all []effect.HostMessage
}

// maxNotices is the number of messages that wait for a process's next exchange.
const maxNotices = 100

// addNotice adds a message for the program to the process's next exchange.
func (p *process) addNotice(m effect.HostMessage) {
	p.notices.mu.Lock()
	defer p.notices.mu.Unlock()
	if len(p.notices.all) < maxNotices {
		p.notices.all = append(p.notices.all, m)
	}
}

// injectNotices adds the messages that wait to the exchange that has begun.
func (p *process) injectNotices() {
	p.notices.mu.Lock()
	all := p.notices.all
	p.notices.all = nil
	p.notices.mu.Unlock()
	for _, m := range all {
		p.injectNotice(m)
	}
}

// Decisions that an agent has not received.

func (p *process) logUndelivered(x adapter.Undelivered) {
	p.hosts.logf(slog.LevelWarn, p.cfg, "did not receive the decision on its request %s: %s", x.ID, x.Reason)
}

func undeliveredMessage(host string, x adapter.Undelivered) effect.HostMessage {
	o := jsonobject.New(effect.Undelivered)
	o.Text("host", host)
	o.Text("id", x.ID)
	o.Text("reason", x.Reason)
	return noticeMessage(o.End())
}

// reportUndelivered reports the decisions that, by the line l, the agent has not received.
func (r *reader) reportUndelivered(l ndjson.Line) {
	all := r.lost
	r.lost = nil
	for _, x := range all {
		r.process.logUndelivered(x)
		if !r.isRunning(l) {
			r.process.loseOutside(x, l.Number)
			continue
		}
		*r.batch.nextMessage() = undeliveredMessage(r.process.cfg.Name, x)
		r.batch.commitMessage()
	}
}

// loseUnconfirmed reports the decisions that the agent had not confirmed when its output ended.
func (r *reader) loseUnconfirmed() {
	p := r.process
	if p.translation == nil || p.hosts.suspended.Load() {
		return
	}
	a, ok := p.translation.adapter.(adapter.Confirmer)
	if !ok {
		return
	}
	p.translation.mu.Lock()
	ids, line := a.Unconfirmed(), p.translation.lastLine
	p.translation.mu.Unlock()
	for _, id := range ids {
		x := adapter.Undelivered{ID: id, Reason: adapter.ReasonExited}
		p.logUndelivered(x)
		if p.injectNotice(undeliveredMessage(p.cfg.Name, x)) != "" {
			p.loseOutside(x, line)
		}
	}
}

// loseOutside records that a decision did not arrive, while no exchange is running. line is the
// number of the agent's last line.
func (p *process) loseOutside(x adapter.Undelivered, line int64) {
	d := &OutsideDecision{Host: p.cfg.Name, Kind: effect.UndeliveredDecision, ID: jsonwrite.MustEncode(x.ID), Problem: x.Reason, Line: fmt.Sprintf("%d:%d", p.number, line)}
	if err := p.recordOutside(d); err != nil {
		p.hosts.logf(slog.LevelWarn, p.cfg, "did not receive a decision, which could not be recorded: %v", err)
	}
}
