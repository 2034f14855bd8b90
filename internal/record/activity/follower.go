package activity

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/record/event"
)

// Follower creates the activity of a run from the events of the run.
type Follower struct {
	onEvent func(Event)

	now   time.Duration   // time of the current event
	last  int64           // last assigned number
	tasks map[int64]*task // running tasks by number
	meter effect.Meter
	open  map[int64]*exchange // open exchanges by the number in requests
	runs  map[int64]Event     // begin events of the queues that are run, by the number in requests
	lanes map[string][]bool   // for each host, whether lane i+1 is used
}

// task is a running task.
type task struct {
	name   string
	within []Event // begin events of its open listens and stages, innermost last
	// progress is the number of the task's progress; 0 if the task has reported none.
	progress int64
	awaited  string // source of the answer to the last awaited emit, one of the effect.By constants
}

// exchange is an open exchange with a host.
type exchange struct {
	began   Event
	waiting []Answer // unanswered requests of the host, oldest first
	used    *effect.Metered
	text    string // reason of the failure
}

// New returns a Follower. onEvent is called for each event in order. Calls are never concurrent.
func New(onEvent func(Event)) *Follower {
	return &Follower{onEvent: onEvent, tasks: map[int64]*task{}, open: map[int64]*exchange{}, runs: map[int64]Event{}, lanes: map[string][]bool{}}
}

// omitted contains the kinds of events that are no activity with hosts.
var omitted = func() map[event.Kind]string {
	const effects, emits, requests = "only the activity with hosts is shown", "its emits are handled", "the requests of the exchange are handled"
	return map[event.Kind]string{
		event.Pipeline: emits, event.Stage: emits, event.Listen: emits, event.Handler: requests, event.Exchange: requests, event.Message: requests,
		event.Question: requests, event.Approval: requests, event.Agent: effects, event.Model: effects, event.Retry: effects, event.Fallback: effects,
		event.Repair: effects, event.Tool: effects, event.MCP: effects, event.HTTP: effects, event.Command: effects, event.Print: effects, event.Log: effects,
		event.Timer: effects, event.Store: effects, event.File: effects, event.Work: effects, event.Decision: requests, event.Error: "the command prints the error",
	}
}()

// Sink returns what receives the events of the run.
func (f *Follower) Sink() event.Sink {
	return event.Sink{Omits: omitted, Shows: map[event.Kind]func(*event.Event){
		event.Run: f.handleTask, event.Task: f.handleTask, event.Request: f.handleRequest, event.Await: f.handleAwait,
		event.Emit: func(e *event.Event) {
			f.now = e.At
			f.handleEmit(e.Task, e.Request.(*effect.Emit))
		},
	}}
}

// Close ends all open exchanges, listens, stages, progress and runs of queues.
func (f *Follower) Close() {
	for len(f.open) > 0 {
		first := int64(-1)
		for id := range f.open {
			if first < 0 || f.open[id].began.Number < f.open[first].began.Number {
				first = id
			}
		}
		f.closeExchange(first, "the run has ended")
	}
	for _, id := range slices.Sorted(maps.Keys(f.runs)) {
		f.endMerge(id)
	}
}

// emitEvent passes an event to OnEvent.
func (f *Follower) emitEvent(e Event) {
	e.At = f.now
	f.onEvent(e)
}

func (f *Follower) nextNumber() int64 {
	f.last++
	return f.last
}

// handleTask adds a task, or ends its open listens and stages.
func (f *Follower) handleTask(e *event.Event) {
	f.now = e.At
	if e.Phase == event.Begin {
		f.tasks[e.Task] = &task{name: e.Name}
		return
	}
	if t := f.tasks[e.Task]; t != nil {
		for len(t.within) > 0 {
			f.endInnermost(t, t.within[len(t.within)-1].Kind)
		}
		f.endProgress(e.Task, t)
	}
	delete(f.tasks, e.Task)
}

// handleRequest handles an effect of an exchange.
func (f *Follower) handleRequest(e *event.Event) {
	f.now = e.At
	if e.Phase == event.End {
		f.meter.Add(e.Request, e.Result, e.Err, func(effect.Use) {})
	}
	switch q := e.Request.(type) {
	case *effect.ExchangeNext:
		if e.Phase == event.End {
			f.handleMessages(q.ID, e.Result, e.Err)
		}
	case *effect.ExchangeReply:
		if e.Phase == event.Begin { // before the host can react; a second attempt finds no request to answer
			f.handleReply(e.Task, q)
		}
	case *effect.ExchangeOpen:
		if e.Phase == event.End {
			f.handleOpened(e.Task, q, e.Result, e.Err)
		}
	case *effect.ExchangeClose:
		if e.Phase == event.Begin {
			f.closeExchange(q.ID, q.Reason)
		}
	case *effect.MergeOpen:
		if at, ok := e.Result.(*effect.MergeOpened); ok && e.Err == nil && q.Queue != "" {
			began := Event{Kind: MergeBegan, Number: f.nextNumber(), Task: e.Task, Name: q.Queue, Percent: -1}
			f.runs[at.ID] = began
			f.emitEvent(began)
		}
	case *effect.MergeNext:
		if e.Phase == event.End {
			f.handleMerge(q.ID, e.Result, e.Err)
		}
	case *effect.MergeClose:
		f.endMerge(q.ID)
	}
}

// handleMerge handles an event of a merge, or its failure.
func (f *Follower) handleMerge(id int64, r effect.Result, err error) {
	m, ok := r.(*effect.MergeEvent)
	switch {
	case err != nil || ok && m.Kind == effect.MergeEnd:
		f.endMerge(id)
	case ok && m.Kind == effect.MergeProgress:
		e, running := f.runs[id]
		e.Kind = MergeMoved
		if running && json.Unmarshal(m.Data, &e.Queue) == nil {
			f.emitEvent(e)
		}
	}
}

// endMerge emits the end of the run of a queue, if it is running.
func (f *Follower) endMerge(id int64) {
	e, ok := f.runs[id]
	if !ok {
		return
	}
	delete(f.runs, id)
	e.Kind = MergeEnded
	f.emitEvent(e)
}

// handleOpened handles an exchange that was opened or could not be opened.
func (f *Follower) handleOpened(id int64, q *effect.ExchangeOpen, r effect.Result, err error) {
	host := q.Host
	e := Event{Kind: Began, Task: id, Name: host, Host: host, Workspace: q.Workspace, Percent: -1}
	if at, ok := r.(*effect.ExchangeOpened); ok && err == nil {
		e.Number, e.Lane = f.nextNumber(), f.allocateLane(host)
		f.open[at.ID] = &exchange{began: e, used: f.meter.Exchange(at.ID)}
		f.emitEvent(e)
		return
	}
	var failed *effect.Error
	if errors.As(err, &failed) {
		e.Kind, e.Lane, e.Failed, e.Text = Ended, 1, true, failed.Message
		f.emitEvent(e)
	}
}

// allocateLane reserves the smallest free lane of a host and returns it.
func (f *Follower) allocateLane(host string) int {
	at := slices.Index(f.lanes[host], false)
	if at < 0 {
		at = len(f.lanes[host])
		f.lanes[host] = append(f.lanes[host], false)
	}
	f.lanes[host][at] = true
	return at + 1
}

// handleAwait stores the source of the answer to an awaited emit. The handler of `execute` uses
// that answer for the host.
func (f *Follower) handleAwait(e *event.Event) {
	if e.Phase != event.End || !strings.HasPrefix(e.Name, "host:") {
		return
	}
	by := effect.ByDefault
	if a, ok := e.Result.(*effect.Answer); ok && e.Err == nil {
		by = effect.ByApplication
		if a.By != "" {
			by = a.By
		}
	}
	if t := f.tasks[e.Task]; t != nil {
		t.awaited = by
	}
}

// handleReply handles a reply to a host's request.
func (f *Follower) handleReply(id int64, q *effect.ExchangeReply) {
	by := q.By
	if t := f.tasks[id]; t != nil {
		if t.awaited != "" && by == effect.ByHandler {
			by = t.awaited
		}
		t.awaited = ""
	}
	x := f.open[q.ID]
	if x == nil {
		return
	}
	a, ok := x.removeAnswered(q)
	if !ok {
		return // requests of this type are not displayed
	}
	e := x.event(Answered)
	e.Answer, e.By, e.Text, e.Failed = a, by, q.Error, q.Error != ""
	if hostmsg.Lookup(a.Type).Form == hostmsg.YesNo {
		d := decision.Decision{}
		if q.Error == "" {
			d = decision.Parse(q.Value)
			e.Text = d.Reason
		}
		e.Denied, e.Scope = !d.Allow, d.Scope
	} else if q.Error == "" {
		e.Text = plainText(q.Value)
	}
	f.emitEvent(e)
}

// removeAnswered removes the request that a reply answers from the waiting ones, and returns it.
func (x *exchange) removeAnswered(q *effect.ExchangeReply) (Answer, bool) {
	at := slices.IndexFunc(x.waiting, func(a Answer) bool { return a.Type == q.InReplyTo && a.ID == q.AnswerTo })
	if at < 0 {
		return Answer{}, false
	}
	a := x.waiting[at]
	switch {
	case len(x.waiting) == 1: // the usual case; reuses the memory
		x.waiting = x.waiting[:0]
	case at == 0:
		x.waiting = x.waiting[1:]
	default:
		x.waiting = slices.Delete(x.waiting, at, at+1)
	}
	return a, true
}

// event returns a new event of this kind for the exchange.
func (x *exchange) event(k Kind) Event {
	e := x.began
	e.Kind, e.Used = k, x.usage()
	return e
}

// plainText formats a JSON value for people. A text has no quotes.
func plainText(v json.RawMessage) string {
	if n := len(v); n > 1 && v[0] == '"' && bytes.IndexByte(v, '\\') < 0 && bytes.IndexByte(v[1:], '"') == n-2 {
		return string(v[1 : n-1])
	}
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

// handleMessages handles the messages, or the failure, of an exchange.
func (f *Follower) handleMessages(id int64, r effect.Result, err error) {
	x := f.open[id]
	if x == nil {
		return
	}
	var failed *effect.Error
	if errors.As(err, &failed) {
		x.text = failed.Message
		return
	}
	messages, ok := r.(*effect.ExchangeMessages)
	if !ok || err != nil {
		return // the exchange was cancelled
	}
	var moved bool // several changes are reported as one event, because a host may send many
	e := x.event(Moved)
	for i := range messages.Messages {
		m := &messages.Messages[i]
		row := hostmsg.Lookup(m.Type)
		if moved && (m.IsRuling() || row.ByPerson()) {
			e.Used = x.usage()
			f.emitEvent(e)
			e, moved = x.event(Moved), false
		}
		switch {
		case m.IsRuling():
			f.handleRuling(x, m)
		case row.ByPerson():
			a := x.event(Asked)
			a.Type, a.ID, a.Text = m.Type, m.ID, questionText(m)
			x.waiting = append(x.waiting, a.Answer)
			f.emitEvent(a)
		case row.Role == hostmsg.Withdraws:
			f.handleWithdrawal(x, m.ID)
		case row.Terminal():
			if row.Role == hostmsg.Fails {
				x.text = textMember(m.Payload.Map(), "message")
			}
		default:
			moved = x.updateProgress(m, &e) || moved
		}
	}
	if moved {
		e.Used = x.usage()
		f.emitEvent(e)
	}
}

// handleWithdrawal handles a message by which the host withdraws a request.
func (f *Follower) handleWithdrawal(x *exchange, id string) {
	at := slices.IndexFunc(x.waiting, func(a Answer) bool { return a.ID == id })
	if at < 0 || id == "" {
		return
	}
	e := x.event(Withdrawn)
	e.Answer = x.waiting[at]
	x.waiting = slices.Delete(x.waiting, at, at+1)
	f.emitEvent(e)
}

// closeExchange removes an exchange and emits its end.
func (f *Follower) closeExchange(id int64, reason string) {
	x := f.open[id]
	if x == nil {
		return
	}
	delete(f.open, id)
	f.lanes[x.began.Host][x.began.Lane-1] = false
	e := x.event(Ended)
	e.HasFailed, e.Text, e.Proof = x.used.Failed(), x.text, x.used.Proofs.String()
	e.Failed = e.HasFailed
	if x.used.Failure != "" && !x.used.HasFailed {
		e.Text, e.Proof = e.Proof, ""
	}
	if !x.used.Over {
		e.Failed, e.Text = true, reason
	}
	f.emitEvent(e)
}
