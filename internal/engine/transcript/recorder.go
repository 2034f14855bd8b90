// Package transcript follows what a run does with its models: each request and
// its reply, failure or retry, the tool calls between them, and what became of
// replies that did not fit. A Recorder writes this as records
// (spec/20-transcript.md), reports it in short lines, and counts usage by agent,
// stage and task.
//
// Tasks and steps are reported by the VM, attempts by the client of models. The
// request, which both name, links them.
package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/vm"
)

// Options say what becomes of what is heard. Nil fields want nothing.
type Options struct {
	// Out takes the records, a JSON object a line, each in one write.
	Out io.Writer
	// Say takes lines for people, with Bodies also what was said.
	Say    func(line string)
	Bodies bool
	// Program is the program's name, for the first record.
	Program string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Recorder follows one run. It is a vm.Observer; safe for concurrent use.
type Recorder struct {
	options Options
	begun   time.Time

	mu    sync.Mutex
	err   error // of writing
	tasks map[int64]*task
	calls map[*effect.AgentCall]*call
	tools map[toolCall]time.Time // when those under way began
	used  shares
}

// task is a task that runs.
type task struct {
	name   string
	root   bool     // nobody started it: main, or a call from outside
	stages []string // of pipelines that it is in, innermost last
}

func (t *task) stage() string {
	if t == nil || len(t.stages) == 0 {
		return ""
	}
	return t.stages[len(t.stages)-1]
}

// call is a request of the program under way.
type call struct {
	task  int64
	stage string
	heard bool // of an attempt
}

// toolCall is a tool call under way: the id is the model's, "" of a host's.
type toolCall struct {
	task     int64
	tool, id string
}

// New begins a transcript.
func New(o Options) *Recorder {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Recorder{options: o, begun: o.Now(), tasks: map[int64]*task{}, calls: map[*effect.AgentCall]*call{}, tools: map[toolCall]time.Time{}, used: newShares()}
	r.write(&header{Version: Version, Started: r.begun.UTC().Format(time.RFC3339), Program: o.Program})
	return r
}

// Close ends the transcript with what was used. Its error is that of writing.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &event{head: r.head("end", 0, "", "")}
	e.use(r.used.all.Usage)
	calls, failed := r.used.all.Calls, r.used.all.Failed
	e.Calls, e.FailedCalls = &calls, &failed
	r.write(e)
	if r.err != nil {
		return fmt.Errorf("write the transcript: %w", r.err)
	}
	return nil
}

// Usage gives what was used so far, by agent, stage and task.
func (r *Recorder) Usage() Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used.usage()
}

// write writes a record; after an error nothing.
func (r *Recorder) write(record any) {
	if r.options.Out == nil || r.err != nil {
		return
	}
	_, r.err = r.options.Out.Write(append(jsonwrite.MustEncode(record), '\n'))
}

// TaskBegan hears of a task, which is in its parent's stage.
func (r *Recorder) TaskBegan(id, parent int64, at vm.Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &task{name: at.Function, root: parent == 0}
	if stage := r.tasks[parent].stage(); stage != "" {
		t.stages = []string{stage}
	}
	r.tasks[id] = t
}

// TaskEnded forgets a task.
func (r *Recorder) TaskEnded(id int64, _ string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tasks, id)
	for t := range r.tools {
		if t.task == id {
			delete(r.tools, t)
		}
	}
}

// Entered does not concern a transcript.
func (r *Recorder) Entered(int64, vm.SpanKind, string) {}

// Left does not concern a transcript.
func (r *Recorder) Left(int64) {}

// Requested hears of an effect: of a request to a model, a step, or a stage.
func (r *Recorder) Requested(id int64, q effect.Request) func(effect.Result, error) {
	switch q := q.(type) {
	case *effect.AgentCall:
		return r.asked(id, q, true)
	case *effect.StreamOpen:
		return r.asked(id, &q.AgentCall, false)
	case *effect.Step:
		r.step(id, q)
	case *effect.Emit:
		r.emitted(id, q)
	}
	return nil
}

// asked notes which task makes a request. A request that is refused before any
// attempt is recorded as a failure.
func (r *Recorder) asked(id int64, q *effect.AgentCall, whole bool) func(effect.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &call{task: id, stage: r.tasks[id].stage()}
	r.calls[q] = c
	return func(_ effect.Result, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil && !c.heard {
			r.failed(llm.Event{Call: q, Connection: q.Connection, Model: q.Model, Err: err}, c)
		}
		if whole || err != nil {
			delete(r.calls, q)
		}
	}
}

// emitted notes in which stage of a pipeline a task is.
func (r *Recorder) emitted(id int64, q *effect.Emit) {
	begins := q.Channel == "pipeline:stage_start"
	if !begins && q.Channel != "pipeline:stage_complete" && q.Channel != "pipeline:error" {
		return
	}
	var at struct{ Name, Stage string }
	if json.Unmarshal(q.Payload, &at) != nil {
		return // only a program that emits it itself
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tasks[id]
	switch {
	case t == nil:
	case begins:
		t.stages = append(t.stages, at.Name+"/"+at.Stage)
	case t.stage() == at.Name+"/"+at.Stage:
		t.stages = t.stages[:len(t.stages)-1]
	}
}

// Heard hears of what the models' client does.
func (r *Recorder) Heard(e llm.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[e.Call]
	if c == nil {
		c = &call{}
	}
	c.heard = true
	switch e.What {
	case llm.EventRequest:
		r.requested(e, c)
	case llm.EventReply:
		r.replied(e, c)
	case llm.EventFailure:
		r.failed(e, c)
	case llm.EventRetry:
		r.retried(e, c)
	case llm.EventFallback:
		r.turned(e, c)
	case llm.EventEnd:
		delete(r.calls, e.Call)
	}
}

// reasonOf says what sort of failure an error is, with the status of the answer.
func reasonOf(err error) (reason string, status int64) {
	var f *llm.Failure
	var e *effect.Error
	switch {
	case errors.As(err, &f):
		return string(f.Class), int64(f.HTTPStatus)
	case errors.As(err, &e):
		reason, _ = e.Fields["reason"].(string)
	}
	return reason, 0
}
