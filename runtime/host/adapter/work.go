package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// Values of the manifest's key background: what an exchange does about work that continues when
// a turn has ended.
const (
	BackgroundWait   = "wait"
	BackgroundForbid = "forbid"
	BackgroundDetach = "detach"
)

// Worker is an Adapter of an agent that reports its background tasks.
type Worker interface {
	// Work returns what the agent works on.
	Work() Work
	// Settles reports whether the exchange waits for background tasks, and whether the agent must
	// stop them.
	Settles() (waits, stops bool)
	// Count returns the number of starts and ends of tasks so far.
	Count() int64
	// Polls reports whether only a line of Poll shows that the wait, or a detached task, has ended.
	Polls() bool
}

// Work is what an agent works on in the background.
type Work struct {
	Tasks   []effect.HostTask // that have not ended, in the order of their start
	Tending bool              // a turn is running, or an agent or workflow is among the tasks
	Result  json.RawMessage   // result of the last turn that has one, if the exchange waits; nil otherwise
	Problem string            // why the last turn has failed, if the exchange waits; "" otherwise
	Ended   []effect.HostTask // tasks of the exchange that have ended
	// Requests are the messages about those open requests that the journal may not contain: that
	// stay open when an exchange ends, or are questions about secrets.
	Requests [][]byte
}

// Kinds of tasks. Another kind is the agent's own text.
const (
	taskAgent    = "agent"
	taskWorkflow = "workflow"
	taskCommand  = "command"
	taskWatcher  = "watcher"
)

// isTended reports whether a result is expected from tasks of the kind. A command may run for ever.
func isTended(kind string) bool { return kind != taskCommand && kind != taskWatcher }

// maxTitles is the number of tasks that a message names.
const maxTitles = 5

// work are the background tasks of an agent, and the exchange that waits for them.
type work struct {
	Live      map[string]liveTask // tasks that have not ended, by ID
	Order     []startedTask       // Live in the order of their start, and some that have ended
	Changes   int64               // number of starts and ends of tasks
	Past      []effect.HostTask   // tasks of the running exchange that have ended
	Held      *outcome            // outcome of the last turn, while the exchange waits; nil otherwise
	Stopping  bool                // the tasks are being stopped
	Cancelled bool                // Concerto has cancelled the exchange, which has its own time limit for that
	Late      string              // what is wrong with tasks that have not ended in time; "" for none
	Shown     string              // newest message about the tasks for which the exchange waits
	Changed   bool                // the tasks have changed since
	Active    bool                // an exchange is running
	Moved     []json.RawMessage   // messages about requests that stay open when the exchange ends
}

// detached is the part of a request that the program may not receive.
type detached struct {
	Message json.RawMessage `json:",omitempty"` // message about the request; nil if a resumed run receives it from the journal
	Stays   bool            `json:",omitempty"` // the request stays open when the exchange ends
	Outside bool            `json:",omitempty"` // no exchange handles it, or its exchange has ended
}

// liveTask is a task that has not ended.
type liveTask struct {
	effect.HostTask
	N int64 // greater than that of an older task
}

type startedTask struct {
	ID string
	N  int64
}

func newWork() work { return work{Live: map[string]liveTask{}} }

// title returns a name such as `agent "review"`.
func title(t *effect.HostTask) string {
	if t.Name == "" {
		return t.Kind
	}
	return fmt.Sprintf("%s %q", t.Kind, t.Name)
}

// Titles returns the names of tasks, of which a long list is cut.
func Titles(all []effect.HostTask) string { return titles(all[:min(len(all), maxTitles)], len(all)) }

// titles returns the names of the first ones of n tasks.
func titles(first []effect.HostTask, n int) string {
	var out []string
	for i := range first {
		out = append(out, title(&first[i]))
	}
	text := strings.Join(out, ", ")
	if more := n - len(out); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// live returns the tasks that have not ended.
func (w *work) live() (all []effect.HostTask) {
	for _, x := range w.Order {
		if w.isLive(x) {
			all = append(all, w.Live[x.ID].HostTask)
		}
	}
	return all
}

func (w *work) isLive(x startedTask) bool {
	t, known := w.Live[x.ID]
	return known && t.N == x.N
}

// forget removes tasks that have ended from Order, so that few others precede the oldest one.
func (w *work) forget() {
	for len(w.Order) > 0 && !w.isLive(w.Order[0]) {
		w.Order = w.Order[1:]
	}
	if len(w.Order) > 2*len(w.Live) {
		w.Order = slices.DeleteFunc(w.Order, func(x startedTask) bool { return !w.isLive(x) })
	}
}

// titles returns the names of the live tasks, of which a long list is cut.
func (w *work) titles() string {
	var first []effect.HostTask
	for _, x := range w.Order {
		if w.isLive(x) {
			first = append(first, w.Live[x.ID].HostTask)
		}
		if len(first) == maxTitles {
			break
		}
	}
	return titles(first, len(w.Live))
}

// begin prepares for a new exchange.
func (w *work) begin() {
	w.Past, w.Held, w.Stopping, w.Cancelled, w.Late, w.Shown = nil, nil, false, false, "", ""
	w.Changed, w.Active = true, true
}

// mark notes how the newest message of s, about a request, is handled. stays reports whether the
// request is one of detached work, and isSecret whether it is a question about a secret.
func (w *work) mark(s *Output, stays, isSecret bool) detached {
	if !stays && !isSecret {
		return detached{}
	}
	return detached{Message: s.Messages[len(s.Messages)-1], Stays: stays, Outside: !w.Active}
}

// leavesOpen reports whether a request stays open when the exchange ends. The exchange that has
// received it no longer handles it.
func (w *work) leavesOpen(s *Output, id string, q *detached) bool {
	if !q.Stays || w.Cancelled {
		return false
	}
	if !q.Outside {
		q.Outside = true
		o := jsonobject.New("withdraw")
		o.Text("id", id)
		o.Raw(effect.WithdrawMoved, []byte("true"))
		s.addMessage(o)
		w.Moved = append(w.Moved, q.Message)
	}
	return true
}

// start adds a task, or completes what is known about one.
func (w *work) start(s *Output, t effect.HostTask, payload []byte) {
	before, known := w.Live[t.ID]
	w.Changed = true
	if known {
		before.Name, before.Kind = cmp.Or(before.Name, t.Name), cmp.Or(t.Kind, before.Kind)
		w.Live[t.ID] = before
		return
	}
	t.State = effect.TaskRunning
	w.Changes++
	w.Live[t.ID] = liveTask{t, w.Changes}
	w.Order = append(w.Order, startedTask{t.ID, w.Changes})
	s.task(&t, title(&t)+" has started", payload)
}

// end removes a task that has ended.
func (w *work) end(s *Output, id, state, summary string, payload []byte) {
	t, known := w.Live[id]
	if !known {
		return
	}
	delete(w.Live, id)
	w.forget()
	w.Changes++
	w.Changed = true
	t.State, t.Summary = state, summary
	w.Past = append(w.Past, t.HostTask)
	s.task(&t.HostTask, endText(&t.HostTask), payload)
}

// endText describes the end of a task.
func endText(t *effect.HostTask) string {
	text := title(t) + " " + t.State
	if t.Summary != "" && t.Summary != t.Name {
		text += ": " + short(t.Summary)
	}
	return text
}

// task reports a change of a task. payload is what the agent reports about it; nil for nothing.
func (s *Output) task(t *effect.HostTask, message string, payload []byte) {
	o := jsonobject.New(hostmsg.Progress)
	o.Text("message", message)
	o.Text("stage", "task")
	o.Raw("task", jsonwrite.MustEncode(t))
	s.addAgent(o)
	if payload != nil {
		o.Raw("payload", payload)
	}
	s.addMessage(o)
}

// hold stores the outcome of a turn, because the exchange waits for its tasks. The program receives
// it as the end of a turn. A turn without a text leaves that of the turn before.
func (w *work) hold(s *Output, r outcome) {
	s.turnEnded(&r)
	if w.Held != nil {
		if w.Held.Code != "" || w.Stopping { // the turn only reports that the tasks were stopped
			return
		}
		r.Text = cmp.Or(r.Text, w.Held.Text)
	}
	w.Held = &r
}

// turnEnded reports the end of a turn after which the exchange continues.
func (s *Output) turnEnded(r *outcome) {
	o := jsonobject.New(hostmsg.Progress)
	o.Text("message", short(cmp.Or(r.Message, r.Text, "the turn has ended")))
	o.Text("stage", "turn")
	o.Raw("waits", []byte("true"))
	r.totals.addTo(o)
	o.Raw("payload", r.message(nil))
	s.addMessage(o)
}

// showWait reports the tasks for which the exchange waits, if they have changed.
func (w *work) showWait(s *Output) {
	if w.Held == nil || len(w.Live) == 0 || !w.Changed {
		return
	}
	w.Changed = false
	text := "waits for " + w.titles()
	if text == w.Shown {
		return
	}
	w.Shown = text
	o := jsonobject.New(hostmsg.Progress)
	o.Text("message", text)
	o.Text("stage", "wait")
	s.addMessage(o)
}

// expire notes that the tasks, or a turn that follows from them, are stopped because the exchange
// no longer waits for them. why completes a sentence about the host.
func (w *work) expire(host, why string, isTurn bool) {
	all := slices.DeleteFunc(w.live(), func(t effect.HostTask) bool { return !isTended(t.Kind) })
	switch {
	case len(all) > 0:
		w.Late = fmt.Sprintf("host '%s' %s: stopped %s", host, why, Titles(all))
	case isTurn:
		w.Late = fmt.Sprintf("host '%s' %s: stopped the turn that follows from it", host, why)
	}
}

// settles implements Worker.Settles.
func (w *work) settles() (waits, stops bool) {
	return w.Held != nil, w.Held != nil && w.Stopping && !w.Cancelled
}

// settled returns the outcome of the exchange, which no longer waits.
func (w *work) settled() outcome {
	r := *w.Held
	if w.Late != "" && r.Code == "" {
		r.Result = r.message(nil)
		r.Code, r.Message = "background", w.Late
	}
	w.Held, w.Stopping, w.Late, w.Shown, w.Changed = nil, false, "", "", true
	return r
}

// finish ends the exchange.
func (w *work) finish(s *Output, r outcome) {
	all := append(w.Past[:len(w.Past):len(w.Past)], w.live()...)
	if r.Code != "" && (r.Usage != nil || r.Cost != nil) {
		s.spent("the turn has failed", r.totals, nil)
	}
	s.Messages = append(s.Messages, r.message(all))
	w.Active = false
}

// moveRequests repeats, after the end of the exchange, the requests that stay open.
func (w *work) moveRequests(s *Output) {
	for _, message := range w.Moved {
		s.Messages = append(s.Messages, message)
	}
	w.Moved = nil
}

// report returns the state for the host's process. tending reports whether a turn is running.
func (w *work) report(tending bool) Work {
	out := Work{Tasks: w.live(), Tending: tending, Ended: slices.Clone(w.Past)}
	for i := range out.Tasks {
		out.Tending = out.Tending || isTended(out.Tasks[i].Kind)
	}
	switch {
	case w.Held == nil:
	case w.Held.Code == "":
		out.Result = w.Held.message(nil)
	default:
		out.Result, out.Problem = w.Held.Result, w.Held.Message
	}
	return out
}
