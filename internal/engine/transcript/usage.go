package transcript

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// Usage is a run's usage of models by agent, stage and task. Stages does not include requests that
// were made outside every stage.
type Usage struct {
	Agents, Stages, Tasks []Share
	Hosts                 []HostShare // hosts with further turns or gates
}

// HostShare counts the further turns and the gates of a host's exchanges.
type HostShare struct {
	Host    string
	Repairs int64 // further turns because a result did not fit its schema
	Gated   int64 // exchanges with gates
	Proved  int64 // exchanges of which all gates have passed
}

// hostShares counts for HostShare.
type hostShares struct {
	open  map[int64]*gatedExchange // open exchanges by their numbers
	hosts map[string]*HostShare
}

// gatedExchange is an open exchange with a host.
type gatedExchange struct {
	host string
	effect.Proofs
}

// count counts a request about an exchange.
func (h *hostShares) count(e *event.Event) {
	switch q := e.Request.(type) {
	case *effect.ExchangeOpen:
		if o, ok := e.Result.(*effect.ExchangeOpened); ok && e.Phase == event.End {
			h.open[o.ID] = &gatedExchange{host: q.Host}
		}
	case *effect.ExchangeContinue:
		if x := h.open[q.ID]; x != nil && e.Phase == event.End && e.Err == nil && q.Reason == effect.ContinueSchema {
			h.of(x.host).Repairs++
		}
	case *effect.ExchangeGate:
		if o, ok := e.Result.(*effect.GateOutput); ok && h.open[q.ID] != nil {
			h.open[q.ID].Add(q, o)
		}
	case *effect.ExchangeClose:
		if x := h.open[q.ID]; x != nil && e.Phase == event.Begin {
			delete(h.open, q.ID)
			if x.Turn > 0 {
				h.of(x.host).Gated++
				if x.Failure == "" {
					h.of(x.host).Proved++
				}
			}
		}
	}
}

func (h *hostShares) of(host string) *HostShare {
	if h.hosts[host] == nil {
		h.hosts[host] = &HostShare{Host: host}
	}
	return h.hosts[host]
}

// all returns the shares sorted by host.
func (h *hostShares) all() (out []HostShare) {
	for _, name := range slices.Sorted(maps.Keys(h.hosts)) {
		out = append(out, *h.hosts[name])
	}
	return out
}

// Share is the usage of an agent, a stage or a task. Only the fields that identify it are set.
// Priced is set if the prices of all used models are known. Model is not set.
type Share struct {
	Agent           string
	Pipeline, Stage string
	Task            int64
	Function        string // name of the task's function
	budget.Usage
}

// shares contains the usage by agent, stage and task.
type shares struct {
	all    *Share
	agents map[string]*Share
	stages map[string]*Share
	tasks  map[int64]*Share
}

func newShares() shares {
	return shares{all: &Share{Usage: budget.Usage{Priced: true}}, agents: map[string]*Share{}, stages: map[string]*Share{}, tasks: map[int64]*Share{}}
}

// countAttempt adds the usage of an attempt to the agent, the stage and the task.
func (s *shares) countAttempt(e *event.Event, t *task, u budget.Usage) {
	s.all.countUsage(u)
	share(s.agents, e.Name, Share{Agent: e.Name}).countUsage(u)
	if e.Stage != "" {
		pipeline, stage, _ := strings.Cut(e.Stage, "/")
		share(s.stages, e.Stage, Share{Pipeline: pipeline, Stage: stage}).countUsage(u)
	}
	if e.Task != 0 {
		x := Share{Task: e.Task}
		if t != nil {
			x.Function = t.name
		}
		share(s.tasks, e.Task, x).countUsage(u)
	}
}

func share[K comparable](all map[K]*Share, key K, fresh Share) *Share {
	if all[key] == nil {
		fresh.Priced = true
		all[key] = &fresh
	}
	return all[key]
}

func (s *Share) countUsage(u budget.Usage) {
	s.Calls += u.Calls
	s.Failed += u.Failed
	s.TokensIn += u.TokensIn
	s.TokensOut += u.TokensOut
	s.Parts = s.Parts.Plus(u.Parts)
	s.Estimated += u.Estimated
	s.Cost += u.Cost
	s.Priced = s.Priced && u.Priced
}

// usage returns the shares sorted by name or task number.
func (s *shares) usage() Usage {
	return Usage{Agents: sorted(s.agents), Stages: sorted(s.stages), Tasks: sorted(s.tasks)}
}

func sorted[K cmp.Ordered](all map[K]*Share) []Share {
	var keys []K
	for k := range all {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var out []Share
	for _, k := range keys {
		out = append(out, *all[k])
	}
	return out
}
