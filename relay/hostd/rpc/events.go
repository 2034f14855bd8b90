package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// callKind is the kind of the notes about calls in progress. The key of a note is the id of its
// call.
const callKind = "call"

// callNote is the content of a note about a call.
type callNote struct {
	Tool  string    `json:"tool"`
	Actor string    `json:"actor"`
	Gated bool      `json:"gated"`
	At    time.Time `json:"at"`
}

// commitCall commits the event that a call begins, unless the run has ended. It returns the time of
// the event.
func (d *Dispatcher) commitCall(ctx context.Context, c *call, run *Run, args json.RawMessage) (time.Time, error) {
	began := d.o.Now()
	if run.Ended {
		return began, nil
	}
	return began, d.o.Events.CommitChange(ctx, spool.Change{Run: c.Run,
		Events: []spool.Event{{Type: protocol.ToolCall, Data: protocol.Called{RequestID: c.id, Tool: c.tool(), Actor: c.actor, Args: protocol.ShortJSON(d.o.Redact.JSON(args, unredacted...), maxEvent)}}},
		Notes:  []spool.Note{{Kind: callKind, Key: c.id, Data: mustMarshal(callNote{c.tool(), c.actor, c.message.Gated, began})}}})
}

// commitResult commits the result of a call as an event, and returns the call's error. It does
// nothing if the run has ended since the call began.
func (d *Dispatcher) commitResult(ctx context.Context, c *call, run *Run, began time.Time, result any, failure error) error {
	if run.Ended {
		return failure
	}
	out := protocol.Returned{RequestID: c.id, Tool: c.tool(), Actor: c.actor, OK: failure == nil, DurationMS: d.o.Now().Sub(began).Milliseconds()}
	if failure != nil {
		out.Error = d.o.Redact.In(run.Cwd).Text(errorText(failure))
	} else {
		out.Result = protocol.ShortJSON(d.summarizeResult(run.Cwd, result), maxEvent)
	}
	err := d.commitReturned(context.WithoutCancel(ctx), c.Run, out)
	if failure == nil && !errors.Is(err, spool.ErrEnded) {
		return err
	}
	return failure
}

func (d *Dispatcher) commitReturned(ctx context.Context, run string, out protocol.Returned) error {
	return d.o.Events.CommitChange(ctx, spool.Change{Run: run, Events: []spool.Event{{Type: protocol.ToolResult, Data: out}},
		Notes: []spool.Note{{Kind: callKind, Key: out.RequestID}}})
}

// Restore commits error results for the calls that the previous process was performing when it was
// killed. It must be called after the requests are restored, because a call without an approval was
// not performed.
func (d *Dispatcher) Restore(ctx context.Context, s *spool.Spool) error {
	for _, run := range s.Runs() {
		if run.Ended {
			continue
		}
		notes, err := s.Notes(ctx, run.ID, callKind)
		if err != nil {
			return err
		}
		for id, text := range notes {
			var was callNote
			if err := json.Unmarshal(text, &was); err != nil {
				return fmt.Errorf("stored request %s of run %s: %w", id, run.ID, err)
			}
			out := protocol.Returned{RequestID: id, Tool: was.Tool, Actor: was.Actor, DurationMS: max(d.o.Now().Sub(was.At), 0).Milliseconds(), Error: d.interruption(run.ID, id, was)}
			if err := d.commitReturned(ctx, run.ID, out); err != nil && !errors.Is(err, spool.ErrEnded) {
				return err
			}
		}
	}
	return nil
}

// interruption returns why a call of the previous process has no result.
func (d *Dispatcher) interruption(run, id string, was callNote) string {
	got, over := d.o.Approvals.Outcome(run, id)
	switch {
	case !was.Gated:
		return "hostd was restarted"
	case over && got.Decision == approvals.Approve:
		return "hostd was restarted: " + approvals.ErrIndeterminate.Error()
	case over:
		return string(rejectionCodes[got.Decision])
	}
	return string(protocol.Withdrawn)
}
