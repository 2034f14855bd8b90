package main

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

	"github.com/concerto-lang/concerto/internal/cli/cmdline"
	"github.com/concerto-lang/concerto/relay/hostd/socket"
	"github.com/concerto-lang/concerto/relay/protocol"
)

func (a *app) approveCommand() *cobra.Command {
	return a.decideCommand("approve", "Approve a request of a run, or answer it")
}

func (a *app) denyCommand() *cobra.Command {
	return a.decideCommand("deny", "Deny a request of a run")
}

func (a *app) decideCommand(name, short string) *cobra.Command {
	var r reach
	var answer string
	d := &decision{DecideRequest: socket.DecideRequest{Decision: name}}
	c := &cobra.Command{
		Use:   name + " RUN REQUEST",
		Short: short,
		Long: short + `. concerto-relay runs shows requests with their ids, and what is
asked; with --format ndjson the whole of it.

  concerto-relay ` + name + ` run_4vd4sd65dabx q1
  concerto-relay ` + name + ` run_4vd4sd65dabx q1 --server https://relay.example --token-file token
` + decideExamples[name] + `
The first decision counts, whoever makes it where; the run's host says whether it has taken
effect, and only then the exit code is 0. An agent cannot decide for its own run.` + reachHelp + `

A server keeps a decision for a host that is away. It is waited for as long as --wait says;
with --wait 0s it is enough that the server has it.`,
		Args: takes(2, 2, "concerto-relay "+name+" RUN REQUEST"),
		RunE: func(c *cobra.Command, args []string) error {
			e, err := a.reachEnd(&r)
			if err != nil {
				return err
			}
			d.run, d.request = args[0], args[1]
			switch {
			case d.wait < 0:
				return a.wrong("wait", "30s, for one; 0s does not wait", "it cannot be negative")
			case name == "deny" && answer != "":
				return usage("--text says why", "--answer: a denial has none")
			}
			if err := a.answer(&d.DecideRequest, answer); err != nil {
				return err
			}
			if e.remote() {
				return a.decideRemote(ctxOf(c), e, d)
			}
			return a.decideLocal(ctxOf(c), e, d)
		},
	}
	f := c.Flags()
	f.StringVar(&answer, "answer", "", "the answer, as `JSON`")
	f.StringVar(&d.Text, "text", "", "why, a `TEXT` that the run is told")
	f.StringVar(&d.ArgsSHA256, "args-sha256", "", "the `HASH` of what was seen: nothing is decided when it is another by now")
	f.StringVar(&d.Scope, "scope", "", "`once|session`: session is for the same with the same arguments in this run")
	f.DurationVar(&d.wait, "wait", 30*time.Second, "how long the host of a run is waited for, over --server, a `TIME`")
	d.format = cmdline.AddFormat(c, "text", "ndjson")
	a.reachFlags(c, &r, true)
	return c
}

// decideExamples are what each command has besides.
var decideExamples = map[string]string{
	"approve": `  concerto-relay approve run_4vd4sd65dabx q2 --answer '"main"'
  concerto-relay approve run_4vd4sd65dabx q3 --answer '{"name": "x", "sure": true}'

An answer is JSON: the value that is asked for, or, for several questions, an object of
values by the questions' ids.
`,
	"deny": `  concerto-relay deny run_4vd4sd65dabx q1 --text "not on a Friday"
`,
}

// decision is one that is made here.
type decision struct {
	socket.DecideRequest
	run, request string
	done         string // what it is recorded as, in words
	wait         time.Duration
	format       *cmdline.Format
}

// decideLocal decides at hostd, which says at once what became of it.
func (a *app) decideLocal(ctx context.Context, e *end, d *decision) error {
	var made socket.DecideResponse
	err := e.call(ctx, http.MethodPost, runPath(d.run)+"/permissions/"+url.PathEscape(d.request), d.DecideRequest, &made)
	if err != nil {
		var why *saidError
		if !d.format.IsText() && errors.As(err, &why) {
			return errors.Join(a.printEnvelope(protocol.Failure, d.run, protocol.ErrorData{Code: protocol.Code(why.Code), Message: why.Message, RunID: d.run, RequestID: d.request}), err)
		}
		return err
	}
	if !d.format.IsText() {
		return a.printEnvelope(protocol.CommandState, d.run, protocol.State{ID: d.request, Kind: "decision", RunID: d.run, State: made.State})
	}
	d.done = decided(made.Decision, made.Answer)
	return a.printDecided(d, made.State)
}

func (a *app) printDecided(d *decision, state string) error {
	done, value, isAnswer := strings.Cut(d.done, " ")
	if isAnswer {
		value = " with " + value
	}
	_, err := fmt.Fprintf(a.stdout, "%s %s%s: %s\n", done, d.request, value, state)
	return err
}

// printEnvelope prints an envelope of our own on a line.
func (a *app) printEnvelope(typ, run string, data any) error {
	env := protocol.New(typ, time.Now(), data)
	env.RunID = run
	_, err := a.stdout.Write(append(env.Append(nil), '\n'))
	return err
}

// answer reads --answer: an object are answers by the questions' ids.
func (a *app) answer(d *socket.DecideRequest, text string) error {
	if text == "" {
		return nil
	}
	if !json.Valid([]byte(text)) {
		return a.wrong("answer", `a text is '"in quotes"'`, "%s is no JSON", text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		d.Answers = json.RawMessage(text)
		return nil
	}
	d.Answer = json.RawMessage(text)
	return nil
}
