package vm

import (
	"context"
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Observer watches a run. Each method returns what receives a part of what happens, or nil, and the
// same at each call. An implementation embeds NotObserved, and has the methods for what it
// receives. Of them, only a Debugger stops the run, and only Decisions can end it.
type Observer interface {
	// Activity returns what receives the tasks and the effects.
	Activity() Activity
	// Decisions returns what receives each decision with its author.
	Decisions() Decisions
	// OnWait returns a function that receives the place of a task that makes a request for which it
	// may wait. With it, awaited emits and questions to a person contain their place and the schema
	// of the answer.
	OnWait() func(Place)
	// Debugger returns what receives control at breakpoints and steps.
	Debugger() Debugger
}

// NotObserved implements Observer and receives nothing.
type NotObserved struct{}

// Activity implements Observer.
func (NotObserved) Activity() Activity { return nil }

// Decisions implements Observer.
func (NotObserved) Decisions() Decisions { return nil }

// OnWait implements Observer.
func (NotObserved) OnWait() func(Place) { return nil }

// Debugger implements Observer.
func (NotObserved) Debugger() Debugger { return nil }

// observed contains what the methods of an Observer have returned. Code that runs for each effect
// compares its fields with nil.
type observed struct {
	activity  Activity
	decisions Decisions
	onWait    func(Place)
	debugger  Debugger
	seals     map[string]json.RawMessage // see SealCall
}

// observedBy returns the parts of an observer, which may be nil.
func observedBy(o Observer) observed {
	if o == nil {
		return observed{}
	}
	return observed{activity: o.Activity(), decisions: o.Decisions(), onWait: o.OnWait(), debugger: o.Debugger()}
}

// Activity receives the activity of a run. Its methods, and the functions that Requested returns,
// are called on the run's goroutine, in the order in which the program performs effects and
// receives their results, also while the VM replays a past. Tasks are numbered from 1; main is task
// 1. Every task and span that begins also ends, unless the run is suspended.
type Activity interface {
	// TaskBegan is called when a task first runs. at is the place of the task's function, and
	// parent is the task that started it, 0 for none, or Initial.
	TaskBegan(task, parent int64, at Place)
	// TaskEnded is called at the end of a task. how is "" if the task succeeded, and otherwise
	// "cancelled" or the type of the error.
	TaskEnded(task int64, how string)
	// Entered is called at the start of a span of a task, and Left at its end. Spans are nested.
	Entered(task int64, s Span)
	Left(task int64)
	// Requested is called before effect number e is performed. at is the task that performs it, and
	// is valid until Requested returns. The function that it returns receives the result.
	Requested(e int64, at Caller, r effect.Request) func(effect.Result, error)
}

// NoActivity implements Activity with methods that do nothing.
type NoActivity struct{}

// TaskBegan implements Activity.
func (NoActivity) TaskBegan(int64, int64, Place) {}

// TaskEnded implements Activity.
func (NoActivity) TaskEnded(int64, string) {}

// Entered implements Activity.
func (NoActivity) Entered(int64, Span) {}

// Left implements Activity.
func (NoActivity) Left(int64) {}

// Requested implements Activity.
func (NoActivity) Requested(int64, Caller, effect.Request) func(effect.Result, error) { return nil }

// Caller is a task that performs an effect; see the methods of Scene.
type Caller interface {
	Task() int64
	Place() Place
	Places() []Place
}

// Span is a part of a task: a listen, named by its host, or the handling of a message, named by the
// message's type. Exchange is the number of the exchange in requests. Message is
// effect.HostMessage.Number.
type Span struct {
	Kind     SpanKind
	Name     string
	Exchange int64
	Message  uint32
}

// SpanKind is the kind of a span within a task.
type SpanKind string

// The kinds of span.
const (
	SpanListen  SpanKind = "listen"
	SpanHandler SpanKind = "handler"
)

// Initial is the parent of a task that computes the initial state of a tool before the program
// runs.
const Initial = -1

// began assigns a number to a task that begins to run, if an observer, a journal or a debugger
// needs one.
func (t *task) began() {
	o := t.m.observed.activity
	if o == nil && !t.m.config.RecordOrigins && !t.m.journaled.on && t.m.observed.debugger == nil {
		return
	}
	parent := -t.id
	if parent == 0 && !t.m.declared.whole {
		parent = Initial
	}
	t.m.counts.task++
	t.id = t.m.counts.task
	if o != nil {
		o.TaskBegan(t.id, parent, t.m.image.entryOf(t.fn))
	}
}

// activity returns what receives the task's activity, or nil if the task is not observed.
func (t *task) activity() Activity {
	if t.id <= 0 {
		return nil
	}
	return t.m.observed.activity
}

// reportEnd reports to the observer the end of a task that has run.
func (t *task) reportEnd() {
	o := t.activity()
	if o == nil {
		return
	}
	how := ""
	switch {
	case t.raised != nil && t.raised.cancelled:
		how = "cancelled"
	case t.raised != nil && t.raised.panicked:
		how = "panic"
	case t.raised != nil:
		how = value.ErrorKind(t.raised.value)
	case isErr(t.result):
		how = value.ErrorKind(t.result.Fields()[0])
	}
	o.TaskEnded(t.id, how)
}

func (t *task) entered(s Span) {
	if o := t.activity(); o != nil {
		o.Entered(t.id, s)
	}
}

func (t *task) leftSpan() {
	if o := t.activity(); o != nil {
		o.Left(t.id)
	}
}

// requested reports a request that is about to be performed, and completes it with its origin.
func (t *task) requested(r effect.Request) {
	if t.m.config.RecordOrigins {
		t.addOrigin(r)
	}
	if t.m.observed.onWait != nil {
		t.reportPlace(r)
	}
	if d := t.debugger(); d != nil {
		d.BeforeEffect(Scene{t}, r)
	}
}

// observe reports effect e of a task to the observer. It returns the function that receives the
// result, or nil.
func observe(t *task, e int64, r effect.Request) func(effect.Result, error) {
	var came func(effect.Result, error)
	if o := t.activity(); o != nil {
		came = o.Requested(e, Scene{t}, r)
	}
	return t.m.uses.observed(t, r, came)
}

// addOrigin stores the origin of an output in the request: the task, and the exchange whose message
// the task handles.
func (t *task) addOrigin(r effect.Request) {
	from := func() *effect.From {
		f := &effect.From{Task: t.id}
		if s := t.innermost(); s != nil {
			f.Exchange = s.number
		}
		return f
	}
	switch r := r.(type) {
	case *effect.Emit:
		if r.From == nil { // if From is set, the listen has set it
			r.From = from()
		}
	case *effect.AwaitEmit:
		r.From = from()
	case *effect.Print:
		r.From = from()
	case *effect.Log:
		r.From = from()
	}
}

// reportPlace passes the task's place to Observer.OnWait if the task may wait for the request.
func (t *task) reportPlace(r effect.Request) {
	var from **effect.From
	switch r := r.(type) {
	case *effect.AwaitEmit:
		from = &r.From
	case *effect.AskHost:
		from = &r.From
	case *effect.ExchangeOpen, *effect.AgentCall, *effect.StreamOpen, *effect.MCPOpen, *effect.Sleep:
	default:
		return
	}
	at := visible(t.frames(nil, t.pc()))
	if at.Text == "" {
		return // all calls are in the library
	}
	t.m.observed.onWait(at)
	if from == nil {
		return
	}
	f := effect.From{Task: t.id}
	if *from != nil {
		f = **from
	}
	f.File, f.Line = at.File, int64(at.Line)
	*from = &f
}

// performEffect performs r on the run's goroutine.
func (t *task) performEffect(ctx context.Context, r effect.Request) (effect.Result, error) {
	if t.m.debug.evaluating != nil && t.isRefused(r) {
		return nil, context.Canceled
	}
	t.requested(r)
	came := observe(t, t.m.stats.Requests, r)
	var result effect.Result
	var err error
	if t.m.journaled.on {
		result, err = t.m.performJournaled(ctx, t, r)
	} else {
		result, err = t.m.config.Performer.Perform(ctx, r)
	}
	if came != nil {
		came(result, err)
	}
	return result, err
}

// performWaiting performs a request that may wait, like performEffect. No other task can continue
// while it waits.
func (t *task) performWaiting(r effect.Request) (effect.Result, error) {
	p := t.m.config.Profile
	if p == nil {
		return t.performEffect(t.m.requests.ctx, r)
	}
	since := p.Now()
	result, err := t.performEffect(t.m.requests.ctx, r)
	t.m.discardSamples()
	t.recordWait("wait for "+string(r.Kind()), since)
	return result, err
}
