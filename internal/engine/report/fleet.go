package report

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/record/event/fleet"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// Fleet contains the tasks and the merge queues of a run with workspaces, queues or more than three
// hosts.
type Fleet struct {
	Tasks  []FleetTask   `json:"tasks"`
	Queues []fleet.Queue `json:"queues"`
}

// FleetTask is a workspace, or a host that works without one.
type FleetTask struct {
	Task  string          `json:"task"`
	Agent string          `json:"agent"` // the host that worked on it last
	State string          `json:"state"`
	Note  string          `json:"note,omitempty"` // the queue, or why it failed
	Since *float64        `json:"since"`          // time at which the state began; null if unknown
	Cost  json.RawMessage `json:"cost_usd"`       // null if the host reports none
	Last  string          `json:"last"`           // the last line of its progress
}

// fleetOf returns the tasks and the queues of a run, or nil for a run that is no fleet.
func (b *Builder) fleetOf() *Fleet {
	if !b.fleet.IsFleet {
		return nil
	}
	out := &Fleet{Tasks: []FleetTask{}, Queues: append([]fleet.Queue{}, b.fleet.Queues...)}
	for _, t := range b.fleet.Tasks {
		x := FleetTask{Task: t.Name, Agent: t.Agent, State: t.State, Note: t.Note, Cost: json.RawMessage("null"), Last: t.Last}
		if b.Timed {
			x.Since = seconds(t.Since)
		}
		if t.HasCost {
			x.Cost = json.RawMessage(budget.Dollars(t.Cost()).String())
		}
		out.Tasks = append(out.Tasks, x)
	}
	return out
}
