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

// Model answers a request of an agent. An error becomes an AgentError of the program. Return a
// *ModelError to have the request repeated by the agent's retry policy, or sent to the connection's
// fallbacks; after any other error it is not repeated. Several calls may overlap.
type Model func(ctx context.Context, r ModelRequest) (ModelReply, error)

// ModelRequest is the request of an agent to its model.
type ModelRequest struct {
	// Agent is the name of the agent. Connection and Model are the names in its declaration.
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
	// Effort is the reasoning effort, such as "low"; "" if the agent has none.
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
	// StopReason is the reason for the end of the reply. "" means StopTool if there are ToolCalls,
	// and otherwise StopEnd.
	StopReason StopReason
	// RequestID is the provider's ID of the request, for errors and records; "" if there is none.
	RequestID string
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

// ModelError is an error of a Model that describes why there is no reply.
type ModelError struct {
	// Message describes the error.
	Message string
	// Retryable means that the same request may succeed later.
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
			message := ModelMessage{Role: x.Role, Text: x.Content, ToolCallID: x.ToolCallID, IsError: x.IsError}
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
			f := llm.NewFailure(failed.Message, failed.Status, failed.Retryable)
			f.RetryAfter, f.RequestID = failed.RetryAfter, failed.RequestID
			return nil, f
		}
		if err != nil {
			return nil, err
		}
		switch reply.StopReason {
		case "", StopEnd, StopLength, StopTool, StopText, StopFilter:
		default:
			return nil, fmt.Errorf("the Model returned the StopReason %q: use one of the constants", reply.StopReason)
		}
		out := &effect.AgentReply{Text: reply.Text, TokensIn: reply.TokensIn, TokensOut: reply.TokensOut,
			StopReason: string(reply.StopReason), RequestID: reply.RequestID}
		for _, c := range reply.ToolCalls {
			args := string(c.Args)
			if args == "" {
				args = "{}"
			}
			out.ToolCalls = append(out.ToolCalls, effect.ToolCall{ID: c.ID, Name: c.Name, Args: args})
		}
		return out, nil
	}
}
