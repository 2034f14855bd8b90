package telemetry

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/otlp"
)

// part is a part of a message in the conventions' JSON form.
type part struct {
	Type      string `json:"type"` // text, tool_call or tool_call_response
	Content   string `json:"content,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments any    `json:"arguments,omitempty"`
	Response  any    `json:"response,omitempty"`
}

// chatMessage is a message in the conventions' JSON form.
type chatMessage struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

// content exports the texts of a request to a model and of its reply, on its span, in a log record,
// or not at all.
func (r *Run) content(x *span, e *event.Event) {
	c := r.t.config
	if !c.SpanText && !c.LogsText {
		return
	}
	list := contentOf(e.Attempt.Call, e.Attempt.Reply)
	if c.SpanText {
		x.Attributes = append(x.Attributes, list...)
	}
	if c.LogsText {
		l := &otlp.Log{Trace: r.context.Trace, Span: x.ID, At: r.at(e.At), Event: "gen_ai.client.inference.operation.details", Attributes: list}
		for _, key := range []string{operation, provider, "gen_ai.request.model", "gen_ai.response.model"} {
			if a := x.of(key); !isUnset(a) {
				l.Attributes = append(l.Attributes, a)
			}
		}
		r.t.exporter.Log(l)
	}
}

func contentOf(call *effect.AgentCall, reply *effect.AgentReply) (list []otlp.Attribute) {
	add := func(key string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // texts and JSON that was read before
		}
		list = append(list, otlp.Attribute{Key: key, Value: json.RawMessage(text)})
	}
	if call.System != "" {
		add("gen_ai.system_instructions", []part{{Type: "text", Content: call.System}})
	}
	var messages []chatMessage
	for i := range call.Messages {
		messages = append(messages, messageOf(&call.Messages[i]))
	}
	add("gen_ai.input.messages", messages)
	if reply != nil {
		m := messageOf(&effect.ChatMessage{Role: "assistant", Content: reply.Text, ToolCalls: reply.ToolCalls})
		m.Finish = finishReason(reply)
		add("gen_ai.output.messages", []chatMessage{m})
	}
	if len(call.Tools) > 0 {
		type definition struct {
			Type string `json:"type"`
			effect.ToolSpec
		}
		var tools []definition
		for _, t := range call.Tools {
			tools = append(tools, definition{"function", t})
		}
		add("gen_ai.tool.definitions", tools)
	}
	return list
}

func messageOf(m *effect.ChatMessage) chatMessage {
	out := chatMessage{Role: m.Role, Parts: []part{}}
	if m.Role == "tool" {
		out.Parts = append(out.Parts, part{Type: "tool_call_response", ID: m.ToolCallID, Response: asJSON(m.Content)})
		return out
	}
	if m.Content != "" {
		out.Parts = append(out.Parts, part{Type: "text", Content: m.Content})
	}
	for _, t := range m.ToolCalls {
		out.Parts = append(out.Parts, part{Type: "tool_call", ID: t.ID, Name: t.Name, Arguments: asJSON(t.Args)})
	}
	return out
}
