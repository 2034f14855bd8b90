package concerto

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// Model answers a request of an agent. If it returns an error, the program receives an AgentError
// with the reason "script", and the request is not repeated. Several calls may overlap.
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
	// Schema is the JSON Schema of the requested reply. It is nil if the reply may be any text.
	Schema json.RawMessage
}

// ModelMessage is a message of a conversation.
type ModelMessage struct {
	// Role is "system", "user", "assistant" or "tool".
	Role string
	// Text is the text of the message.
	Text string
	// ToolCalls contains the calls in a message of the assistant.
	ToolCalls []ModelToolCall
	// ToolCallID is set in a message of the role "tool", which is the result of the call with this
	// ID.
	ToolCallID string
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
}

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
		r := ModelRequest{Agent: q.Agent, Connection: q.Connection, Model: q.Model, System: q.System, Schema: q.Schema}
		for _, x := range q.Messages {
			message := ModelMessage{Role: x.Role, Text: x.Content, ToolCallID: x.ToolCallID}
			for _, c := range x.ToolCalls {
				message.ToolCalls = append(message.ToolCalls, ModelToolCall{c.ID, c.Name, json.RawMessage(c.Args)})
			}
			r.Messages = append(r.Messages, message)
		}
		for _, t := range q.Tools {
			r.Tools = append(r.Tools, Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
		}
		reply, err := m(ctx, r)
		if err != nil {
			return nil, err
		}
		out := &effect.AgentReply{Text: reply.Text, TokensIn: reply.TokensIn, TokensOut: reply.TokensOut}
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
