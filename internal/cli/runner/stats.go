package runner

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/transcript"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// writeStats writes a run's usage to stderr.
func writeStats(a *console.Console, s *engine.Used, asJSON bool) {
	switch {
	case asJSON:
		writeStatsJSON(a, s)
	case len(s.Models) == 0 && len(s.Hosts) == 0:
		fmt.Fprintln(a.Stderr, "stats: no model was called")
	default:
		if len(s.Models) > 0 {
			writeStatsTable(a, s)
		}
		if len(s.Hosts) > 0 {
			writeHostTable(a, s.Hosts, s.Shares.Hosts)
		}
	}
}

// writeHostTable writes one line for each host that had an exchange, with the tokens and the cost
// that it reported. If there are any, it also contains the repairs of results and the exchanges
// that gates have proved.
func writeHostTable(a *console.Console, each []budget.HostUsage, shares []transcript.HostShare) {
	w := tabwriter.NewWriter(a.Stderr, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(a.Stderr, "hosts:")
	more, of := "", map[string]transcript.HostShare{}
	for _, x := range shares {
		of[x.Host] = x
		if x.Repairs+x.Gated > 0 {
			more = "repairs\tproved\t"
		}
	}
	fmt.Fprintln(w, "exchanges\tfailed\trefused\tstopped\tturns\ttokens in\ttokens out\tcost USD\t"+more+"  host")
	for _, u := range each {
		name := u.Host
		if u.Estimated > 0 {
			name += fmt.Sprintf(" (use of %d estimated)", u.Estimated)
		}
		x := of[u.Host]
		if more != "" {
			more = fmt.Sprintf("%d\t%d of %d\t", x.Repairs, x.Proved, x.Gated)
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s  %s\n", u.Exchanges, x.Failed, u.Refused, u.Stopped, u.Turns, u.TokensIn, u.TokensOut, budget.Money(u.Cost), more, name)
	}
	w.Flush()
}

// writeStatsTable writes one line for each model. It also writes one line for each agent, stage and
// task if there are several of them. Columns about the provider's cache and about reasoning are
// omitted if they contain only zeros.
func writeStatsTable(a *console.Console, s *engine.Used) {
	w := tabwriter.NewWriter(a.Stderr, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(a.Stderr, "stats:")
	cache, reasoning := s.AllModels.Cached+s.AllModels.CacheWrite > 0, s.AllModels.Reasoning > 0
	parts := func(cached, written, thought any) (in, out string) {
		if cache {
			in = fmt.Sprintf("%v\t%v\t", cached, written)
		}
		if reasoning {
			out = fmt.Sprintf("%v\t", thought)
		}
		return in, out
	}
	title := "calls\tfailed\ttokens in\ttokens out\tcost USD\t  model\n"
	if cache || reasoning { // short titles, so that the table is not too wide
		in, out := parts("read", "write", "think")
		title = "calls\tfailed\tin\t" + in + "out\t" + out + "cost USD\t  model\n"
	}
	fmt.Fprint(w, title)
	line := func(u models.Sum, name string) {
		cost := "unknown"
		if u.Unpriced == 0 {
			cost = budget.Money(u.Cost).String()
		}
		if u.Estimated > 0 {
			name += fmt.Sprintf(" (tokens of %d estimated)", u.Estimated)
		}
		in, out := parts(u.Cached, u.CacheWrite, u.Reasoning)
		fmt.Fprintf(w, "%d\t%d\t%d\t%s%d\t%s%s\t  %s\n", u.Calls, u.FailedCalls, u.TokensIn, in, u.TokensOut, out, cost, name)
	}
	for _, u := range s.Models {
		line(u.Sum, u.Connection+" "+u.Model)
	}
	more := 0
	for _, all := range [][]transcript.Share{s.Shares.Agents, s.Shares.Stages, s.Shares.Tasks} {
		more += max(len(all)-maxShares, 0)
		for _, x := range all[:min(len(all), maxShares)] {
			if len(all) > 1 || x.Stage != "" {
				line(x.Sum, shareName(x))
			}
		}
	}
	if len(s.Models) > 1 {
		line(s.AllModels.Sum, "all")
	}
	w.Flush()
	if more > 0 {
		fmt.Fprintf(a.Stderr, "… and %d more; --stats --format json lists all\n", more)
	}
	if n := s.AllModels.Refused; n > 0 {
		fmt.Fprintf(a.Stderr, "budget reached after %d of %d calls\n", s.AllModels.Calls, s.AllModels.Calls+n)
	}
}

// maxShares is the maximum number of agents in the table. It also applies to stages and to tasks.
const maxShares = 20

func shareName(x transcript.Share) string {
	switch {
	case x.Agent != "":
		return "agent " + x.Agent
	case x.Stage != "":
		return "stage " + x.Pipeline + "/" + x.Stage
	}
	return strings.TrimSpace(fmt.Sprintf("task %d %s", x.Task, x.Function))
}

// usedJSON is an entry of the statistics in JSON.
type usedJSON struct {
	Connection string `json:"connection,omitempty"`
	Model      string `json:"model,omitempty"`
	Agent      string `json:"agent,omitempty"`
	Pipeline   string `json:"pipeline,omitempty"`
	Stage      string `json:"stage,omitempty"`
	Task       int64  `json:"task,omitempty"`
	Function   string `json:"function,omitempty"`
	Calls      int64  `json:"calls"`
	Failed     int64  `json:"failed"`
	Refused    int64  `json:"refused,omitempty"` // calls that the budget did not allow; of all models
	TokensIn   int64  `json:"tokens_in"`
	TokensOut  int64  `json:"tokens_out"`
	models.Parts
	Estimated int64         `json:"estimated,omitempty"` // calls whose tokens the provider did not report
	Cost      *budget.Money `json:"cost_usd"`            // null when a price is not known
}

func usedBy(u models.Sum) usedJSON {
	x := usedJSON{Calls: u.Calls, Failed: u.FailedCalls, TokensIn: u.TokensIn, TokensOut: u.TokensOut, Parts: u.Parts, Estimated: u.Estimated}
	if u.Unpriced == 0 {
		x.Cost = new(budget.Money(u.Cost))
	}
	return x
}

// hostJSON is a host in the JSON of the statistics.
type hostJSON struct {
	Host      string `json:"host"`
	Exchanges int64  `json:"exchanges"`
	Failed    int64  `json:"failed"`
	Refused   int64  `json:"refused"`
	Stopped   int64  `json:"stopped"`
	Turns     int64  `json:"turns"`
	TokensIn  int64  `json:"tokens_in"`
	TokensOut int64  `json:"tokens_out"`
	models.Parts
	Estimated int64        `json:"estimated,omitempty"`
	Cost      budget.Money `json:"cost_usd"`
	Repairs   int64        `json:"repairs,omitempty"`
	Gated     int64        `json:"gated,omitempty"` // exchanges with gates
	Proved    int64        `json:"proved,omitempty"`
}

// writeStatsJSON writes the statistics as one line of JSON.
func writeStatsJSON(a *console.Console, s *engine.Used) {
	list := func(all []transcript.Share) []usedJSON {
		out := []usedJSON{}
		for _, x := range all {
			u := usedBy(x.Sum)
			u.Agent, u.Pipeline, u.Stage, u.Task, u.Function = x.Agent, x.Pipeline, x.Stage, x.Task, x.Function
			out = append(out, u)
		}
		return out
	}
	models := []usedJSON{}
	for _, u := range s.Models {
		x := usedBy(u.Sum)
		x.Connection, x.Model = u.Connection, u.Model
		models = append(models, x)
	}
	var line struct {
		Stats struct {
			All    usedJSON   `json:"all"`
			Models []usedJSON `json:"models"`
			Agents []usedJSON `json:"agents"`
			Stages []usedJSON `json:"stages"`
			Tasks  []usedJSON `json:"tasks"`
			Hosts  []hostJSON `json:"hosts,omitempty"`
		} `json:"stats"`
	}
	line.Stats.All, line.Stats.Models = usedBy(s.AllModels.Sum), models
	line.Stats.All.Refused = s.AllModels.Refused
	line.Stats.Agents, line.Stats.Stages, line.Stats.Tasks = list(s.Shares.Agents), list(s.Shares.Stages), list(s.Shares.Tasks)
	of := map[string]transcript.HostShare{}
	for _, x := range s.Shares.Hosts {
		of[x.Host] = x
	}
	for _, u := range s.Hosts {
		x := of[u.Host]
		line.Stats.Hosts = append(line.Stats.Hosts, hostJSON{u.Host, u.Exchanges, x.Failed, u.Refused, u.Stopped, u.Turns, u.TokensIn, u.TokensOut, u.Parts, u.Estimated, budget.Money(u.Cost), x.Repairs, x.Gated, x.Proved})
	}
	text, err := json.Marshal(&line)
	if err != nil {
		panic("stats have no JSON: " + err.Error())
	}
	fmt.Fprintf(a.Stderr, "%s\n", text)
}
