package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/concerto-lang/concerto/effect"
)

// openAI speaks OpenAI's chat completions, which many servers understand.
type openAI struct{ *endpoint }

func openOpenAI(c *Connection, w *world) (Provider, error) {
	e, err := openEndpoint(c, w, "https://api.openai.com/v1", "/chat/completions")
	if err != nil {
		return nil, err
	}
	e.authorize = func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }
	if c.Organization != "" {
		e.header.Set("OpenAI-Organization", c.Organization)
	}
	if c.Project != "" {
		e.header.Set("OpenAI-Project", c.Project)
	}
	return &openAI{e}, nil
}

type openAIRequest struct {
	Model          string          `json:"model"`
	Messages       []openAIMessage `json:"messages"`
	Temperature    *float64        `json:"temperature,omitempty"`
	TopP           *float64        `json:"top_p,omitempty"`
	MaxTokens      *int64          `json:"max_tokens,omitempty"`
	Stop           []string        `json:"stop,omitempty"`
	ResponseFormat any             `json:"response_format,omitempty"`
	Tools          []openAITool    `json:"tools,omitempty"`
}

type openAIMessage struct {
	Role       string       `json:"role"`
	Content    *string      `json:"content"`
	ToolCalls  []openAICall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type openAICall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type openAIReply struct {
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Content   json.RawMessage `json:"content"`
			Refusal   string          `json:"refusal"`
			ToolCalls []openAICall    `json:"tool_calls"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
	} `json:"usage"`
}

// Ask sends one chat completion.
func (p *openAI) Ask(ctx context.Context, req *Request) (*effect.AgentReply, error) {
	w := want(req)
	body := openAIRequest{
		Model: req.Model, Messages: openAIMessages(req), Temperature: req.Temperature, TopP: req.TopP,
		MaxTokens: req.MaxTokens, Stop: req.Stop,
	}
	if w != nil {
		body.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": w.name, "schema": w.schema}}
	}
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, openAITool{"function", openAIFunction(t)})
	}
	var reply openAIReply
	if err := p.post(ctx, body, &reply, bodyError); err != nil {
		return nil, err
	}
	if len(reply.Choices) == 0 {
		return nil, &Failure{Message: "the provider's answer has no choices (check the connection's base_url)", HTTPStatus: http.StatusOK, Sent: true}
	}
	c := reply.Choices[0]
	out := &effect.AgentReply{
		Text: w.text(contentText(c.Message.Content)), Model: reply.Model,
		TokensIn: reply.Usage.Prompt, TokensOut: reply.Usage.Completion, StopReason: openAIStop(c.FinishReason),
	}
	for i, t := range c.Message.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, effect.ToolCall{ID: orNumber(t.ID, i), Name: t.Function.Name, Args: argumentsText(t.Function.Arguments)})
	}
	if len(out.ToolCalls) > 0 {
		out.StopReason = "tool"
	}
	if out.Text == "" && c.Message.Refusal != "" {
		out.Text, out.StopReason = c.Message.Refusal, "filter"
	}
	return out, nil
}

// openAIMessages is the conversation in the wire's form.
func openAIMessages(req *Request) []openAIMessage {
	var out []openAIMessage
	if req.System != "" {
		out = append(out, openAIMessage{Role: "system", Content: &req.System})
	}
	for _, m := range req.Messages {
		o := openAIMessage{Role: m.Role, Content: &m.Content, ToolCallID: m.ToolCallID}
		for _, t := range m.ToolCalls {
			call := openAICall{ID: t.ID, Type: "function"}
			call.Function.Name = t.Name
			call.Function.Arguments, _ = encode(t.Args)
			o.ToolCalls = append(o.ToolCalls, call)
		}
		switch {
		case len(o.ToolCalls) > 0 && m.Content == "":
			o.Content = nil
		case m.IsError:
			// The wire has no mark for a failed tool.
			text := "Error: " + m.Content
			o.Content = &text
		}
		out = append(out, o)
	}
	return out
}

func openAIStop(reason string) string {
	switch reason {
	case "length":
		return "length"
	case "tool_calls", "function_call":
		return "tool"
	case "content_filter":
		return "filter"
	}
	return "end"
}

// contentText is a message's content: a string, null, or parts with texts.
func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// argumentsText is the text of a call's arguments. The wire holds it as a
// string; some servers send the object itself.
func argumentsText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// orNumber is a call's id, or one made of its number.
func orNumber(id string, i int) string {
	if id != "" {
		return id
	}
	return fmt.Sprintf("call_%d", i)
}

// bodyError finds the message of an error body: `{"error": {"message": …}}`
// or `{"error": "…"}`. "" when there is none.
func bodyError(body []byte) string {
	var o struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Type    string          `json:"type"`
	}
	if json.Unmarshal(body, &o) != nil || len(o.Error) == 0 || string(o.Error) == "null" {
		return ""
	}
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(o.Error, &e) == nil && e.Message != "" {
		return e.Message
	}
	var s string
	if json.Unmarshal(o.Error, &s) == nil && s != "" {
		return s
	}
	return excerpt(o.Error, 200)
}
