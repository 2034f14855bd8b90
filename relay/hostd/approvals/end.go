package approvals

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Withdraw ends an open request that nobody needs decided any more. One that is over, or
// being decided, stays what it is: that is no error.
func (d *Desk) Withdraw(ctx context.Context, run, id, why string) error {
	return d.end(ctx, run, id, Withdrawn, why)
}

// end ends an open request without a decision.
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
	if err != nil && how == Expired { // nothing could be written: it is still open, and over
		e.stop = d.o.After(protocol.PingAfter, func() { _ = d.end(context.Background(), run, id, Expired, why) })
	}
	return err
}

// RunEnded withdraws what is open of a run that has ended, after what is being decided, and
// takes nothing more of it. It is called before the run's end is told.
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

// Outcome is what became of a request of a run that has not ended long ago; false when it is open, or none is known.
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

// Forget drops what is known of a run that has ended and been told of.
func (d *Desk) Forget(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.runs, run)
}

// kept is what a Row holds.
type kept struct {
	Data    protocol.PermissionRequested `json:"data"`
	Outcome *Decision                    `json:"outcome,omitempty"`
	Tried   *Decision                    `json:"tried,omitempty"` // that was being applied
	Resumed bool                         `json:"resumed"`         // whoever asked takes it up again
}

// rows are what is to be written of a request: all, so that those of which nobody knows after
// a restart can be withdrawn, and a decision that comes twice is answered.
func (e *entry) rows(run string, outcome *Decision) []Row {
	text, err := json.Marshal(kept{e.Data, outcome, e.tried, e.Keep})
	if err != nil {
		panic("desk: a request is no JSON: " + err.Error())
	}
	return []Row{{run, e.Data.RequestID, text}}
}

// Restore takes the rows of a former process: what was decided is remembered, and what was
// open is withdrawn, but for what was to be kept. That lies here and waits for its decision,
// which Resume must make possible.
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

// Resume takes up a request that was kept, with the hooks that a Request has; nil when it is
// not open.
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

// Settle ends a request that lies here since before a restart, and that nobody asks any more: by what
// was decided, or, when that is nil, by the decision that was being applied. Without one it is withdrawn,
// for a reason.
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
