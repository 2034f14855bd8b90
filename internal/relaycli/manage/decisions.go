package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/store"
)

// decisionFilter selects decisions; its limit is 0 for all of them.
type decisionFilter struct {
	run, machine, decision, by string
	limit                      int
	state                      string // directory with the keys that open decisions of sealed runs
}

// NewDecisions returns the command decisions of a.
func NewDecisions(a *console.Console) *cobra.Command {
	w, q := &managerFlags{}, decisionFilter{}
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "decisions",
		Short: "List the decisions on requests of runs",
		Long: `Lists who decided what, the newest first: the decisions that people made on the page or by a
command, and those of rules, of handlers of a program and at its terminal. The server stores them
until it deletes the events of their run ('concerto-relay serve --retain').

The command uses the server's database directly (--db), also while the server runs. With --server
URL --token-file FILE it calls the server; a token for some runs lists their decisions alone.
Decisions of sealed runs are shown by --server on a device of their account.`,
		Example: `  concerto-relay decisions
  concerto-relay decisions --decision deny --by ann
  concerto-relay decisions --by '[hosts.Coder.permissions]'    the decisions of rules
  concerto-relay decisions --run run_7 --server https://relay.example --token-file token
  concerto-relay decisions --limit 0 --format ndjson | jq -r .title | sort | uniq -c`,
		Args: console.ArgsBetween(0, 0, "concerto-relay decisions --decision deny"),
		RunE: func(*cobra.Command, []string) error {
			switch {
			case q.limit < 0:
				return console.Usage("for example --limit 20; 0 lists all", "--limit must not be negative")
			case q.decision != "" && !slices.Contains(store.HistoryDecisions, q.decision):
				return console.Usage("use one of "+strings.Join(store.HistoryDecisions, ", "), "invalid value %q for --decision", q.decision)
			}
			q.state = a.Abs(q.state)
			return withManager(a, w, false, func(ctx context.Context, p manager) error { return listDecisions(ctx, a, p, &q, format.String()) })
		},
	}
	f := c.Flags()
	f.StringVar(&q.run, "run", "", "list only decisions of the run `ID`")
	f.StringVar(&q.machine, "host", "", "list only decisions of runs on the machine `ID`")
	f.StringVar(&q.decision, "decision", "", "list only decisions `WHAT`: "+strings.Join(store.HistoryDecisions, ", "))
	f.StringVar(&q.by, "by", "", "list only decisions of the person, rule or handler `NAME`")
	f.IntVar(&q.limit, "limit", 20, "list the newest `N` decisions; 0 lists all (default 20)")
	format = cmdline.AddFormat(c, "text", "json", "ndjson")
	addManagerFlags(a, c, w)
	device.StateFlag(a, c, &q.state)
	return c
}

// page is the part of the filter that the server evaluates, and the position after which it begins.
func (q *decisionFilter) page(before string, n int) url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"run": q.run, "host": q.machine, "decision": q.decision, "by": q.by, "before": before, "limit": strconv.Itoa(n)} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// listDecisions prints the selected decisions.
func listDecisions(ctx context.Context, a *console.Console, p manager, q *decisionFilter, format string) error {
	all, before := []server.HistoryRow{}, ""
	opener, err := newDecisionOpener(p, q)
	if err != nil {
		return err
	}
	wanted := *q
	if opener != nil { // the server cannot select by what is sealed
		q.decision, q.by = "", ""
	}
	for left := cmp.Or(q.limit, math.MaxInt); ; {
		page, err := p.decisions(ctx, q.page(before, min(left, server.MaxHistoryPage)))
		if err != nil {
			return err
		}
		if opener != nil {
			if page.Decisions, err = opener.open(ctx, page.Decisions, &wanted); err != nil {
				return err
			}
		}
		all, before = append(all, page.Decisions...), page.Next
		if left -= len(page.Decisions); left <= 0 || before == "" {
			break
		}
		if format == "ndjson" {
			if err := console.JSONLines(a.Stdout, all); err != nil {
				return err
			}
			all = nil
		}
	}
	switch format {
	case "ndjson":
		return console.JSONLines(a.Stdout, all)
	case "json":
		return json.NewEncoder(a.Stdout).Encode(all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no decisions")
		return err
	}
	rows := [][]string{{"WHEN", "DECISION", "BY", "RUN", "WHAT"}}
	for i := range all {
		rows = append(rows, decisionRow(&all[i]))
	}
	if err := console.Table(a.Stdout, rows); err != nil || before == "" {
		return err
	}
	fmt.Fprintf(a.Stderr, "the newest %d decisions; --limit 0 lists all\n", len(all))
	return nil
}

// decisionRow returns the columns of a decision. Its texts are not trusted.
func decisionRow(d *server.HistoryRow) []string {
	when := console.DisplayText(d.At, 30)
	if at, err := time.Parse(time.RFC3339, d.At); err == nil {
		when = at.Local().Format("2006-01-02 15:04:05")
	}
	what := console.DisplayText(d.Title, MostName)
	if d.Title == "" && len(d.Sealed) > 0 {
		what = "(sealed)"
	}
	if d.Line != "" {
		what += ": " + console.DisplayText(d.Line, 80)
	}
	if d.Reason != "" {
		what += " (" + console.DisplayText(d.Reason, console.MostValue) + ")"
	}
	var answer json.RawMessage
	if d.Answer != "" {
		answer = json.RawMessage(d.Answer)
	}
	return []string{when, console.DecisionText(d.Decision, answer), console.DisplayText(cmp.Or(d.By, d.Actor), MostName), console.DisplayText(d.RunID, MostName), what}
}

func (l *localManager) decisions(ctx context.Context, v url.Values) (*server.HistoryPage, error) {
	q, f := server.HistoryQuery(v)
	if f != nil {
		return nil, f
	}
	return server.History(ctx, l.store, q, func(string) bool { return true })
}

func (s *remoteManager) decisions(ctx context.Context, v url.Values) (*server.HistoryPage, error) {
	page := &server.HistoryPage{}
	return page, s.Call(ctx, http.MethodGet, "/decisions?"+v.Encode(), nil, page)
}
