package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/relay/hostd/socket"
)

func (a *app) approveCommand() *cobra.Command {
	return a.decideCommand("approve", "Approve a request of a run, or answer it", "approved")
}

func (a *app) denyCommand() *cobra.Command {
	return a.decideCommand("deny", "Deny a request of a run", "denied")
}

func (a *app) decideCommand(name, short, done string) *cobra.Command {
	var r reach
	var d socket.Decision
	var answer string
	var asJSON bool
	c := &cobra.Command{
		Use:   name + " RUN REQUEST",
		Short: short,
		Long: short + `. concerto-relay runs shows requests with their ids, and what is
asked; with --json the whole of it.

  concerto-relay ` + name + ` RUN REQUEST
  concerto-relay approve RUN REQUEST --answer '"main"'
  concerto-relay approve RUN REQUEST --answer '{"name": "x", "sure": true}'

An answer is JSON: the value that is asked for, or, for several questions, an object of
values by the questions' ids. The first decision counts, whoever makes it where. An agent
cannot decide for its own run.` + reachHelp,
		Args: takes(2, 2, "concerto-relay "+name+" RUN REQUEST"),
		RunE: func(c *cobra.Command, args []string) error {
			e, err := a.reachEnd(&r)
			if err != nil {
				return err
			}
			d.Decision = name
			if err := a.answer(&d, answer); err != nil {
				return err
			}
			var said struct {
				State string `json:"state"`
			}
			if err := e.call(ctxOf(c), http.MethodPost, runPath(args[0])+"/permissions/"+url.PathEscape(args[1]), d, &said); err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(said)
			}
			_, err = fmt.Fprintf(a.stdout, "%s %s: %s\n", done, args[1], said.State)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&answer, "answer", "", "the answer, as `JSON`")
	f.StringVar(&d.Text, "text", "", "why, a `TEXT` that the run is told")
	f.StringVar(&d.ArgsSHA256, "args-sha256", "", "the `HASH` of what was seen: nothing is decided when it is another by now")
	f.StringVar(&d.Scope, "scope", "", "`once|session`: session is for the same with the same arguments in this run")
	f.BoolVar(&asJSON, "json", false, "print the state as an object")
	a.reachFlags(c, &r, true)
	return c
}

// answer reads --answer: an object are answers by the questions' ids.
func (a *app) answer(d *socket.Decision, text string) error {
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
