package approvals

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Withdraw closes an open request that no longer needs a decision. It does nothing if the request
// is closed, or if a decision is being applied.
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
	err := d.closeAttempted(ctx, t, run, e, how, why)
	if err != nil && how == Expired { // the commit failed and the request is still open: retry later
		e.stopTimer = d.o.After(protocol.PingAfter, func() { _ = d.closeWithout(context.Background(), run, id, Expired, why) })
	}
	return err
}

// CloseRun withdraws the open requests of a run that has ended. It waits for decisions that are
// being applied, and later requests of the run are refused. It must be called before the end of the
// run is committed.
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
		if err := d.closeAttempted(ctx, t, run, e, Withdrawn, "the run has ended"); err != nil {
			return err
		}
	}
	return nil
}

// closeAttempted closes a request without a decision. If an earlier hostd has perhaps applied one,
// its result is unknown.
func (d *Registry) closeAttempted(ctx context.Context, t *runRequests, run string, e *entry, how, why string) error {
	if e.attempted != nil {
		why = indeterminateReason
	}
	return d.resolve(ctx, t, run, e, Decision{Decision: how, Tried: e.attempted}, nil, why)
}

// Outcome returns the outcome of a closed request. It returns false if the request is not closed,
// or if Forget was called for its run.
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

// Forget drops the requests of a run. It is called when the server has received the end of the run.
func (d *Registry) Forget(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.runs, run)
}

// storedRequest is the JSON form of a request in a Row.
type storedRequest struct {
	Data    protocol.PermissionRequested `json:"data"`
	Outcome *Decision                    `json:"outcome,omitempty"`
	// Tried is the decision that is being applied, or nil.
	Tried *Decision `json:"tried,omitempty"`
	// Resumed is the value of Request.Persistent.
	Resumed bool `json:"resumed"`
}

// rows returns the rows that store a request. Closed requests are stored too. After a restart,
// hostd can then withdraw requests without a requester, and answer a repeated decision with the
// same result.
func (e *entry) rows(run string, outcome *Decision) []Row {
	text, err := json.Marshal(storedRequest{e.Data, outcome, e.attempted, e.Persistent})
	if err != nil {
		panic("desk: a request is no JSON: " + err.Error())
	}
	return []Row{{run, e.Data.RequestID, text}}
}

// Restore loads the rows of the previous process. Outcomes of closed requests remain available.
// Persistent requests stay open and wait for Attach. Other open requests are withdrawn.
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
		return nil, errorf(protocol.MachineOffline, "run %s has not reconnected to hostd: try again", run)
	}
	e.detached = make(chan struct{})
	d.insert(t, run, e, d.setDeadline(&e.Request))
	return nil
}

// Attach connects a requester to a restored request. The functions in r replace those of the
// previous requester. Attach returns the channel for the outcome, or nil if the request is not
// open.
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

// ResolveRestored closes a restored request whose requester no longer exists. The outcome is was.
// If was is nil, the outcome is the decision that was being applied. If there is none, the request
// is withdrawn with the given reason.
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
