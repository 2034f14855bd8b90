// Package trace writes a run as trace events for Perfetto and Chrome's about:tracing. A trace
// contains the tasks with their listens, handlers and effects, and the hosts with their exchanges
// and messages. It contains actions and durations, but no prompts, payloads, answers or environment
// values.
package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
)

// The processes of a trace.
const (
	program = 1 // has a thread for each task
	hosts   = 2 // has a thread for each host
)

// Writer writes a trace.
type Writer struct {
	out    *bufio.Writer
	now    time.Duration // time of the current event
	err    error
	events int

	open      map[int64]int    // number of open spans of each task, including the task's own span
	hosts     map[string]int64 // number of each host's thread
	exchanges map[int64]string // names of the hosts of the open exchanges
}

// New starts a trace.
func New(w io.Writer) *Writer {
	t := &Writer{out: bufio.NewWriter(w), open: map[int64]int{}, hosts: map[string]int64{}, exchanges: map[int64]string{}}
	t.raw("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")
	t.writeName("process_name", program, 0, "program")
	t.writeName("process_name", hosts, 0, "hosts")
	return t
}

// omitted contains the kinds of events that a trace does not show.
var omitted = map[event.Kind]string{
	event.Pipeline: "its emits are shown",
	event.Stage:    "its emits are shown",
	event.Agent:    "its requests are shown",
	event.Model:    "the request to the agent's connection is shown, without its attempts",
	event.Retry:    "the request to the agent's connection is shown, without its attempts",
	event.Fallback: "the request to the agent's connection is shown, without its attempts",
	event.Repair:   "the next request to the model is shown",
	event.Tool:     "its effects are shown",
	event.MCP:      "its requests are shown",
	event.Exchange: "its requests are shown, and the host has its own track",
	event.Message:  "shown on the track of the host",
	event.Question: "shown on the track of the host",
	event.Approval: "shown on the track of the host",
	event.Decision: "the answer to the request is shown",
	event.Error:    "the end of the task contains the type of the error",
}

// Sink returns what receives the events of the run.
func (t *Writer) Sink() event.Sink {
	shows := map[event.Kind]func(*event.Event){event.Run: t.handleTask, event.Task: t.handleTask, event.Listen: t.handleSpan, event.Handler: t.handleSpan}
	for _, row := range event.Table() {
		if len(row.Effects) > 0 {
			shows[row.Kind] = t.handleEffect
		}
	}
	return event.Sink{Shows: shows, Omits: omitted}
}

// Close ends all open spans and the trace.
func (t *Writer) Close() error {
	for task := range t.open {
		t.end(task)
	}
	for id, host := range t.exchanges {
		t.writeHostEvent(host, id, "e", host)
	}
	t.raw("\n]}\n")
	if err := t.out.Flush(); t.err == nil {
		t.err = err
	}
	if t.err != nil {
		return fmt.Errorf("write the trace: %w", t.err)
	}
	return nil
}

// traceEvent is an event of a trace. Times are in microseconds.
type traceEvent struct {
	Name     string  `json:"name,omitempty"`
	Category string  `json:"cat,omitempty"`
	Phase    string  `json:"ph"`
	Time     float64 `json:"ts"`
	Duration float64 `json:"dur,omitempty"`
	Process  int     `json:"pid"`
	Thread   int64   `json:"tid"`
	ID       string  `json:"id,omitempty"`
	Args     args    `json:"args,omitempty"`
}

type args map[string]any

func (t *Writer) raw(s string) {
	if _, err := t.out.WriteString(s); err != nil && t.err == nil {
		t.err = err
	}
}

// writeEvent writes an event.
func (t *Writer) writeEvent(e traceEvent) {
	line, err := json.Marshal(e)
	if err != nil {
		panic("trace: " + err.Error()) // events contain only JSON values
	}
	sep := ",\n"
	if t.events == 0 {
		sep = "\n"
	}
	t.events++
	t.raw(sep)
	t.raw(string(line))
}

func (t *Writer) stamp() float64 { return micros(t.now) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func (t *Writer) writeName(what string, process int, thread int64, name string) {
	t.writeEvent(traceEvent{Name: what, Phase: "M", Process: process, Thread: thread, Args: args{"name": name}})
}

// handleTask starts the thread and the span of a task, or ends it.
func (t *Writer) handleTask(x *event.Event) {
	t.now = x.At
	if x.Phase == event.End {
		t.endTask(x.Task, x.How)
		return
	}
	name := x.Name
	if name == "" {
		name = "task"
	}
	t.writeName("thread_name", program, x.Task, fmt.Sprintf("%s #%d", name, x.Task))
	a := args{}
	if x.Place.File != "" {
		a["at"] = fmt.Sprintf("%s:%d", x.Place.File, x.Place.Line)
	}
	t.begin(x.Task, traceEvent{Name: name, Category: "task", Args: a})
}

func (t *Writer) begin(task int64, e traceEvent) {
	e.Phase, e.Time, e.Process, e.Thread = "B", t.stamp(), program, task
	t.open[task]++
	t.writeEvent(e)
}

// end ends all open spans of a task.
func (t *Writer) end(task int64) {
	for ; t.open[task] > 0; t.open[task]-- {
		t.writeEvent(traceEvent{Phase: "E", Time: t.stamp(), Process: program, Thread: task})
	}
	delete(t.open, task)
}

// endTask ends a task and its open spans.
func (t *Writer) endTask(task int64, how string) {
	for ; t.open[task] > 1; t.open[task]-- {
		t.writeEvent(traceEvent{Phase: "E", Time: t.stamp(), Process: program, Thread: task})
	}
	e := traceEvent{Phase: "E", Time: t.stamp(), Process: program, Thread: task}
	if how != "" {
		e.Args = args{"ended": how}
	}
	t.writeEvent(e)
	delete(t.open, task)
}

// handleSpan starts or ends the span of a listen or of a handler.
func (t *Writer) handleSpan(x *event.Event) {
	t.now = x.At
	if x.Phase == event.End {
		t.writeEvent(traceEvent{Phase: "E", Time: t.stamp(), Process: program, Thread: x.Task})
		t.open[x.Task]--
		return
	}
	what := "message"
	if x.Kind == event.Listen {
		what = "host"
	}
	t.begin(x.Task, traceEvent{Name: string(x.Kind) + " " + x.Name, Category: string(x.Kind), Args: args{what: x.Name}})
}

// handleEffect writes the event of an effect when the effect has ended.
func (t *Writer) handleEffect(x *event.Event) {
	if x.Phase == event.Begin {
		return
	}
	t.now = x.At
	name, a := describe(x.Request)
	t.addOutcome(a, x.Result, x.Err)
	e := traceEvent{Name: name, Category: category(x.Request), Phase: "X", Time: micros(x.Began), Duration: micros(x.At - x.Began), Process: program, Thread: x.Task, Args: a}
	if t.writeExchange(&e, x.Request, x.Result) {
		t.writeEvent(e)
	}
}

// addOutcome adds properties of an effect's result or error.
func (t *Writer) addOutcome(a args, result effect.Result, err error) {
	var e *effect.Error
	switch {
	case errors.As(err, &e):
		a["error"] = e.Kind
	case err != nil:
		a["error"] = "cancelled"
	}
	reply, _ := result.(*effect.AgentReply)
	if p, ok := result.(*effect.StreamPiece); ok && p != nil {
		reply = p.Reply
	}
	if reply != nil && err == nil {
		a["tokens_in"], a["tokens_out"], a["stop_reason"] = reply.TokensIn, reply.TokensOut, reply.StopReason
		if reply.Model != "" {
			a["model"] = reply.Model
		}
	}
}

// writeExchange writes the events of a host's exchange and its messages on the thread of the host.
// It reports whether the effect is also written on the thread of its task.
func (t *Writer) writeExchange(e *traceEvent, r effect.Request, result effect.Result) bool {
	switch r := r.(type) {
	case *effect.ExchangeOpen:
		if opened, ok := result.(*effect.ExchangeOpened); ok && opened != nil {
			t.exchanges[opened.ID] = r.Host
			t.writeHostEvent(r.Host, opened.ID, "b", r.Host)
		}
	case *effect.ExchangeNext:
		// The span of the listen or of the handler already contains the waiting time.
		if m, ok := result.(*effect.ExchangeMessages); ok && m != nil {
			for _, x := range m.Messages {
				t.writeHostEvent(t.exchanges[r.ID], r.ID, "n", x.Type)
			}
		}
		return false
	case *effect.ExchangeReply:
		e.Args["host"] = t.exchanges[r.ID]
	case *effect.ExchangeSteer:
		e.Args["host"] = t.exchanges[r.ID]
	case *effect.ExchangeContinue:
		e.Args["host"] = t.exchanges[r.ID]
	case *effect.ExchangeGate:
		e.Args["host"] = t.exchanges[r.ID]
	case *effect.ExchangeClose:
		host, open := t.exchanges[r.ID]
		e.Args["host"] = host
		if open {
			delete(t.exchanges, r.ID)
			t.writeHostEvent(host, r.ID, "e", host)
		}
	}
	return true
}

// writeHostEvent writes an event of an exchange on the thread of its host.
func (t *Writer) writeHostEvent(host string, id int64, phase, name string) {
	t.writeEvent(traceEvent{Name: name, Category: "exchange", Phase: phase, Time: t.stamp(), Process: hosts, Thread: t.hostThread(host), ID: exchangeID(id)})
}

func exchangeID(id int64) string { return fmt.Sprintf("exchange %d", id) }

// hostThread returns the number of a host's thread.
func (t *Writer) hostThread(name string) int64 {
	id, ok := t.hosts[name]
	if !ok {
		id = int64(len(t.hosts) + 1)
		t.hosts[name] = id
		t.writeName("thread_name", hosts, id, name)
	}
	return id
}
