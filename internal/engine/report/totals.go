package report

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// Totals contains the usage of models and hosts.
type Totals struct {
	All    Total   `json:"all"`
	Models []Total `json:"models"`
	Agents []Total `json:"agents"`
	Hosts  []Total `json:"hosts"`
	Stages []Total `json:"stages"`
	Tasks  []Total `json:"tasks"`
	Lines  []Total `json:"lines"` // of the source
}

// Key identifies what a Total is the sum of. Only the members of one list are set.
type Key struct {
	Connection string `json:"connection,omitempty"`
	Model      string `json:"model,omitempty"`
	Agent      string `json:"agent,omitempty"`
	Host       string `json:"host,omitempty"`
	Stage      string `json:"stage,omitempty"` // PIPELINE/STAGE
	Task       int64  `json:"task,omitempty"`
	Function   string `json:"function,omitempty"`
	At         string `json:"at,omitempty"` // FILE:LINE
}

// Total is a sum. Of models, agents, stages and tasks, Calls counts the attempts that sent a
// request, as `--stats` does; of hosts, the exchanges; of lines, the items. Cost is null if a price
// is unknown.
type Total struct {
	Key
	Calls     int64 `json:"calls"`
	Failed    int64 `json:"failed"`
	TokensIn  int64 `json:"tokens_in"`
	TokensOut int64 `json:"tokens_out"`
	models.Parts
	Cost      json.RawMessage `json:"cost_usd"`
	Estimated bool            `json:"estimated,omitempty"` // some of the tokens, and so of the cost, are estimated
	Seconds   float64         `json:"seconds"`

	cost     budget.Money
	reported float64 // costs that hosts have reported, in dollars
	unpriced bool
}

// totals returns the sums over items.
func totals(items []*Item) Totals {
	sums := map[Key]*Total{}
	functions := map[int64]string{}
	add := func(key Key, x *Item) {
		t := sums[key]
		if t == nil {
			t = &Total{Key: key}
			sums[key] = t
		}
		t.add(x)
	}
	all := Total{}
	for _, x := range items {
		switch event.Kind(x.Kind) {
		case event.Run, event.Task:
			functions[x.Task] = x.Name
		case event.Model:
			if !x.sent {
				continue
			}
			all.add(x)
			add(Key{Connection: x.Details.Connection, Model: x.Details.Model}, x)
			add(Key{Agent: x.Name}, x)
			if x.Details.Stage != "" {
				add(Key{Stage: x.Details.Stage}, x)
			}
			if x.Task != 0 {
				add(Key{Task: x.Task, Function: functions[x.Task]}, x)
			}
		case event.Exchange:
			add(Key{Host: x.Details.Host}, x)
		}
		if x.At != nil {
			add(Key{At: (*x.At)[:strings.LastIndexByte(*x.At, ':')]}, x)
		}
	}
	all.setCost()
	out := Totals{All: all, Models: []Total{}, Agents: []Total{}, Hosts: []Total{}, Stages: []Total{}, Tasks: []Total{}, Lines: []Total{}}
	for _, t := range sums {
		t.setCost()
		list := &out.Lines
		switch {
		case t.Connection != "":
			list = &out.Models
		case t.Agent != "":
			list = &out.Agents
		case t.Host != "":
			list = &out.Hosts
		case t.Stage != "":
			list = &out.Stages
		case t.Task != 0:
			list = &out.Tasks
		}
		*list = append(*list, *t)
	}
	for _, list := range [][]Total{out.Models, out.Agents, out.Hosts, out.Stages, out.Tasks, out.Lines} {
		slices.SortFunc(list, func(a, b Total) int {
			return cmp.Or(cmp.Compare(a.Connection, b.Connection), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Host, b.Host),
				cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Task, b.Task), cmp.Compare(lineOf(a.At), lineOf(b.At)), cmp.Compare(a.At, b.At))
		})
	}
	return out
}

// lineOf returns a text by which FILE:LINE is sorted: by file, and then by the number of the line.
func lineOf(at string) string {
	i := strings.LastIndexByte(at, ':') + 1
	return at[:i] + strings.Repeat("0", max(0, 9-len(at[i:]))) + at[i:]
}

// add adds an item. Costs that hosts report are never added to those of models.
func (t *Total) add(x *Item) {
	t.Calls++
	if x.Status == Failed || x.Status == Unknown {
		t.Failed++
	}
	if x.Start != nil && x.End != nil {
		t.Seconds = float64(int64((t.Seconds+*x.End-*x.Start)*1e6+0.5)) / 1e6
	}
	if x.Details.TokensIn != nil {
		t.TokensIn += *x.Details.TokensIn
	}
	if x.Details.TokensOut != nil {
		t.TokensOut += *x.Details.TokensOut
	}
	t.Parts = t.Parts.Plus(x.Details.Parts)
	t.Estimated = t.Estimated || x.Details.Estimated
	switch event.Kind(x.Kind) {
	case event.Model:
		t.cost += x.cost
		t.unpriced = t.unpriced || x.sent && !x.priced
	case event.Exchange:
		if t.Host != "" && len(x.Details.Cost) > 0 {
			var usd float64
			if json.Unmarshal(x.Details.Cost, &usd) == nil {
				t.reported += usd
			}
		}
	}
}

// Usage returns the sum of what models and hosts have used.
func (t *Totals) Usage() Total {
	sum := Total{TokensIn: t.All.TokensIn, TokensOut: t.All.TokensOut, Parts: t.All.Parts, Cost: t.All.Cost, Estimated: t.All.Estimated}
	var usd float64
	isKnown := string(t.All.Cost) != "null" && json.Unmarshal(t.All.Cost, &usd) == nil
	for i := range t.Hosts {
		h := &t.Hosts[i]
		sum.TokensIn += h.TokensIn
		sum.TokensOut += h.TokensOut
		var reported float64
		if json.Unmarshal(h.Cost, &reported) == nil && isKnown {
			usd += reported
			sum.Cost = json.RawMessage(strconv.FormatFloat(math.Round(usd*1e9)/1e9, 'f', -1, 64))
		}
	}
	return sum
}

func (t *Total) setCost() {
	switch {
	case t.unpriced:
		t.Cost = json.RawMessage("null")
	case t.Host != "":
		t.Cost = encode(t.reported)
	default:
		t.Cost = json.RawMessage(t.cost.String())
	}
}
