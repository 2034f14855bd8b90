package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/toolname"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Performer performs the requests of effect.Applications. It performs the steps of calls of the
// application's tools. For calls of the program's own tools it requests approval and writes the
// records. It is safe for concurrent use.
type Performer struct {
	// Own opens the session for the program's own tools. It is called once, when a call of such a
	// tool first needs an approval or a record.
	Own func() (*Session, error)

	mu      sync.Mutex
	session *Session // session of the application's tools; nil without tools
	owns    *Session
	last    int64             // number of the newest prepared or recorded call
	asked   map[string]*asked // prepared calls, by key
	begun   map[int64]*begun  // recorded calls that have not ended, by number
	entries map[string]*entry // entries of the program's own tools, by name
}

// asked is a prepared call with the time at which its approval was requested.
type asked struct {
	*Call
	id int64
	at time.Time
}

// Open sets the application's session. The Performer closes it.
func (p *Performer) Open(s *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session = s
}

// Close records the end of unfinished calls and closes the sessions.
func (p *Performer) Close() error {
	p.abandon()
	p.mu.Lock()
	all := []*Session{p.session, p.owns}
	p.mu.Unlock()
	var errs []error
	for _, s := range all {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// Opened reports whether Open has been called.
func (p *Performer) Opened() bool { return p.opened() != nil }

// mock makes a test answer the calls of a tool.
func (p *Performer) mock(name string) error {
	s := p.opened()
	if s == nil {
		return effect.Errorf("RuntimeError", "mock_tool: %v", errNoTest)
	}
	if err := s.Mock(name); err != nil {
		return effect.Errorf("RuntimeError", "mock_tool: %v", err)
	}
	return nil
}

// Session returns the session of the application's tools, or nil.
func (p *Performer) Session() *Session { return p.opened() }

func (p *Performer) opened() *Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session
}

// Perform performs one step of a call.
func (p *Performer) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch q := r.(type) {
	case *effect.AppList:
		if s := p.opened(); s != nil {
			return s.offerFor(q), nil
		}
		return &effect.AppOffer{}, nil
	case *effect.AppPrepare:
		return p.prepare(&q.AppAsk)
	case *effect.AppDecide:
		return p.applyAnswer(q)
	case *effect.AppLeave:
		p.dropPrepared(ctx, q)
		return nil, nil
	case *effect.AppCall:
		return p.performCall(ctx, &q.AppAsk)
	case *effect.AppMock:
		return nil, p.mock(q.Name)
	case *effect.AuditCall:
		return p.recordCall(ctx, &q.AppAsk)
	case *effect.AuditDone:
		return nil, p.recordDone(ctx, q)
	}
	return nil, &effect.UnperformedError{Who: "tools", Kind: r.Kind()}
}

// offerFor returns the tools that the session offers for a request.
func (s *Session) offerFor(q *effect.AppList) *effect.AppOffer {
	out := &effect.AppOffer{}
	var only *Filter
	if q.Only != nil {
		f, _ := Only(*q.Only...) // the compiler has checked the filters
		only = &f
	}
	now := s.r.snapshot()
	s.warn(now)
	for _, b := range s.offerTools(now, only) {
		d := b.Definition()
		if slices.Contains(q.Reserved, b.Name()) {
			if s.warnOnce(b.e) {
				s.log("warn", fmt.Sprintf("tool '%s' of %s is hidden by the program's own tool with the same name", b.Exact(), b.Owner()))
			}
			continue
		}
		out.Tools = append(out.Tools, effect.AppTool{Name: b.Name(), Tool: d.Name, Version: int64(d.Version), Description: d.Description,
			Category: d.Category, Parameters: d.Parameters, Sequential: d.Sequential, Approve: s.mustAsk(d)})
	}
	return out
}

// askOf converts a program's request to an Ask.
func askOf(q *effect.AppAsk) Ask {
	return Ask{Name: toolname.Ref{Name: q.Tool, Version: int(q.Version)}.String(), Args: q.Args, CallID: q.CallID, Caller: q.By, Route: q.Route}
}

// prepareCall prepares a call of a tool of the application or of the program.
func (p *Performer) prepareCall(q *effect.AppAsk) (*Call, error) {
	if q.Own != nil {
		return p.ownCall(q)
	}
	s := p.opened()
	if s == nil {
		return nil, fmt.Errorf("tool: a call of %s without a session", q.Tool)
	}
	c := s.Prepare(askOf(q))
	if q.Missing && c.e != nil {
		c.refuseCall(OutcomeNotFound, noTool, q.Tool)
	}
	return c, nil
}

func (p *Performer) prepare(q *effect.AppAsk) (*effect.AppQuestion, error) {
	c, err := p.prepareCall(q)
	if err != nil {
		return nil, err
	}
	question := c.Question()
	p.mu.Lock()
	p.last++
	if p.asked == nil {
		p.asked = map[string]*asked{}
	}
	p.asked[q.CallID] = &asked{c, p.last, time.Now()}
	out := &effect.AppQuestion{ID: p.last}
	p.mu.Unlock()
	if question != nil {
		out.Within = question.TimeoutS
		out.Payload, err = jsonwrite.Encode(question)
	}
	return out, err
}

// dropPrepared discards a prepared call and records that it was cancelled.
func (p *Performer) dropPrepared(ctx context.Context, q *effect.AppLeave) {
	var left *asked
	p.mu.Lock()
	maps.DeleteFunc(p.asked, func(_ string, c *asked) bool {
		if c.id == q.ID {
			left = c
		}
		return c.id == q.ID
	})
	p.mu.Unlock()
	if left != nil && q.Cancelled {
		left.refuseCall(OutcomeCancelled, "%s", left.cancelled(nil)).runDecided(ctx)
	}
}

// applyAnswer applies the answer to the approval of a prepared call.
func (p *Performer) applyAnswer(q *effect.AppDecide) (*effect.AppVerdict, error) {
	p.mu.Lock()
	c := p.asked[q.CallID]
	p.mu.Unlock()
	if c == nil {
		return nil, fmt.Errorf("tool: call %s was not prepared", q.CallID)
	}
	switch took := time.Since(c.at); {
	case q.Late:
		c.TimedOut(took)
	case q.Unanswered != "":
		c.DenyUnanswered(errors.New(q.Unanswered))
	default:
		answer, by := Answered(&effect.Answer{Value: q.Answer, Typed: q.Typed, By: q.By, Name: q.Name})
		c.Answer(answer, by, took)
	}
	executed := c.checkApproved()
	v := c.verdict()
	v.Decided = c.decisionRecord(executed)
	return v, nil
}

// verdict returns the decision about the call in the form for the program.
func (c *Call) verdict() *effect.AppVerdict {
	v := &effect.AppVerdict{}
	switch {
	case c.refused != nil:
		v.Outcome, v.Error, v.Stop = string(c.refused.outcome), c.refused.why, c.refused.stop
	case c.respond != nil:
		v.Respond, v.Output = true, c.respond
	case c.changed:
		v.Args, v.Changed = c.args, c.shownArguments().text
	}
	return v
}

// Answered splits the answer to an approval into its JSON value and its actor.
func Answered(a *effect.Answer) (answer json.RawMessage, by audit.Actor) {
	if answer = a.Value; a.Typed {
		answer = decision.Written(answer)
	}
	who := effect.ActorOf(a.By, a.Name)
	return answer, audit.Actor{Type: who.Type, Name: who.Name}
}

// performCall runs a call of an application's tool and records it. The call may have been prepared
// before.
func (p *Performer) performCall(ctx context.Context, q *effect.AppAsk) (effect.Result, error) {
	p.mu.Lock()
	x := p.asked[q.CallID]
	delete(p.asked, q.CallID)
	p.mu.Unlock()
	var c *Call
	if x != nil {
		c = x.Call
	} else {
		var err error
		if c, err = p.prepareCall(q); err != nil {
			return nil, err
		}
	}
	e := c.runDecided(ctx)
	if ctx.Err() != nil && e.Outcome == OutcomeCancelled {
		return nil, context.Cause(ctx)
	}
	r := &effect.AppResult{Outcome: string(e.Outcome), Output: e.Result.Output, Stop: e.Stop, Changed: e.Changed, DurationMS: e.Duration.Milliseconds(), Mocked: e.mocked, Unplayed: e.unplayed, Outside: c.outside(e)}
	if e.Outcome != OutcomeOK {
		r.Error, _ = e.Text()
	}
	return r, nil
}
