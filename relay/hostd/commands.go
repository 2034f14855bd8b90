package hostd

import (
	"context"
	"errors"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/rpc"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

// commands performs the commands that users send through the server.
type commands struct{ d *Daemon }

// outcomeOf converts the result of a command to the outcome that the server receives.
func outcomeOf(err error) link.Outcome {
	var why *approvals.Error
	switch {
	case err == nil:
		return link.Applied
	case errors.Is(err, approvals.ErrIndeterminate):
		return link.Outcome{State: protocol.InputIndeterminate, Error: err.Error()}
	case errors.As(err, &why) && why.Code == protocol.Expired:
		return link.Outcome{State: protocol.InputExpired, Error: err.Error()}
	}
	return link.Outcome{State: protocol.InputRejected, Error: err.Error()}
}

// Input writes an input to the terminal of a run, or sends it to a host of a Concerto run.
func (c commands) Input(ctx context.Context, run, by string, in protocol.SendInput) link.Outcome {
	if c.d.source.Has(run) {
		return outcomeOf(c.d.source.Steer(ctx, run, by, in))
	}
	if c.d.ofEngine(run) {
		return outcomeOf(approvals.Errorf(protocol.Forbidden, "a run of an engine has no terminal"))
	}
	state, err := c.d.runs.Input(ctx, run, runs.Input{ID: in.InputID, Text: in.Text, Actor: in.Actor})
	if err == nil && state == string(ptyholder.Indeterminate) {
		err = approvals.ErrIndeterminate
	}
	return outcomeOf(err)
}

// Keys writes keys to a run's terminal.
func (c commands) Keys(_ context.Context, run string, k protocol.SendKeys) {
	if err := c.d.runs.Keys(run, k.Keys); err != nil {
		c.d.o.Log.Warn("could not send keys to a run", "run", run, "error", err)
	}
}

// Stop stops a run.
func (c commands) Stop(ctx context.Context, run string, s protocol.Stop) link.Outcome {
	grace := int64(runs.DefaultGrace)
	if s.GraceS != nil {
		grace = *s.GraceS
	}
	return outcomeOf(c.d.stop(ctx, run, s.Signal == "kill", grace))
}

// Resize changes the size of a run's terminal.
func (c commands) Resize(ctx context.Context, run string, r protocol.Resize) {
	if err := c.d.runs.Resize(ctx, run, r.Cols, r.Rows, ""); err != nil {
		c.d.o.Log.Warn("could not resize a run's terminal", "run", run, "error", err)
	}
}

// Decide decides a request.
func (c commands) Decide(ctx context.Context, a link.Admission, by string, q protocol.Decide) link.Outcome {
	dec := approvals.Decision{Decision: approvals.Deny, Actor: q.Actor, By: by, ArgsSHA256: q.ArgsSHA256, Answer: q.Answer, Answers: q.Answers, Text: q.Text, Scope: q.Scope, Seal: a.Signed}
	if a.Command.Type == protocol.RunApprove {
		dec.Decision = approvals.Approve
	}
	if dec.Actor == "" {
		dec.Actor = "web"
	}
	return outcomeOf(c.d.approvals.Decide(ctx, a.Command.RunID, q.RequestID, dec))
}

// RPC performs a request of an app and returns the run's id and the response.
func (c commands) RPC(ctx context.Context, a link.Admission) (string, protocol.Response) {
	e := a.Command
	return c.d.rpc.Do(ctx, rpc.Call{Type: e.Type, Run: e.RunID, Data: e.Data, Repeated: a.Repeated, Unsigned: a.Unsigned, Device: a.Device})
}
