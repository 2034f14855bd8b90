package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
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
	message   *connect.Command // the decision
	sealed    bool             // the run is sealed, and so must be the decision
	waitTimer *time.Timer      // timer of --wait; it is reset when the server has stored the decision

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
// state is the directory with the keys of this command line.
func decideRemote(ctx context.Context, a *console.Console, e *connect.Endpoint, state string, d *decision) error {
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
	open, err := x.findRequest(ctx, state, &run)
	if err != nil {
		return err
	}
	if open != nil && !open.IsSecret() {
		d.done = console.DecisionText(open.Outcome(d.DecideRequest.Decision, d.Answer, d.Answers))
	} else if open != nil {
		d.done = console.DecisionText(protocol.DecisionAnswer, nil)
	}
	if err := x.sign(ctx, state, open); err != nil {
		return err
	}
	x.link = e.Socket(x.begin, nil)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.waitTimer = time.AfterFunc(outcomeTimeout+d.wait, func() { cancel(errWaitExpired) })
	defer x.waitTimer.Stop()
	away := time.AfterFunc(offlineNotice, x.reportOffline)
	defer away.Stop()
	err = x.link.Run(ctx, x.handle)
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

// findRequest returns the request if it is open. One of a sealed run must be opened, and its
// machine must have confirmed it before it is approved.
func (x *remoteDecision) findRequest(ctx context.Context, state string, run *serverRun) (*protocol.PermissionRequested, error) {
	var why error
	o, err := newOpener(ctx, state, x.endpoint, run.MachineID, func(format string, args ...any) { why = errors.Join(why, fmt.Errorf(format, args...)) })
	if err != nil {
		return nil, err
	}
	x.sealed = run.Sealed
	for _, text := range run.Pending {
		q, seq, err := o.request(ctx, x.run, text)
		switch {
		case err != nil:
			return nil, err
		case q.RequestID != x.request:
			continue
		case why != nil && q.Prompt == sealedText:
			return nil, why
		case why != nil:
			fmt.Fprintf(x.Stderr, "note: %v\n", why)
		}
		x.sealed = x.sealed || seq > 0
		if seq > 0 && x.DecideRequest.Decision == protocol.DecisionApprove {
			err = o.confirm(ctx, x.endpoint, x.run, seq)
		}
		return &q, err
	}
	return nil, nil
}

// sign sets the message. If the run's machine has an account, it is sealed, with the signature of
// this command line over the decision and the request, which must be open.
func (x *remoteDecision) sign(ctx context.Context, state string, open *protocol.PermissionRequested) error {
	d := protocol.Decide{RequestID: x.request, Actor: "cli", ArgsSHA256: x.ArgsSHA256, Answer: x.Answer, Answers: x.Answers, Text: x.Text, Scope: x.Scope}
	plain, err := json.Marshal(d)
	if err != nil {
		return err
	}
	typ := map[string]string{protocol.DecisionApprove: protocol.RunApprove, protocol.DecisionDeny: protocol.RunDeny}[x.DecideRequest.Decision]
	x.message = &connect.Command{Type: typ, Data: plain}
	signer, err := device.NewSigner(ctx, state, x.endpoint, x.machine)
	switch {
	case err != nil:
		return err
	case x.sealed && signer == nil:
		return errUnsealed(x.run)
	case open == nil && signer != nil:
		return console.Usage("`concerto-relay runs` shows what is asked", "the request %s is not open", console.DisplayText(x.request, 64))
	case signer == nil:
		return nil
	}
	if x.format.IsText() {
		asks, _ := requestLines(open, x.run, "", console.MostPrompt)
		if open.OpTool != "" {
			asks += "\n  " + console.RequestText(open.OpTool+" "+string(open.OpArgs), console.MostArgs)
		}
		fmt.Fprintf(x.Stderr, "signing: %s %s\n", x.DecideRequest.Decision, asks)
	}
	if x.format.IsText() && x.Terminal().Keys {
		fmt.Fprint(x.Stderr, "Sign this decision? [y/N] ")
		if answer, err := console.FirstLine(x.Stdin); err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
			return errors.New("the decision was not signed, and the request is still open")
		}
	}
	x.message, err = signer.Decide(x.run, open, d, x.DecideRequest.Decision)
	return err
}

// begin sends the decision on each new connection. Sending it again is safe: the server does not
// change the decision and responds with its current state.
func (x *remoteDecision) begin(ctx context.Context) error {
	return x.link.SendCommand(ctx, x.run, decideID, x.message)
}

func (x *remoteDecision) handle(e protocol.Envelope) error {
	switch {
	case e.Type == protocol.Failure && (e.Re == decideID || e.Re != "" && e.Re == x.message.ID):
		return showAs(&e, func(f *protocol.ErrorData) error {
			return errors.Join(x.print(&e), &connect.ResponseError{Code: f.Code, Message: f.Message})
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
