package concerto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// Model answers a request of an agent. An error becomes an AgentError of the program. A *ModelError
// determines the fields of the AgentError, and whether the agent's retry policy repeats the
// request; any other error has the reason "script" and is not repeated. Several calls may overlap.
type Model func(ctx context.Context, r ModelRequest) (ModelReply, error)

// ModelRequest is the request of an agent to its model.
type ModelRequest struct {
	// Agent is the name of the agent, and Connection that of the connection in its declaration.
	// Model is the full name of the model: the agent's, or else the connection's default_model;
	// "scripted" if neither is set.
	Agent, Connection, Model string
	// System is the system prompt, or "" if there is none.
	System string
	// Messages is the conversation, the oldest message first.
	Messages []ModelMessage
	// Tools contains the tools that the model may call, with their names, descriptions and
	// parameters.
	Tools []Tool
	// Schema is the JSON Schema of the requested reply, and SchemaName the name of its type. It is
	// nil if the reply may be any text.
	Schema     json.RawMessage
	SchemaName string
	// Temperature, TopP, MaxTokens and Seed are the values in the agent's declaration; nil if it
	// has none.
	Temperature, TopP *float64
	MaxTokens, Seed   *int64
	// Stop lists texts at which the reply ends. The model does not return them.
	Stop []string
	// Effort is the agent's reasoning_effort: "none", "minimal", "low", "medium", "high", "xhigh"
	// or "max"; "" if it has none.
	Effort string
	// Timeout is the maximum duration of the call. 0 means no limit. The context has it, too.
	Timeout time.Duration
}

// ModelMessage is a message of a conversation.
type ModelMessage struct {
	// Role is "system", "user", "assistant" or "tool".
	Role string
	// Text is the text of the message.
	Text string
	// ToolCalls contains the calls in a message of the assistant.
	ToolCalls []ModelToolCall
	// Files contains the images and documents in a message of the user.
	Files []ModelFile
	// ToolCallID is set in a message of the role "tool", which is the result of the call with this
	// ID. IsError means that the call failed.
	ToolCallID string
	IsError    bool
	// Items contains, in a message of the assistant, the Items of the ModelReply that it repeats.
	// It is nil if the reply had none or was for another model, and in later calls of the agent.
	Items []json.RawMessage
}

// ModelFile is a file in a message.
type ModelFile struct {
	// Name is the name of the file without directories.
	Name string
	// Type is the media type: "image/png", "image/jpeg", "image/gif", "image/webp",
	// "application/pdf" or "text/plain".
	Type string
	// Data is the content of the file.
	Data []byte
}

// ModelReply is the reply of a model.
type ModelReply struct {
	// Text is the reply. If the request has a Schema, it must be JSON that fits the Schema.
	Text string
	// ToolCalls contains the tool calls that the model requests.
	ToolCalls []ModelToolCall
	// TokensIn and TokensOut are the numbers of tokens that the request used. For 0, the number is
	// estimated.
	TokensIn, TokensOut int64
	// TokensCached and TokensCacheWrite are the tokens of TokensIn that were read from the
	// provider's cache and written to it, and TokensReasoning those of TokensOut with which the
	// model has reasoned.
	TokensCached, TokensCacheWrite, TokensReasoning int64
	// StopReason is the reason for the end of the reply. "" means StopTool if there are ToolCalls,
	// and otherwise StopEnd.
	StopReason StopReason
	// Model is the name of the model that has replied. "" means that of the request.
	Model string
	// RequestID is the provider's ID of the request, for errors and records; "" if there is none.
	RequestID string
	// Items contains hidden content of the reply, such as signed reasoning, as JSON values of any
	// form. Until the call of the agent ends, the requests for the same model contain it unchanged
	// in the message with this reply. Programs cannot read it; tapes and journals contain it. It is
	// dropped if it contains a secret of the run.
	Items []json.RawMessage
}

// StopReason is the reason for the end of a reply.
type StopReason string

// The reasons for the end of a reply.
const (
	// StopEnd means that the model has finished.
	StopEnd StopReason = "end"
	// StopLength means that the reply reached the maximum number of tokens.
	StopLength StopReason = "length"
	// StopTool means that the model waits for the results of tool calls.
	StopTool StopReason = "tool"
	// StopText means that the model reached one of the texts of ModelRequest.Stop.
	StopText StopReason = "stop"
	// StopFilter means that the provider refused the content.
	StopFilter StopReason = "filter"
)

// ModelError is an error of a Model that describes why there is no reply. The AgentError has the
// same reason, status and request_id, and its retryable is Retryable.
type ModelError struct {
	// Reason is the reason of the AgentError: "auth", "quota", "rate", "overloaded", "server",
	// "context_length", "content_filter", "refusal", "length", "bad_request", "not_found",
	// "connection", "timeout", "bad_answer", "limit", "config", "permission" or "script". "" means
	// that of the Status; if Retryable contradicts it, or without a Status, it is "server" for a
	// retryable error, and otherwise "script". With another value, the error has the reason
	// "script", and is not repeated.
	Reason string
	// Message describes the error.
	Message string
	// Retryable means that the same request may succeed later. The request is repeated as often as
	// the agent's retry_policy allows; without a policy, it is not repeated.
	Retryable bool
	// Status is the HTTP status of the provider's response; 0 without a response.
	Status int
	// RetryAfter is the minimum time before the next attempt. 0 lets the retry policy determine it.
	RetryAfter time.Duration
	// RequestID is the provider's ID of the request, or "".
	RequestID string
}

// Error returns the message.
func (e *ModelError) Error() string { return e.Message }

// ModelToolCall is a tool call that a model requests.
type ModelToolCall struct {
	// ID identifies the call in its conversation. If it is "", an ID is created.
	ID string
	// Name is the name of the tool.
	Name string
	// Args contains the arguments as a JSON object.
	Args json.RawMessage
}

// ScriptedModel returns a Model for tests. The Model returns the replies in their order, regardless
// of the requests. After the last reply it returns an error.
func ScriptedModel(replies ...ModelReply) Model {
	var mu sync.Mutex
	next := 0
	return func(context.Context, ModelRequest) (ModelReply, error) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(replies) {
			return ModelReply{}, fmt.Errorf("all %d replies of the script are used", next)
		}
		next++
		return replies[next-1], nil
	}
}

// function converts a model for the engine. It returns nil for nil.
func (m Model) function() llm.Function {
	if m == nil {
		return nil
	}
	return func(ctx context.Context, q *llm.Request) (*effect.AgentReply, error) {
		r := ModelRequest{Agent: q.Agent, Connection: q.Connection, Model: q.Model, System: q.System, Schema: q.Schema, SchemaName: q.SchemaName,
			Temperature: q.Temperature, TopP: q.TopP, MaxTokens: q.MaxTokens, Seed: q.Seed, Stop: q.Stop, Effort: q.Effort,
			Timeout: time.Duration(q.Timeout * float64(time.Second))}
		for i := range q.Messages {
			x := &q.Messages[i]
			message := ModelMessage{Role: x.Role, Text: x.Content, ToolCallID: x.ToolCallID, IsError: x.IsError, Items: q.FunctionItems(x)}
			for _, f := range x.Files {
				data, err := f.Content()
				if err != nil {
					return nil, err
				}
				message.Files = append(message.Files, ModelFile{f.Name, f.Type, data})
			}
			for _, c := range x.ToolCalls {
				message.ToolCalls = append(message.ToolCalls, ModelToolCall{c.ID, c.Name, json.RawMessage(c.Args)})
			}
			r.Messages = append(r.Messages, message)
		}
		for _, t := range q.Tools {
			r.Tools = append(r.Tools, Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
		}
		reply, err := m(ctx, r)
		if failed, ok := errors.AsType[*ModelError](err); ok {
			f := llm.NewFailure(failed.Reason, failed.Message, failed.Status, failed.Retryable)
			f.RetryAfter, f.RequestID = failed.RetryAfter, failed.RequestID
			return nil, f
		}
		if err != nil {
			return nil, err
		}
		return reply.convert()
	}
}

// convert converts a reply for the engine.
func (r *ModelReply) convert() (*effect.AgentReply, error) {
	switch r.StopReason {
	case "", StopEnd, StopLength, StopTool, StopText, StopFilter:
	default:
		return nil, fmt.Errorf("the Model returned the StopReason %q: use one of the constants", r.StopReason)
	}
	for i, x := range r.Items {
		if !json.Valid(x) {
			return nil, fmt.Errorf("the Model returned Items whose element %d is no JSON", i)
		}
	}
	out := &effect.AgentReply{Text: r.Text, TokensIn: r.TokensIn, TokensOut: r.TokensOut, Model: r.Model, RequestID: r.RequestID,
		StopReason: string(r.StopReason), Items: llm.FunctionItems(r.Items)}
	out.Cached, out.CacheWrite, out.Reasoning = r.TokensCached, r.TokensCacheWrite, r.TokensReasoning
	for _, c := range r.ToolCalls {
		args := string(c.Args)
		if args == "" {
			args = "{}"
		}
		out.ToolCalls = append(out.ToolCalls, effect.ToolCall{ID: c.ID, Name: c.Name, Args: args})
	}
	return out, nil
}
