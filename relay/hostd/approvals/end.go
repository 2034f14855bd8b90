package approvals

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Withdraw closes an open request that no longer needs a decision. It does nothing if the request
// is closed or is being decided.
func (d *Desk) Withdraw(ctx context.Context, run, id, why string) error {
	return d.end(ctx, run, id, Withdrawn, why)
}

// closeWithout closes an open request without a decision.
func (d *Desk) end(ctx context.Context, run, id, how, why string) error {
	t := d.look(run)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.open[id]
	if e == nil || e.applied != nil {
		return nil
	}
	err := d.resolve(ctx, t, run, e, Decision{Decision: how}, nil, why)
	if err != nil && how == Expired { // the commit failed, so the request is still open: try again
		e.stop = d.o.After(protocol.PingAfter, func() { _ = d.end(context.Background(), run, id, Expired, why) })
	}
	return err
}

// CloseRun withdraws the open requests of a run that has ended, waits for decisions that are being
// applied, and refuses new requests. Call it before the run's end is committed.
func (d *Desk) RunEnded(ctx context.Context, run string) error {
	t := d.tray(run)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for len(t.order) > 0 {
		e := t.order[0]
		if applied := e.applied; applied != nil {
			t.mu.Unlock()
			<-applied
			t.mu.Lock()
			continue
		}
		why := "the run has ended"
		if e.tried != nil {
			why = unsure
		}
		if err := d.resolve(ctx, t, run, e, Decision{Decision: Withdrawn}, nil, why); err != nil {
			return err
		}
	}
	return nil
}

// Outcome returns the outcome of a request, if it is closed and its run not yet forgotten.
func (d *Desk) Outcome(run, id string) (Decision, bool) {
	t := d.look(run)
	if t == nil {
		return Decision{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	dec, over := t.done[id]
	return dec, over
}

// Forget drops the requests of a run whose end has been delivered.
func (d *Desk) Forget(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.runs, run)
}

// storedRequest is the JSON form in a Row.
type kept struct {
	Data    protocol.PermissionRequested `json:"data"`
	Outcome *Decision                    `json:"outcome,omitempty"`
	// the decision that was being applied
	Tried   *Decision                    `json:"tried,omitempty"`
	// whether Request.Persistent is set
	Resumed bool                         `json:"resumed"`
}

// rows returns the rows to store for a request. Closed requests are stored too: after a restart,
// lost ones are withdrawn and a repeated decision gets the same reply.
func (e *entry) rows(run string, outcome *Decision) []Row {
	text, err := json.Marshal(kept{e.Data, outcome, e.tried, e.Keep})
	if err != nil {
		panic("desk: a request is no JSON: " + err.Error())
	}
	return []Row{{run, e.Data.RequestID, text}}
}

// Restore loads the rows of an earlier process. It remembers outcomes and withdraws open requests,
// except persistent ones: these wait for Attach.
func (d *Desk) Restore(ctx context.Context, rows []Row) error {
	for _, row := range rows {
		var k kept
		if err := json.Unmarshal(row.Data, &k); err != nil {
			return fmt.Errorf("request %s of run %s as it was kept: %w", row.ID, row.Run, err)
		}
		if err := d.restore(ctx, row.Run, k); err != nil {
			return err
		}
	}
	return nil
}

func (d *Desk) restore(ctx context.Context, run string, k kept) error {
	t := d.tray(run)
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.Outcome != nil {
		t.done[k.Data.RequestID] = *k.Outcome
		return nil
	}
	e := &entry{Request: Request{Data: k.Data, Keep: k.Resumed}, wait: make(chan Decision, 1), tried: k.Tried}
	if !k.Resumed {
		d.lay(t, run, e, 0)
		return d.resolve(ctx, t, run, e, Decision{Decision: Withdrawn}, nil, "hostd was started anew")
	}
	e.Apply = func(context.Context, Decision) ([]Event, error) {
		return nil, refused(protocol.HostOffline, "run %s is not attached yet", run)
	}
	e.away = make(chan struct{})
	d.lay(t, run, e, d.deadline(&e.Request))
	return nil
}

// Attach connects a requester to a restored request and sets its hooks from r. It returns the
// channel for the outcome, or nil if the request is not open.
func (d *Desk) Resume(run, id string, r Request) <-chan Decision {
	t := d.look(run)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.open[id]
	if e == nil {
		return nil
	}
	e.Check, e.Apply, e.Note = r.Check, r.Apply, r.Note
	if e.away != nil {
		close(e.away)
		e.away = nil
	}
	return e.wait
}

// ResolveRestored closes a restored request that has no requester any more. The outcome is was, or
// if that is nil the decision that was being applied. Without either, the request is withdrawn for
// the given reason.
func (d *Desk) Settle(ctx context.Context, run, id string, was *Decision, why string) error {
	t := d.look(run)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.open[id]
	if e == nil || e.applied != nil {
		return nil
	}
	if was == nil {
		was = e.tried
	}
	if was == nil {
		return d.resolve(ctx, t, run, e, Decision{Decision: Withdrawn}, nil, why)
	}
	return d.resolve(ctx, t, run, e, *was, nil, was.Text)
}
