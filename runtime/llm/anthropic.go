package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
)

// anthropic implements Anthropic's Messages API.
type anthropic struct{}

// Limits of a reply in tokens. The API requires max_tokens. Its clients stream the replies of
// requests with a limit above maxWhole, because the connection is idle for too long otherwise
// (src/client.ts of npm @anthropic-ai/sdk 1.14.0: one hour for 128,000 tokens, at most ten
// minutes).
const (
	defaultReply   = 8192
	reasoningReply = 32000
	maxWhole       = 21333
)

// anthropicLimit returns the max_tokens of a request. Without the agent's, it is enough for the
// reasoning of the model.
func anthropicLimit(req *Request) int64 {
	if req.MaxTokens != nil {
		return *req.MaxTokens
	}
	limit := int64(defaultReply)
	if req.row == nil {
		return limit
	}
	if req.row.Reasons() {
		limit = reasoningReply
	}
	if budget, ok := req.row.Budget(req.Effort); ok {
		limit += budget // which is a part of the reply
	}
	limit = cmp.Or(req.row.DefaultOutput, limit)
	return min(limit, cmp.Or(req.row.MaxOutput, limit))
}

func openAnthropic(c *Connection, w *world) (Provider, error) {
	e, err := openEndpoint(c, w)
	if err != nil {
		return nil, err
	}
	e.authorize = func(h http.Header, key string) { h.Set("X-Api-Key", key) }
	e.header.Set("Anthropic-Version", "2023-06-01")
	return &remote{wire: anthropic{}, endpoint: e, adapt: schema.Claude.Adapt}, nil
}

func (anthropic) Capabilities() Capabilities {
	return Capabilities{Schema: SchemaTool, SchemaTools: SchemaTool, MaxTemperature: 1, NoSeed: true, OneSystem: true, IsLong: isLong}
}

func isLong(req *Request) bool { return anthropicLimit(req) > maxWhole }

func (anthropic) path(*Request, bool) string { return "/messages" }

type anthropicRequest struct {
	Model       string             `json:"model"`
	MaxTokens   int64              `json:"max_tokens"`
	System      any                `json:"system,omitempty"` // a string, or []anthropicBlock with a mark
	Messages    []anthropicMessage `json:"messages"`
	Temperature *float64           `json:"temperature,omitempty"`
	TopP        *float64           `json:"top_p,omitempty"`
	Stop        []string           `json:"stop_sequences,omitempty"`
	Tools       []anthropicTool    `json:"tools,omitempty"`
	ToolChoice  map[string]string  `json:"tool_choice,omitempty"`
	Stream      bool               `json:"stream,omitempty"`
	Output      *anthropicOutput   `json:"output_config,omitempty"`
	Thinking    *anthropicThinking `json:"thinking,omitempty"`
}

type anthropicThinking struct {
	Type   string `json:"type"` // "enabled" or "disabled"
	Budget int64  `json:"budget_tokens,omitempty"`
}

type anthropicOutput struct {
	Effort string           `json:"effort,omitempty"`
	Format *anthropicFormat `json:"format,omitempty"`
}

type anthropicFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

// anthropicBlock is a content block. Type determines which fields are used.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   *string         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`

	Source *anthropicSource `json:"source,omitempty"`
	Title  string           `json:"title,omitempty"`
	Cache  *anthropicMark   `json:"cache_control,omitempty"`

	hidden json.RawMessage // a block that is sent as it was received; nil for none
}

// MarshalJSON implements json.Marshaler.
func (b anthropicBlock) MarshalJSON() ([]byte, error) {
	if b.hidden != nil {
		return b.hidden, nil
	}
	type block anthropicBlock
	return jsonwrite.Encode(block(b))
}

// anthropicSource is the content of an image or a document.
type anthropicSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// anthropicMark marks the end of what the provider stores in its cache.
type anthropicMark struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"` // five minutes by default
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *anthropicMark  `json:"cache_control,omitempty"`
}

// anthropicReply is a complete response, or the message of a stream's first event.
type anthropicReply struct {
	ID         string           `json:"id"`
	Model      string           `json:"model"`
	Content    []anthropicPiece `json:"content"`
	StopReason string           `json:"stop_reason"`
	anthropicStop
	Usage anthropicUsage `json:"usage"`
}

// anthropicStop describes the end of a message, if it is a refusal.
type anthropicStop struct {
	StopDetails struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

// anthropicPiece is a content block of a response.
type anthropicPiece struct {
	raw   json.RawMessage // the block as it was received, if it is hidden content
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *anthropicPiece) UnmarshalJSON(text []byte) error {
	type piece anthropicPiece
	if err := json.Unmarshal(text, (*piece)(p)); err != nil {
		return err
	}
	if p.Type != "text" && p.Type != "tool_use" {
		p.raw = bytes.Clone(text)
	}
	return nil
}

// setInput sets the input of a call of the provider's own tool, which arrives in pieces.
func (p *anthropicPiece) setInput(text string) {
	var block map[string]json.RawMessage
	if json.Unmarshal(p.raw, &block) != nil || !json.Valid([]byte(text)) {
		p.raw = nil
		return
	}
	block["input"] = json.RawMessage(text)
	p.raw = jsonwrite.MustEncode(block)
}

// anthropicUsage counts tokens. The API counts the input tokens that are read from its cache or
// written to it separately from other input tokens.
type anthropicUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Output     int64 `json:"output_tokens"`
	// Written contains the tokens of CacheWrite by their lifetime.
	Written struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Tier  string `json:"service_tier"`
	Speed string `json:"speed"`
}

// raise adds a later report. The numbers of a message only grow, and some servers report a number
// in one event only.
func (u *anthropicUsage) raise(later *anthropicUsage) {
	u.Input, u.Output = max(u.Input, later.Input), max(u.Output, later.Output)
	u.CacheWrite, u.CacheRead = max(u.CacheWrite, later.CacheWrite), max(u.CacheRead, later.CacheRead)
	u.Written.Hour, u.Details.Thinking = max(u.Written.Hour, later.Written.Hour), max(u.Details.Thinking, later.Details.Thinking)
	u.Tier, u.Speed = cmp.Or(later.Tier, u.Tier), cmp.Or(later.Speed, u.Speed)
}

// usage returns the usage in the form of a reply, in which the input includes the cached tokens.
// The speed is a tier of its own, because it has its own price.
func (u *anthropicUsage) usage() models.Usage {
	part := models.Usage{In: u.Input, Out: u.Output}.Limited()
	cached := models.Usage{In: u.CacheRead, Out: u.CacheWrite}.Limited()
	return models.Usage{In: part.In + cached.In + cached.Out, Out: part.Out, Parts: models.Parts{Cached: cached.In, CacheWrite: cached.Out, Reasoning: u.Details.Thinking},
		CacheWrite1h: u.Written.Hour, Tier: cmp.Or(tierOf(u.Speed), tierOf(u.Tier))}
}

// tierOf returns a service tier of a provider, or "" for the standard one.
func tierOf(name string) string {
	switch name {
	case "standard", "default", "auto":
		return ""
	}
	return name
}

func (anthropic) body(req *Request, w *replySchema, stream bool) any {
	body := anthropicRequest{
		Model: req.Model, MaxTokens: anthropicLimit(req), Temperature: req.Temperature, TopP: req.TopP, Stop: req.Stop, Stream: stream,
	}
	effort := body.think(req)
	if effort != "" || w.native() {
		body.Output = &anthropicOutput{Effort: effort}
	}
	system, messages := anthropicMessages(req)
	if system = w.system(system); system != "" {
		body.System = system
	}
	body.Messages = messages
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, anthropicTool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters})
	}
	switch {
	case w.native():
		body.Output.Format = &anthropicFormat{"json_schema", w.schema}
	case w.asTool():
		body.Tools = append(body.Tools, anthropicTool{Name: w.name, Description: answerTool, InputSchema: w.schema})
		body.ToolChoice = map[string]string{"type": "tool", "name": w.name}
		if len(req.Tools) > 0 {
			body.ToolChoice = map[string]string{"type": "any"}
		}
	}
	body.mark(req.marksOf(w, system, messages), req.hour)
	return body
}

// think sets what the request states about the reasoning of the model, and returns the effort,
// which is "" if another member states it.
func (r *anthropicRequest) think(req *Request) string {
	switch budget, ok := req.row.Budget(req.Effort); {
	case budget > 0:
		r.Thinking = &anthropicThinking{"enabled", budget}
	case ok, req.Effort == models.NoEffort && req.row != nil:
		r.Thinking = &anthropicThinking{Type: "disabled"}
	default:
		return req.Effort
	}
	return ""
}

// mark adds marks to the request.
func (r *anthropicRequest) mark(m marks, hour bool) {
	mark := &anthropicMark{Type: "ephemeral"}
	if hour {
		mark.TTL = models.CacheHour
	}
	if m.tools {
		r.Tools[len(r.Tools)-1].Cache = mark
	}
	if m.system {
		r.System = []anthropicBlock{{Type: "text", Text: r.System.(string), Cache: mark}}
	}
	for _, i := range m.messages {
		blocks := r.Messages[i].Content
		blocks[len(blocks)-1].Cache = mark // hidden content, which has no marks, ignores it
	}
}

func (p anthropic) read(answer []byte, w *replySchema) (*effect.AgentReply, error) {
	var reply struct {
		anthropicReply
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return nil, err
	}
	if err := errorInside(reply.Error, p.refusal, answer); err != nil {
		return nil, err
	}
	if reply.Content == nil {
		return nil, &Failure{Class: ClassBadAnswer, Message: "the provider's response has no content (check the connection's base_url)", Body: string(answer)}
	}
	if _, err := stopOf(reply.StopReason, answer); err != nil {
		return nil, err
	}
	return reply.result(w), nil
}

// result converts a message to a reply. The caller has checked the reason for its end. If the model
// called the schema's tool, the input of that call is the reply's text.
func (m *anthropicReply) result(w *replySchema) *effect.AgentReply {
	out := &effect.AgentReply{
		Model: m.Model, StopReason: stops[m.StopReason], FinishReason: m.StopReason, RequestID: m.ID,
	}
	out.SetUsage(m.Usage.usage())
	if m.StopReason == "" {
		out.StopReason = "end"
	}
	if out.StopReason == stopRefusal {
		out.Text, out.Category = m.StopDetails.Explanation, m.StopDetails.Category
		return out
	}
	var text strings.Builder
	var structured string
	for i, b := range m.Content {
		switch {
		case b.Type == "text":
			text.WriteString(b.Text)
		case b.Type == "tool_use" && w.asTool() && b.Name == w.name:
			structured = w.unwrap(string(b.Input))
		case b.Type == "tool_use":
			out.ToolCalls = append(out.ToolCalls, effect.ToolCall{ID: orNumber(b.ID, i), Name: b.Name, Args: string(b.Input)})
		}
	}
	out.Text, out.Items = text.String(), m.items(w)
	if out.StopReason == stopPause {
		out.Items = m.rawItems()
		return out
	}
	if !w.asTool() {
		out.Text = w.unwrap(out.Text)
	}
	if structured != "" {
		out.Text = structured
		if len(out.ToolCalls) == 0 && out.StopReason == "tool" {
			out.StopReason = "end"
		}
	}
	return out
}

// anthropicMessages converts the conversation. System texts are separate, roles alternate, and
// results of tools are in user messages.
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
			for i := range m.Files {
				blocks = append(blocks, anthropicFile(&m.Files[i]))
			}
			blocks = append(blocks, anthropicContent(&m)...)
		}
		if len(blocks) == 0 {
			continue // the API refuses empty texts
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		}
		out = append(out, anthropicMessage{Role: role, Content: blocks})
	}
	return system, out
}

// anthropicContent returns the blocks for the text, the calls and the hidden content of a message.
func anthropicContent(m *effect.ChatMessage) (blocks []anthropicBlock) {
	order := itemsOf(m, itemsAnthropic)
	if order == nil {
		order = append(order, itemText)
		for range m.ToolCalls {
			order = append(order, itemCall)
		}
	}
	calls := m.ToolCalls
	for _, x := range order {
		switch {
		case isMark(x, itemText):
			if m.Content != "" {
				blocks = append(blocks, anthropicBlock{Type: "text", Text: m.Content})
			}
		case !isMark(x, itemCall):
			blocks = append(blocks, anthropicBlock{hidden: x})
		case len(calls) > 0:
			t := calls[0]
			calls = calls[1:]
			blocks = append(blocks, anthropicBlock{Type: "tool_use", ID: t.ID, Name: t.Name, Input: objectOrEmpty(t.Args)})
		}
	}
	return blocks
}

// rawItems returns the whole content of a message as it was received, or nil.
func (m *anthropicReply) rawItems() *effect.Items {
	out := &effect.Items{API: itemsAnthropic}
	for _, b := range m.Content {
		switch {
		case b.Type == "text" && b.Text == "":
		case b.Type == "text":
			out.Content = append(out.Content, rawText(b.Text))
		case b.raw == nil:
			return nil
		default:
			out.Content = append(out.Content, b.raw)
		}
	}
	return out
}

// items returns the hidden content of a message, or nil. texts is the number of its text blocks.
func (m *anthropicReply) items(w *replySchema) *effect.Items {
	out, texts, hidden := &effect.Items{API: itemsAnthropic}, 0, false
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			if texts++; texts > 1 {
				return nil // the reply's text does not show where a block ends
			}
			out.Content = append(out.Content, itemText)
		case "tool_use":
			if w.asTool() && b.Name == w.name {
				return nil // the answer to a schema is no call
			}
			out.Content = append(out.Content, itemCall)
		default:
			if b.raw == nil {
				return nil
			}
			hidden = true
			out.Content = append(out.Content, b.raw)
		}
	}
	if !hidden {
		return nil
	}
	return out
}

func anthropicFile(f *effect.AttachedFile) anthropicBlock {
	source := &anthropicSource{"base64", f.Type, f.Data}
	switch f.Type {
	case effect.PlainText:
		return anthropicBlock{Type: "text", Text: namedText(f)}
	case effect.PDF:
		return anthropicBlock{Type: "document", Source: source, Title: f.Name}
	}
	return anthropicBlock{Type: "image", Source: source}
}

// objectOrEmpty returns the arguments of a call as a JSON object, which the APIs require. For
// arguments that are not an object it returns {}; the conversation contains the error that answered
// them.
func objectOrEmpty(args string) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &o) != nil || o == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(args)
}

func (anthropic) assemble(w *replySchema) assembly { return &anthropicStream{w: w} }

// anthropicStream assembles a message from its events.
type anthropicStream struct {
	w     *replySchema
	m     anthropicReply
	parts []*strings.Builder // text or JSON input of each part
	at    map[int]int        // positions in parts by the index in events, which may have gaps
	done  bool
}

// anthropicEvent is one event. Type determines which fields are used.
type anthropicEvent struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message anthropicReply  `json:"message"`
	Block   anthropicPiece  `json:"content_block"`
	Usage   anthropicUsage  `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Delta   struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		JSON       string `json:"partial_json"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		StopReason string `json:"stop_reason"`
		anthropicStop
	} `json:"delta"`
}

func (s *anthropicStream) event(data []byte) (string, error) {
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return "", err
	}
	switch e.Type {
	case "message_start":
		s.m = e.Message
		s.m.Content = nil
	case "content_block_start":
		if s.at == nil {
			s.at = map[int]int{}
		}
		s.at[e.Index] = len(s.parts)
		s.m.Content = append(s.m.Content, e.Block)
		s.parts = append(s.parts, &strings.Builder{})
		return s.appendPart(len(s.parts)-1, e.Block.Text), nil
	case "content_block_delta":
		i, begun := s.at[e.Index]
		if !begun {
			return "", &Failure{Class: ClassBadAnswer, Message: fmt.Sprintf("the provider's response continues part %d, which has not begun (check the connection's base_url)", e.Index)}
		}
		if s.m.Content[i].raw != nil {
			s.think(i, &e)
			return "", nil
		}
		return s.appendPart(i, e.Delta.Text+e.Delta.JSON), nil
	case "message_delta":
		if _, err := stopOf(e.Delta.StopReason, data); err != nil {
			return "", err
		}
		s.m.StopReason, s.m.StopDetails = e.Delta.StopReason, e.Delta.StopDetails
		s.m.Usage.raise(&e.Usage)
	case "message_stop":
		s.done = true
	case "error":
		return "", errorInside(e.Error, anthropic{}.refusal, data)
	}
	return "", nil
}

// think adds a piece of reasoning to part i. A hidden block with pieces of another kind is unknown
// from then on, so that the reply has no hidden content.
func (s *anthropicStream) think(i int, e *anthropicEvent) {
	b := &s.m.Content[i]
	if e.Delta.Type == "input_json_delta" {
		s.parts[i].WriteString(e.Delta.JSON)
		return
	}
	var block map[string]json.RawMessage
	if e.Delta.Type != "thinking_delta" && e.Delta.Type != "signature_delta" || json.Unmarshal(b.raw, &block) != nil {
		b.raw = nil
		return
	}
	add := func(name, more string) {
		var text string
		_ = json.Unmarshal(block[name], &text) // the first piece may have no member before it
		block[name] = jsonwrite.MustEncode(text + more)
	}
	add("thinking", e.Delta.Thinking)
	add("signature", e.Delta.Signature)
	b.raw = jsonwrite.MustEncode(block)
}

// appendPart appends text to part i. If the part belongs to the text of the reply, that is, if it
// is a text part or the answer to a schema, appendPart returns the text; otherwise it returns "".
func (s *anthropicStream) appendPart(i int, text string) string {
	s.parts[i].WriteString(text)
	if b := &s.m.Content[i]; b.Type == "text" || b.Type == "tool_use" && s.w.asTool() && b.Name == s.w.name {
		return text
	}
	return ""
}

func (s *anthropicStream) reply() (*effect.AgentReply, bool) {
	for i := range s.parts {
		b := &s.m.Content[i]
		switch text := s.parts[i].String(); {
		case b.Type == "text":
			b.Text = text
		case text != "" && b.raw != nil:
			b.setInput(text)
		case text != "":
			b.Input = json.RawMessage(text)
		}
	}
	return s.m.result(s.w), s.done
}

// anthropicErrors maps types of errors that are more specific than the status.
var anthropicErrors = map[string]Class{
	"authentication_error": ClassAuth, "permission_error": ClassAuth, "billing_error": ClassQuota, "rate_limit_error": ClassRate,
	"overloaded_error": ClassOverloaded, "api_error": ClassServer, "timeout_error": ClassServer, "not_found_error": ClassNotFound,
	"request_too_large": ClassContextLength,
}

func (anthropic) refusal(body []byte) refusal {
	var o struct {
		Error struct {
			Type string `json:"type"`
		} `json:"error"`
	}
	r := refusal{text: bodyError(body)}
	if json.Unmarshal(body, &o) == nil {
		r.class = anthropicErrors[o.Error.Type]
	}
	if class := classOfText(r.text); class != "" { // these errors have the type of other invalid requests
		r.class = class
	}
	return r
}
