// Package transcript records how a run uses models: each request with its reply, failure or retry,
// the tool calls between requests, and the handling of invalid replies. A Recorder writes records
// (spec/20-transcript.md), logs short lines, and counts the usage by agent, stage and task.
package transcript

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
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
	// Started is the start of the run.
	Started time.Time
}

// Recorder records one run.
type Recorder struct {
	options Options

	mu    sync.Mutex // Usage may be called during the run
	err   error      // first error of writing a record
	now   time.Duration
	tasks map[int64]*task
	used  shares
	hosts hostShares
}

// task is a running task of the program.
type task struct {
	name string
	root bool // the task has no parent, because it runs main or a call from outside
}

// New starts a transcript and writes its first record.
func New(o Options) *Recorder {
	r := &Recorder{options: o, tasks: map[int64]*task{}, used: newShares(), hosts: hostShares{hosts: map[string]*HostShare{}}}
	r.writeRecord(&header{Version: Version, Started: o.Started.UTC().Format(time.RFC3339), Program: o.Program})
	return r
}

// omitted contains the kinds of events that a transcript does not contain.
var omitted = func() map[event.Kind]string {
	const others = "only the use of models is recorded"
	return map[event.Kind]string{
		event.Pipeline: "records contain the stage", event.Stage: "records contain the stage", event.Agent: "its requests to models are recorded",
		event.Listen: others, event.Handler: others, event.MCP: others, event.HTTP: others, event.Command: others, event.Exchange: others, event.Message: others,
		event.Question: others, event.Approval: others, event.Await: others, event.Emit: others, event.Print: others, event.Log: others, event.Timer: others,
		event.Store: others, event.File: others, event.Work: others, event.Decision: others, event.Error: others,
	}
}()

// Sink returns what receives the events of the run.
func (r *Recorder) Sink() event.Sink {
	shows := map[event.Kind]func(*event.Event){event.Run: r.handleTask, event.Task: r.handleTask, event.Model: r.handleModel,
		event.Retry: r.recordRetry, event.Fallback: r.recordFallback, event.Repair: r.recordStep, event.Tool: r.recordStep, event.Request: r.hosts.count}
	for k, f := range shows {
		shows[k] = func(e *event.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.now = e.At
			f(e)
		}
	}
	return event.Sink{Shows: shows, Omits: omitted}
}

// Close writes the last record, which contains the usage. It returns the first error of writing a
// record.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &record{attemptHead: attemptHead{head: head{Time: seconds(r.now), Kind: "end"}}}
	e.use(r.used.all.Sum)
	calls, failed := r.used.all.Calls, r.used.all.FailedCalls
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
	u := r.used.usage()
	u.Hosts = r.hosts.all()
	return u
}

// writeRecord writes a record. After an error it writes nothing.
func (r *Recorder) writeRecord(record any) {
	if r.options.Out == nil || r.err != nil {
		return
	}
	_, r.err = r.options.Out.Write(append(jsonwrite.MustEncode(record), '\n'))
}

// handleTask adds or removes a task.
func (r *Recorder) handleTask(e *event.Event) {
	if e.Phase == event.End {
		delete(r.tasks, e.Task)
		return
	}
	r.tasks[e.Task] = &task{name: e.Name, root: e.Kind == event.Run}
}

// handleModel records an attempt at a model.
func (r *Recorder) handleModel(e *event.Event) {
	switch {
	case e.Phase == event.Begin:
		if e.Attempt.Number > 0 { // otherwise, no request was sent
			r.recordRequest(e)
		}
	case e.Attempt.Reply != nil:
		r.recordReply(e)
	default:
		r.recordFailure(e)
	}
}
