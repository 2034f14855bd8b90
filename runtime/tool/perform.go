package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/audit"
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/toolname"
)

// Performer takes the steps of a run's calls: it performs effect.AppList, effect.AppPrepare,
// effect.AppDecide and effect.AppCall on a session. Without a session there are no tools.
// Safe for concurrent use.
type Performer struct {
	mu      sync.Mutex
	session *Session
	calls   map[string]*asked // prepared and not made yet, by id
}

// asked is a prepared call, and when the application was asked about it.
type asked struct {
	*Call
	at time.Time
}

// Open sets the session. The Performer closes it.
func (p *Performer) Open(s *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session, p.calls = s, map[string]*asked{}
}

// Close closes the session.
func (p *Performer) Close() error {
	if s := p.opened(); s != nil {
		return s.Close()
	}
	return nil
}

// Opened says whether there is a session.
func (p *Performer) Opened() bool { return p.opened() != nil }

func (p *Performer) opened() *Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session
}

// Perform takes a step.
func (p *Performer) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	s := p.opened()
	if s == nil {
		if _, ok := r.(*effect.AppList); ok {
			return &effect.AppOffer{}, nil
		}
		return nil, fmt.Errorf("tool: %s without a session", r.Kind())
	}
	switch q := r.(type) {
	case *effect.AppList:
		return s.offered(q), nil
	case *effect.AppPrepare:
		return p.prepare(s, &q.AppAsk)
	case *effect.AppDecide:
		return nil, p.decide(q)
	case *effect.AppCall:
		return p.call(ctx, s, &q.AppAsk)
	}
	return nil, &effect.Unperformed{Who: "the application's tools", Kind: r.Kind()}
}

// offered is what the session offers to somebody.
func (s *Session) offered(q *effect.AppList) *effect.AppOffer {
	out := &effect.AppOffer{}
	var only Filter
	if q.Only != nil {
		only, _ = Only(*q.Only...) // the compiler has checked them
	}
	for _, b := range s.Tools() {
		d := b.Definition()
		if q.Only != nil && !only.Has(d) || slices.Contains(q.Taken, b.Name()) {
			continue
		}
		out.Tools = append(out.Tools, effect.AppTool{Name: b.Name(), Tool: d.Name, Version: int64(d.Version), Description: d.Description,
			Category: d.Category, Parameters: d.Parameters, Sequential: d.Sequential})
	}
	return out
}

// asking is the call that a program wants.
func asking(q *effect.AppAsk) Ask {
	return Ask{Name: toolname.Ref{Name: q.Tool, Version: int(q.Version)}.String(), Args: q.Args, CallID: q.CallID, Caller: q.By, Route: q.Route}
}

func (p *Performer) prepare(s *Session, q *effect.AppAsk) (*effect.AppQuestion, error) {
	c := &asked{Call: s.Prepare(asking(q)), at: time.Now()}
	p.mu.Lock()
	p.calls[q.CallID] = c
	p.mu.Unlock()
	question := c.Question()
	if question == nil {
		return &effect.AppQuestion{}, nil
	}
	payload, err := encode(question)
	return &effect.AppQuestion{Payload: payload, Within: question.TimeoutS}, err
}

// decide takes what was answered about a prepared call.
func (p *Performer) decide(q *effect.AppDecide) error {
	p.mu.Lock()
	c := p.calls[q.CallID]
	p.mu.Unlock()
	if c == nil {
		return fmt.Errorf("tool: call %s was not prepared", q.CallID)
	}
	switch took := time.Since(c.at); {
	case q.Late:
		c.TimedOut(took)
	case q.Nobody != "":
		c.Nobody(errors.New(q.Nobody))
	default:
		c.Answer(q.Answer, audit.Actor{Type: "application"}, took)
	}
	return nil
}

// call makes a prepared call, with its records.
func (p *Performer) call(ctx context.Context, s *Session, q *effect.AppAsk) (effect.Result, error) {
	p.mu.Lock()
	c := p.calls[q.CallID]
	delete(p.calls, q.CallID)
	p.mu.Unlock()
	if c == nil {
		c = &asked{Call: s.Prepare(asking(q))}
	}
	e := c.finish(ctx)
	if ctx.Err() != nil && e.Outcome == OutcomeCancelled {
		return nil, context.Cause(ctx)
	}
	r := &effect.AppResult{Outcome: string(e.Outcome), Output: e.Result.Output, Stop: e.Stop, Changed: e.Changed, DurationMS: e.Duration.Milliseconds()}
	if e.Outcome != OutcomeOK {
		r.Error, _ = e.Text()
	}
	return r, nil
}
