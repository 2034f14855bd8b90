package client

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// placesPause is the minimum time between two reports of places. A report contains the complete
// structure of the program.
const placesPause = 5 * time.Second

// places are the merge queues and workspaces of a run. The structure of the run contains each as a
// node with its state. A workspace is a place until it is removed or its change is merged.
type places struct {
	graph   placesGraph
	all     []place
	working map[int64]occupant // exchanges in workspaces, by number
	queues  map[int64]string   // names of the queues that are run, by the number of the run
	changes map[change]string  // names of workspaces by their changes
	timer   *time.Timer        // ends placesPause after a report; nil if a report may follow now
	changed bool               // since the last report
	fleet   fleet
}

// occupant is a host that works in a workspace.
type occupant struct{ host, workspace string }

// change is a change in a queue.
type change struct{ queue, id string }

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

func (p *places) init() {
	p.fleet.init()
	p.working, p.queues, p.changes = map[int64]occupant{}, map[int64]string{}, map[change]string{}
}

// set sets the state of a place, and adds the place if it is new.
func (p *places) set(kind, name, state string) {
	x := place{kind + ":" + name, kind, name, state}
	at := slices.IndexFunc(p.all, func(y place) bool { return y.ID == x.ID })
	switch {
	case at < 0:
		p.all = append(p.all, x)
	case p.all[at] == x:
		return
	default:
		p.all[at] = x
	}
	p.changed = true
}

func (p *places) removeWorkspace(name string) {
	n := len(p.all)
	p.all = slices.DeleteFunc(p.all, func(x place) bool { return x.ID == placeWorkspace+":"+name })
	p.changed = p.changed || len(p.all) < n
}

// structure returns the structure of the program with its places.
func (p *places) structure() json.RawMessage {
	g := p.graph
	g.Nodes = slices.Clone(g.Nodes)
	for _, x := range p.all {
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
func (p *places) hasNews() bool { return p.changed || p.fleet.isFleet && p.fleet.changed }

// handlePlaces updates the places for an effect that has ended.
func (s *Source) handlePlaces(e *event.Event) {
	if e.Phase != event.End {
		return
	}
	s.mu.Lock()
	s.places.fleet.handle(e)
	if e.Err == nil {
		s.places.handle(e)
	}
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
	var meta protocol.Meta
	if s.places.changed {
		meta.Structure = s.places.structure()
	}
	if s.places.fleet.changed {
		meta.Fleet = s.places.fleet.report()
	}
	s.places.changed, s.places.fleet.changed = false, false
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

func (p *places) handle(e *event.Event) {
	switch q := e.Request.(type) {
	case *effect.WorkOpen:
		p.set(placeWorkspace, q.Name, "open")
		p.fleet.set(p.fleet.find(q.Name), taskOpen, "")
	case *effect.WorkRemove:
		p.removeWorkspace(q.Name)
		p.fleet.end(q.Name, taskRemoved)
	case *effect.ExchangeOpen:
		if at, ok := e.Result.(*effect.ExchangeOpened); ok && q.Workspace != "" {
			p.working[at.ID] = occupant{q.Host, q.Workspace}
			p.set(placeWorkspace, q.Workspace, q.Host+" works")
		}
	case *effect.ExchangeClose:
		p.endExchange(q.ID)
	case *effect.MergeSubmit:
		if done, ok := e.Result.(*effect.MergeSubmitted); ok {
			p.changes[change{q.Queue, done.ID}] = q.Name
			p.set(placeWorkspace, q.Name, "submitted to "+q.Queue)
			p.fleet.set(p.fleet.find(q.Name), taskSubmitted, q.Queue)
		}
	case *effect.MergeOpen:
		if at, ok := e.Result.(*effect.MergeOpened); ok && q.Queue != "" {
			p.queues[at.ID] = q.Queue
			p.set(placeQueue, q.Queue, effect.QueueState{}.String())
			p.fleet.setQueue(q.Queue, effect.QueueState{})
		}
	case *effect.MergeNext:
		if m, ok := e.Result.(*effect.MergeEvent); ok && p.queues[q.ID] != "" {
			p.handleMerge(p.queues[q.ID], m)
		}
	}
}

// endExchange sets the state of the workspace of an exchange that was closed. Of several hosts that
// still work there, it names the one that began last.
func (p *places) endExchange(id int64) {
	ended, ok := p.working[id]
	if !ok {
		return
	}
	delete(p.working, id)
	state, last := "open", int64(-1)
	for id, x := range p.working {
		if x.workspace == ended.workspace && id > last {
			state, last = x.host+" works", id
		}
	}
	p.set(placeWorkspace, ended.workspace, state)
}

// handleMerge handles an event of a queue.
func (p *places) handleMerge(queue string, m *effect.MergeEvent) {
	var data struct {
		effect.QueueState
		Changes []string
		Change  string
		Kind    string
	}
	if json.Unmarshal(m.Data, &data) != nil {
		return // the data of an event of another kind
	}
	switch {
	case m.Kind == effect.MergeProgress:
		p.set(placeQueue, queue, data.QueueState.String())
		p.fleet.setQueue(queue, data.QueueState)
	case m.Channel == effect.ChannelLanded:
		for _, id := range data.Changes {
			name := p.changes[change{queue, id}]
			p.removeWorkspace(name)
			p.fleet.end(name, taskMerged)
		}
	case m.Channel == effect.ChannelFailed:
		if name := p.changes[change{queue, data.Change}]; name != "" {
			p.set(placeWorkspace, name, "not merged: "+data.Kind)
			p.fleet.set(p.fleet.find(name), taskFailed, data.Kind)
		}
	}
}
