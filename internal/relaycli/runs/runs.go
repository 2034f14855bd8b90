package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// NewRuns returns the command runs.
func NewRuns(a *console.Console) *cobra.Command {
	var r connect.Target
	var format *cmdline.Format
	var state string
	c := &cobra.Command{
		Use:   "runs",
		Short: "List runs and their requests",
		Long: `Lists runs. Below each run it lists the open requests, each with the command that answers it. With
--format ndjson each run is a line, with its requests in pending.` + connect.ReachHelp,
		Example: `  concerto-relay runs
  concerto-relay runs --server https://relay.example --token-file token
  concerto-relay runs --format ndjson | jq -r 'select(.pending != null) | .pending[].prompt'`,
		Args: console.ArgsBetween(0, 0, "concerto-relay runs"),
		RunE: func(c *cobra.Command, _ []string) error {
			e, err := connect.EndpointOf(a, &r)
			if err != nil {
				return err
			}
			var all []json.RawMessage
			if e.IsRemote() {
				if all, err = allRuns(ctxOf(c), e); err == nil {
					err = openRuns(ctxOf(c), a, a.Abs(state), e, all)
				}
			} else {
				var list struct {
					Runs []json.RawMessage `json:"runs"`
				}
				if err = e.Call(ctxOf(c), http.MethodGet, "/runs", nil, &list); err == nil {
					all, err = withPending(ctxOf(c), e, list.Runs)
				}
			}
			switch {
			case err != nil:
				return err
			case !format.IsText():
				return printRuns(a, all)
			}
			return listRuns(a, all, e.Flags)
		},
	}
	format = cmdline.AddFormat(c, "text", "ndjson")
	connect.TargetFlags(a, c, &r, true)
	device.StateFlag(a, c, &state)
	return c
}

// runsPage is the maximum number of runs in one response of a server.
const runsPage = 500

// allRuns returns all runs of a server. It requests them page by page and omits duplicates.
func allRuns(ctx context.Context, e *connect.Endpoint) (all []json.RawMessage, err error) {
	seen := map[string]bool{}
	for before := ""; ; {
		var page []json.RawMessage
		if err := e.Call(ctx, http.MethodGet, fmt.Sprintf("/runs?limit=%d%s", runsPage, before), nil, &page); err != nil {
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
func withPending(ctx context.Context, e *connect.Endpoint, all []json.RawMessage) ([]json.RawMessage, error) {
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
		if err := e.Call(ctx, http.MethodGet, RunPath(one.RunID)+"/permissions", nil, &asks); err != nil {
			return nil, err
		}
		all[i] = fmt.Appendf(bytes.TrimSuffix(bytes.TrimSpace(text), []byte("}")), `,"pending":%s}`, asks.Requests)
	}
	return all, nil
}

func printRuns(a *console.Console, all []json.RawMessage) error {
	for _, one := range all {
		if err := a.PrintJSON(one); err != nil {
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
func listRuns(a *console.Console, all []json.RawMessage, flags string) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no runs: `concerto-relay run -- CMD` or `concerto run --share` starts one")
		return err
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", id, one.Status, console.DisplayText(one.Tool, 20), console.DisplayText(one.StartedAt, 30), console.DisplayText(what, 80))
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
	asks, answer := console.RequestText(q.Prompt, maxCells), ""
	if q.Redacted {
		asks += protocol.RedactedNote
	}
	if q.ApproveText != "" && len(q.Questions) == 0 {
		asks += fmt.Sprintf("  (approving types %s, denying %s)", console.RequestText(q.ApproveText, 40), console.RequestText(q.DenyText, 40))
	}
	// The run, which is not trusted, defines the form. The form stays out of the command, because
	// users paste the command into a shell.
	if form := q.AnswerForm(); form != "" {
		asks, answer = asks+"  answer: "+console.DisplayText(form, 200), " --answer JSON"
	}
	return asks, fmt.Sprintf("concerto-relay approve %s %s%s%s", run, console.ShellWord(console.DisplayText(q.RequestID, 64)), answer, flags)
}
