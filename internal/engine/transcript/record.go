package transcript

import (
	"encoding/json"
	"math"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// Version is the version of the transcript format. The first record contains it.
const Version = 1

// header is the first record of a transcript.
type header struct {
	Version int    `json:"concerto_transcript"`
	Started string `json:"started"`
	Program string `json:"program,omitempty"`
}

// record is a record about the outcome of a request to a model, or about the end of the run. A time
// is in seconds: the time since the start of the run, or a duration. Members that a kind of record
// does not use are omitted.
type record struct {
	attemptHead
	usageRecord
	replyRecord
	failure
}

// head contains the members that all records begin with.
type head struct {
	Time  float64 `json:"t"`
	Kind  string  `json:"kind"`
	Task  int64   `json:"task,omitempty"`
	Stage string  `json:"stage,omitempty"` // PIPELINE/STAGE
	Agent string  `json:"agent,omitempty"` // name of an agent, of a host that calls a tool, or of a decorated function
}

// step is a record about an action of the library between requests to a model.
type step struct {
	head
	Tool      string   `json:"tool,omitempty"`
	ID        string   `json:"id,omitempty"` // id that the model assigned to the tool call
	Attempt   int64    `json:"attempt,omitempty"`
	Of        int64    `json:"of,omitempty"`
	Seconds   *float64 `json:"seconds,omitempty"`
	Arguments *string  `json:"args,omitempty"` // arguments of a tool call, as the model wrote them
	Result    *string  `json:"result,omitempty"`
	Failed    bool     `json:"failed,omitempty"`
	Message   string   `json:"message,omitempty"`
}

// attemptHead contains the members that records about an attempt at a model begin with.
type attemptHead struct {
	head
	Attempt    int64  `json:"attempt,omitempty"`
	Of         int64  `json:"of,omitempty"`
	Connection string `json:"connection,omitempty"`
	Model      string `json:"model,omitempty"`
}

// requestRecord is a record about a request.
type requestRecord struct {
	attemptHead
	System   string               `json:"system,omitempty"`
	Messages []effect.ChatMessage `json:"messages,omitempty"`
	Tools    []string             `json:"tools,omitempty"`
	Schema   json.RawMessage      `json:"schema,omitempty"`
}

// usageRecord contains the members of a record that describe the usage of calls.
type usageRecord struct {
	Calls       *int64   `json:"calls,omitempty"`
	FailedCalls *int64   `json:"failed_calls,omitempty"`
	Seconds     *float64 `json:"seconds,omitempty"`
	TokensIn    *int64   `json:"tokens_in,omitempty"`
	TokensOut   *int64   `json:"tokens_out,omitempty"`
	models.Parts
	Estimated int64           `json:"estimated,omitempty"` // calls whose tokens are an estimate
	Cost      json.RawMessage `json:"cost_usd,omitempty"`  // null if a price is unknown
}

// replyRecord contains the members of a record that describe a reply.
type replyRecord struct {
	StopReason string            `json:"stop_reason,omitempty"`
	RequestID  string            `json:"request_id,omitempty"`
	Text       *string           `json:"text,omitempty"`
	ToolCalls  []effect.ToolCall `json:"tool_calls,omitempty"`
}

// failure contains the reason of a failed attempt and what the client does next.
type failure struct {
	Reason  string   `json:"reason,omitempty"`
	Status  int64    `json:"status,omitempty"`
	Message string   `json:"message,omitempty"`
	Wait    *float64 `json:"wait,omitempty"`
}

// headOf returns the members that a record about an event begins with.
func headOf(e *event.Event, kind string) head {
	return head{Time: seconds(e.At), Kind: kind, Task: e.Task, Stage: e.Stage, Agent: e.Name}
}

// seconds converts a duration to seconds, rounded to a microsecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e6) / 1e6 }

func pointer[T any](v T) *T { return &v }

// use sets the tokens and the cost of a record.
func (e *record) use(u models.Sum) {
	e.TokensIn, e.TokensOut, e.Parts, e.Estimated, e.Cost = &u.TokensIn, &u.TokensOut, u.Parts, u.Estimated, cost(u)
}

// cost returns the cost as JSON, which is null unless all prices are known.
func cost(u models.Sum) json.RawMessage {
	if u.Unpriced > 0 {
		return json.RawMessage("null")
	}
	return json.RawMessage(budget.Money(u.Cost).String())
}

// attemptOf returns the start of a record about an attempt.
func attemptOf(e *event.Event, kind string) attemptHead {
	a := e.Attempt
	return attemptHead{head: headOf(e, kind), Attempt: a.Number, Of: a.Of, Connection: a.Connection, Model: a.Model}
}

// setFailure sets the reason of a failed attempt.
func (e *record) setFailure(x *event.Event) {
	e.Reason, e.Status, e.Message = x.Attempt.Reason, x.Attempt.Status, x.Err.Error()
}

func (r *Recorder) recordRequest(e *event.Event) {
	x, q := &requestRecord{attemptHead: attemptOf(e, "request")}, e.Attempt.Call
	x.System, x.Messages, x.Schema = q.System, effect.WithoutFileData(q.Messages), q.Schema
	for _, t := range q.Tools {
		x.Tools = append(x.Tools, t.Name)
	}
	r.writeRecord(x)
	r.logRequest(e)
}

func (r *Recorder) recordReply(e *event.Event) {
	a := e.Attempt
	r.used.countAttempt(e, r.tasks[e.Task])
	x := &record{attemptHead: attemptOf(e, "reply")}
	if a.Reply.Model != "" {
		x.Model = a.Reply.Model
	}
	x.Seconds, x.StopReason, x.RequestID = pointer(seconds(a.Took)), a.Reply.StopReason, a.Reply.RequestID
	x.Text, x.ToolCalls = pointer(a.Reply.Text), a.Reply.ToolCalls
	x.use(a.Used)
	r.writeRecord(x)
	r.logReply(e)
}

func (r *Recorder) recordFailure(e *event.Event) {
	a := e.Attempt
	if a.Used.Calls > 0 {
		r.used.countAttempt(e, r.tasks[e.Task])
	}
	x := &record{attemptHead: attemptOf(e, "failure")}
	if a.Used.Tokens() > 0 {
		x.use(a.Used)
	}
	x.setFailure(e)
	x.Seconds = pointer(seconds(a.Took))
	r.writeRecord(x)
	r.logLine(e, "agent %s: %s", e.Name, e.Err)
}

// recordRetry records that another attempt at a model or a decorated function follows.
func (r *Recorder) recordRetry(e *event.Event) {
	if e.Step != nil {
		r.recordStep(e)
		return
	}
	x := &record{attemptHead: attemptOf(e, "retry")}
	x.setFailure(e)
	x.Wait = pointer(seconds(e.Attempt.Wait))
	r.writeRecord(x)
	r.logLine(e, "agent %s asks again in %.3f s, attempt %d of %d", e.Name, e.Attempt.Wait.Seconds(), e.Attempt.Number, e.Attempt.Of)
}

func (r *Recorder) recordFallback(e *event.Event) {
	x := &record{attemptHead: attemptOf(e, "fallback")}
	x.setFailure(e)
	r.writeRecord(x)
	r.logLine(e, "agent %s turns to connection %s", e.Name, e.Attempt.Connection)
}

// recordStep records an action of the library between requests.
func (r *Recorder) recordStep(e *event.Event) {
	q := e.Step
	if q == nil || q.By == "" {
		return // the tool call was cancelled with its task, or the program itself calls the tool
	}
	x := &step{head: headOf(e, q.What), Tool: q.Tool, ID: q.ID, Attempt: q.Attempt, Of: q.Of}
	x.Agent = q.By
	switch q.What {
	case effect.StepToolCall:
		x.Arguments = &q.Text
	case effect.StepToolResult:
		x.Result, x.Failed, x.Seconds = &q.Text, q.Failed, pointer(seconds(e.At-e.Began))
	default:
		x.Message = q.Text
	}
	r.writeRecord(x)
	r.logStep(e, x)
}
