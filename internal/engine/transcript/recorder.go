// Package transcript observes a run's use of models: each request and its reply, failure or retry,
// the tool calls between them, and the handling of invalid replies. A Recorder writes this as
// records (spec/20-transcript.md), logs it in short lines, and counts usage by agent, stage and
// task.
//
// The VM reports tasks and steps, the client of models reports attempts. Both name the request.
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

// Options configures a Recorder. Each field may be nil.
type Options struct {
	// Out receives the records, one JSON object on each line, each in one write.
	Out io.Writer
	// Log receives lines for people; with Bodies also the texts.
	Log    func(line string)
	Bodies bool
	// Program is the program's name, for the first record.
	Program string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Recorder observes one run. It is a vm.Observer and safe for concurrent use.
type Recorder struct {
	options Options
	begun   time.Time

	mu    sync.Mutex
	err   error // of writing
	tasks map[int64]*task
	calls map[*effect.AgentCall]*call
	tools map[toolCall]time.Time // start times of the running calls
	used  shares
}

// task is a running task.
type task struct {
	name   string
	root   bool     // it has no parent: main, or a call from outside
	stages []string // of its pipelines, innermost last
}

func (t *task) stage() string {
	if t == nil || len(t.stages) == 0 {
		return ""
	}
	return t.stages[len(t.stages)-1]
}

// call is a running request of the program.
type call struct {
	task     int64
	stage    string
	reported bool // an attempt was reported
}

// toolCall is a running tool call. The id is the model's, or "" for a host's.
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
	r.writeRecord(&header{Version: Version, Started: r.begun.UTC().Format(time.RFC3339), Program: o.Program})
	return r
}

// Close ends the transcript with the usage. The error is that of writing.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &event{head: r.head("end", 0, "", "")}
	e.use(r.used.all.Usage)
	calls, failed := r.used.all.Calls, r.used.all.Failed
	e.Calls, e.FailedCalls = &calls, &failed
	r.writeRecord(e)
	if r.err != nil {
		return fmt.Errorf("could not write the transcript: %w", r.err)
	}
	return nil
}

// Usage returns the usage so far, by agent, stage and task.
func (r *Recorder) Usage() Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used.usage()
}

// writeRecord writes a record, or nothing after an error.
func (r *Recorder) writeRecord(record any) {
	if r.options.Out == nil || r.err != nil {
		return
	}
	_, r.err = r.options.Out.Write(append(jsonwrite.MustEncode(record), '\n'))
}

// TaskBegan adds a task, in its parent's stage.
func (r *Recorder) TaskBegan(id, parent int64, at vm.Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &task{name: at.Function, root: parent == 0}
	if stage := r.tasks[parent].stage(); stage != "" {
		t.stages = []string{stage}
	}
	r.tasks[id] = t
}

// TaskEnded removes a task.
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

// Entered does nothing.
func (r *Recorder) Entered(int64, vm.SpanKind, string) {}

// Left does nothing.
func (r *Recorder) Left(int64) {}

// Requested handles an effect: a request to a model, a step, or a stage.
func (r *Recorder) Requested(id int64, q effect.Request) func(effect.Result, error) {
	switch q := q.(type) {
	case *effect.AgentCall:
		return r.recordRequest(id, q, true)
	case *effect.StreamOpen:
		return r.recordRequest(id, &q.AgentCall, false)
	case *effect.Step:
		r.recordStep(id, q)
	case *effect.Emit:
		r.emitted(id, q)
	}
	return nil
}

// recordRequest records which task makes a request. A request that is refused before any attempt is
// recorded as a failure.
func (r *Recorder) recordRequest(id int64, q *effect.AgentCall, whole bool) func(effect.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &call{task: id, stage: r.tasks[id].stage()}
	r.calls[q] = c
	return func(_ effect.Result, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil && !c.reported {
			r.recordFailure(llm.Event{Call: q, Connection: q.Connection, Model: q.Model, Err: err}, c)
		}
		if whole || err != nil {
			delete(r.calls, q)
		}
	}
}

// emitted records the stage of a pipeline that a task is in.
func (r *Recorder) emitted(id int64, q *effect.Emit) {
	begins := q.Channel == "pipeline:stage_start"
	if !begins && q.Channel != "pipeline:stage_complete" && q.Channel != "pipeline:error" {
		return
	}
	var at struct{ Name, Stage string }
	if json.Unmarshal(q.Payload, &at) != nil {
		return // the program itself has emitted it
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

// ModelEvent handles an event of the models' client.
func (r *Recorder) ModelEvent(e llm.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[e.Call]
	if c == nil {
		c = &call{}
	}
	c.reported = true
	switch e.What {
	case llm.EventRequest:
		r.requested(e, c)
	case llm.EventReply:
		r.replied(e, c)
	case llm.EventFailure:
		r.recordFailure(e, c)
	case llm.EventRetry:
		r.retried(e, c)
	case llm.EventFallback:
		r.turned(e, c)
	case llm.EventEnd:
		delete(r.calls, e.Call)
	}
}

// reasonOf returns the class of an error, and the status of the response.
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
