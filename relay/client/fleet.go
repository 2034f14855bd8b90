package client

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/relay/protocol"
)

const (
	maxLast     = 200 // characters of the last line of a task, and of its note
	fewHosts    = 3   // maximum number of hosts of a run without workspaces and queues that is no fleet
	hostsPrefix = "\x00"
)

// The states of a task.
const (
	taskOpen      = "open"
	taskWorking   = "working"
	taskIdle      = "idle"
	taskSubmitted = "submitted"
	taskMerged    = "merged"
	taskFailed    = "failed"
	taskRemoved   = "removed"
)

// fleet contains the tasks of a run: its workspaces, and its hosts that work without one.
type fleet struct {
	tasks   []*task
	byName  map[string]*task // by the name of the workspace, or hostsPrefix and the name of the host
	work    map[int64]*work  // open exchanges, by number
	queues  []protocol.FleetQueue
	isFleet bool // the run has workspaces, queues or many hosts
	changed bool // since the last report
}

// task is a task with the exchanges that work on it.
type task struct {
	protocol.FleetTask
	cost    float64 // of the exchanges that have ended
	hasCost bool
	open    []*work // exchanges that work on the task
}

// work is an open exchange.
type work struct {
	task   *task
	host   string
	cost   float64
	failed string // why the exchange has failed; "" if it has not
}

func (f *fleet) init() { f.byName, f.work = map[string]*task{}, map[int64]*work{} }

// find returns the task with a name. It adds the task if it is new.
func (f *fleet) find(name string) *task {
	t := f.byName[name]
	if t == nil {
		shown, isHost := strings.CutPrefix(name, hostsPrefix)
		t = &task{FleetTask: protocol.FleetTask{Task: shown}}
		f.byName[name] = t
		f.tasks = append(f.tasks, t)
		f.isFleet = f.isFleet || !isHost || len(f.tasks) > fewHosts
	}
	return t
}

// set sets the state of a task.
func (f *fleet) set(t *task, state, note string) {
	note = firstChars(note, maxLast)
	if t.State == state && t.Note == note {
		return
	}
	t.State, t.Note, t.Since = state, note, time.Now().UTC().Format(time.RFC3339)
	f.changed = true
}

// setQueue sets the numbers of a queue.
func (f *fleet) setQueue(name string, s effect.QueueState) {
	q := protocol.FleetQueue{Name: name, Queued: int64(s.Queued), Tested: int64(s.Tested), Batch: int64(s.Batch), Merged: int64(s.Merged), Failed: int64(s.Failed)}
	at := slices.IndexFunc(f.queues, func(x protocol.FleetQueue) bool { return x.Name == name })
	if at < 0 {
		f.queues = append(f.queues, q)
	} else {
		f.queues[at] = q
	}
	f.isFleet, f.changed = true, true
}

// end records that a workspace is not a task any more: its change was merged, or it was removed.
func (f *fleet) end(name, state string) {
	if t := f.byName[name]; t != nil && t.State != taskMerged && (state == taskMerged || t.State != taskFailed) {
		f.set(t, state, "")
	}
}

// handle updates the tasks for an effect that has ended.
func (f *fleet) handle(e *event.Event) {
	if e.Phase != event.End {
		return
	}
	switch q := e.Request.(type) {
	case *effect.ExchangeOpen:
		f.beginWork(q, e)
	case *effect.ExchangeNext:
		if w := f.work[q.ID]; w != nil {
			f.handleMessages(w, e)
		}
	case *effect.ExchangeClose:
		f.endWork(q.ID)
	}
}

func (f *fleet) beginWork(q *effect.ExchangeOpen, e *event.Event) {
	name := q.Workspace
	if name == "" {
		name = hostsPrefix + q.Host
	}
	at, ok := e.Result.(*effect.ExchangeOpened)
	if !ok || e.Err != nil {
		var failed *effect.Error
		if errors.As(e.Err, &failed) {
			t := f.find(name)
			t.Agent = q.Host
			f.set(t, taskFailed, failed.Message)
		}
		return
	}
	t := f.find(name)
	w := &work{task: t, host: q.Host}
	t.Agent, t.open = q.Host, append(t.open, w)
	f.work[at.ID] = w
	f.set(t, taskWorking, "")
}

// bookkeeping contains the stages of progress that are no line of a task.
var bookkeeping = []string{"start", "usage", "turn", "other", "system"}

// handleMessages reads the cost and the last line from the messages of a host.
func (f *fleet) handleMessages(w *work, e *event.Event) {
	var failed *effect.Error
	if errors.As(e.Err, &failed) {
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
		if json.Unmarshal(value.AppendJSON(nil, m.Payload), &data) != nil {
			continue
		}
		if data.CostUSD != nil {
			w.cost, w.task.hasCost, f.changed = *data.CostUSD, true, true
		}
		if row.Role == hostmsg.Fails {
			w.failed = data.Message
			continue
		}
		line, _, _ := strings.Cut(strings.TrimSpace(data.Message+data.Text), "\n")
		if line != "" && !slices.Contains(bookkeeping, data.Stage) {
			w.task.Last, f.changed = firstChars(line, maxLast), true
		}
	}
}

// endWork sets the state of the task of an exchange that was closed. While other hosts work on the
// task, it remains in work.
func (f *fleet) endWork(id int64) {
	w := f.work[id]
	if w == nil {
		return
	}
	delete(f.work, id)
	t := w.task
	t.cost += w.cost
	t.open = slices.DeleteFunc(t.open, func(x *work) bool { return x == w })
	f.changed = true
	switch n := len(t.open); {
	case n > 0:
		t.Agent = t.open[n-1].host
	case t.State != taskWorking: // it was submitted before the exchange was closed
	case w.failed != "":
		f.set(t, taskFailed, w.failed)
	default:
		f.set(t, taskIdle, "")
	}
}

// report returns the tasks in the form for a relay, or nil if the run is no fleet.
func (f *fleet) report() *protocol.Fleet {
	if !f.isFleet {
		return nil
	}
	out := &protocol.Fleet{Total: int64(len(f.tasks)), Tasks: []protocol.FleetTask{}, Queues: slices.Clone(f.queues)}
	if out.Queues == nil {
		out.Queues = []protocol.FleetQueue{}
	}
	extra := len(f.tasks) - protocol.MaxFleetTasks
	for _, t := range f.tasks {
		switch t.State {
		case taskWorking:
			out.Working++
		case taskMerged:
			out.Merged++
		case taskFailed:
			out.Failed++
		}
		if extra > 0 && (t.State == taskMerged || t.State == taskRemoved || t.State == taskIdle) {
			extra--
			continue
		}
		x := t.FleetTask
		if t.hasCost {
			sum := t.cost
			for _, w := range t.open {
				sum += w.cost
			}
			x.CostUSD = &sum
		}
		out.Tasks = append(out.Tasks, x)
	}
	if n := len(out.Tasks) - protocol.MaxFleetTasks; n > 0 {
		out.Tasks = out.Tasks[n:]
	}
	return out
}
