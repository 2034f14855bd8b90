package report

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// Totals contains the usage of models and hosts.
type Totals struct {
	All    Total   `json:"all"`
	Used   Total   `json:"used"` // of models and hosts; its calls are attempts and exchanges
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

	used models.Sum
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
			if x.used.Calls == 0 {
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
			if x.used.Exchanges > 0 {
				add(Key{Host: x.Details.Host}, x)
			}
		}
		if x.At != nil {
			add(Key{At: (*x.At)[:strings.LastIndexByte(*x.At, ':')]}, x)
		}
	}
	all.set()
	out := Totals{All: all, Models: []Total{}, Agents: []Total{}, Hosts: []Total{}, Stages: []Total{}, Tasks: []Total{}, Lines: []Total{}}
	for _, t := range sums {
		t.set()
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
	out.Used = all
	for i := range out.Hosts {
		h, u := &out.Hosts[i], &out.Used
		u.Calls, u.Failed, u.Seconds = u.Calls+h.Calls, u.Failed+h.Failed, u.Seconds+h.Seconds
		u.used.Add(h.used)
	}
	out.Used.set()
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
	used := x.used
	if t.Host == "" && used.Exchanges > 0 {
		used.Cost = 0
	}
	t.used.Add(used)
}

// set sets the members that depend on used.
func (t *Total) set() {
	t.TokensIn, t.TokensOut, t.Parts, t.Estimated, t.Cost = t.used.TokensIn, t.used.TokensOut, t.used.Parts, t.used.Estimated > 0, costOf(t.used)
}

// costOf returns a cost as JSON, which is null if a price is unknown.
func costOf(u models.Sum) json.RawMessage {
	if u.Unpriced > 0 {
		return json.RawMessage("null")
	}
	return json.RawMessage(budget.Money(u.Cost).String())
}
