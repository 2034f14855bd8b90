package client

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/event/fleet"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// placesPause is the minimum time between two reports of places. A report contains the complete
// structure of the program.
const placesPause = 5 * time.Second

// places are the merge queues and workspaces of a run. The structure of the run contains each as a
// node with its state. A workspace is a place until it is removed or its change is merged.
type places struct {
	graph placesGraph
	fleet *fleet.Fleet
	began time.Time   // start of the run
	shown []place     // the places of the last report
	timer *time.Timer // ends placesPause after a report; nil if a report may follow now
}

// placesGraph is the structure of a program; see graph.Placed.
type placesGraph struct {
	Nodes   []json.RawMessage `json:"nodes"`
	Edges   []json.RawMessage `json:"edges"`
	Drawing json.RawMessage   `json:"drawing,omitempty"`
}

// place is a node of the structure.
type place struct {
	ID    string `json:"id"` // KIND:NAME
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// Kinds of places.
const (
	placeQueue     = "queue"
	placeWorkspace = "workspace"
)

func (p *places) init() { p.fleet = fleet.New() }

// all returns the places.
func (p *places) all() (out []place) {
	for _, t := range p.fleet.Tasks {
		if !t.IsWorkspace || t.Gone {
			continue
		}
		state := fleet.Open
		switch t.State {
		case fleet.Working:
			state = t.Agent + " works"
		case fleet.Submitted:
			state = "submitted to " + t.Note
		case fleet.Failed:
			state = "failed: " + t.Note
		}
		out = append(out, place{placeWorkspace + ":" + t.Name, placeWorkspace, t.Name, state})
	}
	for _, q := range p.fleet.Queues {
		out = append(out, place{placeQueue + ":" + q.Name, placeQueue, q.Name, q.QueueState.String()})
	}
	return out
}

// structure returns the structure of the program with its places.
func (p *places) structure() json.RawMessage {
	g := p.graph
	g.Nodes = slices.Clone(g.Nodes)
	for _, x := range p.shown {
		node, err := json.Marshal(x)
		if err != nil {
			panic("relay: a place is no JSON: " + err.Error())
		}
		g.Nodes = append(g.Nodes, node)
	}
	if g.Edges == nil {
		g.Edges = []json.RawMessage{}
	}
	out, err := json.Marshal(g)
	if err != nil {
		panic("relay: a structure is no JSON: " + err.Error())
	}
	return out
}

// hasNews reports whether there is something to report.
func (p *places) hasNews() bool { return p.fleet.IsFleet && p.fleet.Changed }

// handlePlaces updates the places for an effect that has ended.
func (s *Source) handlePlaces(e *event.Event) {
	if e.Phase != event.End {
		return
	}
	s.mu.Lock()
	if s.places.began.IsZero() {
		s.places.began = time.Now().Add(-e.At)
	}
	s.places.fleet.Handle(e)
	pending := s.places.hasNews() && s.places.timer == nil
	s.mu.Unlock()
	if pending {
		s.reportPlaces()
	}
}

// reportPlaces reports the changed places, and then none for placesPause.
func (s *Source) reportPlaces() {
	s.mu.Lock()
	if s.places.timer = nil; !s.places.hasNews() {
		s.mu.Unlock()
		return
	}
	meta := protocol.Meta{Fleet: s.places.fleetOf()}
	if all := s.places.all(); !slices.Equal(all, s.places.shown) {
		s.places.shown = all
		meta.Structure = s.places.structure()
	}
	s.places.fleet.Changed = false
	s.places.timer = time.AfterFunc(placesPause, s.reportPlaces)
	s.mu.Unlock()
	s.report(protocol.RunMeta, meta)
}

// endPlaces reports the changed places at the end of the run.
func (s *Source) endPlaces() {
	s.reportPlaces()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places.timer != nil {
		s.places.timer.Stop()
	}
}

// fleetOf returns the tasks in the form for a relay. Of many tasks, it leaves out the oldest ones
// that have ended or rest, and then the oldest ones.
func (p *places) fleetOf() *protocol.Fleet {
	f := p.fleet
	out := &protocol.Fleet{Total: int64(len(f.Tasks)), Tasks: []protocol.FleetTask{}, Queues: []protocol.FleetQueue{}}
	for _, q := range f.Queues {
		out.Queues = append(out.Queues, protocol.FleetQueue{Name: q.Name, Queued: int64(q.Queued), Tested: int64(q.Tested), Batch: int64(q.Batch), Merged: int64(q.Merged), Failed: int64(q.Failed)})
	}
	extra := len(f.Tasks) - protocol.MaxFleetTasks
	for _, t := range f.Tasks {
		switch t.State {
		case fleet.Working:
			out.Working++
		case fleet.Merged:
			out.Merged++
		case fleet.Failed:
			out.Failed++
		}
		if extra > 0 && (t.State == fleet.Merged || t.State == fleet.Removed || t.State == fleet.Idle) {
			extra--
			continue
		}
		x := protocol.FleetTask{Task: t.Name, Agent: t.Agent, State: t.State, Note: t.Note, Since: p.began.Add(t.Since).UTC().Format(time.RFC3339), Last: t.Last}
		if t.HasCost {
			x.CostUSD = new(t.Cost())
		}
		out.Tasks = append(out.Tasks, x)
	}
	if n := len(out.Tasks) - protocol.MaxFleetTasks; n > 0 {
		out.Tasks = out.Tasks[n:]
	}
	return out
}
