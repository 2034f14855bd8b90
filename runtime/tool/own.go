package tool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/audit"
)

// This file handles calls of the program's own tools and of the tools of its MCP servers. The
// program makes these calls itself. This package only requests approval for them and records them
// like calls of the application's tools.

// begun is a call whose beginning is recorded and whose end is not.
type begun struct {
	*Call
	at time.Time
}

// ownSession returns the session for the program's own tools, and opens it at the first call.
func (p *Performer) ownSession() (*Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session != nil {
		return p.session, nil
	}
	var err error
	if p.owns == nil {
		p.owns, err = p.Own()
	}
	return p.owns, err
}

// ownCall prepares a call of one of the program's tools. The program has validated the arguments.
func (p *Performer) ownCall(q *effect.AppAsk) (*Call, error) {
	s, err := p.ownSession()
	if err != nil {
		return nil, fmt.Errorf("tool: a call of %s: %w", q.Tool, err)
	}
	c := &Call{s: s, ask: askOf(q), args: q.Args}
	c.e = p.ownEntry(q)
	c.validate(nil)
	return c, nil
}

// ownEntry returns the entry of one of the program's tools. All calls of a tool share one entry,
// because permissions for the session belong to an entry.
func (p *Performer) ownEntry(q *effect.AppAsk) *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[q.Tool]
	if e == nil {
		if p.entries == nil {
			p.entries = map[string]*entry{}
		}
		e = &entry{def: Definition{Name: q.Tool, Description: q.Own.Description, Version: int(q.Version), RequiresApproval: true},
			owner: q.Own.Owner, recorded: q.Own.Name, params: anyObjectSchema()}
		p.entries[q.Tool] = e
	}
	return e
}

// recordCall records the beginning of a call that the program makes.
func (p *Performer) recordCall(ctx context.Context, q *effect.AppAsk) (*effect.AuditCalled, error) {
	p.mu.Lock()
	x := p.asked[q.CallID]
	p.mu.Unlock()
	b := &begun{at: time.Now()}
	if x != nil {
		b.Call = x.Call
	} else {
		var err error
		if b.Call, err = p.prepareCall(q); err != nil {
			return nil, err
		}
	}
	if effect.IsRetry(ctx) && b.isRecorded(audit.KindCall) {
		// the beginning is already recorded
	} else if err := b.writeRecord(b.Began); err != nil {
		return &effect.AuditCalled{Error: fmt.Sprintf("%s was not called: %v", b.qualifiedName(), err)}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	if p.begun == nil {
		p.begun = map[int64]*begun{}
	}
	p.begun[p.last] = b
	return &effect.AuditCalled{ID: p.last}, nil
}

// Record records a call of the program that is not an effect. done records the end of the call. If
// Record fails, the call must not be made.
func (p *Performer) Record(q *effect.AppAsk) (done func(o Outcome, message string, output int), err error) {
	called, err := p.recordCall(context.Background(), q)
	switch {
	case err != nil:
		return nil, err
	case called.ID == 0:
		return nil, errors.New(called.Error)
	}
	return func(o Outcome, message string, output int) {
		// cannot fail, because the call is recorded
		_ = p.recordDone(context.Background(), &effect.AuditDone{ID: called.ID, Outcome: string(o), Error: message, OutputBytes: int64(output)})
	}, nil
}

// Do makes a call of an application's tool with the session's hooks. ok is false if the application
// has no tools.
func (p *Performer) Do(ctx context.Context, a Ask) (e Ended, ok bool) {
	s := p.opened()
	if s == nil {
		return e, false
	}
	return s.Do(ctx, a), true
}

// recordDone records the end of a call that the program has made.
func (p *Performer) recordDone(ctx context.Context, q *effect.AuditDone) error {
	p.mu.Lock()
	b := p.begun[q.ID]
	delete(p.begun, q.ID)
	p.mu.Unlock()
	if b == nil {
		return fmt.Errorf("tool: no call %d was recorded", q.ID)
	}
	if effect.IsRetry(ctx) && b.isRecorded(audit.KindDone) {
		return nil
	}
	b.done(Outcome(q.Outcome), q.Error, int(q.OutputBytes))
	return nil
}

func (b *begun) done(o Outcome, message string, bytes int) {
	if b.s.hooks.Audit == nil {
		return
	}
	record := b.cleanRecord(b.recorded().Done(o, message, time.Since(b.at).Milliseconds(), bytes))
	if _, err := b.s.hooks.Audit.Append(record); err != nil {
		b.logUnrecorded(err)
	}
}

// Suspend forgets the running calls without recording their end, because they continue when the run
// is resumed.
func (p *Performer) Suspend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = nil
}

// abandon records the end of the calls that were interrupted by the end of the run.
func (p *Performer) abandon() {
	p.mu.Lock()
	left := p.begun
	p.begun = nil
	p.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(left)) {
		left[id].done(OutcomeCancelled, "the run ended first", 0)
	}
}
