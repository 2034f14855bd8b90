package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
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
	By      string          // kind of the decider, as in effect.ActorOf; "" for rules
	Answer  json.RawMessage // of the application or a default; nil means the verdict
	secret  json.RawMessage // the answer, if it must not be recorded; nil for others
	Source  string          // what has decided in the agent itself; "" for other decisions
	Line    string          // "PROCESS:LINE", which identifies the agent's line in the run
	Session string          // of a refused request: the agent's conversation
}

// Replace replaces the answer by the one that the run has recorded before: it was killed before the
// host received it.
func (d *OutsideDecision) Replace(answer json.RawMessage, problem string) {
	if d.Answer, d.Problem = answer, problem; problem != "" {
		d.Answer = nil
	}
	if d.Verdict == "" {
		return
	}
	d.Verdict = string(hostpolicy.Deny)
	if problem == "" && decision.Parse(answer).Allow {
		d.Verdict = string(hostpolicy.Allow)
	}
}

// outside records and reports what happens at a process while no exchange is running.
type outside struct {
	process *process

	mu      lock[outsideLock]
	notices []effect.HostMessage               // messages of Concerto for the process's next exchange
	open    map[string]context.CancelCauseFunc // requests about which the application is being asked, by ID
	lines   map[string]int64                   // numbers of the lines in which such requests arrived, by ID
}

// Reasons for which requests are refused outside an exchange.
const (
	undecidable = "no exchange is running that could decide it"
	// a question for a secret
	unanswerable = "the answer must be typed at the terminal of the run, because it is not recorded: run it in a terminal, or pass the secret in an environment variable (pass_env)"
	cancelled    = "the exchange is cancelled"
)

// answerOutside answers a request that no exchange can decide. The rules decide about an approval,
// unless the exchange was cancelled. The application is asked about what they leave open and about
// questions, if the request is one of detached work. Everything else is refused, as is what could
// not be recorded.
func (r *reader) answerOutside(m *effect.HostMessage, l ndjson.Line, reason string) error {
	p := r.process
	d := p.outside.decision(l.Number, m.Type, json.RawMessage(m.ID), l.Text, reason)
	if m.Type == hostmsg.Approval && p.rules != nil && reason != cancelled {
		q := hostpolicy.ParseRequest(l.Text)
		by := r.decidingSection(q)
		switch p.rules.Decide(q) {
		case hostpolicy.Allow:
			d.Verdict, d.Problem, d.Rules = string(hostpolicy.Allow), "", by
		case hostpolicy.Deny:
			d.Problem, d.Rules = r.verdictAnswer(hostpolicy.Deny, by), by
		}
	}
	if reason == undecidable && d.Rules == "concerto" && r.isDetached() && hostmsg.Lookup(m.Type).ByPerson() {
		p.outside.ask(*m, d, l.Number)
		return nil
	}
	return p.outside.answer(m, d)
}

// isDetached reports whether a request outside of exchanges is one of detached work.
func (r *reader) isDetached() bool {
	p := r.process
	return p.hosts.opts.Ask != nil && p.cfg.background() == adapter.BackgroundDetach && (r.sawTerminal || p.lifecycle.hasServed())
}

// answer records and reports the decision on a request, and answers the request.
func (o *outside) answer(m *effect.HostMessage, d *OutsideDecision) error {
	p := o.process
	if err := o.record(d); err != nil {
		d.Problem, d.Answer, d.secret = fmt.Sprintf("its decision could not be recorded: %v", err), nil, nil
		if d.Verdict != "" {
			d.Verdict = string(hostpolicy.Deny)
		}
	}
	o.report(d, m)
	var reply *effect.ExchangeReply
	switch {
	case d.Answer != nil:
		reply = &effect.ExchangeReply{InReplyTo: m.Type, AnswerTo: m.ID, Value: d.Answer}
	case d.Problem == "":
		reply = textReply(m, p.reader.allowAnswer())
	case m.Type == hostmsg.Approval:
		reply = textReply(m, d.Problem)
	default:
		reply = &effect.ExchangeReply{InReplyTo: m.Type, AnswerTo: m.ID, Error: d.Problem}
	}
	if d.secret != nil {
		reply.Value = d.secret
	}
	l := line{short: refuseInput(p, continuity.AppendReply(nil, reply)), secrets: textsIn(d.secret)}
	if _, ok := p.sendLine(l, false); !ok {
		return errNotReading
	}
	return nil
}

// decision returns a decision that Concerto itself has made about a request in the line with a
// number: an approval is denied.
func (o *outside) decision(line int64, kind string, id, asked json.RawMessage, problem string) *OutsideDecision {
	p := o.process
	d := &OutsideDecision{Host: p.cfg.Name, Kind: kind, ID: id, Asked: asked, Problem: problem, Rules: "concerto", Line: fmt.Sprintf("%d:%d", p.number, line)}
	if kind == hostmsg.Approval {
		d.Verdict = string(hostpolicy.Deny)
	}
	return d
}

func (o *outside) record(d *OutsideDecision) error {
	if to := o.process.hosts.opts.Outside; to != nil {
		return to(d)
	}
	return nil
}

// report logs a decision about a message, and emits it with the messages of the next exchange.
func (o *outside) report(d *OutsideDecision, m *effect.HostMessage) {
	what, _ := m.Payload.Map().GetString("description")
	if what.Kind() != value.KindString {
		what, _ = m.Payload.Map().GetString("question")
	}
	about, p := m.Type, o.process
	if what.Kind() == value.KindString {
		about = what.AsString()
	}
	where, by := " outside an exchange", cmp.Or(d.Rules, d.By)
	if isSecretQuestion(m) {
		where = ""
	}
	switch {
	case d.Problem == "" && m.Type == hostmsg.Question:
		p.hosts.logf("info", p.cfg, "received an answer%s: %s: answered by %s", where, about, by)
		return // the application itself has answered
	case d.Problem == "" && d.Verdict == string(hostpolicy.Deny):
		p.hosts.logf("info", p.cfg, "was refused%s: %s: denied by %s", where, about, by)
	case d.Problem == "":
		p.hosts.logf("info", p.cfg, "was permitted%s: %s: allowed by %s", where, about, by)
	default:
		level := "warn"
		if d.Problem == cancelled { // the program itself has ended the exchange
			level = "debug"
		}
		p.hosts.logf(level, p.cfg, "was refused%s: %s: %s", where, about, d.Problem)
	}
	kind := effect.Refused
	if m.Type == hostmsg.Approval {
		kind = effect.Decided
	}
	notice := jsonobject.New(kind)
	notice.Text("host", d.Host)
	notice.Raw("id", json.RawMessage(cmp.Or(string(d.ID), "null")))
	if m.Type == hostmsg.Approval {
		notice.Text("decision", d.Verdict)
		notice.Raw("description", value.AppendJSON(nil, what))
	} else {
		notice.Text("name", m.Type)
		notice.Text("reason", d.Problem)
	}
	notice.Raw("outside", []byte("true"))
	if x := noticeMessage(notice.End()); !isSecretQuestion(m) || p.injectNotice(x) != "" {
		o.add(x)
	}
}

// reportRefused reports the requests in a line that the adapter has refused.
func (r *reader) reportRefused(l ndjson.Line) {
	all := r.refused
	r.refused = nil
	for i := range all {
		x := &all[i]
		r.process.hosts.logf("warn", r.process.cfg, "made a request that was refused: %s", x.Reason)
		if !r.isRunning(l) {
			r.process.outside.refuse(x, l)
			continue
		}
		*r.batch.nextMessage() = refusedMessage(r.process.cfg.Name, x)
		r.batch.commitMessage()
	}
}

// reportOwn reports the decisions in a line that the agent has made itself.
func (r *reader) reportOwn(l ndjson.Line) {
	all := r.own
	r.own = nil
	p := r.process
	for i := range all {
		x := &all[i]
		verdict := string(hostpolicy.Deny)
		if x.Allowed {
			verdict = string(hostpolicy.Allow)
		}
		p.hosts.logf("info", p.cfg, "decided itself (%s): %s: %s", x.Source, verdict, x.Description)
		o := jsonobject.New(effect.Decided)
		o.Text("host", p.cfg.Name)
		o.Raw("id", jsonwrite.MustEncode(x.ID))
		o.Text("decision", verdict)
		o.Text("description", x.Description)
		o.Text("source", x.Source)
		if x.Reason != "" {
			o.Text("reason", x.Reason)
		}
		o.Raw(effect.DecidedAsked, x.Asked)
		if r.isRunning(l) {
			*r.batch.nextMessage() = noticeMessage(o.End())
			r.batch.commitMessage()
			continue
		}
		d := p.outside.decision(l.Number, hostmsg.Approval, jsonwrite.MustEncode(x.ID), x.Asked, x.Reason)
		d.Verdict, d.Source = verdict, x.Source
		if err := p.outside.record(d); err != nil {
			p.hosts.logf("warn", p.cfg, "made a decision that could not be recorded: %v", err)
		}
	}
}

// refuse records a request that the adapter has refused.
func (o *outside) refuse(x *adapter.RefusedRequest, l ndjson.Line) {
	p := o.process
	d := o.decision(l.Number, effect.RefusedRequest, jsonwrite.MustEncode(x.ID), x.Request, x.Reason)
	d.Session = x.Session
	if err := o.record(d); err != nil {
		p.hosts.logf("warn", p.cfg, "made a request whose refusal could not be recorded: %v", err)
	}
	notice := refusedMessage(p.cfg.Name, x)
	notice.Payload.Map().Delete(value.String(effect.DecidedAsked))
	notice.Payload.Map().Delete(value.String("session"))
	notice.Payload.Map().SetString("outside", value.Bool(true))
	o.add(notice)
}

// refusedMessage returns the message about a refused request.
func refusedMessage(host string, x *adapter.RefusedRequest) effect.HostMessage {
	o := jsonobject.New(effect.Refused)
	o.Text("host", host)
	o.Text("id", x.ID)
	o.Text("name", x.Name)
	o.Text("reason", x.Reason)
	if x.Session != "" {
		o.Text("session", x.Session)
	}
	o.Raw(effect.DecidedAsked, x.Request)
	return noticeMessage(o.End())
}

// lose records that a decision did not arrive. line is the number of the agent's last line.
func (o *outside) lose(x adapter.Undelivered, line int64) {
	d := o.decision(line, effect.UndeliveredDecision, jsonwrite.MustEncode(x.ID), nil, x.Reason)
	if err := o.record(d); err != nil {
		o.process.hosts.logf("warn", o.process.cfg, "did not receive a decision, which could not be recorded: %v", err)
	}
}

// recordedKinds maps the types of Concerto's messages about decisions to the kinds under which the
// decisions are recorded.
var recordedKinds = map[string]string{
	effect.Decided:     hostmsg.Approval,
	effect.Refused:     effect.RefusedRequest,
	effect.Undelivered: effect.UndeliveredDecision,
}

// recordDropped records the decisions in messages that the program will not receive, because it has
// closed the exchange or the exchange has failed.
func (o *outside) recordDropped(all []effect.HostMessage) {
	p := o.process
	if inPage || p.keeper.conn != nil && p.hosts.suspended.Load() {
		return // a page has no records, and the resumed run receives them
	}
	for i := range all {
		m := &all[i]
		if row := hostmsg.Lookup(m.Type); !m.Decided && p.translation != nil && row.Waits() && row.ByPerson() {
			o.recordUnread(m)
			continue
		}
		kind := recordedKinds[m.Type]
		if kind == "" || !m.Decided || m.IsOutside() {
			continue
		}
		member := func(name string) json.RawMessage {
			v, _ := m.Payload.Map().GetString(name)
			return value.AppendJSON(nil, v)
		}
		reason, _ := m.Payload.Map().GetString("reason")
		problem := ""
		if reason.Kind() == value.KindString {
			problem = reason.AsString()
		}
		d := o.decision(p.reader.number.Load(), kind, member("id"), member(effect.DecidedAsked), problem)
		if kind == effect.RefusedRequest {
			_ = json.Unmarshal(member("session"), &d.Session) // absent before the conversation begins
		}
		if kind == hostmsg.Approval {
			d.Rules = p.cfg.rulesName()
			_ = json.Unmarshal(member("by"), &d.Rules)         // without the member, it is that of the rules
			_ = json.Unmarshal(member("source"), &d.Source)    // without the member, rules have decided
			_ = json.Unmarshal(member("decision"), &d.Verdict) // decisionMessage has written a text
		}
		if err := o.record(d); err != nil {
			p.hosts.logf("warn", p.cfg, "has the decision %s on its request %s, which could not be recorded: %v", d.Verdict, d.ID, err)
		}
	}
}

// recordUnread records that a request was refused which the program has not received.
func (o *outside) recordUnread(m *effect.HostMessage) {
	d := o.decision(o.process.reader.number.Load(), m.Type, json.RawMessage(m.ID), value.AppendJSON(nil, m.Payload), cancelled)
	if err := o.record(d); err != nil {
		o.process.hosts.logf("warn", o.process.cfg, "made a request whose refusal could not be recorded: %v", err)
	}
}

// maxNotices is the number of messages that wait for a process's next exchange.
const maxNotices = 100

// add adds a message for the program to the process's next exchange.
func (o *outside) add(m effect.HostMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.notices) < maxNotices {
		o.notices = append(o.notices, m)
	}
}

// inject adds the messages that wait to the exchange that has begun.
func (o *outside) inject() {
	o.mu.Lock()
	all := o.notices
	o.notices = nil
	o.mu.Unlock()
	for _, m := range all {
		o.process.injectNotice(m)
	}
}

func logUndelivered(p *process, x adapter.Undelivered) {
	p.hosts.logf("warn", p.cfg, "did not receive the decision on its request %s: %s", x.ID, x.Reason)
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
		logUndelivered(r.process, x)
		if !r.isRunning(l) {
			r.process.outside.lose(x, l.Number)
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
		p.outside.reportLost(adapter.Undelivered{ID: id, Reason: adapter.ReasonExited}, line)
	}
}

// reportLost reports to the exchange that is running that a decision did not arrive, or records it
// if there is none. line is the number of the agent's last line.
func (o *outside) reportLost(x adapter.Undelivered, line int64) {
	p := o.process
	logUndelivered(p, x)
	if p.injectNotice(undeliveredMessage(p.cfg.Name, x)) != "" {
		o.lose(x, line)
	}
}
