package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/terminal"
)

func (a *app) runsCommand() *cobra.Command {
	var r reach
	var asJSON bool
	c := &cobra.Command{
		Use:   "runs",
		Short: "List runs",
		Long: `Lists runs, with what each waits for.

  concerto-relay runs
  concerto-relay runs --json              an object a line` + reachHelp,
		Args: takes(0, 0, "concerto-relay runs"),
		RunE: func(c *cobra.Command, _ []string) error {
			e, err := a.reachEnd(&r)
			if err != nil {
				return err
			}
			var all []json.RawMessage
			if e.remote() {
				err = e.call(ctxOf(c), http.MethodGet, "/runs?limit=500", nil, &all)
			} else {
				var list struct {
					Runs []json.RawMessage `json:"runs"`
				}
				err = e.call(ctxOf(c), http.MethodGet, "/runs", nil, &list)
				all = list.Runs
			}
			if err != nil {
				return err
			}
			return a.listRuns(all, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print an object a line")
	a.reachFlags(c, &r, true)
	return c
}

func (a *app) listRuns(all []json.RawMessage, asJSON bool) error {
	if asJSON {
		for _, one := range all {
			if err := a.printJSON(one); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no runs: `concerto-relay run -- CMD` starts one")
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATUS\tTOOL\tSTARTED\tWHAT")
	for _, text := range all {
		var one struct {
			ID        string  `json:"id"`
			RunID     string  `json:"run_id"`
			Status    string  `json:"status"`
			Tool      string  `json:"tool"`
			StartedAt string  `json:"started_at"`
			Title     *string `json:"title"`
			Command   string  `json:"command"`
			Pending   *string `json:"pending_prompt"`
		}
		if err := json.Unmarshal(text, &one); err != nil {
			return err
		}
		what := one.Command
		if one.Title != nil && *one.Title != "" {
			what = *one.Title
		}
		if one.Pending != nil && *one.Pending != "" {
			what += ": " + *one.Pending
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", one.ID+one.RunID, one.Status, shown(one.Tool, 20), shown(one.StartedAt, 30), shown(what, 80))
	}
	return w.Flush()
}

// shown is a text of others on a line of a terminal.
func shown(text string, most int) string {
	line := bytes.ReplaceAll([]byte(terminal.Escape(text)), []byte("\n"), []byte(" "))
	return terminal.Cut(string(bytes.ReplaceAll(line, []byte("\t"), []byte(" "))), most)
}

// printJSON prints a value on a line.
func (a *app) printJSON(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "%s\n", text)
	}
	return err
}
