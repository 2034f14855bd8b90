package activity

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/vm"
)

// Options configures a Follower.
type Options struct {
	// OnEvent is called for each event in order. Calls are never concurrent.
	OnEvent func(Event)
	// Clean replaces secrets in a text; nil leaves texts unchanged.
	Clean func(string) string
	// Since returns the time since the start of the run.
	Since func() time.Duration
}

// Follower creates the events of a run. It is a vm.Observer, and is safe for concurrent use.
type Follower struct {
	options Options

	mu    sync.Mutex
	last  int64               // last assigned number
	tasks map[int64]*task     // running tasks by number
	open  map[int64]*exchange // open exchanges by the number in requests
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
	used    Usage
	text    string // reason of the failure
	failed  bool
	ended   bool // the exchange has received its last message or has failed
}

// New returns a Follower.
func New(o Options) *Follower {
	return &Follower{options: o, tasks: map[int64]*task{}, open: map[int64]*exchange{}, lanes: map[string][]bool{}}
}

// Close ends all open exchanges, listens, stages and progress.
func (f *Follower) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.open) > 0 {
		first := int64(-1)
		for id := range f.open {
			if first < 0 || f.open[id].began.Number < f.open[first].began.Number {
				first = id
			}
		}
		f.closeExchange(first, "the run has ended")
	}
}

// emitEvent passes an event to OnEvent. The caller must hold mu.
func (f *Follower) emitEvent(e Event) {
	e.At = f.options.Since()
	if f.options.Clean != nil {
		e.Text = f.options.Clean(e.Text)
	}
	f.options.OnEvent(e)
}

func (f *Follower) nextNumber() int64 {
	f.last++
	return f.last
}

// TaskBegan adds a task with the name of its function.
func (f *Follower) TaskBegan(id, _ int64, at vm.Place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks[id] = &task{name: at.Function}
}

// TaskEnded ends the task's open listens and stages.
func (f *Follower) TaskEnded(id int64, _ string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.tasks[id]; t != nil {
		for len(t.within) > 0 {
			f.endInnermost(t, t.within[len(t.within)-1].Kind)
		}
		f.endProgress(id, t)
	}
	delete(f.tasks, id)
}

// Entered does nothing.
func (f *Follower) Entered(int64, vm.SpanKind, string) {}

// Left does nothing.
func (f *Follower) Left(int64) {}

// Requested handles an effect that a task performs.
func (f *Follower) Requested(id int64, q effect.Request) func(effect.Result, error) {
	switch q := q.(type) {
	case *effect.ExchangeNext:
		return func(r effect.Result, err error) { f.handleMessages(q.ID, r, err) }
	case *effect.ExchangeReply:
		f.handleReply(id, q) // handled before the host can react; a second attempt finds no request to answer
	case *effect.ExchangeOpen:
		return func(r effect.Result, err error) { f.handleOpened(id, q.Host, r, err) }
	case *effect.ExchangeClose:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.closeExchange(q.ID, q.Reason)
	case *effect.Emit:
		f.handleEmit(id, q)
	case *effect.AwaitEmit:
		if strings.HasPrefix(q.Channel, "host:") {
			return func(r effect.Result, err error) { f.recordAnswerer(id, r, err) }
		}
	}
	return nil
}

// handleOpened handles an exchange that was opened or could not be opened.
func (f *Follower) handleOpened(id int64, host string, r effect.Result, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := Event{Kind: Began, Task: id, Name: host, Host: host, Percent: -1}
	if at, ok := r.(*effect.ExchangeOpened); ok && err == nil {
		e.Number, e.Lane = f.nextNumber(), f.allocateLane(host)
		f.open[at.ID] = &exchange{began: e}
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

// recordAnswerer stores the source of the answer to an awaited emit. The handler of `execute` uses
// that answer for the host.
func (f *Follower) recordAnswerer(id int64, r effect.Result, err error) {
	by := effect.ByDefault
	if a, ok := r.(*effect.Answer); ok && err == nil {
		by = effect.ByApplication
		if a.By != "" {
			by = a.By
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.tasks[id]; t != nil {
		t.awaited = by
	}
}

// handleReply handles a reply to a host's request.
func (f *Follower) handleReply(id int64, q *effect.ExchangeReply) {
	f.mu.Lock()
	defer f.mu.Unlock()
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
	e.Answer, e.By, e.Text = a, by, q.Error
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
	e.Kind, e.Used = k, x.used
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
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.open[id]
	if x == nil {
		return
	}
	var failed *effect.Error
	if errors.As(err, &failed) {
		x.ended, x.failed, x.text = true, true, failed.Message
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
		switch row := hostmsg.Lookup(m.Type); {
		case m.Decided:
			f.handleRuling(x, m)
		case row.ByPerson():
			if moved {
				e.Used = x.used
				f.emitEvent(e)
				e, moved = x.event(Moved), false
			}
			a := x.event(Asked)
			a.Type, a.ID, a.Text = m.Type, m.ID, questionText(m)
			x.waiting = append(x.waiting, a.Answer)
			f.emitEvent(a)
		case row.Role == hostmsg.Withdraws:
			f.handleWithdrawal(x, m.ID)
		case row.Terminal():
			x.recordEnd(m, row.Role == hostmsg.Fails)
		default:
			moved = x.updateProgress(m, &e) || moved
		}
	}
	if moved {
		e.Used = x.used
		f.emitEvent(e)
	}
}

// handleWithdrawal handles a message by which the host withdraws a request. The caller must hold
// mu.
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

// closeExchange removes an exchange and emits its end. The caller must hold mu.
func (f *Follower) closeExchange(id int64, reason string) {
	x := f.open[id]
	if x == nil {
		return
	}
	delete(f.open, id)
	f.lanes[x.began.Host][x.began.Lane-1] = false
	e := x.event(Ended)
	e.Failed, e.Text = x.failed, x.text
	if !x.ended {
		e.Failed, e.Text = true, reason
	}
	f.emitEvent(e)
}
