package llm

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/concerto-lang/concerto/effect"
)

// anthropic speaks Anthropic's messages. A schema is asked for as a tool that
// the model has to call.
type anthropic struct{ *endpoint }

// anthropicMaxTokens is sent when the agent sets no max_tokens: the wire
// demands one.
const anthropicMaxTokens = 4096

func openAnthropic(c *Connection, w *world) (Provider, error) {
	e, err := openEndpoint(c, w, "https://api.anthropic.com/v1", "/messages")
	if err != nil {
		return nil, err
	}
	e.authorize = func(h http.Header, key string) { h.Set("X-Api-Key", key) }
	e.header.Set("Anthropic-Version", "2023-06-01")
	return &anthropic{e}, nil
}

type anthropicRequest struct {
	Model       string             `json:"model"`
	MaxTokens   int64              `json:"max_tokens"`
	System      string             `json:"system,omitempty"`
	Messages    []anthropicMessage `json:"messages"`
	Temperature *float64           `json:"temperature,omitempty"`
	TopP        *float64           `json:"top_p,omitempty"`
	Stop        []string           `json:"stop_sequences,omitempty"`
	Tools       []anthropicTool    `json:"tools,omitempty"`
	ToolChoice  map[string]string  `json:"tool_choice,omitempty"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

// anthropicBlock is one block of content; Type says which fields it has.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   *string         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type anthropicReply struct {
	Model   string `json:"model"`
	Content []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"content"`
	StopReason string `json:"stop_reason"`
	Usage      struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
}

// Ask sends one message request.
func (p *anthropic) Ask(ctx context.Context, req *Request) (*effect.AgentReply, error) {
	w := want(req)
	body := anthropicRequest{
		Model: req.Model, MaxTokens: anthropicMaxTokens, Temperature: req.Temperature, TopP: req.TopP, Stop: req.Stop,
	}
	if req.MaxTokens != nil {
		body.MaxTokens = *req.MaxTokens
	}
	body.System, body.Messages = anthropicMessages(req)
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, anthropicTool{t.Name, t.Description, t.Parameters})
	}
	if w != nil {
		body.Tools = append(body.Tools, anthropicTool{w.name, "Give the answer with this tool.", w.schema})
		body.ToolChoice = map[string]string{"type": "tool", "name": w.name}
		if len(req.Tools) > 0 {
			body.ToolChoice = map[string]string{"type": "any"}
		}
	}
	var reply anthropicReply
	if err := p.post(ctx, body, &reply, bodyError); err != nil {
		return nil, err
	}
	if reply.Content == nil {
		return nil, &Failure{Message: "the provider's answer has no content (check the connection's base_url)", HTTPStatus: http.StatusOK, Sent: true}
	}
	return anthropicResult(&reply, w), nil
}

// anthropicResult reads a reply. A call of the schema's tool is its text.
func anthropicResult(reply *anthropicReply, w *wanted) *effect.AgentReply {
	out := &effect.AgentReply{
		Model: reply.Model, TokensIn: reply.Usage.Input, TokensOut: reply.Usage.Output, StopReason: anthropicStop(reply.StopReason),
	}
	var text strings.Builder
	var structured string
	for i, b := range reply.Content {
		switch {
		case b.Type == "text":
			text.WriteString(b.Text)
		case b.Type == "tool_use" && w != nil && b.Name == w.name:
			structured = w.text(string(b.Input))
		case b.Type == "tool_use":
			out.ToolCalls = append(out.ToolCalls, effect.ToolCall{ID: orNumber(b.ID, i), Name: b.Name, Args: string(b.Input)})
		}
	}
	out.Text = text.String()
	if structured != "" {
		out.Text = structured
		if len(out.ToolCalls) == 0 && out.StopReason == "tool" {
			out.StopReason = "end"
		}
	}
	return out
}

// anthropicMessages is the conversation in the wire's form: system texts apart,
// roles alternating, tool results in user messages.
func anthropicMessages(req *Request) (system string, out []anthropicMessage) {
	system = req.System
	for _, m := range req.Messages {
		var blocks []anthropicBlock
		role := m.Role
		switch m.Role {
		case "system":
			system = strings.TrimPrefix(system+"\n\n"+m.Content, "\n\n")
			continue
		case "tool":
			role = "user"
			blocks = append(blocks, anthropicBlock{Type: "tool_result", ToolUseID: m.ToolCallID, Content: &m.Content, IsError: m.IsError})
		default:
			if m.Content != "" {
				blocks = append(blocks, anthropicBlock{Type: "text", Text: m.Content})
			}
			for _, t := range m.ToolCalls {
				blocks = append(blocks, anthropicBlock{Type: "tool_use", ID: t.ID, Name: t.Name, Input: objectOrEmpty(t.Args)})
			}
		}
		if len(blocks) == 0 {
			continue // the wire refuses empty texts
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		}
		out = append(out, anthropicMessage{Role: role, Content: blocks})
	}
	return system, out
}

// objectOrEmpty is a call's arguments as the wire demands them: an object.
// Arguments that are none were answered with a tool error, which follows.
func objectOrEmpty(args string) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &o) != nil || o == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(args)
}

func anthropicStop(reason string) string {
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "tool_use":
		return "tool"
	case "stop_sequence":
		return "stop"
	case "refusal":
		return "filter"
	}
	return "end"
}
