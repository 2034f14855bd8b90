package transcript

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/event"
)

// Usage is a run's usage of models by agent, stage and task. Stages does not include requests that
// were made outside every stage.
type Usage struct {
	Agents, Stages, Tasks []Share
	Hosts                 []HostShare // hosts with further turns or gates
}

// HostShare counts the failures, further turns and gates of a host's exchanges.
type HostShare struct {
	Host    string
	Failed  int64 // exchanges that have failed
	Repairs int64 // further turns because a result did not fit its schema
	Gated   int64 // exchanges with gates
	Proved  int64 // exchanges of which all gates have passed
}

// hostShares counts for HostShare.
type hostShares struct {
	meter effect.Meter
	hosts map[string]*HostShare
}

// count counts a request about an exchange.
func (h *hostShares) count(e *event.Event) {
	if e.Phase != event.End {
		return
	}
	switch q := e.Request.(type) {
	case *effect.ExchangeContinue:
		if x := h.meter.Exchange(q.ID); x != nil && e.Err == nil && q.Reason == effect.ContinueSchema {
			h.of(x.Host).Repairs++
		}
	case *effect.ExchangeClose:
		if x := h.meter.Exchange(q.ID); x != nil && x.Turn > 0 {
			h.of(x.Host).Gated++
			if x.Failure == "" {
				h.of(x.Host).Proved++
			}
		}
	}
	h.meter.Add(e.Request, e.Result, e.Err, func(x effect.Use) {
		if x.FailedExchanges != 0 {
			h.of(x.Host).Failed += x.FailedExchanges
		}
	})
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
type Share struct {
	Agent           string
	Pipeline, Stage string
	Task            int64
	Function        string // name of the task's function
	models.Sum
}

// shares contains the usage by agent, stage and task.
type shares struct {
	all    *Share
	agents map[string]*Share
	stages map[string]*Share
	tasks  map[int64]*Share
}

func newShares() shares {
	return shares{all: &Share{}, agents: map[string]*Share{}, stages: map[string]*Share{}, tasks: map[int64]*Share{}}
}

// countAttempt adds an attempt to the agent, the stage and the task.
func (s *shares) countAttempt(e *event.Event, t *task) {
	u := e.Attempt.Used
	s.all.Add(u)
	share(s.agents, e.Name, Share{Agent: e.Name}).Add(u)
	if e.Stage != "" {
		pipeline, stage, _ := strings.Cut(e.Stage, "/")
		share(s.stages, e.Stage, Share{Pipeline: pipeline, Stage: stage}).Add(u)
	}
	if e.Task != 0 {
		x := Share{Task: e.Task}
		if t != nil {
			x.Function = t.name
		}
		share(s.tasks, e.Task, x).Add(u)
	}
}

func share[K comparable](all map[K]*Share, key K, fresh Share) *Share {
	if all[key] == nil {
		all[key] = &fresh
	}
	return all[key]
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
