package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// notRecorded replaces an answer in records.
const notRecorded = `"(not recorded)"`

// isSecretQuestion reports whether a message is a question about a secret.
func isSecretQuestion(m *effect.HostMessage) bool {
	if m.Type != hostmsg.Question {
		return false
	}
	v, _ := m.Payload.Map().GetString(effect.SecretQuestion)
	return v.Kind() == value.KindBool && v.AsBool()
}

// askSecret asks the person at the terminal for a secret. Neither the program nor a record of the
// run receives the answer.
func (r *reader) askSecret(x *incomingLine) error {
	o := &r.process.outside
	d := o.decision(x.line.Number, x.msg.Type, json.RawMessage(x.msg.ID), x.line.Text, unanswerable)
	if r.process.hosts.opts.Ask == nil {
		return o.answer(x.msg, d)
	}
	o.ask(*x.msg, d, x.line.Number)
	return nil
}

// Causes for which the application's answer to a request is no longer needed.
var (
	errRequestWithdrawn = errors.New("withdrawn by the host")
	errRequestExited    = errors.New(adapter.ReasonExited)
	errRequestLate      = errors.New("there was no answer in time")
)

// ask asks the application about a request of detached work. The answer may arrive during a later
// exchange of the process.
func (o *outside) ask(m effect.HostMessage, d *OutsideDecision, line int64) {
	h := o.process.hosts
	ctx, cancel := context.WithCancelCause(context.Background())
	o.mu.Lock()
	_, isRepeated := o.open[m.ID]
	if !isRepeated {
		if o.open == nil {
			o.open, o.lines = map[string]context.CancelCauseFunc{}, map[string]int64{}
		}
		o.open[m.ID], o.lines[m.ID] = cancel, line
	}
	o.mu.Unlock()
	if isRepeated || !h.trackRunning() {
		cancel(nil)
		return
	}
	late := clock.Timer{}
	if limit := orSeconds(0, o.process.cfg.Access.Unattended.QuestionTimeout); limit > 0 {
		late = h.opts.Clock.AfterFunc(limit, func() { cancel(errRequestLate) })
	}
	q := &effect.AwaitEmit{Channel: hostmsg.Lookup(m.Type).Channel, Payload: value.AppendJSON(nil, m.Payload)}
	q.Asks = &effect.Asking{Host: d.Host, Type: m.Type, Secret: isSecretQuestion(&m)}
	q.Asks.Within = int64(o.process.cfg.Access.Unattended.QuestionTimeout * 1000)
	o.process.silence.countRequest(&m)
	h.opts.Ask(ctx, q, func(answer *effect.Answer, err error) {
		defer h.running.Done()
		late.Stop()
		why := context.Cause(ctx)
		cancel(nil)
		o.mu.Lock()
		delete(o.open, m.ID)
		o.mu.Unlock()
		o.process.silence.countReply(m.Type, m.ID)
		if h.suspended.Load() {
			return // the resumed run asks again
		}
		o.conclude(&m, d, answer, cmp.Or(why, err))
	})
}

// conclude answers a request about which the application was asked. err is the reason why there is
// no answer.
func (o *outside) conclude(m *effect.HostMessage, d *OutsideDecision, answer *effect.Answer, err error) {
	c := o.process.cfg
	d.Problem = ""
	switch {
	case errors.Is(err, errRequestWithdrawn):
		d.By, d.Rules = effect.ByHost, c.Name
		o.close(m, d, err)
		return
	case errors.Is(err, errRequestExited):
		o.close(m, d, err)
		return
	case isSecretQuestion(m) && err != nil:
		d.Problem = unanswerable
		if errors.Is(err, errRequestLate) {
			d.Problem = err.Error()
		}
	case isSecretQuestion(m):
		d.By, d.Rules, d.Answer, d.secret = answer.By, answer.Name, json.RawMessage(notRecorded), answer.Value
		for _, text := range textsIn(answer.Value) {
			o.process.hosts.opts.Secrets.Add("an answer to "+c.Name, text)
		}
	case err == nil:
		d.By, d.Rules, d.Answer = answer.By, answer.Name, answer.Value
	default:
		d.By, d.Rules = effect.ByDefault, hostmsg.Lookup(m.Type).Default
		o.process.hosts.logf("warn", c, "receives the default answer to a request of detached work: %v", err)
	}
	if d.Problem == "" && (len(d.Answer) == 0 || string(d.Answer) == "null") {
		d.Answer = c.unattendedAnswer(m)
	}
	if m.Type == hostmsg.Approval && decision.Parse(d.Answer).Allow {
		d.Verdict = string(hostpolicy.Allow)
	}
	if err := o.answer(m, d); err != nil {
		o.process.hosts.logf("warn", c, "does not receive the answer to its request %s: %v", d.ID, err)
	}
}

// textsIn returns the texts in an answer.
func textsIn(answer json.RawMessage) (all []string) {
	var parts any
	_ = json.Unmarshal(answer, &parts) // nil for no answer
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case string:
			if v != "" {
				all = append(all, v)
			}
		case []any:
			for _, x := range v {
				visit(x)
			}
		case map[string]any:
			for _, x := range v {
				visit(x)
			}
		}
	}
	visit(parts)
	return all
}

// close records that a request needs no answer.
func (o *outside) close(m *effect.HostMessage, d *OutsideDecision, why error) {
	d.Problem = why.Error()
	if err := o.record(d); err != nil {
		o.process.hosts.logf("warn", o.process.cfg, "made a request whose end could not be recorded: %v", err)
	}
	o.report(d, m)
}

// unattendedAnswer returns the answer to a request for which there is no other answer.
func (c *Config) unattendedAnswer(m *effect.HostMessage) json.RawMessage {
	if m.Type != hostmsg.Approval {
		return json.RawMessage(cmp.Or(string(c.Access.Unattended.QuestionDefault), `""`))
	}
	if person, _ := m.Payload.Map().GetString("person"); person.Kind() == value.KindBool && person.AsBool() {
		return json.RawMessage(`"no"`)
	}
	return json.RawMessage(cmp.Or(string(c.Access.Unattended.ApprovalDefault), `"no"`))
}

// withdraw ends the question to the application about the request that m withdraws, if there is
// one. A request that moves has arrived before the exchange that ends, for the agent during it.
func (o *outside) withdraw(m *effect.HostMessage) bool {
	o.mu.Lock()
	cancel := o.open[m.ID]
	o.mu.Unlock()
	if cancel != nil && !m.IsMoved() {
		cancel(errRequestWithdrawn)
	}
	return cancel != nil
}

// endRequests ends all questions to the application, because the process has ended.
func (o *outside) endRequests() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, cancel := range o.open {
		cancel(errRequestExited)
	}
}

// noteRequests notes in which line requests arrived, before the run was resumed, that the program
// does not receive. isOutside reports whether they are requests of detached work.
func (o *outside) noteRequests(all [][]byte, line int64, isOutside bool) {
	if o.lines == nil {
		o.open, o.lines = map[string]context.CancelCauseFunc{}, map[string]int64{}
	}
	for _, text := range all {
		if m := mustMessage(text); hostmsg.Lookup(m.Type).ByPerson() && (isOutside || isSecretQuestion(&m)) {
			o.lines[m.ID] = line
		}
	}
}

// repeatRequests asks the application again about the requests that were open when the run was
// resumed.
func (o *outside) repeatRequests(a adapter.Adapter) {
	w, ok := a.(adapter.Worker)
	if !ok || o.process.hosts.opts.Ask == nil {
		return
	}
	for _, text := range w.Work().Requests {
		m := mustMessage(text)
		line, known := o.lines[m.ID]
		if !known {
			continue // the exchange handles it
		}
		o.ask(m, o.decision(line, m.Type, json.RawMessage(m.ID), text, undecidable), line)
	}
}
