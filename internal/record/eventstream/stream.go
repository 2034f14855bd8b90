// Package eventstream creates the events of a run from what the VM and the model client report, and
// passes them to sinks. A run that is not shown has no Stream and no overhead.
package eventstream

import (
	"errors"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/vm"
)

// Options configures a Stream.
type Options struct {
	Sinks []event.Sink
	// Secrets are the run's secrets, which events do not contain; nil means that there are none.
	Secrets *secret.Set
	// Since returns the time since the start of the run.
	Since func() time.Duration
	// Attempts is called for a call of a model that has ended, if ReportAttempt was not called for
	// it. It reports the attempts, or returns false if there were none. nil means that there were
	// none.
	Attempts func(report Reporter, call *effect.AgentCall, reply *effect.AgentReply, err error) bool
}

// Reporter has the parameters of Stream.ReportAttempt.
type Reporter func(k event.Kind, phase event.Phase, a *event.Attempt, err error)

// Stream creates the events of a run. It is a vm.Activity, and is safe for concurrent use.
type Stream struct {
	options Options
	handle  map[event.Kind][]func(*event.Event)
	places  bool // a sink requires places

	mu        sync.Mutex
	number    int64       // of the last event
	event     event.Event // the last event
	tasks     map[int64]*task
	run       int64                          // item of the run
	failed    map[int64]int64                // items of tasks that have failed, by their tasks
	exchanges map[int64]*exchange            // open exchanges by their numbers in requests
	streams   map[int64]*request             // open streams of models by their numbers in requests
	servers   map[int64]*item                // open calls of MCP servers by their numbers in requests
	requests  map[*effect.AgentCall]*request // open requests to models
	meter     effect.Meter                   // of exchanges
}

// item is an item that has begun.
type item struct {
	kind   event.Kind
	number int64
	parent int64
	task   int64
	effect int64
	began  time.Duration
	name   string
}

// New returns a Stream.
func New(o Options) *Stream {
	s := &Stream{options: o, handle: map[event.Kind][]func(*event.Event){}, tasks: map[int64]*task{}, failed: map[int64]int64{}, exchanges: map[int64]*exchange{},
		streams: map[int64]*request{}, servers: map[int64]*item{}, requests: map[*effect.AgentCall]*request{}}
	for _, x := range o.Sinks {
		s.places = s.places || x.Places
		for kind, f := range x.Shows {
			s.handle[kind] = append(s.handle[kind], f)
		}
	}
	return s
}

// shows reports whether a sink shows a kind.
func (s *Stream) shows(k event.Kind) bool { return len(s.handle[k]) > 0 }

// emitEvent passes an event to the sinks.
func (s *Stream) emitEvent(e *event.Event) {
	for _, f := range s.handle[e.Kind] {
		f(e)
	}
}

// begin starts an item: it assigns its number and time. It returns the Begin event, which is valid
// until the next event.
func (s *Stream) begin(x *item) *event.Event {
	x.number, x.began = s.number+1, s.options.Since()
	return s.next(x, event.Begin, x.began)
}

// end returns the End event of an item.
func (s *Stream) end(x *item) *event.Event { return s.next(x, event.End, s.options.Since()) }

// point returns the event of an item without a duration.
func (s *Stream) point(x *item) *event.Event {
	e := s.begin(x)
	e.Phase = event.Point
	return e
}

// next returns the next event, which is about the item x.
func (s *Stream) next(x *item, phase event.Phase, at time.Duration) *event.Event {
	s.number++
	e := &s.event
	*e = event.Event{Number: s.number, Item: x.number, Parent: x.parent, Kind: x.kind, Phase: phase, At: at, Began: x.began, Task: x.task, Effect: x.effect, Name: x.name}
	if t := s.tasks[x.task]; t != nil {
		e.Stage = t.stage()
	}
	return e
}

// place returns the place of an effect, if a sink requires places.
func (s *Stream) place(at vm.Caller) event.Place {
	if !s.places {
		return event.Place{}
	}
	return placeOf(at.Place())
}

func placeOf(p vm.Place) event.Place {
	return event.Place{Function: p.Function, File: p.File, Line: p.Line, Column: p.Column}
}

// Leave stops the stream of a run that has not ended. Its open items stay open, and no event
// follows.
func (s *Stream) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = nil
}

// Close ends all open items. err is the error of the run. No event follows.
func (s *Stream) Close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range sortedKeys(s.exchanges) {
		s.endExchange(id, "the run has ended")
	}
	for _, id := range sortedKeys(s.tasks) {
		s.endTask(id, cancelled)
	}
	if err != nil && s.shows(event.Error) {
		s.reportFailure(err)
	}
	s.handle = nil
}

// Requested implements vm.Activity.
func (s *Stream) Requested(e int64, at vm.Caller, q effect.Request) func(effect.Result, error) {
	if step, ok := q.(*effect.Step); ok {
		s.reportStep(e, at, step)
		return nil
	}
	row := event.OfEffect(q.Kind())
	if row == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.taskOf(at.Task())
	calls := s.closeLeftAgents(t, at, q)
	shown := q
	if row.Kind == event.Request || s.shows(row.Kind) { // removing secrets from what no sink shows would be expensive
		shown = s.cleanRequest(q)
	}
	var model *request
	if call := callOf(q); call != nil {
		model = s.beginRequest(t, e, at, calls, call, callOf(shown), q.Kind() == effect.KindStreamOpen)
	}
	p := &performed{item: item{kind: row.Kind, parent: t.cause(), task: t.id, effect: e, name: nameOf(q)}, s: s, at: s.place(at), request: shown}
	if row.Instant {
		p.began = s.options.Since()
	} else {
		began := s.begin(&p.item)
		began.Request, began.Place = shown, p.at
		s.emitEvent(began)
	}
	p.handle = s.beginParts(t, e, at, q, shown, model)
	return p.ended
}

// performed is an effect that is being performed.
type performed struct {
	item
	s       *Stream
	at      event.Place
	request effect.Request
	// handle handles the result of an effect that is a part of an item; nil for other effects.
	handle func(effect.Result, error)
}

// ended handles the result of an effect.
func (p *performed) ended(result effect.Result, err error) {
	if errors.Is(err, effect.ErrWaits) {
		return // the effect will be performed again
	}
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meter.Add(p.request, result, err, func(effect.Use) {})
	e := s.end(&p.item)
	if p.number == 0 { // the effect has no Begin
		p.number = e.Number
		e.Item, e.Phase, e.Place = e.Number, event.Point, p.at
	}
	if s.shows(p.kind) {
		e.Request, e.Result, e.Err = p.request, s.cleanResult(p.request.Kind(), result), s.cleanError(err)
		s.emitEvent(e)
	}
	if p.handle != nil {
		p.handle(result, err)
	}
}

// nameOf returns the name of an effect's event.
func nameOf(q effect.Request) string {
	switch q := q.(type) {
	case *effect.HTTP:
		return q.Method
	case *effect.Command:
		return q.Command
	case *effect.Emit:
		return q.Channel
	case *effect.AwaitEmit:
		return q.Channel
	case *effect.Log:
		return q.Level
	case interface{ At() *effect.Store }:
		return q.At().Name
	case interface{ Workspace() string }:
		return q.Workspace()
	}
	return string(q.Kind())
}
