package transcript

import (
	"encoding/json"
	"math"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// Version is the version of the transcript format. The first record contains it.
const Version = 1

// header is the first record of a transcript.
type header struct {
	Version int    `json:"concerto_transcript"`
	Started string `json:"started"`
	Program string `json:"program,omitempty"`
}

// event is a record about a request to a model, or about the end of the run. A time is in seconds:
// the time since the start of the run, or a duration. Members that a kind of record does not use
// are omitted.
type event struct {
	head
	Attempt int64 `json:"attempt,omitempty"`
	Of      int64 `json:"of,omitempty"`
	requestRecord
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

// requestRecord contains the members of a record that describe a request.
type requestRecord struct {
	Connection string               `json:"connection,omitempty"`
	Model      string               `json:"model,omitempty"`
	System     string               `json:"system,omitempty"`
	Messages   []effect.ChatMessage `json:"messages,omitempty"`
	Tools      []string             `json:"tools,omitempty"`
	Schema     json.RawMessage      `json:"schema,omitempty"`
}

// usageRecord contains the members of a record that describe the usage of calls.
type usageRecord struct {
	Calls       *int64          `json:"calls,omitempty"`
	FailedCalls *int64          `json:"failed_calls,omitempty"`
	Seconds     *float64        `json:"seconds,omitempty"`
	TokensIn    *int64          `json:"tokens_in,omitempty"`
	TokensOut   *int64          `json:"tokens_out,omitempty"`
	Cost        json.RawMessage `json:"cost_usd,omitempty"` // null if a price is unknown
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

// head returns the members that a record of this kind begins with.
func (r *Recorder) head(kind string, task int64, stage, agent string) head {
	return head{Time: seconds(r.options.Now().Sub(r.begun)), Kind: kind, Task: task, Stage: stage, Agent: agent}
}

// seconds converts a duration to seconds, rounded to a microsecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e6) / 1e6 }

func pointer[T any](v T) *T { return &v }

// use sets the tokens and the cost of a record.
func (e *event) use(u budget.Usage) {
	e.TokensIn, e.TokensOut, e.Cost = &u.TokensIn, &u.TokensOut, cost(u)
}

// cost returns the cost as JSON, which is null unless all prices are known.
func cost(u budget.Usage) json.RawMessage {
	if !u.Priced {
		return json.RawMessage("null")
	}
	return json.RawMessage(u.Cost.String())
}

// attempt returns the start of a record about an attempt of a request.
func (r *Recorder) attempt(kind string, e llm.Event, c *call) *event {
	return &event{head: r.head(kind, c.task, c.stage, e.Call.Agent), Attempt: e.Attempt, Of: e.Of, requestRecord: requestRecord{Connection: e.Connection, Model: e.Model}}
}

func (r *Recorder) requested(e llm.Event, c *call) {
	x := r.attempt("request", e, c)
	q := e.Call
	x.System, x.Messages, x.Schema = q.System, effect.WithoutFileData(q.Messages), q.Schema
	for _, t := range q.Tools {
		x.Tools = append(x.Tools, t.Name)
	}
	r.writeRecord(x)
	r.logRequest(e, c)
}

func (r *Recorder) replied(e llm.Event, c *call) {
	u := budget.Usage{Calls: 1, TokensIn: e.Reply.TokensIn, TokensOut: e.Reply.TokensOut}
	if e.Price != nil {
		u.Priced, u.Cost = true, budget.Cost(e.Price.Input, e.Price.Output, u.TokensIn, u.TokensOut)
	}
	r.used.countAttempt(e.Call.Agent, c, r.tasks[c.task], u)
	x := r.attempt("reply", e, c)
	if e.Reply.Model != "" {
		x.Model = e.Reply.Model
	}
	x.Seconds, x.StopReason, x.RequestID = pointer(seconds(e.Took)), e.Reply.StopReason, e.Reply.RequestID
	x.Text, x.ToolCalls = pointer(e.Reply.Text), e.Reply.ToolCalls
	x.use(u)
	r.writeRecord(x)
	r.logReply(e, c, u)
}

func (r *Recorder) recordFailure(e llm.Event, c *call) {
	reason, status := reasonOf(e.Err)
	if e.Attempt > 0 && reason != string(llm.ClassLimit) { // in other cases, no request was sent
		r.used.countAttempt(e.Call.Agent, c, r.tasks[c.task], budget.Usage{Calls: 1, Failed: 1, Priced: true})
	}
	x := r.attempt("failure", e, c)
	x.Seconds, x.Reason, x.Status, x.Message = pointer(seconds(e.Took)), reason, status, e.Err.Error()
	r.writeRecord(x)
	r.logFailure(e, c)
}

func (r *Recorder) retried(e llm.Event, c *call) {
	x := r.attempt("retry", e, c)
	x.Wait, x.Message = pointer(seconds(e.Wait)), e.Err.Error()
	x.Reason, x.Status = reasonOf(e.Err)
	r.writeRecord(x)
	r.logRetry(e, c)
}

func (r *Recorder) turned(e llm.Event, c *call) {
	x := r.attempt("fallback", e, c)
	x.Message = e.Err.Error()
	x.Reason, x.Status = reasonOf(e.Err)
	r.writeRecord(x)
	r.logLine(c.task, c.stage, "agent %s turns to connection %s", e.Call.Agent, e.Connection)
}

// recordStep records an action of the library between requests.
func (r *Recorder) recordStep(id int64, q *effect.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := &step{head: r.head(q.What, id, r.tasks[id].stage(), q.By), Tool: q.Tool, ID: q.ID, Attempt: q.Attempt, Of: q.Of}
	key := toolCall{id, q.Tool, q.ID}
	switch q.What {
	case effect.StepToolCall:
		x.Arguments = &q.Text
		r.tools[key] = r.options.Now()
	case effect.StepToolResult:
		x.Result, x.Failed = &q.Text, q.Failed
		if since, ok := r.tools[key]; ok {
			x.Seconds = pointer(seconds(r.options.Now().Sub(since)))
			delete(r.tools, key)
		}
	default:
		x.Message = q.Text
	}
	r.writeRecord(x)
	r.logStep(x)
}
