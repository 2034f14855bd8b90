package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// remoteDecision is a decision that was sent to a server, until the run's host reports the outcome.
type remoteDecision struct {
	*app
	*decision
	end  *end
	link *serverLink
	host string
	over *time.Timer // ends the waiting

	mu    sync.Mutex
	state protocol.State // what is known of it; its State is "" before the server has it
}

// decideID is what our decision is known by in what the server answers.
const decideID = "decide"

const (
	awayAfter  = time.Second      // a decision that was not forwarded is reported as waiting for its host
	saidWithin = 30 * time.Second // the server has the decision
)

var (
	errSettled = errors.New("the host has said what became of it")
	errWaited  = errors.New("the time to wait is over")
)

// decideRemote decides through a server: over a WebSocket, on which the server reports the outcome.
func (a *app) decideRemote(ctx context.Context, e *end, d *decision) error {
	x := &remoteDecision{app: a, decision: d, end: e}
	var run serverRun
	if err := e.call(ctx, http.MethodGet, runPath(d.run), nil, &run); err != nil {
		return err
	}
	x.host = run.HostID
	d.done = decided(d.DecideRequest.Decision, nil)
	if d.Answer != nil || d.Answers != nil {
		d.done = decided(protocol.DecisionAnswer, nil)
	}
	for i := range run.Pending {
		if q := &run.Pending[i]; q.RequestID == d.request && !q.IsSecret() {
			d.done = decided(q.Outcome(d.DecideRequest.Decision, d.Answer, d.Answers))
		} else if q.RequestID == d.request {
			d.done = decided(protocol.DecisionAnswer, nil)
		}
	}
	x.link = e.socket(x.begin, nil)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.over = time.AfterFunc(saidWithin+d.wait, func() { cancel(errWaited) })
	defer x.over.Stop()
	away := time.AfterFunc(awayAfter, x.away)
	defer away.Stop()
	err := x.link.Run(ctx, x.hear)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case errors.Is(err, errSettled):
		return x.settled()
	case errors.Is(err, errWaited):
		return x.waited()
	}
	return err
}

// begin decides, on each connection: the same again changes nothing, and is answered with what is
// known.
func (x *remoteDecision) begin(ctx context.Context) error {
	typ := map[string]string{"approve": protocol.RunApprove, "deny": protocol.RunDeny}[x.DecideRequest.Decision]
	d := protocol.Decide{RequestID: x.request, Actor: "cli", ArgsSHA256: x.ArgsSHA256, Answer: x.Answer, Answers: x.Answers, Text: x.Text, Scope: x.Scope}
	return x.link.Send(ctx, typ, x.run, decideID, d)
}

func (x *remoteDecision) hear(e protocol.Envelope) error {
	switch {
	case e.Type == protocol.Failure && e.Re == decideID:
		return showAs(&e, func(f *protocol.ErrorData) error {
			return errors.Join(x.print(&e), &saidError{string(f.Code), f.Message})
		})
	case e.Type == protocol.CommandState:
		return showAs(&e, func(s *protocol.State) error { return x.heard(&e, s) })
	}
	return nil
}

// print prints an envelope, with --format ndjson.
func (x *remoteDecision) print(e *protocol.Envelope) error {
	if x.format.IsText() {
		return nil
	}
	_, err := x.stdout.Write(append(e.Append(nil), '\n'))
	return err
}

func (x *remoteDecision) heard(e *protocol.Envelope, s *protocol.State) error {
	if s.ID != x.request || s.Kind != "decision" || s.RunID != x.run {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state.State == "" {
		x.over.Reset(x.wait)
	}
	if x.state.State != s.State { // it is repeated on a new connection
		if err := x.print(e); err != nil {
			return err
		}
	}
	x.state = *s
	if x.wait == 0 || protocol.InputMachine.IsFinal(s.State) {
		return errSettled
	}
	return nil
}

// away reports that the host has not received it.
func (x *remoteDecision) away() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state.State == "accepted" && x.wait > 0 {
		fmt.Fprintf(x.stderr, "host %s is not connected: the server keeps the decision for it; waiting for %v\n", shown(x.host, 64), x.wait)
	}
}

// settled is what became of the decision.
func (x *remoteDecision) settled() error {
	switch x.state.State {
	case "applied", "sent":
		return x.tell(x.state.State)
	case "accepted":
		return x.tell(fmt.Sprintf("accepted; host %s gets it, now or when it is back", shown(x.host, 64)))
	case "rejected":
		return fmt.Errorf("host %s rejects it, and the request is as it was: %s", shown(x.host, 64), shown(x.state.Error, mostArgs))
	case "expired":
		return fmt.Errorf("the decision has expired before host %s got it: %s", shown(x.host, 64), shown(x.state.Error, mostArgs))
	}
	return fmt.Errorf("whether it took effect cannot be known (%s): look at the run before you decide again", x.state.State)
}

func (x *remoteDecision) tell(state string) error {
	if !x.format.IsText() {
		return nil
	}
	return x.printDecided(x.decision, state)
}

// waited reports its state when the time to wait has expired.
func (x *remoteDecision) waited() error {
	switch wait := x.wait.Round(time.Millisecond); x.state.State {
	case "accepted":
		return fmt.Errorf("host %s is not connected: the server keeps the decision, and it takes effect when the host is back within %d h, and before the request expires; deciding again is not needed", shown(x.host, 64), protocol.DecisionTTL/time.Hour)
	case "sent":
		return fmt.Errorf("host %s was sent the decision and has not said within %v what became of it; `concerto-relay runs%s` shows whether it is still asked", shown(x.host, 64), wait, x.end.again)
	default:
		return fmt.Errorf("%s has not said that it has the decision: the same again is safe", x.end.name)
	}
}
