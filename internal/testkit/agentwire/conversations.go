package main

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// conversation is a conversation to record.
type conversation struct {
	name    string
	replies []modelserver.Reply
	tools   []effect.ToolSpec
	// type of the message after which the agent is steered; "" if it is not
	steerAt string
}

// steering is the message that steers an agent.
const steering = "add a test as well"

// sum is the tool offered to the agents.
var sum = effect.ToolSpec{Name: "Calc_add", Description: "Adds two numbers.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`)}

// conversations returns the conversations with an agent. In one the agent asks the user a question,
// in another it calls the program's tool. An agent that can be steered is steered while it waits
// for an approval, and while the model sends its last reply.
func (a *agent) conversations() []conversation {
	all := []conversation{
		{name: a.name, replies: a.workReplies()},
		{name: a.name + "-tool", tools: []effect.ToolSpec{sum}, replies: a.callReplies()},
	}
	if a.steered {
		all = append(all,
			conversation{name: a.name + "-steer", steerAt: "approval", replies: append([]modelserver.Reply{a.touchReply()}, a.textReplies("All done.", "A test too.")...)},
			conversation{name: a.name + "-steer-late", steerAt: "partial", replies: a.textReplies("All done.", "A test too.")})
	}
	return all
}

// touchReply returns the reply of a model that creates a file.
func (m *scriptedModel) touchReply() modelserver.Reply {
	return modelserver.Reply{When: m.main, Text: "Let me look.", ToolCalls: []modelserver.Call{m.touch}, TokensIn: 10, TokensOut: 5}
}

// workReplies returns the replies of a model that creates a file, asks the user if the agent
// supports questions, and finishes.
func (m *scriptedModel) workReplies() []modelserver.Reply {
	first := m.touchReply()
	if m.thinks {
		first.Thought = "A file is wanted."
	}
	return append([]modelserver.Reply{first}, m.questionReplies()...)
}

// questionReplies returns the replies of a model that asks the user if the agent supports
// questions, and finishes.
func (m *scriptedModel) questionReplies() []modelserver.Reply {
	if m.asks.Args == nil {
		return m.textReplies("All done.")
	}
	return append([]modelserver.Reply{{When: m.main, ToolCalls: []modelserver.Call{m.asks}, TokensIn: 10, TokensOut: 5}}, m.textReplies("All done.")...)
}

// callReplies returns the replies of a model that calls the program's tool as soon as the request
// offers the tool.
func (m *scriptedModel) callReplies() []modelserver.Reply {
	return append([]modelserver.Reply{{When: `"` + m.adds + `"`, ToolCalls: []modelserver.Call{toolCall("call_1", m.adds, `{"a":1,"b":2}`)}, TokensIn: 10, TokensOut: 5}},
		m.textReplies("It is three.")...)
}

// textReplies returns replies with the texts in order. A default reply answers requests outside of
// the conversation, such as the request for a title.
func (m *scriptedModel) textReplies(texts ...string) []modelserver.Reply {
	var all []modelserver.Reply
	for _, text := range texts {
		all = append(all, modelserver.Reply{When: m.main, Text: text, TokensIn: 10, TokensOut: 5})
	}
	return append(all, modelserver.Reply{Repeat: true, Text: "title"})
}
