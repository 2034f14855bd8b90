package concerto

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// Model answers a request of an agent. An error becomes an AgentError of the program with the
// reason "script", and is not retried. Several calls may overlap.
type Model func(ctx context.Context, r ModelRequest) (ModelReply, error)

// ModelRequest is what an agent sends to its model.
type ModelRequest struct {
	// Agent is the name of the agent, Connection and Model what its declaration names.
	Agent, Connection, Model string
	// System is the system prompt; "" for none.
	System string
	// Messages are the conversation, the oldest first.
	Messages []ModelMessage
	// Tools are the tools that the model may call: their names, descriptions and parameters.
	Tools []Tool
	// Schema is the JSON Schema of the requested reply; nil when any text will do.
	Schema json.RawMessage
}

// ModelMessage is a message of a conversation.
type ModelMessage struct {
	// Role is "system", "user", "assistant" or "tool".
	Role string
	// Text is the text of the message.
	Text string
	// ToolCalls are the calls in a message of the assistant.
	ToolCalls []ModelToolCall
	// ToolCallID is the call whose result a message of the role "tool" is.
	ToolCallID string
}

// ModelReply is the reply of a model.
type ModelReply struct {
	// Text is the reply. When the request has a Schema it is the JSON text of a value.
	Text string
	// ToolCalls are the tools that the model calls.
	ToolCalls []ModelToolCall
	// TokensIn and TokensOut are what the request used; 0 is estimated.
	TokensIn, TokensOut int64
}

// ModelToolCall is a model's call of a tool.
type ModelToolCall struct {
	// ID identifies the call in its conversation; "" creates one.
	ID string
	// Name is the name of the tool.
	Name string
	// Args are the arguments, a JSON object.
	Args json.RawMessage
}

// ScriptedModel returns a Model for tests. It returns the replies in their order, whatever the
// requests are, and an error when there are none left.
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

// function converts a model for the engine; nil for nil.
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
