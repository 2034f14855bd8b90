package runs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// remoteDecision is a decision that is sent to a server, which reports its state until the run's
// machine has applied or rejected it.
type remoteDecision struct {
	*console.Console
	*decision
	endpoint  *connect.Endpoint
	link      *connect.ServerLink
	machine   string
	waitTimer *time.Timer // timer of --wait; it is reset when the server has stored the decision

	mu    sync.Mutex
	state protocol.State // last reported state; its State is "" until the server has stored the decision
}

// decideID is the id of the message with the decision, to which the server's responses refer.
const decideID = "decide"

const (
	offlineNotice  = time.Second      // delay before the command prints that the machine is not connected
	outcomeTimeout = 30 * time.Second // time for the server to confirm the decision, in addition to the time of --wait
)

var (
	errOutcome     = errors.New("the machine has reported the outcome")
	errWaitExpired = errors.New("the time of --wait has passed")
)

// decideRemote sends the decision to a server over a WebSocket, and returns when the server has
// reported the outcome or the time of --wait has passed.
func decideRemote(ctx context.Context, a *console.Console, e *connect.Endpoint, d *decision) error {
	x := &remoteDecision{Console: a, decision: d, endpoint: e}
	var run serverRun
	if err := e.Call(ctx, http.MethodGet, RunPath(d.run), nil, &run); err != nil {
		return err
	}
	x.machine = run.MachineID
	d.done = console.DecisionText(d.DecideRequest.Decision, nil)
	if d.Answer != nil || d.Answers != nil {
		d.done = console.DecisionText(protocol.DecisionAnswer, nil)
	}
	for i := range run.Pending {
		if q := &run.Pending[i]; q.RequestID == d.request && !q.IsSecret() {
			d.done = console.DecisionText(q.Outcome(d.DecideRequest.Decision, d.Answer, d.Answers))
		} else if q.RequestID == d.request {
			d.done = console.DecisionText(protocol.DecisionAnswer, nil)
		}
	}
	x.link = e.Socket(x.begin, nil)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.waitTimer = time.AfterFunc(outcomeTimeout+d.wait, func() { cancel(errWaitExpired) })
	defer x.waitTimer.Stop()
	away := time.AfterFunc(offlineNotice, x.reportOffline)
	defer away.Stop()
	err := x.link.Run(ctx, x.handle)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case errors.Is(err, errOutcome):
		return x.outcome()
	case errors.Is(err, errWaitExpired):
		return x.reportTimeout()
	}
	return err
}

// begin sends the decision on each new connection. Sending it again is safe: the server does not
// change the decision and responds with its current state.
func (x *remoteDecision) begin(ctx context.Context) error {
	typ := map[string]string{protocol.DecisionApprove: protocol.RunApprove, protocol.DecisionDeny: protocol.RunDeny}[x.DecideRequest.Decision]
	d := protocol.Decide{RequestID: x.request, Actor: "cli", ArgsSHA256: x.ArgsSHA256, Answer: x.Answer, Answers: x.Answers, Text: x.Text, Scope: x.Scope}
	return x.link.Send(ctx, typ, x.run, decideID, d)
}

func (x *remoteDecision) handle(e protocol.Envelope) error {
	switch {
	case e.Type == protocol.Failure && e.Re == decideID:
		return showAs(&e, func(f *protocol.ErrorData) error {
			return errors.Join(x.print(&e), &connect.ResponseError{Code: string(f.Code), Message: f.Message})
		})
	case e.Type == protocol.CommandState:
		return showAs(&e, func(s *protocol.State) error { return x.handleState(&e, s) })
	}
	return nil
}

// print prints an envelope as one line of JSON, unless the format is text.
func (x *remoteDecision) print(e *protocol.Envelope) error {
	if x.format.IsText() {
		return nil
	}
	_, err := x.Stdout.Write(append(e.Append(nil), '\n'))
	return err
}

func (x *remoteDecision) handleState(e *protocol.Envelope, s *protocol.State) error {
	if s.ID != x.request || s.Kind != "decision" || s.RunID != x.run {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state.State == "" {
		x.waitTimer.Reset(x.wait)
	}
	if x.state.State != s.State { // a new connection repeats the last state
		if err := x.print(e); err != nil {
			return err
		}
	}
	x.state = *s
	if x.wait == 0 || s.State.IsFinal() {
		return errOutcome
	}
	return nil
}

// reportOffline prints that the run's machine is not connected, if the server has stored the
// decision and not sent it to the machine.
func (x *remoteDecision) reportOffline() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state.State == protocol.InputAccepted && x.wait > 0 {
		fmt.Fprintf(x.Stderr, "machine %s is not connected: the server stores the decision for it; waiting for %v\n", console.DisplayText(x.machine, 64), x.wait)
	}
}

// outcome prints the state of a decision that was accepted, sent or applied. For any other state it
// returns an error with the reason.
func (x *remoteDecision) outcome() error {
	switch x.state.State {
	case protocol.InputApplied, protocol.InputSent:
		return x.printDecision(string(x.state.State))
	case protocol.InputAccepted:
		return x.printDecision(fmt.Sprintf("accepted; machine %s receives it when it is connected", console.DisplayText(x.machine, 64)))
	case protocol.InputRejected:
		return fmt.Errorf("machine %s rejected the decision, and the request is still open: %s", console.DisplayText(x.machine, 64), console.DisplayText(x.state.Error, console.MostArgs))
	case protocol.InputExpired:
		return fmt.Errorf("the decision expired before machine %s received it: %s", console.DisplayText(x.machine, 64), console.DisplayText(x.state.Error, console.MostArgs))
	}
	return fmt.Errorf("it is unknown whether the decision took effect (%s): check the run before you decide again", x.state.State)
}

func (x *remoteDecision) printDecision(state string) error {
	if !x.format.IsText() {
		return nil
	}
	return printDecided(x.Console, x.decision, state)
}

// reportTimeout returns an error with the state of the decision when the time of --wait has passed.
func (x *remoteDecision) reportTimeout() error {
	switch wait := x.wait.Round(time.Millisecond); x.state.State {
	case protocol.InputAccepted:
		return fmt.Errorf("machine %s is not connected: the server stores the decision, which takes effect if the machine reconnects within %d h and before the request expires; deciding again is not needed", console.DisplayText(x.machine, 64), protocol.DecisionTTL/time.Hour)
	case protocol.InputSent:
		return fmt.Errorf("machine %s received the decision and did not report the outcome within %v; `concerto-relay runs%s` shows whether the request is still open", console.DisplayText(x.machine, 64), wait, x.endpoint.Flags)
	default:
		return fmt.Errorf("%s did not confirm the decision: repeating the same command is safe", x.endpoint.Name)
	}
}
