// Package fleet derives the tasks of a run from its events: its workspaces, its hosts that work
// without one, and its merge queues. A relay and reports show them.
package fleet

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/record/event"
)

// The states of a task.
const (
	Open      = "open"
	Working   = "working"
	Idle      = "idle"
	Submitted = "submitted"
	Merged    = "merged"
	Failed    = "failed"
	Removed   = "removed"
)

const (
	maxText  = 200 // characters of the last line of a task, and of its note
	fewHosts = 3   // maximum number of hosts of a run without workspaces and queues that is no fleet
)

// Task is a workspace, or a host that works without one.
type Task struct {
	Name        string
	IsWorkspace bool
	Agent       string // the host that worked on it last
	State       string
	Note        string        // the queue, or why it failed
	Since       time.Duration // the time of the run at which the state began
	Last        string        // the last line of its progress
	HasCost     bool          // its cost is known
	Gone        bool          // the workspace was removed, or its change was merged

	ended float64 // cost of the exchanges that have ended
	open  []*work // exchanges that work on the task
}

// Cost returns the cost of the task's exchanges so far, in US dollars.
func (t *Task) Cost() float64 {
	sum := t.ended
	for _, w := range t.open {
		sum += w.cost
	}
	return sum
}

// Queue is a merge queue.
type Queue struct {
	Name string `json:"name"`
	effect.QueueState
}

// Fleet contains the tasks and the queues of a run, in the order in which they began.
type Fleet struct {
	Tasks   []*Task
	Queues  []Queue
	IsFleet bool // the run has workspaces, queues or more than three hosts
	Changed bool // since the caller has set it to false

	now     time.Duration // time of the current event
	byName  map[key]*Task
	work    map[int64]*work   // open exchanges, by number
	queues  map[int64]string  // names of the queues that are run, by the number of the run
	changes map[change]string // names of workspaces by their changes
}

// key identifies a task.
type key struct {
	name        string
	isWorkspace bool
}

// change is a change in a queue.
type change struct{ queue, id string }

// work is an open exchange.
type work struct {
	task   *Task
	host   string
	cost   float64
	failed string // why the exchange has failed; "" if it has not
}

// New returns an empty Fleet.
func New() *Fleet {
	return &Fleet{byName: map[key]*Task{}, work: map[int64]*work{}, queues: map[int64]string{}, changes: map[change]string{}}
}

// find returns a task. It adds the task if it is new.
func (f *Fleet) find(name string, isWorkspace bool) *Task {
	k := key{name, isWorkspace}
	t := f.byName[k]
	if t == nil {
		t = &Task{Name: name, IsWorkspace: isWorkspace}
		f.byName[k] = t
		f.Tasks = append(f.Tasks, t)
		f.IsFleet = f.IsFleet || isWorkspace || len(f.Tasks) > fewHosts
	}
	return t
}

// set sets the state of a task.
func (f *Fleet) set(t *Task, state, note string) {
	note, t.Gone = cut(note), false
	if t.State == state && t.Note == note {
		return
	}
	t.State, t.Note, t.Since = state, note, f.now
	f.Changed = true
}

// cut returns a text of at most maxText characters.
func cut(text string) string {
	if r := []rune(text); len(r) > maxText {
		return string(r[:maxText-1]) + "…"
	}
	return text
}

// setQueue sets the numbers of a queue.
func (f *Fleet) setQueue(name string, s effect.QueueState) {
	q := Queue{name, s}
	at := slices.IndexFunc(f.Queues, func(x Queue) bool { return x.Name == name })
	if at < 0 {
		f.Queues = append(f.Queues, q)
	} else {
		f.Queues[at] = q
	}
	f.IsFleet, f.Changed = true, true
}

// end records that a workspace is not a task any more: its change was merged, or it was removed.
func (f *Fleet) end(name, state string) {
	t := f.byName[key{name, true}]
	if t == nil {
		return
	}
	if t.State != Merged && (state == Merged || t.State != Failed) {
		f.set(t, state, "")
	}
	t.Gone, f.Changed = true, true
}

// Handle updates the fleet for an event about an effect.
func (f *Fleet) Handle(e *event.Event) {
	if e.Phase != event.End {
		return
	}
	f.now = e.At
	switch q := e.Request.(type) {
	case *effect.ExchangeOpen:
		f.beginWork(q, e)
		return
	case *effect.ExchangeNext:
		if w := f.work[q.ID]; w != nil {
			f.handleMessages(w, e)
		}
		return
	case *effect.ExchangeClose:
		f.endWork(q.ID)
		return
	}
	if e.Err != nil {
		return
	}
	switch q := e.Request.(type) {
	case *effect.WorkOpen:
		f.set(f.find(q.Name, true), Open, "")
	case *effect.WorkRemove:
		f.end(q.Name, Removed)
	case *effect.MergeSubmit:
		if done, ok := e.Result.(*effect.MergeSubmitted); ok {
			f.changes[change{q.Queue, done.ID}] = q.Name
			f.set(f.find(q.Name, true), Submitted, q.Queue)
		}
	case *effect.MergeOpen:
		if at, ok := e.Result.(*effect.MergeOpened); ok && q.Queue != "" {
			f.queues[at.ID] = q.Queue
			f.setQueue(q.Queue, effect.QueueState{})
		}
	case *effect.MergeNext:
		if m, ok := e.Result.(*effect.MergeEvent); ok && f.queues[q.ID] != "" {
			f.handleMerge(f.queues[q.ID], m)
		}
	}
}

func (f *Fleet) beginWork(q *effect.ExchangeOpen, e *event.Event) {
	name, isWorkspace := q.Workspace, q.Workspace != ""
	if !isWorkspace {
		name = q.Host
	}
	at, isOpen := e.Result.(*effect.ExchangeOpened)
	failed, hasFailed := errors.AsType[*effect.Error](e.Err)
	if !hasFailed && (!isOpen || e.Err != nil) {
		return // cancelled
	}
	t := f.find(name, isWorkspace)
	t.Agent = q.Host
	if hasFailed {
		f.set(t, Failed, failed.Message)
		return
	}
	w := &work{task: t, host: q.Host}
	t.open = append(t.open, w)
	f.work[at.ID], f.Changed = w, true
	f.set(t, Working, "")
}

// bookkeeping contains the stages of progress that are no line of a task.
var bookkeeping = []string{"start", "usage", "turn", "other", "system"}

// handleMessages reads the cost and the last line from the messages of a host.
func (f *Fleet) handleMessages(w *work, e *event.Event) {
	if failed, ok := errors.AsType[*effect.Error](e.Err); ok {
		w.failed = failed.Message
	}
	all, ok := e.Result.(*effect.ExchangeMessages)
	if !ok || e.Err != nil {
		return
	}
	for i := range all.Messages {
		m := &all.Messages[i]
		row := hostmsg.Lookup(m.Type)
		if m.Type != hostmsg.Progress && !row.Terminal() {
			continue
		}
		var data struct {
			Message, Text, Stage string
			CostUSD              *float64 `json:"cost_usd"`
		}
		payload := value.AppendJSON(nil, m.Payload)
		if json.Unmarshal(payload, &data) != nil {
			continue
		}
		if data.CostUSD != nil {
			w.cost, w.task.HasCost, f.Changed = *data.CostUSD, true, true
		}
		if row.Role == hostmsg.Fails {
			w.failed = data.Message
			continue
		}
		text := data.Message + data.Text
		if v := request.OfCall(payload); v != nil {
			text = v.Summary()
		}
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if line != "" && !slices.Contains(bookkeeping, data.Stage) {
			w.task.Last, f.Changed = cut(line), true
		}
	}
}

// endWork sets the state of the task of an exchange that was closed. While other hosts work on the
// task, it remains in work.
func (f *Fleet) endWork(id int64) {
	w := f.work[id]
	if w == nil {
		return
	}
	delete(f.work, id)
	t := w.task
	t.ended += w.cost
	t.open = slices.DeleteFunc(t.open, func(x *work) bool { return x == w })
	f.Changed = true
	switch n := len(t.open); {
	case n > 0:
		t.Agent = t.open[n-1].host
	case t.State != Working: // it was submitted before the exchange was closed
	case w.failed != "":
		f.set(t, Failed, w.failed)
	default:
		f.set(t, Idle, "")
	}
}

// handleMerge handles an event of a queue.
func (f *Fleet) handleMerge(queue string, m *effect.MergeEvent) {
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
		f.setQueue(queue, data.QueueState)
	case m.Channel == effect.ChannelLanded:
		for _, id := range data.Changes {
			f.end(f.changes[change{queue, id}], Merged)
		}
	case m.Channel == effect.ChannelFailed:
		if name := f.changes[change{queue, data.Change}]; name != "" {
			f.set(f.find(name, true), Failed, data.Kind)
		}
	}
}
