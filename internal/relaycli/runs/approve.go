package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/hostd/socket"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// NewApprove returns the command approve.
func NewApprove(a *console.Console) *cobra.Command {
	return decideCommand(a, protocol.DecisionApprove, "Approve a request of a run, or answer it")
}

// NewDeny returns the command deny.
func NewDeny(a *console.Console) *cobra.Command {
	return decideCommand(a, protocol.DecisionDeny, "Deny a request of a run")
}

func decideCommand(a *console.Console, name, short string) *cobra.Command {
	var r connect.Target
	var answer string
	var state string
	d := &decision{DecideRequest: socket.DecideRequest{Decision: name}}
	c := &cobra.Command{
		Use:   name + " RUN REQUEST",
		Short: short,
		Long: `'concerto-relay runs' shows the requests with their ids. Only the first decision of a request
counts. The exit code is 0 only if the run's machine has applied it. An agent cannot decide for its
own run.` + decideHelp[name] + connect.ReachHelp + `

A server stores a decision for a machine that is offline. The command waits for it as long as
--wait allows; with --wait 0s it returns when the server has the decision.

If the machine has an account ('concerto-relay seal'), the command signs the decision, and so must
be a device of the account. It signs the request as the server shows it: on a terminal it shows the
request and asks first.`,
		Example: "  concerto-relay " + name + " run_4vd4sd65dabx q1\n" + decideExamples[name] +
			"  concerto-relay " + name + " run_4vd4sd65dabx q1 --server https://relay.example --token-file token",
		Args: console.ArgsBetween(2, 2, "concerto-relay "+name+" RUN REQUEST"),
		RunE: func(c *cobra.Command, args []string) error {
			e, err := connect.EndpointOf(a, &r)
			if err != nil {
				return err
			}
			d.run, d.request = args[0], args[1]
			switch {
			case d.wait < 0:
				return a.InvalidSetting("wait", "write a time such as 30s; 0s does not wait", "the time is negative")
			case name == protocol.DecisionDeny && answer != "":
				return console.Usage("use --text for the reason", "--answer is not allowed with deny: a denial has no answer")
			}
			if err := setAnswer(a, &d.DecideRequest, answer); err != nil {
				return err
			}
			if e.IsRemote() {
				return decideRemote(ctxOf(c), a, e, a.Abs(state), d)
			}
			return decideLocal(ctxOf(c), a, e, d)
		},
	}
	f := c.Flags()
	f.StringVar(&answer, "answer", "", "send the answer, as `JSON`")
	f.StringVar(&d.Text, "text", "", "send `TEXT` to the run as the reason")
	f.StringVar(&d.ArgsSHA256, "args-sha256", "", "decide only if the arguments still have the `HASH` that you saw")
	f.StringVar(&d.Scope, "scope", "", "set the scope `once|session`: this request, or equal ones of the run, too")
	f.DurationVar(&d.wait, "wait", 30*time.Second, "wait `TIME` for the run's machine, with --server (default 30s)")
	d.format = cmdline.AddFormat(c, "text", "ndjson")
	connect.TargetFlags(a, c, &r, true)
	device.StateFlag(a, c, &state)
	return c
}

// decideHelp contains the help text that only one of the two commands has, by command name.
var decideHelp = map[string]string{protocol.DecisionApprove: `

An answer is JSON. If the request has one question, it is the value; if it has several, it is an
object with a value for the id of each question.`}

// decideExamples contains the examples that only one of the two commands has, by command name.
var decideExamples = map[string]string{
	protocol.DecisionApprove: `  concerto-relay approve run_4vd4sd65dabx q2 --answer '"main"'
  concerto-relay approve run_4vd4sd65dabx q3 --answer '{"name": "x", "sure": true}'
`,
	protocol.DecisionDeny: `  concerto-relay deny run_4vd4sd65dabx q1 --text "not on a Friday"
`,
}

// decision is the decision about one request that approve or deny sends.
type decision struct {
	socket.DecideRequest
	run, request string
	done         string // description of the recorded decision, such as its name and the answer
	wait         time.Duration
	format       *cmdline.Format
}

// decideLocal sends the decision to hostd, whose response contains the outcome.
func decideLocal(ctx context.Context, a *console.Console, e *connect.Endpoint, d *decision) error {
	var made socket.DecideResponse
	err := e.Call(ctx, http.MethodPost, RunPath(d.run)+"/permissions/"+url.PathEscape(d.request), d.DecideRequest, &made)
	if err != nil {
		var why *connect.ResponseError
		if !d.format.IsText() && errors.As(err, &why) {
			return errors.Join(printEnvelope(a, protocol.Failure, d.run, protocol.ErrorData{Code: why.Code, Message: why.Message, RunID: d.run, RequestID: d.request}), err)
		}
		return err
	}
	if !d.format.IsText() {
		return printEnvelope(a, protocol.CommandState, d.run, protocol.State{ID: d.request, Kind: "decision", RunID: d.run, State: made.State})
	}
	d.done = console.DecisionText(made.Decision, made.Answer)
	return printDecided(a, d, string(made.State))
}

func printDecided(a *console.Console, d *decision, state string) error {
	done, value, isAnswer := strings.Cut(d.done, " ")
	if isAnswer {
		value = " with " + value
	}
	_, err := fmt.Fprintf(a.Stdout, "%s %s%s: %s\n", done, d.request, value, state)
	return err
}

// printEnvelope prints an envelope with data about a run as one line of JSON.
func printEnvelope(a *console.Console, typ, run string, data any) error {
	env := protocol.New(typ, time.Now(), data)
	env.RunID = run
	_, err := a.Stdout.Write(append(env.Append(nil), '\n'))
	return err
}

// setAnswer stores the JSON text of --answer in the request. An object contains the answers by
// question id; any other value is the single answer.
func setAnswer(a *console.Console, d *socket.DecideRequest, text string) error {
	if text == "" {
		return nil
	}
	if !json.Valid([]byte(text)) {
		return a.InvalidSetting("answer", `a text is '"in quotes"'`, "%s is not JSON", text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		d.Answers = json.RawMessage(text)
		return nil
	}
	d.Answer = json.RawMessage(text)
	return nil
}
