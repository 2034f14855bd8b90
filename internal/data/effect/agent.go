package effect

import "encoding/json"

// The kinds of requests to a model: a call with a complete reply, and one with a streamed reply.
const (
	KindAgentCall   Kind = "agent.call"
	KindStreamOpen  Kind = "agent.stream.open"
	KindStreamNext  Kind = "agent.stream.next"
	KindStreamClose Kind = "agent.stream.close"
	KindStep        Kind = "agent.step"
)

// AgentCall asks a model once (spec/07-agents.md). The tool loop and the
// re-prompting of structured output happen above it, in Concerto code.
type AgentCall struct {
	Agent       string          `json:"agent"`      // the declaration's name
	Connection  string          `json:"connection"` // a key of [connections]
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
	Timeout     float64         `json:"timeout,omitempty"` // seconds for the whole call; 0 means the connection's
	Retry       *Retry          `json:"retry,omitempty"`   // the agent's retry_policy, else the connection's
}

// Retry is a retry policy. MaxAttempts counts all attempts; delays are in
// milliseconds; Backoff is "none", "linear" or "exponential".
type Retry struct {
	MaxAttempts  int64  `json:"max_attempts"`
	Backoff      string `json:"backoff"`
	InitialDelay int64  `json:"initial_delay_ms"`
	MaxDelay     int64  `json:"max_delay_ms"`
}

// ChatMessage is one message of a conversation. Role is "system", "user",
// "assistant" or "tool". Files belong only to "user", ToolCalls only to
// "assistant", ToolCallID and IsError only to "tool".
type ChatMessage struct {
	Role       string         `json:"role"`
	Content    string         `json:"content"`
	Files      []AttachedFile `json:"files,omitempty"`
	ToolCalls  []ToolCall     `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	IsError    bool           `json:"is_error,omitempty"`
}

// ToolCall is a model's request to call a tool. Args is the JSON text as the
// model wrote it, which should be an object.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// ToolSpec offers a tool to a model. Parameters is a JSON Schema object.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// AgentReply is a model's answer. StopReason is "end", "length", "tool", "stop" or "filter".
// Provider is the connection's name. RequestID is the provider's identifier of the request, or ""
// if there is none.
type AgentReply struct {
	Text       string     `json:"text"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	TokensIn   int64      `json:"tokens_in"`
	TokensOut  int64      `json:"tokens_out"`
	Model      string     `json:"model"`
	Provider   string     `json:"provider"`
	LatencyMS  int64      `json:"latency_ms"`
	StopReason string     `json:"stop_reason"`
	RequestID  string     `json:"request_id,omitempty"`
}

// StreamOpen begins a call with a streamed reply and returns a *StreamOpened without waiting.
// Errors of the call are reported by StreamNext.
type StreamOpen struct {
	AgentCall
}

// StreamOpened names the stream in the requests that follow.
type StreamOpened struct {
	ID int64 `json:"id"`
}

// StreamNext waits for more of the reply and returns a *StreamPiece. A stream has at most one such
// request in flight.
type StreamNext struct {
	ID int64 `json:"id"`
}

// StreamPiece is a piece of the reply's text, as the provider sent it, or the
// end: Reply is then the whole reply, and Text empty.
type StreamPiece struct {
	Text  string      `json:"text"`
	Reply *AgentReply `json:"reply,omitempty"`
}

// StreamClose closes a stream. In the middle of the reply it aborts the request to the model. Its
// result is nil, also for a stream that is not open.
type StreamClose struct {
	ID int64 `json:"id"`
}

// The kinds of steps.
const (
	StepToolCall   = "tool_call"   // a tool is called: Tool, ID, and the arguments as Text
	StepToolResult = "tool_result" // what it gave: Text, and whether it Failed
	StepMended     = "mended"      // a reply was mended before it was read: how is Text
	// a reply did not fit: Text explains why; attempt Attempt of Of follows
	StepRepair = "repair"
	StepRetry  = "retry" // a decorator calls again: Text is why, attempt Attempt of Of follows
)

// Step reports what the library does between requests to a model, for observers of the run;
// performing it has no effect. By names the agent or host, or the decorated function. Its result is
// nil.
type Step struct {
	What    string `json:"what"`
	By      string `json:"by"`
	Tool    string `json:"tool,omitempty"`
	ID      string `json:"id,omitempty"` // of the model's call
	Text    string `json:"text,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Attempt int64  `json:"attempt,omitempty"`
	Of      int64  `json:"of,omitempty"`
}

// Kind is KindStep.
func (*Step) Kind() Kind { return KindStep }

// Kind is KindAgentCall.
func (*AgentCall) Kind() Kind { return KindAgentCall }

// Kind is KindStreamOpen.
func (*StreamOpen) Kind() Kind { return KindStreamOpen }

// Kind is KindStreamNext.
func (*StreamNext) Kind() Kind { return KindStreamNext }

// Kind is KindStreamClose.
func (*StreamClose) Kind() Kind { return KindStreamClose }
