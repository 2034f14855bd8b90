package engine

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/attempts"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/internal/engine/transcript"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/eventstream"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/trace"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/vm"
)

// Steps is the level of detail at which a run logs its use of models.
type Steps uint8

// The levels of detail.
const (
	NoSteps    Steps = iota
	ShortSteps       // at level debug, a line for each request, reply, tool call, repair and retry
	WholeSteps       // the same lines, with the texts of messages
)

// sinks contains the recorders and views of a run, or is nil without any.
type sinks struct {
	options  *Options
	stream   *eventstream.Stream                // set by begin
	recorder *transcript.Recorder               // nil unless the use of models is recorded
	activity *activity.Follower                 // nil if Records.OnActivity is nil
	trace    *trace.Writer                      // nil if Records.Trace is nil
	exported *telemetry.Run                     // nil if Records.Telemetry is nil
	tracer   *traced                            // nil if Records.Telemetry is nil
	live     *live.Run                          // nil if Records.LiveDir is empty
	gate     *gate                              // nil unless live is the only sink
	durable  *durableRun                        // nil if the run is not durable
	asked    *numbering                         // nil if Records.LiveDir is empty, or if tracer is set
	answers  *live.Answers                      // nil if Records.LiveDir is empty
	stop     atomic.Pointer[context.CancelFunc] // ends the run
	parties  *runtime.Parties
	clean    func(error) error // removes the run's secrets
	located  func(error) error // adds the place at which the program was stopped; nil before it runs
}

// newSinks returns what shows a run, and registers a listener for model calls and a layer in c.
// The caller must call begin before the first effect.
func (o *Options) newSinks(c *runtime.Config) *sinks {
	showsModels := o.recordsModels() || o.Records.Sinks != nil || o.Records.Telemetry != nil || o.Records.LiveDir != ""
	if !showsModels && o.Records.OnActivity == nil && o.Records.Trace == nil && o.Answers.Relay == nil {
		return nil
	}
	f := &sinks{options: o, parties: &c.Parties}
	if showsModels {
		c.Listeners.OnModelEvent = f.reportModelEvent
	}
	if o.Records.Telemetry != nil {
		c.Listeners.OnHostStart = func(host, transport string) []string { return f.exported.HostEnviron(host, transport) }
	}
	if o.Records.LiveDir != "" {
		f.answers = live.NewAnswers()
		c.Layers = slices.Insert(c.Layers, 0, f.answers.Layer)
	}
	return f
}

// recordsModels reports whether the run's use of models is recorded.
func (o *Options) recordsModels() bool {
	return o.Records.Transcript != nil || o.Records.Steps != NoSteps || o.Records.Shares
}

// begin creates the sinks of a run, and the stream of its events. d is nil if the run is not
// durable.
func (f *sinks) begin(world *runtime.Runtime, program string, d *durableRun) {
	if f == nil {
		return
	}
	f.durable = d
	f.clean = func(err error) error { return cleanError(world, err) }
	o, began := f.options, time.Now()
	events := eventstream.Options{Sinks: slices.Clone(o.Records.Sinks), Secrets: world.Secrets(), Since: func() time.Duration { return time.Since(began) }}
	if o.own.durable != nil { // calls of earlier processes
		events.Attempts = attempts.Of(f.parties.Connections).Report
	}
	if onActivity := o.Records.OnActivity; onActivity != nil {
		f.activity = activity.New(onActivity)
		events.Sinks = append(events.Sinks, f.activity.Sink())
	}
	if o.recordsModels() {
		t := transcript.Options{Out: o.Records.Transcript, Bodies: o.Records.Steps == WholeSteps, Program: program, Started: began}
		if o.Records.Steps != NoSteps {
			t.Log = func(line string) { world.Remark("debug", line) }
		}
		f.recorder = transcript.New(t)
		events.Sinks = append(events.Sinks, f.recorder.Sink())
	}
	if o.Answers.Relay != nil {
		events.Sinks = append(events.Sinks, o.Answers.Relay.Sink())
	}
	if o.Records.Trace != nil {
		f.trace = trace.New(o.Records.Trace)
		events.Sinks = append(events.Sinks, f.trace.Sink())
	}
	if t := o.Records.Telemetry; t != nil {
		for _, header := range t.Headers() {
			world.Secrets().Add("OTEL_EXPORTER_OTLP_HEADERS", header)
		}
		f.exported = t.Begin(f.describe(world, program, began))
		events.Sinks = append(events.Sinks, f.exported.Sink())
	}
	if o.Records.LiveDir != "" {
		isAlone, tasks := len(events.Sinks) == 0, &atomic.Int64{}
		visible := f.visible(world, program)
		if isAlone {
			visible.Tasks = func() int { return int(tasks.Load()) }
		}
		f.live = live.Begin(visible)
		events.Sinks = append(events.Sinks, f.live.Sink())
		if isAlone {
			f.gate = &gate{isWatched: f.live.Watched(), tasks: tasks}
		}
	}
	f.stream = eventstream.New(events)
	if f.gate != nil {
		f.gate.Stream = f.stream
	}
	if f.exported != nil {
		f.tracer = &traced{numbering{Activity: f.stream, effects: map[effect.Request]int64{}}, f.exported}
	}
	if f.live != nil && f.tracer != nil {
		f.answers.Number = f.tracer.number
	} else if f.live != nil {
		f.asked = &numbering{Activity: f.taskActivity(), isNumbered: live.IsAnswered, effects: map[effect.Request]int64{}}
		f.answers.Number = f.asked.number
	}
}

// visible returns what others on this machine can see of a run.
func (f *sinks) visible(world *runtime.Runtime, program string) live.Options {
	o := live.Options{Directory: f.options.Records.LiveDir, Answers: f.answers, Run: world.ID(), Program: program, Failed: func(err error) { world.Remark("debug", "concerto top does not show this run: "+err.Error()) }}
	if d := f.durable; d != nil {
		o.Journal = d.dir
	}
	o.Usage = world.Used
	o.Cancel = func() {
		if stop := f.stop.Load(); stop != nil {
			(*stop)()
		}
	}
	return o
}

// describe returns what an export states about a run.
func (f *sinks) describe(world *runtime.Runtime, program string, began time.Time) telemetry.RunOptions {
	r := telemetry.RunOptions{ID: world.ID(), Program: program, Began: began, Parent: f.options.Records.TraceParent, Connections: map[string]telemetry.Connection{}, Hosts: map[string]telemetry.Host{}, Servers: map[string]telemetry.Server{}}
	for i := range f.parties.Connections {
		c := &f.parties.Connections[i]
		r.Connections[c.Name] = telemetry.Connection{Provider: c.Provider, Address: c.Address()}
	}
	for i := range f.parties.Hosts {
		h := &f.parties.Hosts[i]
		r.Hosts[h.Name] = telemetry.Host{Connector: h.Connector, Transport: cmp.Or(h.Transport, "stdio")}
	}
	for i := range f.parties.Servers {
		r.Servers[f.parties.Servers[i].Name] = telemetry.Server{IsHTTP: f.parties.Servers[i].Transport == "http"}
	}
	d := f.durable
	if d == nil {
		return r
	}
	if d.dir != "" {
		var err error
		if r.Sent, err = telemetry.OpenSent(filepath.Join(d.dir, telemetry.SentFile)); err != nil {
			world.Remark("warn", err.Error()+"; the run exports no spans, because it could export some twice")
		}
	}
	if s := f.options.own.durable; s != nil {
		r.Began = time.UnixMilli(s.stored.History.Records[0].Time)
		r.SkipsPast = d.isShared
		r.Replaying = func() bool { return durable.IsReplaying(d.run) }
		r.Now = func() time.Time { return durable.Time(d.run) }
		r.Times = map[int64]time.Time{}
		for _, x := range s.stored.History.Records {
			if _, known := r.Times[x.Effect]; x.RecordKind == journal.KBegin && !known {
				r.Times[x.Effect] = time.UnixMilli(x.Time)
			}
		}
	}
	return r
}

// reportModelEvent passes an event of the model client to the stream.
func (f *sinks) reportModelEvent(e llm.Event) {
	if f.gate != nil && !f.gate.isWatched.Load() {
		return
	}
	a := &event.Attempt{Call: e.Call, Connection: e.Connection, Model: e.Model, Number: e.Attempt, Of: e.Of, Reply: e.Reply, Took: e.Took, Wait: e.Wait, First: e.First}
	if e.Spent != nil {
		a.Used = e.Spent.Sum()
	}
	if x, ok := errors.AsType[*llm.Failure](e.Err); ok {
		a.Reason, a.Status = string(x.Class), int64(x.HTTPStatus)
	} else if x, ok := errors.AsType[*effect.Error](e.Err); ok {
		a.Reason, _ = x.Fields["reason"].(string)
	}
	switch e.What {
	case llm.EventRequest:
		f.stream.ReportAttempt(event.Model, event.Begin, a, nil)
	case llm.EventReply, llm.EventFailure:
		f.stream.ReportAttempt(event.Model, event.End, a, e.Err)
	case llm.EventRetry:
		f.stream.ReportAttempt(event.Retry, event.Point, a, e.Err)
	case llm.EventFallback:
		f.stream.ReportAttempt(event.Fallback, event.Point, a, e.Err)
	case llm.EventEnd:
		f.stream.CallEnded(e.Call)
	}
}

// follow shows a program that is about to run.
func (f *sinks) follow(m *vm.VM) {
	if f != nil {
		f.located = func(err error) error { return m.CutAt().Locate(err) }
	}
}

// watch is the vm.Observer of a run. Its fields may be nil.
type watch struct {
	activity  vm.Activity
	decisions vm.Decisions
	onWait    func(vm.Place)
	debugger  vm.Debugger
}

// Activity implements vm.Observer.
func (w *watch) Activity() vm.Activity { return w.activity }

// Decisions implements vm.Observer.
func (w *watch) Decisions() vm.Decisions { return w.decisions }

// OnWait implements vm.Observer.
func (w *watch) OnWait() func(vm.Place) { return w.onWait }

// Debugger implements vm.Observer.
func (w *watch) Debugger() vm.Debugger { return w.debugger }

// watch returns the observer of a run with these options. recorder, if not nil, records the
// decisions of the run.
func (f *sinks) watch(o *Options, recorder vm.Decisions) *watch {
	return &watch{activity: f.taskActivity(), decisions: f.decisions(recorder), debugger: o.Records.Debugger}
}

// taskActivity returns what receives the activity of the run, or nil if the run is not shown.
func (f *sinks) taskActivity() vm.Activity {
	switch {
	case f == nil:
		return nil
	case f.asked != nil:
		return f.asked
	case f.tracer != nil:
		return f.tracer
	case f.gate != nil:
		return f.gate
	}
	return f.stream
}

// context returns the context of the run, in which performers find its trace, and which others on
// this machine may cancel.
func (f *sinks) context(ctx context.Context) context.Context {
	if f == nil {
		return ctx
	}
	if f.tracer != nil {
		ctx = effect.WithTracer(ctx, f.tracer)
	}
	if f.live != nil {
		stoppable, stop := context.WithCancel(ctx)
		f.stop.Store(&stop)
		ctx = stoppable
	}
	return ctx
}

// decisions returns what receives the decisions of the run, after next.
func (f *sinks) decisions(next vm.Decisions) vm.Decisions {
	if f == nil {
		return next
	}
	return f.stream.DecisionsAfter(next)
}

// end ends what shows the run. err is the error of the run. The result is an error of writing the
// transcript or the trace.
func (f *sinks) end(err error) error {
	if f == nil {
		return nil
	}
	if f.live != nil {
		f.live.End()
		if stop := f.stop.Load(); stop != nil {
			(*stop)()
		}
	}
	_, left := errors.AsType[*Suspended](err)
	if f.exported != nil {
		defer f.exported.End(f.clean(err), codeOf(err), left)
	}
	if left { // exchanges continue
		f.stream.Leave()
	} else {
		if f.located != nil {
			err = f.located(err)
		}
		f.stream.Close(err)
		if f.activity != nil {
			f.activity.Close()
		}
	}
	err = nil
	if f.recorder != nil {
		err = f.recorder.Close()
	}
	if f.trace != nil {
		err = joined(err, f.trace.Close())
	}
	return err
}
