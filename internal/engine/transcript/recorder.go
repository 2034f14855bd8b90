// Package transcript records how a run uses models: each request with its reply, failure or retry,
// the tool calls between requests, and the handling of invalid replies. A Recorder writes records
// (spec/20-transcript.md), logs short lines, and counts the usage by agent, stage and task.
//
// The VM reports tasks and steps. The model client reports attempts. Both identify a request by its
// *effect.AgentCall.
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
	// Out receives the records. Each record is a JSON object on a line, written in one call of
	// Write.
	Out io.Writer
	// Log receives lines for people. If Bodies is set, the lines include the texts of messages.
	Log    func(line string)
	Bodies bool
	// Program is the name of the program in the first record.
	Program string
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Recorder records one run. It is a vm.Observer, and is safe for concurrent use.
type Recorder struct {
	options Options
	begun   time.Time

	mu    sync.Mutex
	err   error // first error of writing a record
	tasks map[int64]*task
	calls map[*effect.AgentCall]*call
	tools map[toolCall]time.Time // start times of the running tool calls
	used  shares
}

// task is a running task of the program.
type task struct {
	name   string
	root   bool     // the task has no parent, because it runs main or a call from outside
	stages []string // names of the pipeline stages that the task is in, innermost last
}

func (t *task) stage() string {
	if t == nil || len(t.stages) == 0 {
		return ""
	}
	return t.stages[len(t.stages)-1]
}

// call is a running request to a model.
type call struct {
	task     int64
	stage    string
	reported bool // the model client has reported an attempt
}

// toolCall identifies a running tool call. id is the id that the model assigned, or "" for the tool
// call of a host.
type toolCall struct {
	task     int64
	tool, id string
}

// New starts a transcript and writes its first record.
func New(o Options) *Recorder {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Recorder{options: o, begun: o.Now(), tasks: map[int64]*task{}, calls: map[*effect.AgentCall]*call{}, tools: map[toolCall]time.Time{}, used: newShares()}
	r.writeRecord(&header{Version: Version, Started: r.begun.UTC().Format(time.RFC3339), Program: o.Program})
	return r
}

// Close writes the last record, which contains the usage. It returns the first error of writing a
// record.
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

// writeRecord writes a record. After an error it writes nothing.
func (r *Recorder) writeRecord(record any) {
	if r.options.Out == nil || r.err != nil {
		return
	}
	_, r.err = r.options.Out.Write(append(jsonwrite.MustEncode(record), '\n'))
}

// TaskBegan adds a task. The task is in the stage of its parent.
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

// Requested handles an effect that is a request to a model, a step, or the start or end of a stage.
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

// recordRequest stores which task made a request. A request that is refused before its first
// attempt is recorded as a failure. whole means that the call's end is also the end of the reply.
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

// emitted updates the stage of a task from the events that pipelines emit.
func (r *Recorder) emitted(id int64, q *effect.Emit) {
	begins := q.Channel == "pipeline:stage_start"
	if !begins && q.Channel != "pipeline:stage_complete" && q.Channel != "pipeline:error" {
		return
	}
	var at struct{ Name, Stage string }
	if json.Unmarshal(q.Payload, &at) != nil {
		return // the program itself uses the channel, with another payload
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

// ModelEvent handles an event of the model client.
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

// reasonOf returns the class of an error and the HTTP status of the response.
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
