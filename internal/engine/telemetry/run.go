package telemetry

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/otlp"
	"github.com/concerto-lang/concerto/vm"
)

// mostEvents is the number of events on a span. Further ones are only counted.
const mostEvents = 128

// RunOptions describes a run.
type RunOptions struct {
	ID          string
	Program     string // name of the program
	Began       time.Time
	Connections map[string]Connection // by name
	Hosts       map[string]Host       // by the name of the declaration
	Servers     map[string]Server     // MCP servers by name
	// Sent is the record of what was exported, of a stored run; nil for other runs.
	Sent *Sent
	// Replaying reports whether the run repeats what its journal contains, and Now returns the
	// run's time. Both are nil unless the run is resumed.
	Replaying func() bool
	Now       func() time.Time
	// SkipsPast means that what the run repeats is not exported, because Sent does not contain what
	// other machines have exported.
	SkipsPast bool
	// Times contains the times at which effects began in an earlier process.
	Times map[int64]time.Time
	// Parent is the position in a trace that a client has passed; if its Trace is zero, that of the
	// environment applies.
	Parent otlp.Context
}

// Connection is a connection to a model provider.
type Connection struct{ Provider, Address string }

// Host is a declared host.
type Host struct{ Connector, Transport string }

// Server is a configured MCP server.
type Server struct{ IsHTTP bool }

// Run exports a run.
type Run struct {
	t       *Telemetry
	options RunOptions
	context otlp.Context // of the run's own span
	parent  otlp.Context
	keys    *otlp.Keys

	mu      sync.Mutex
	root    *span
	open    map[int64]*span // by items; a message or another item without a span maps to the span around it
	byWait  map[wait]*span  // open requests for an answer
	effects map[int64]*span // the present spans of effects in progress
	ended   bool
}

// wait identifies a request for an answer: by its host and id, or by its effect.
type wait struct {
	host, id string
	effect   int64
}

// span is a span that is not exported yet.
type span struct {
	otlp.Span
	kind     event.Kind
	item     int64
	around   *span
	left     bool // not exported
	used     models.Usage
	counted  bool // used contains the usage of a reply
	decision string
	actor    string
	asks     string            // kind of an approval
	tools    []effect.ToolSpec // that the model or host of the span may call
}

// providers maps providers to their names in the conventions.
var providers = map[string]string{"gemini": "gcp.gemini", "azure": "azure.ai.openai", "bedrock": "aws.bedrock", "mistral": "mistral_ai", "xai": "x_ai",
	"claude-code": "anthropic", "codex": "openai"}

func providerName(name string) string {
	if n := providers[name]; n != "" {
		return n
	}
	return name
}

// Trace returns the id of the trace of a run that has no parent of its own.
func (t *Telemetry) Trace(run string) otlp.TraceID {
	if t != nil && t.config.Parent.Trace != (otlp.TraceID{}) {
		return t.config.Parent.Trace
	}
	return otlp.TraceOf(run)
}

// Begin starts the export of a run.
func (t *Telemetry) Begin(o RunOptions) *Run {
	r := &Run{t: t, options: o, keys: otlp.NewKeys(o.ID), open: map[int64]*span{}, byWait: map[wait]*span{}, effects: map[int64]*span{}}
	r.parent = o.Parent
	if r.parent.Trace == (otlp.TraceID{}) {
		r.parent = t.config.Parent
	}
	if o.Sent != nil && o.Sent.parent.Trace != (otlp.TraceID{}) {
		r.parent = o.Sent.parent
	}
	r.context = otlp.Context{Trace: r.parent.Trace, Span: r.keys.Next(string(event.Run), 0), State: r.parent.State}
	if r.context.Trace == (otlp.TraceID{}) {
		r.context.Trace = otlp.TraceOf(o.ID)
	}
	r.context.Sampled = t.config.Endpoints[otlp.Traces] != nil && t.config.Sampler.Sampled(r.context.Trace, r.parent)
	if o.Sent != nil {
		r.context.Sampled = r.context.Sampled && !o.Sent.unreadable
		o.Sent.begin(r.parent)
	}
	r.root = &span{kind: event.Run, Span: otlp.Span{Trace: r.context.Trace, ID: r.context.Span, Parent: r.parent.Span, State: r.context.State, Name: "invoke_workflow " + o.Program, Kind: otlp.Internal, Begin: o.Began}}
	r.root.set(operation, "invoke_workflow")
	r.root.set(agentName, o.Program)
	r.root.set("concerto.run.id", o.ID)
	return r
}

// Sink returns what receives the events of the run.
func (r *Run) Sink() event.Sink {
	s := event.Sink{Shows: map[event.Kind]func(*event.Event){}, Omits: omitted, Places: true}
	for kind, f := range handlers {
		s.Shows[kind] = func(e *event.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if !r.ended {
				f(r, e)
			}
		}
	}
	return s
}

// omitted contains the kinds of events that are not exported, with the reasons.
var omitted = map[event.Kind]string{
	event.Timer: "too many, and too short", event.Store: "too many, and too short", event.File: "too many, and too short",
	event.Work:   "operations of git; the exchanges in workspaces are exported",
	event.Error:  "the span that failed has the status of an error",
	event.Listen: "the exchange is exported", event.Handler: "the message and what the handler does are exported",
}

// End ends the run with its exit code. A run that is suspended continues in another process, which
// exports its span.
func (r *Run) End(err error, exit int, isSuspended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	if isSuspended {
		return
	}
	r.root.set("concerto.run.exit_code", int64(exit))
	if err != nil {
		kind := "cancelled"
		if failed, ok := errors.AsType[*vm.Uncaught](err); ok {
			kind = failed.Kind
		} else if errors.As(err, new(*vm.Exit)) {
			kind = "exit"
		}
		r.root.fail(r.t, kind, err.Error())
	}
	r.root.End = time.Now()
	r.measureInvocation(r.root, r.root.End.Sub(r.root.Begin).Seconds())
	r.export(r.root)
}

// set sets an attribute. A value that is "" or nil is left out.
func (x *span) set(key string, v any) {
	if a := (otlp.Attribute{Key: key, Value: v}); !isUnset(a) {
		x.Attributes = append(x.Attributes, a)
	}
}

// get returns the value of an attribute, or nil.
func (x *span) get(key string) any {
	for _, a := range x.Attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return nil
}

// of returns an attribute of the span for a metric.
func (x *span) of(key string) otlp.Attribute { return otlp.Attribute{Key: key, Value: x.get(key)} }

func (x *span) errorType() otlp.Attribute { return x.of("error.type") }

// fail makes the span that of a failure. Its text is content.
func (x *span) fail(t *Telemetry, kind, text string) {
	x.Failed = true
	x.set("error.type", kind)
	if t.config.SpanText {
		x.Message = text
	}
}

// at returns a time since the start of the run. While the run is replayed it is that of the
// journal.
func (r *Run) at(since time.Duration) time.Time {
	if r.options.Now != nil {
		return r.options.Now()
	}
	return r.options.Began.Add(since)
}

// measure adds a measurement. Those of a replay were added by an earlier process.
func (r *Run) measure(name string, v float64, list ...otlp.Attribute) {
	if r.options.Replaying == nil || !r.options.Replaying() {
		r.t.add(name, v, list...)
	}
}

// around returns the span around an event.
func (r *Run) around(e *event.Event) *span {
	if x := r.open[e.Parent]; x != nil {
		return x
	}
	return r.root
}

// begin begins the span of an item.
func (r *Run) begin(e *event.Event, name string, kind int) *span {
	around := r.around(e)
	number := e.Effect
	if number == 0 {
		number = e.Task
	}
	x := &span{kind: e.Kind, item: e.Item, around: around, Span: otlp.Span{
		Trace: r.context.Trace, ID: r.keys.Next(string(e.Kind), number), Parent: around.ID, State: r.context.State, Name: name, Kind: kind, Begin: r.at(e.Began)}}
	if t, ok := r.options.Times[e.Effect]; ok {
		x.Begin = t
	}
	x.setPlace(e.Place)
	if e.Effect != 0 {
		x.set("concerto.effect", e.Effect)
	}
	r.open[e.Item] = x
	if e.Effect != 0 {
		r.effects[e.Effect] = x
	}
	return x
}

// handleEffect handles an effect that has no span of its own: what it calls is a part of the span
// around it.
func (r *Run) handleEffect(e *event.Event) {
	if e.Phase == event.Begin {
		r.effects[e.Effect] = r.around(e)
		return
	}
	if x := r.effects[e.Effect]; x == nil || x.kind != event.MCP || r.open[x.item] != x { // a call of an MCP server continues
		delete(r.effects, e.Effect)
	}
}

// Headers returns the headers that name the present span of an effect: traceparent and, if they are
// not empty, tracestate and baggage. It returns nil if the trace is not passed on.
func (r *Run) Headers(number int64) []effect.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []effect.Header
	if r.t.config.PassTrace {
		x := r.effects[number]
		if x == nil {
			x = r.root
		}
		c := otlp.Context{Trace: r.context.Trace, Span: x.ID, Sampled: r.context.Sampled && !x.left}
		all = append(all, effect.Header{Name: "traceparent", Value: c.String()})
		if r.context.State != "" {
			all = append(all, effect.Header{Name: "tracestate", Value: r.context.State})
		}
	}
	if r.t.config.PassBaggage && r.t.config.Baggage != "" {
		all = append(all, effect.Header{Name: "baggage", Value: r.t.config.Baggage})
	}
	return all
}

// setPlace sets the place in the program, by default that of the span around this one.
func (x *span) setPlace(p event.Place) {
	if p.File != "" {
		x.set("code.file.path", p.File)
		x.set("code.line.number", int64(p.Line))
		x.set("code.column.number", int64(p.Column))
		x.set("code.function.name", p.Function)
		return
	}
	if x.around != nil {
		for _, key := range []string{"code.file.path", "code.line.number", "code.column.number", "code.function.name"} {
			x.set(key, x.around.get(key))
		}
	}
}

// end ends the span of an item and exports it.
func (r *Run) end(x *span, e *event.Event) {
	x.End = r.at(e.At)
	delete(r.open, e.Item)
	if r.effects[e.Effect] == x {
		if delete(r.effects, e.Effect); x.kind == event.Model { // the request to the model may continue
			r.effects[e.Effect] = x.around
		}
	}
	r.export(x)
}

// export passes a span to the exporter, if the trace is sampled and the span was not exported by an
// earlier process.
func (r *Run) export(x *span) {
	if x.left || !r.context.Sampled || r.options.Sent.has(x.ID) || r.options.SkipsPast && r.options.Replaying() {
		return
	}
	if x.End.IsZero() {
		x.End = time.Now()
	}
	x.Parent = x.shownParent(r)
	r.t.remember(x.ID, r.options.Sent)
	r.t.exporter.Span(&x.Span)
}

// shownParent returns the id of the innermost span around x that is exported.
func (x *span) shownParent(r *Run) otlp.SpanID {
	if x.around == nil {
		return r.parent.Span
	}
	around := x.around
	for around.left && around.around != nil {
		around = around.around
	}
	return around.ID
}

// point adds an event to the span around it.
func (r *Run) point(e *event.Event, list ...otlp.Attribute) {
	x := r.around(e)
	if e.Kind == event.Message { // what its handler does is caused by the message
		r.open[e.Item] = x
	}
	if len(x.Events) >= mostEvents {
		x.Dropped++
		return
	}
	var set []otlp.Attribute
	for _, a := range list {
		if !isUnset(a) {
			set = append(set, a)
		}
	}
	x.Events = append(x.Events, otlp.SpanEvent{Name: "concerto." + string(e.Kind), At: r.at(e.At), Attributes: set})
}

// text returns an attribute with a text of the program, a model or a host, if spans have them.
func (r *Run) text(key string, v any) otlp.Attribute {
	a := otlp.Attribute{Key: key}
	if r.t.config.SpanText {
		if raw, ok := v.(json.RawMessage); !ok || len(raw) > 0 {
			a.Value = v
		}
	}
	return a
}

// setServer sets the address and the port of a URL.
func (x *span) setServer(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return
	}
	x.set("server.address", u.Hostname())
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	if n, err := strconv.ParseInt(port, 10, 64); err == nil {
		x.set("server.port", n)
	}
}
