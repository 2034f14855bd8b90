package vm

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Limits of a vendor's plan. If the manifest allows it, an exchange that fails because the host has
// reached a limit of its plan waits until the limit no longer applies, and then continues in a new
// exchange with the same conversation. While it waits, it holds neither a process nor a
// reservation, and further exchanges of the host wait before they start.

// planLimitCode is the code of an exchange that has failed after a limit of the host's plan was
// reached.
const planLimitCode = "plan_limit"

// continuePrompt continues a conversation that contains the exchange's prompt.
const continuePrompt = "Continue."

// planWait is the wait of an exchange for a limit of the host's plan.
type planWait struct {
	opening  *effect.ExchangeOpen // the request that opens the exchange after the wait
	fallback *effect.ExchangeOpen // the same in a new conversation, if the host cannot resume one; nil for none
	window   string               // of the limit, as in the host's last plan_limit
	until    int64                // in milliseconds since 1970
	late     int                  // number of attempts in a row that failed with a limit that had ended
}

// A limit has ended when an exchange fails with it if the run was not running when it did, or if
// the vendor's clock is slow. After a wait, the next attempt is one minute later. Without the
// maximum of planWait.late, a host whose times are always past would be started again and again.
const (
	mostLate    = 5
	againMillis = 60_000
)

// planLimits are the ends of the limits that hosts have reached, by the host's name, in
// milliseconds since 1970.
type planLimits map[string]int64

// reach records a limit.
func (l *planLimits) reach(host string, until int64) {
	if *l == nil {
		*l = planLimits{}
	}
	(*l)[host] = max((*l)[host], until)
}

// planWaitOf returns how an exchange that has failed with the error m waits and continues, or nil
// if it fails. prompt is that of its last turn. last is the exchange's last wait; nil if it has not
// waited.
func planWaitOf(t *task, d *Host, opening *effect.ExchangeOpen, prompt string, last *planWait, window string, m *value.Map) (*planWait, error) {
	code, _ := m.GetString("code")
	until, _ := m.GetString("wait_until")
	if d.MaxWait <= 0 || code.Kind() != value.KindString || code.AsString() != planLimitCode || until.Kind() != value.KindInt {
		return nil, nil
	}
	now, err := wallTime(t)
	if err != nil {
		return nil, err
	}
	p := &planWait{opening: opening, window: window, until: until.AsInt()}
	if float64(p.until-now) > d.MaxWait*1000 {
		return nil, nil
	}
	isSame := last != nil && p.until <= last.until
	if isSame || p.until <= now {
		if p.late = 1; last != nil {
			p.late += last.late
		}
		if p.late > mostLate {
			return nil, nil
		}
	}
	if isSame {
		p.until = max(p.until, now+againMillis)
	}
	session, _ := m.GetString("session")
	accepted, _ := m.GetString("accepted")
	if session.Kind() == value.KindString && session.AsString() != "" {
		again := *opening
		again.Session, again.Prompt = session.AsString(), prompt
		if accepted.Kind() == value.KindBool && accepted.AsBool() {
			again.Prompt = continuePrompt
		}
		p.opening, p.fallback = &again, opening
	}
	t.m.planLimits.reach(d.Name, p.until)
	return p, nil
}

// wallTime returns the time in milliseconds since 1970.
func wallTime(t *task) (int64, error) {
	t.m.stats.Requests++
	r, err := t.performEffect(t.m.requests.ctx, &effect.Clock{})
	if err != nil {
		return 0, err
	}
	return r.(*effect.Time).Unix, nil
}

// event returns an event about the wait.
func (p *planWait) event(channel string, d *Host) (string, *value.Map) {
	m := value.NewMap(3)
	m.SetString("host", value.String(d.Name))
	if channel == "host:plan_wait" {
		if p.window != "" {
			m.SetString("window", value.String(p.window))
		}
		m.SetString("until", value.Int(p.until))
	}
	return channel, m
}

// awaitPlan makes the listen wait, and then open the exchange of p.
func awaitPlan(t *task, s *scope, p *planWait) status {
	s.further.plan = p
	if st := t.emit(s.output(p.event("host:plan_wait", s.decl))); st != running {
		return st
	}
	now, err := wallTime(t)
	if err != nil {
		return t.failRun(err)
	}
	return t.request(&effect.Sleep{Milliseconds: max(p.until-now, 0)}, &wait{kind: waitPlan, scope: s})
}

// planResumed opens the exchange after a wait.
func planResumed(t *task, w *wait) status {
	s := w.scope
	if st := t.emit(s.output(s.further.plan.event("host:plan_resumed", s.decl))); st != running {
		return st
	}
	return reopen(t, s, s.further.plan.opening)
}

// reopen opens an exchange of the listen after a wait.
func reopen(t *task, s *scope, r *effect.ExchangeOpen) status {
	s.messages, s.exchangeEnd, s.next, s.unsent = messages{}, exchangeEnd{}, nil, nil
	s.further.prompt = r.Prompt
	again := *r
	again.Within = outerExchanges(t)
	return t.request(&again, &wait{kind: waitOpen, scope: s})
}

// PlanUntil returns the end of the limit that the host in argument 0 has reached, in milliseconds
// since 1970; 0 if an exchange may start.
func PlanUntil(a *Args) (value.Slot, error) {
	d := a.Host(0)
	until := a.run().planLimits[d.Name]
	if d.MaxWait <= 0 || until == 0 {
		return value.Int(0), nil
	}
	now, err := wallTime(a.run().sched.current)
	if err != nil {
		return value.Nil, err
	}
	if until <= now {
		until = 0
	}
	return value.Int(until), nil
}

// BeginPlanWait decides whether the stream in argument 0, which has ended with the error whose
// members are argument 1, waits for a limit of the host's plan. If so, it ends the exchange, and
// returns the window and the end of the limit; otherwise the end is 0.
func BeginPlanWait(a *Args) (value.Slot, error) {
	x, t := a.hostStreamIn(0), a.run().sched.current
	p, err := planWaitOf(t, x.decl, x.opening, x.prompt, x.plan, x.window, value.Flatten(a.Slot(1)).Map())
	if err != nil {
		return value.Nil, err
	}
	if p == nil {
		if x.asks.live == 0 {
			x.close(t, "")
		}
		return value.Tuple(value.String(""), value.Int(0)), nil
	}
	x.plan = p
	for _, k := range x.asks.open() {
		k.markSettled(askClosed)
	}
	t.m.openResources.release(t, effect.KindExchangeClose, x.id)
	t.m.stats.Requests++
	if _, err := t.performEffect(t.m.requests.ctx, &effect.ExchangeClose{ID: x.id}); err != nil {
		return value.Nil, err
	}
	return value.Tuple(value.String(p.window), value.Int(p.until)), nil
}

// ReopenStream opens the exchange of the stream in argument 0 again after a wait: in the same
// conversation, or with fresh in a new one.
func ReopenStream(a *Args, fresh bool) (value.Slot, error) {
	m, x := a.run(), a.hostStreamIn(0)
	again := *x.plan.opening
	if fresh && x.plan.fallback != nil {
		again = *x.plan.fallback
	}
	again.Within = outerExchanges(m.sched.current)
	x.prompt = again.Prompt
	return a.AskToOpen(&again, Nothing, func(result effect.Result) (int64, effect.Request) {
		x.messages, x.over, x.err = messages{}, false, nil
		x.id = result.(*effect.ExchangeOpened).ID
		return x.id, &effect.ExchangeClose{ID: x.id}
	})
}

// isPlanLimit reports whether the exchange of a host may wait instead of ending with the message m.
func (d *Host) isPlanLimit(m *effect.HostMessage) bool {
	code, _ := m.Payload.Map().GetString("code")
	return d.MaxWait > 0 && m.Type == hostmsg.Error && code.Kind() == value.KindString && code.AsString() == planLimitCode
}

// windowOf returns the window of a plan_limit; "" for other messages.
func windowOf(m *effect.HostMessage) string {
	if m.Type != hostmsg.PlanLimit {
		return ""
	}
	w, _ := m.Payload.Map().GetString("window")
	return value.Text(w)
}
