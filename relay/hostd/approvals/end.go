package approvals

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Withdraw closes an open request that no longer needs a decision. It does nothing if the request
// is closed or is being decided.
func (d *Registry) Withdraw(ctx context.Context, run, id, why string) error {
	return d.closeWithout(ctx, run, id, Withdrawn, why)
}

// closeWithout closes an open request without a decision.
func (d *Registry) closeWithout(ctx context.Context, run, id, how, why string) error {
	t := d.lookup(run)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.open[id]
	if e == nil || e.applying != nil {
		return nil
	}
	err := d.resolve(ctx, t, run, e, Decision{Decision: how}, nil, why)
	if err != nil && how == Expired { // the commit failed, so the request is still open: try again
		e.stopTimer = d.o.After(protocol.PingAfter, func() { _ = d.closeWithout(context.Background(), run, id, Expired, why) })
	}
	return err
}

// CloseRun withdraws the open requests of a run that has ended, waits for decisions that are being
// applied, and refuses new requests. Call it before the run's end is committed.
func (d *Registry) CloseRun(ctx context.Context, run string) error {
	t := d.requestsOf(run)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for len(t.order) > 0 {
		e := t.order[0]
		if applied := e.applying; applied != nil {
			t.mu.Unlock()
			<-applied
			t.mu.Lock()
			continue
		}
		why := "the run has ended"
		if e.attempted != nil {
			why = indeterminateReason
		}
		if err := d.resolve(ctx, t, run, e, Decision{Decision: Withdrawn}, nil, why); err != nil {
			return err
		}
	}
	return nil
}

// Outcome returns the outcome of a request, if it is closed and its run not yet forgotten.
func (d *Registry) Outcome(run, id string) (Decision, bool) {
	t := d.lookup(run)
	if t == nil {
		return Decision{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	dec, over := t.done[id]
	return dec, over
}

// Forget drops the requests of a run whose end has been delivered.
func (d *Registry) Forget(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.runs, run)
}

// storedRequest is the JSON form in a Row.
type storedRequest struct {
	Data    protocol.PermissionRequested `json:"data"`
	Outcome *Decision                    `json:"outcome,omitempty"`
	// the decision that was being applied
	Tried *Decision `json:"tried,omitempty"`
	// whether Request.Persistent is set
	Resumed bool `json:"resumed"`
}

// rows returns the rows to store for a request. Closed requests are stored too: after a restart,
// lost ones are withdrawn and a repeated decision gets the same reply.
func (e *entry) rows(run string, outcome *Decision) []Row {
	text, err := json.Marshal(storedRequest{e.Data, outcome, e.attempted, e.Persistent})
	if err != nil {
		panic("desk: a request is no JSON: " + err.Error())
	}
	return []Row{{run, e.Data.RequestID, text}}
}

// Restore loads the rows of an earlier process. It remembers outcomes and withdraws open requests,
// except persistent ones: these wait for Attach.
func (d *Registry) Restore(ctx context.Context, rows []Row) error {
	for _, row := range rows {
		var k storedRequest
		if err := json.Unmarshal(row.Data, &k); err != nil {
			return fmt.Errorf("stored request %s of run %s: %w", row.ID, row.Run, err)
		}
		if err := d.restoreRow(ctx, row.Run, k); err != nil {
			return err
		}
	}
	return nil
}

func (d *Registry) restoreRow(ctx context.Context, run string, k storedRequest) error {
	t := d.requestsOf(run)
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.Outcome != nil {
		t.done[k.Data.RequestID] = *k.Outcome
		return nil
	}
	e := &entry{Request: Request{Data: k.Data, Persistent: k.Resumed}, outcome: make(chan Decision, 1), attempted: k.Tried}
	if !k.Resumed {
		d.insert(t, run, e, 0)
		return d.resolve(ctx, t, run, e, Decision{Decision: Withdrawn}, nil, "hostd was restarted")
	}
	e.Apply = func(context.Context, Decision) ([]Event, error) {
		return nil, errorf(protocol.HostOffline, "run %s has not reconnected to hostd: try again", run)
	}
	e.detached = make(chan struct{})
	d.insert(t, run, e, d.setDeadline(&e.Request))
	return nil
}

// Attach connects a requester to a restored request and sets its hooks from r. It returns the
// channel for the outcome, or nil if the request is not open.
func (d *Registry) Attach(run, id string, r Request) <-chan Decision {
	t := d.lookup(run)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.open[id]
	if e == nil {
		return nil
	}
	e.Check, e.Apply, e.StoreAttempt = r.Check, r.Apply, r.StoreAttempt
	if e.detached != nil {
		close(e.detached)
		e.detached = nil
	}
	return e.outcome
}

// ResolveRestored closes a restored request that has no requester any more. The outcome is was, or
// if that is nil the decision that was being applied. Without either, the request is withdrawn for
// the given reason.
func (d *Registry) ResolveRestored(ctx context.Context, run, id string, was *Decision, why string) error {
	t := d.lookup(run)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.open[id]
	if e == nil || e.applying != nil {
		return nil
	}
	if was == nil {
		was = e.attempted
	}
	if was == nil {
		return d.resolve(ctx, t, run, e, Decision{Decision: Withdrawn}, nil, why)
	}
	return d.resolve(ctx, t, run, e, *was, nil, was.Text)
}
