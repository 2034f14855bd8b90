package effect

import (
	"encoding/json"
	"math"

	"github.com/concerto-lang/concerto/internal/data/models"
)

// The kinds of requests to models: a call whose reply is returned as a whole, and a call whose
// reply is streamed.
const (
	KindAgentCall   Kind = "agent.call"
	KindStreamOpen  Kind = "agent.stream.open"
	KindStreamNext  Kind = "agent.stream.next"
	KindStreamClose Kind = "agent.stream.close"
	KindStep        Kind = "agent.step"
)

// AgentCall sends one request to a model (spec/07-agents.md). The library, in Concerto code,
// implements the loop of tool calls and the repair of invalid structured output.
type AgentCall struct {
	Agent       string          `json:"agent"`      // name of the agent's declaration
	Connection  string          `json:"connection"` // name of a section [connections.X]
	Model       string          `json:"model,omitempty"`
	System      string          `json:"system,omitempty"`
	Messages    []ChatMessage   `json:"messages"`
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        *float64        `json:"top_p,omitempty"`
	MaxTokens   *int64          `json:"max_tokens,omitempty"`
	Stop        []string        `json:"stop,omitempty"`
	Seed        *int64          `json:"seed,omitempty"`
	Effort      string          `json:"reasoning_effort,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of the requested reply
	SchemaName  string          `json:"schema_name,omitempty"`
	Tools       []ToolSpec      `json:"tools,omitempty"`
	Timeout     float64         `json:"timeout,omitempty"` // limit of the whole call in seconds; 0 means the connection's timeout
	Retry       *Retry          `json:"retry,omitempty"`   // the agent's retry_policy; nil means that of the connection
	// Judge is the hash of the judge of an eval that makes the call, or "". Records do not contain
	// it.
	Judge string `json:"-"`
}

// Retry is a retry policy. MaxAttempts includes the first attempt. Delays are in milliseconds.
// Backoff is "none", "linear" or "exponential".
type Retry struct {
	MaxAttempts  int64  `json:"max_attempts"`
	Backoff      string `json:"backoff"`
	InitialDelay int64  `json:"initial_delay_ms"`
	MaxDelay     int64  `json:"max_delay_ms"`
}

// ChatMessage is a message of a conversation. Role is "system", "user", "assistant" or "tool".
// Files may only be set for "user", ToolCalls only for "assistant", ToolCallID and IsError only for
// "tool".
type ChatMessage struct {
	Role       string         `json:"role"`
	Content    string         `json:"content"`
	Files      []AttachedFile `json:"files,omitempty"`
	ToolCalls  []ToolCall     `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	IsError    bool           `json:"is_error,omitempty"`
	// Items is the hidden content of an assistant's message; nil for none. Records contain it only
	// in the reply.
	Items *Items `json:"-"`
}

// Items is the output of a model in the provider's form. Such blocks, for example signed or
// encrypted reasoning, return unchanged to the same connection and model, or not at all.
type Items struct {
	API        string `json:"api"` // "anthropic", "chat" or "responses"
	Connection string `json:"connection"`
	Model      string `json:"model"`
	// Content contains the blocks in the provider's order: a block as it was sent, or the texts
	// "text" and "call" for the reply's text and its next tool call.
	Content []json.RawMessage `json:"content"`
}

// ToolCall is a model's request to call a tool. Args is the JSON text from the model, which should
// be an object.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// ToolSpec describes a tool to a model. Parameters is the JSON Schema of an object. Listed means
// that a server of the program has listed the tool, which may be in any order.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Listed      bool            `json:"-"`
}

// AgentReply is the reply of a model. StopReason is "end", "length", "tool", "stop" or "filter".
// Provider is the name of the connection. RequestID is the id that the provider assigned to the
// request; "" if there is none.
type AgentReply struct {
	Text      string     `json:"text"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	TokensIn  int64      `json:"tokens_in"`
	TokensOut int64      `json:"tokens_out"`
	models.Parts
	// TokensCacheWrite1h are the tokens of Parts.CacheWrite with a lifetime of one hour.
	TokensCacheWrite1h int64 `json:"tokens_cache_write_1h,omitempty"`
	// ServiceTier is the service tier of the request; "" for the standard one.
	ServiceTier string `json:"service_tier,omitempty"`
	// Estimated means that the provider did not report one of these numbers.
	Estimated  bool   `json:"estimated,omitempty"`
	Model      string `json:"model"`
	Provider   string `json:"provider"`
	LatencyMS  int64  `json:"latency_ms"`
	StopReason string `json:"stop_reason"`
	// Category is the provider's category of a refusal, which is an error and not recorded.
	Category string `json:"-"`
	// FinishReason is the provider's reason for the end of the reply; "" if it has given none.
	FinishReason string `json:"finish_reason,omitempty"`
	RequestID    string `json:"request_id,omitempty"`
	// CostUSD is the cost at the time of the reply. With Unpriced, the price was unknown, and
	// CostUSD is 0 or a part of the cost. Earlier versions recorded no Unpriced.
	CostUSD  float64 `json:"cost_usd,omitempty"`
	Unpriced bool    `json:"unpriced,omitempty"`
	Items    *Items  `json:"items,omitempty"` // hidden content; nil for none
	// Failed contains the attempts that failed before the reply.
	Failed []Attempt `json:"failed,omitempty"`
}

// Usage returns what the request has used.
func (r *AgentReply) Usage() models.Usage {
	return models.Usage{In: r.TokensIn, Out: r.TokensOut, Parts: r.Parts, CacheWrite1h: r.TokensCacheWrite1h, Tier: r.ServiceTier}
}

// SetUsage sets what the request has used.
func (r *AgentReply) SetUsage(u models.Usage) {
	r.TokensIn, r.TokensOut, r.Parts, r.TokensCacheWrite1h, r.ServiceTier = u.In, u.Out, u.Parts, u.CacheWrite1h, u.Tier
}

// Picodollars returns the recorded cost in units of 10⁻¹² US dollars.
func (r *AgentReply) Picodollars() int64 { return picodollars(r.CostUSD) }

// Sum returns the entry of the attempt with this reply, at a cost that ok reports to be known.
func (r *AgentReply) Sum(cost int64, ok bool) models.Sum {
	x := models.Spent{Usage: r.Usage(), Cost: cost, Unpriced: !ok, Estimated: r.Estimated}
	return x.Sum()
}

// Attempt is a failed attempt at a model. Of is the maximum number of attempts at the connection.
// MS is its duration, and WaitMS the delay before the next attempt, in milliseconds. Reason is the
// class of the error, and Status the HTTP status of the response, or 0.
type Attempt struct {
	Connection string `json:"connection"`
	Model      string `json:"model,omitempty"`
	Of         int64  `json:"of"`
	MS         int64  `json:"ms"`
	Reason     string `json:"reason,omitempty"`
	Status     int64  `json:"status,omitempty"`
	Message    string `json:"message"`
	WaitMS     int64  `json:"wait_ms,omitempty"`
	AttemptUse
}

// AttemptUse is what a failed attempt has used: that of a reply that the program does not receive,
// or an estimate for a stream that has broken off.
type AttemptUse struct {
	Unsent    bool  `json:"unsent,omitempty"` // no request was sent
	TokensIn  int64 `json:"tokens_in,omitempty"`
	TokensOut int64 `json:"tokens_out,omitempty"`
	models.Parts
	Estimated bool    `json:"estimated,omitempty"`
	CostUSD   float64 `json:"cost_usd,omitempty"`
	Unpriced  bool    `json:"unpriced,omitempty"`
}

// UseOf returns the use of a failed attempt; spent is nil if no request was sent.
func UseOf(spent *models.Spent) AttemptUse {
	if spent == nil {
		return AttemptUse{Unsent: true}
	}
	return AttemptUse{TokensIn: spent.In, TokensOut: spent.Out, Parts: spent.Parts, Estimated: spent.Estimated, CostUSD: float64(spent.Cost) / models.Dollar, Unpriced: spent.Unpriced}
}

// ReasonLimit is the class of an attempt that a limit did not allow, and so of one without a
// request in records of earlier versions, which have no Unsent.
const ReasonLimit = "limit"

// Sum returns the entry of the attempt, which is empty if no request was sent.
func (a *Attempt) Sum() models.Sum {
	if a.Unsent || a.Reason == ReasonLimit {
		return models.Sum{}
	}
	x := models.Spent{Usage: models.Usage{In: a.TokensIn, Out: a.TokensOut, Parts: a.Parts}, Cost: picodollars(a.CostUSD), Unpriced: a.Unpriced, Failed: true, Estimated: a.Estimated}
	return x.Sum()
}

func picodollars(usd float64) int64 { return int64(math.Round(usd * models.Dollar)) }

// StreamOpen starts a call with a streamed reply. It returns a *StreamOpened without waiting.
// StreamNext reports errors of the call.
type StreamOpen struct {
	AgentCall
}

// StreamOpened contains the number by which later requests identify the stream.
type StreamOpened struct {
	ID int64 `json:"id"`
}

// StreamNext waits for the next piece of the reply and returns a *StreamPiece. Only one such
// request per stream may be in progress.
type StreamNext struct {
	ID int64 `json:"id"`
}

// StreamPiece is a piece of the reply's text as the provider sent it. The last piece has the whole
// reply in Reply and an empty Text.
type StreamPiece struct {
	Text  string      `json:"text"`
	Reply *AgentReply `json:"reply,omitempty"`
}

// StreamClose closes a stream. If the reply is not complete, it aborts the request to the model,
// and its result is a *StreamClosed. Otherwise its result is nil. Closing a stream that is not open
// has no effect.
type StreamClose struct {
	ID int64 `json:"id"`
}

// StreamClosed contains the attempts at a call that was aborted.
type StreamClosed struct {
	Failed []Attempt `json:"failed,omitempty"`
}

// The kinds of steps.
const (
	StepToolCall   = "tool_call"   // a tool is called; Tool, ID and Text with the arguments are set
	StepToolResult = "tool_result" // a tool has returned; Text is the result, and Failed is set after a failure
	StepMended     = "mended"      // a reply was repaired before it was parsed; Text describes the repair
	// the reply was invalid: Text is the reason, and attempt Attempt of Of follows
	StepRepair = "repair"
	StepRetry  = "retry" // a decorator calls a function again; Text is the reason, and attempt Attempt of Of follows
)

// Step informs observers about an action of the library between requests to a model. Performing it
// has no effect. By is the name of the agent, host or decorated function. Its result is nil.
type Step struct {
	What    string `json:"what"`
	By      string `json:"by"`
	Tool    string `json:"tool,omitempty"`
	ID      string `json:"id,omitempty"` // id that the model assigned to the call
	Text    string `json:"text,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Attempt int64  `json:"attempt,omitempty"`
	Of      int64  `json:"of,omitempty"`
}

// Kind returns KindStep.
func (*Step) Kind() Kind { return KindStep }

// Kind returns KindAgentCall.
func (*AgentCall) Kind() Kind { return KindAgentCall }

// Kind returns KindStreamOpen.
func (*StreamOpen) Kind() Kind { return KindStreamOpen }

// Kind returns KindStreamNext.
func (*StreamNext) Kind() Kind { return KindStreamNext }

// Kind returns KindStreamClose.
func (*StreamClose) Kind() Kind { return KindStreamClose }
