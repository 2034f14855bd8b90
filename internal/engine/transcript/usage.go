package transcript

import (
	"cmp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/runtime/budget"
)

// Usage is a run's usage of models by agent, stage and task. Stages does not include requests that
// were made outside every stage.
type Usage struct {
	Agents, Stages, Tasks []Share
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
func (s *shares) countAttempt(agent string, c *call, t *task, u budget.Usage) {
	s.all.countUsage(u)
	share(s.agents, agent, Share{Agent: agent}).countUsage(u)
	if c.stage != "" {
		pipeline, stage, _ := strings.Cut(c.stage, "/")
		share(s.stages, c.stage, Share{Pipeline: pipeline, Stage: stage}).countUsage(u)
	}
	if c.task != 0 {
		x := Share{Task: c.task}
		if t != nil {
			x.Function = t.name
		}
		share(s.tasks, c.task, x).countUsage(u)
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
