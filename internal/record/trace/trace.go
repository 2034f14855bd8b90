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
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// The processes of a trace.
const (
	program = 1 // has a thread for each task
	hosts   = 2 // has a thread for each host
)

// Writer writes a trace. It is a vm.Observer, and is safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	out    *bufio.Writer
	begun  time.Time
	now    func() time.Duration
	err    error
	events int

	open      map[int64]int    // number of open spans of each task, including the task's own span
	hosts     map[string]int64 // number of each host's thread
	exchanges map[int64]string // names of the hosts of the open exchanges
}

// New starts a trace.
func New(w io.Writer) *Writer {
	t := &Writer{out: bufio.NewWriter(w), begun: time.Now(), open: map[int64]int{}, hosts: map[string]int64{}, exchanges: map[int64]string{}}
	t.now = func() time.Duration { return time.Since(t.begun) }
	t.raw("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")
	t.writeName("process_name", program, 0, "program")
	t.writeName("process_name", hosts, 0, "hosts")
	return t
}

// Close ends all open spans and the trace.
func (t *Writer) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
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

// event is an event of a trace. Times are in microseconds.
type event struct {
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

// writeEvent writes an event. The caller must hold mu.
func (t *Writer) writeEvent(e event) {
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

func (t *Writer) stamp() float64 { return micros(t.now()) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func (t *Writer) writeName(what string, process int, thread int64, name string) {
	t.writeEvent(event{Name: what, Phase: "M", Process: process, Thread: thread, Args: args{"name": name}})
}

// TaskBegan starts the thread and the span of a task.
func (t *Writer) TaskBegan(task, _ int64, at vm.Place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := at.Function
	if name == "" {
		name = "task"
	}
	t.writeName("thread_name", program, task, fmt.Sprintf("%s #%d", name, task))
	a := args{}
	if at.File != "" {
		a["at"] = fmt.Sprintf("%s:%d", at.File, at.Line)
	}
	t.begin(task, event{Name: name, Category: "task", Args: a})
}

func (t *Writer) begin(task int64, e event) {
	e.Phase, e.Time, e.Process, e.Thread = "B", t.stamp(), program, task
	t.open[task]++
	t.writeEvent(e)
}

// end ends all open spans of a task. The caller must hold mu.
func (t *Writer) end(task int64) {
	for ; t.open[task] > 0; t.open[task]-- {
		t.writeEvent(event{Phase: "E", Time: t.stamp(), Process: program, Thread: task})
	}
	delete(t.open, task)
}

// TaskEnded ends a task and its open spans.
func (t *Writer) TaskEnded(task int64, how string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ; t.open[task] > 1; t.open[task]-- {
		t.writeEvent(event{Phase: "E", Time: t.stamp(), Process: program, Thread: task})
	}
	e := event{Phase: "E", Time: t.stamp(), Process: program, Thread: task}
	if how != "" {
		e.Args = args{"ended": how}
	}
	t.writeEvent(e)
	delete(t.open, task)
}

// Entered starts the span of a listen or of a handler.
func (t *Writer) Entered(task int64, kind vm.SpanKind, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what := "message"
	if kind == vm.SpanListen {
		what = "host"
	}
	t.begin(task, event{Name: string(kind) + " " + name, Category: string(kind), Args: args{what: name}})
}

// Left ends the innermost span.
func (t *Writer) Left(task int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeEvent(event{Phase: "E", Time: t.stamp(), Process: program, Thread: task})
	t.open[task]--
}

// Requested returns a function that writes the event of an effect when the effect has ended.
func (t *Writer) Requested(task int64, r effect.Request) func(effect.Result, error) {
	name, a, shown := describe(r)
	if !shown {
		return nil
	}
	begun := t.now()
	return func(result effect.Result, err error) {
		if errors.Is(err, effect.ErrWaits) {
			return // the effect will be performed again
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.addOutcome(a, result, err)
		e := event{Name: name, Category: category(r), Phase: "X", Time: micros(begun), Duration: micros(t.now() - begun), Process: program, Thread: task, Args: a}
		if t.writeExchange(&e, r, result) {
			t.writeEvent(e)
		}
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
// It reports whether the effect is also written on the thread of its task. The caller must hold mu.
func (t *Writer) writeExchange(e *event, r effect.Request, result effect.Result) bool {
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
	t.writeEvent(event{Name: name, Category: "exchange", Phase: phase, Time: t.stamp(), Process: hosts, Thread: t.hostThread(host), ID: exchangeID(id)})
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
