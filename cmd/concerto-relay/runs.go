package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/relay/protocol"
)

func (a *app) runsCommand() *cobra.Command {
	var r target
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "runs",
		Short: "List runs and their requests",
		Long: `Lists runs. Below each run it lists the open requests, each with the command that answers it. With
--format ndjson each run is a line, with its requests in pending.` + reachHelp,
		Example: `  concerto-relay runs
  concerto-relay runs --server https://relay.example --token-file token
  concerto-relay runs --format ndjson | jq -r 'select(.pending != null) | .pending[].prompt'`,
		Args: argsBetween(0, 0, "concerto-relay runs"),
		RunE: func(c *cobra.Command, _ []string) error {
			e, err := a.endpointOf(&r)
			if err != nil {
				return err
			}
			var all []json.RawMessage
			if e.isRemote() {
				all, err = e.allRuns(ctxOf(c))
			} else {
				var list struct {
					Runs []json.RawMessage `json:"runs"`
				}
				if err = e.call(ctxOf(c), http.MethodGet, "/runs", nil, &list); err == nil {
					all, err = e.withPending(ctxOf(c), list.Runs)
				}
			}
			switch {
			case err != nil:
				return err
			case !format.IsText():
				return a.printRuns(all)
			}
			return a.listRuns(all, e.flags)
		},
	}
	format = cmdline.AddFormat(c, "text", "ndjson")
	a.targetFlags(c, &r, true)
	return c
}

// runsPage is the maximum number of runs in one response of a server.
const runsPage = 500

// allRuns returns all runs of a server. It requests them page by page and omits duplicates.
func (e *endpoint) allRuns(ctx context.Context) (all []json.RawMessage, err error) {
	seen := map[string]bool{}
	for before := ""; ; {
		var page []json.RawMessage
		if err := e.call(ctx, http.MethodGet, fmt.Sprintf("/runs?limit=%d%s", runsPage, before), nil, &page); err != nil {
			return nil, err
		}
		for _, text := range page {
			var one runInfo
			if err := json.Unmarshal(text, &one); err != nil {
				return nil, err
			}
			before = "&before=" + url.QueryEscape(one.ID)
			if !seen[one.ID] {
				seen[one.ID] = true
				all = append(all, text)
			}
		}
		if len(page) < runsPage {
			return all, nil
		}
	}
}

// withPending adds the open requests to hostd's runs that wait for approval. A server's list
// already contains them.
func (e *endpoint) withPending(ctx context.Context, all []json.RawMessage) ([]json.RawMessage, error) {
	for i, text := range all {
		var one runInfo
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, err
		}
		if one.Status != string(protocol.StatusAwaitingApproval) {
			continue
		}
		var asks struct {
			Requests json.RawMessage `json:"requests"`
		}
		if err := e.call(ctx, http.MethodGet, runPath(one.RunID)+"/permissions", nil, &asks); err != nil {
			return nil, err
		}
		all[i] = fmt.Appendf(bytes.TrimSuffix(bytes.TrimSpace(text), []byte("}")), `,"pending":%s}`, asks.Requests)
	}
	return all, nil
}

func (a *app) printRuns(all []json.RawMessage) error {
	for _, one := range all {
		if err := a.printJSON(one); err != nil {
			return err
		}
	}
	return nil
}

// runInfo is a run in the list of hostd or of a server.
type runInfo struct {
	ID        string                         `json:"id"`     // id of the run in a server's list
	RunID     string                         `json:"run_id"` // id of the run in hostd's list
	Status    string                         `json:"status"`
	Tool      string                         `json:"tool"`
	StartedAt string                         `json:"started_at"`
	Title     *string                        `json:"title"`
	Command   string                         `json:"command"`
	Pending   []protocol.PermissionRequested `json:"pending"`
}

// listRuns prints one line for each run, and below it the run's open requests. flags is added to
// the printed commands, so that they select the same server or socket.
func (a *app) listRuns(all []json.RawMessage, flags string) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no runs: `concerto-relay run -- CMD` or `concerto run --share` starts one")
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATUS\tTOOL\tSTARTED\tWHAT")
	for _, text := range all {
		var one runInfo
		if err := json.Unmarshal(text, &one); err != nil {
			return err
		}
		what, id := one.Command, one.ID+one.RunID
		if one.Title != nil && *one.Title != "" {
			what = *one.Title
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", id, one.Status, displayText(one.Tool, 20), displayText(one.StartedAt, 30), displayText(what, 80))
		for i := range one.Pending {
			asks, command := requestLines(&one.Pending[i], id, flags, 100)
			fmt.Fprintf(w, "  asks: %s\n    %s\n", asks, command)
		}
	}
	return w.Flush()
}

// requestLines returns the text of a request, cut to a width of maxCells, and the command that
// approves it. flags is added to the command, so that it selects the same server or socket.
func requestLines(q *protocol.PermissionRequested, run, flags string, maxCells int) (asks, command string) {
	asks, answer := requestText(q.Prompt, maxCells), ""
	if q.Redacted {
		asks += protocol.RedactedNote
	}
	if q.ApproveText != "" && len(q.Questions) == 0 {
		asks += fmt.Sprintf("  (approving types %s, denying %s)", requestText(q.ApproveText, 40), requestText(q.DenyText, 40))
	}
	// The run, which is not trusted, defines the form. The form stays out of the command, because
	// users paste the command into a shell.
	if form := q.AnswerForm(); form != "" {
		asks, answer = asks+"  answer: "+displayText(form, 200), " --answer JSON"
	}
	return asks, fmt.Sprintf("concerto-relay approve %s %s%s%s", run, shellWord(displayText(q.RequestID, 64)), answer, flags)
}

// displayText returns an untrusted text as one line without control characters, cut to a width of
// maxCells.
func displayText(text string, maxCells int) string {
	return terminal.Cut(terminal.OneLine(strings.NewReplacer("\n", " ", "\t", " ").Replace(text)), maxCells)
}

// requestText returns an untrusted text as one line, cut to a width of maxCells. It shows line ends
// as ⏎, and appends the number of omitted characters.
func requestText(text string, maxCells int) string {
	line := strings.ReplaceAll(text, "\n", "⏎")
	short := displayText(line, maxCells)
	if cut := utf8.RuneCountInString(terminal.OneLine(line)) - utf8.RuneCountInString(short) + 1; strings.HasSuffix(short, "…") && cut > 1 {
		short += fmt.Sprintf(" (%d more characters)", cut)
	}
	return short
}

// printJSON prints a value as one line of JSON.
func (a *app) printJSON(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "%s\n", text)
	}
	return err
}
