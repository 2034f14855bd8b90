package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// responses implements OpenAI's Responses API (resources/responses/responses.d.ts of npm openai
// 7.59.0). The provider stores nothing, so requests contain the whole conversation.
type responses struct {
	log func(level, line string) // nil for none
}

// leastOutput is the least max_output_tokens (github.com/vectorize-io/hindsight/issues/58).
const leastOutput = 16

func (responses) Capabilities() Capabilities {
	return Capabilities{NoSeed: true, NoStop: true, MinTokens: leastOutput}
}

func (responses) path(*Request, bool) string { return "/responses" }

type responsesRequest struct {
	Model         string                  `json:"model"`
	Instructions  string                  `json:"instructions,omitempty"`
	Input         []any                   `json:"input"` // responsesItem, or an item of a reply
	Store         bool                    `json:"store"`
	Include       []string                `json:"include,omitempty"`
	Tools         []responsesTool         `json:"tools,omitempty"`
	Text          *responsesText          `json:"text,omitempty"`
	MaxTokens     *int64                  `json:"max_output_tokens,omitempty"`
	Temperature   *float64                `json:"temperature,omitempty"`
	TopP          *float64                `json:"top_p,omitempty"`
	Reasoning     *responsesReasoning     `json:"reasoning,omitempty"`
	CacheKey      string                  `json:"prompt_cache_key"`
	CacheOptions  *openAICacheOptions     `json:"prompt_cache_options,omitempty"`
	Stream        bool                    `json:"stream,omitempty"`
	StreamOptions *responsesStreamOptions `json:"stream_options,omitempty"`
}

type responsesReasoning struct {
	Effort string `json:"effort"`
}

// responsesStreamOptions turns off the random members with which events are filled up.
type responsesStreamOptions struct {
	Obfuscation bool `json:"include_obfuscation"`
}

type responsesText struct {
	Format responsesFormat `json:"format"`
}

type responsesFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// responsesTool is a tool. Strict is always sent, because its default is true.
type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// responsesItem is an item of the input: a message with a role, or a call or its result with a
// type.
type responsesItem struct {
	Type      string  `json:"type,omitempty"`
	Role      string  `json:"role,omitempty"`
	Content   any     `json:"content,omitempty"` // a string or a []responsesPart
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Output    *string `json:"output,omitempty"`
}

// responsesPart is a part of a user's message. Type determines which other fields are set.
type responsesPart struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitempty"`
	Image  string `json:"image_url,omitempty"`
	Detail string `json:"detail,omitempty"`
	Name   string `json:"filename,omitempty"`
	Data   string `json:"file_data,omitempty"`
}

// hiddenReasoning is the member of the response that contains a model's reasoning.
const hiddenReasoning = "reasoning.encrypted_content"

func (responses) body(req *Request, w *replySchema, stream bool) any {
	body := responsesRequest{
		Model: req.Model, Instructions: req.System, Input: responsesInput(req), MaxTokens: req.MaxTokens, Temperature: req.Temperature, TopP: req.TopP,
		CacheKey: cacheKey(req), CacheOptions: req.options(), Stream: stream,
	}
	if !req.plain && (req.row == nil || req.row.Thinking != "none") {
		body.Include = []string{hiddenReasoning} // other models refuse it
	}
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, responsesTool{"function", t.Name, t.Description, t.Parameters, schema.IsStrict(t.Parameters)})
	}
	if w != nil {
		body.Text = &responsesText{responsesFormat{"json_schema", w.name, w.schema, schema.IsStrict(w.schema)}}
	}
	if req.Effort != "" {
		body.Reasoning = &responsesReasoning{req.Effort}
	}
	if stream {
		body.StreamOptions = &responsesStreamOptions{}
	}
	return body
}

// cacheKey returns the key by which the provider sends requests with the same beginning to the same
// cache.
func cacheKey(req *Request) string {
	sum := sha256.Sum256(jsonwrite.MustEncode(struct {
		Agent, System string
		Tools         []effect.ToolSpec
	}{req.Agent, req.System, req.Tools}))
	return hex.EncodeToString(sum[:16])
}

// responsesInput converts the conversation to items.
func responsesInput(req *Request) []any {
	out := []any{} // the member is required
	for i := range req.Messages {
		switch m := &req.Messages[i]; m.Role {
		case "system":
			out = append(out, responsesItem{Role: "developer", Content: m.Content})
		case "user":
			out = append(out, responsesItem{Role: "user", Content: responsesParts(m)})
		case "tool":
			text := m.Content
			if m.IsError {
				text = "Error: " + text // the API has no member that marks a failed tool
			}
			out = append(out, responsesItem{Type: "function_call_output", CallID: m.ToolCallID, Output: &text})
		default:
			out = append(out, responsesAnswer(m)...)
		}
	}
	return out
}

// responsesAnswer returns the items of an assistant's message: those of the reply as they were
// received, if they are known.
func responsesAnswer(m *effect.ChatMessage) (out []any) {
	if items := itemsOf(m, itemsResponses); hasCalls(items, m.ToolCalls) {
		for _, x := range items {
			out = append(out, x)
		}
		return out
	}
	if m.Content != "" {
		out = append(out, responsesItem{Role: m.Role, Content: m.Content})
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		out = append(out, responsesItem{Type: "function_call", CallID: c.ID, Name: c.Name, Arguments: &c.Args})
	}
	return out
}

// hasCalls reports whether items contain exactly these calls. A message may lack some, because the
// number of calls has a limit, and the API requires a result for each.
func hasCalls(items []json.RawMessage, calls []effect.ToolCall) bool {
	for _, x := range items {
		var item responsesOutput
		if json.Unmarshal(x, &item) != nil {
			return false
		}
		if item.Type != "function_call" {
			continue
		}
		if len(calls) == 0 || calls[0].ID != item.CallID {
			return false
		}
		calls = calls[1:]
	}
	return items != nil && len(calls) == 0
}

// responsesParts returns the parts for the files of a message, followed by its text.
func responsesParts(m *effect.ChatMessage) []responsesPart {
	parts := []responsesPart{}
	for i := range m.Files {
		switch f := &m.Files[i]; f.Type {
		case effect.PlainText:
			parts = append(parts, responsesPart{Type: "input_text", Text: namedText(f)})
		case effect.PDF:
			parts = append(parts, responsesPart{Type: "input_file", Name: f.Name, Data: dataURL(f)})
		default:
			parts = append(parts, responsesPart{Type: "input_image", Image: dataURL(f), Detail: "auto"})
		}
	}
	if m.Content != "" || len(parts) == 0 {
		parts = append(parts, responsesPart{Type: "input_text", Text: m.Content})
	}
	return parts
}

// responsesReply is a response. The last event of a stream contains it, too.
type responsesReply struct {
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Status     string            `json:"status"`
	Tier       string            `json:"service_tier"`
	Output     []json.RawMessage `json:"output"`
	Usage      responsesUsage    `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	// Removed contains the reasoning that the provider has not passed on to the model.
	Removed []struct {
		Reason string `json:"reason"`
	} `json:"input_transformations"`
}

type responsesUsage struct {
	Input        int64 `json:"input_tokens"`
	InputDetails struct {
		CacheRead  int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output        int64 `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// responsesOutput is an item of a response.
type responsesOutput struct {
	Type      string `json:"type"`
	Status    string `json:"status"`
	Phase     string `json:"phase"` // of a message: whether it is the answer
	Encrypted string `json:"encrypted_content"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

// texts returns the text and the refusal of a message.
func (o *responsesOutput) texts() (text, refusal string) {
	for _, c := range o.Content {
		switch {
		case o.Type != "message":
		case c.Type == "output_text":
			text += c.Text
		case c.Type == "refusal":
			refusal += c.Refusal
		}
	}
	return text, refusal
}

func (p responses) read(answer []byte, w *replySchema) (*effect.AgentReply, error) {
	var r responsesReply
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, err
	}
	if err := r.failure(answer); err != nil {
		return nil, err
	}
	if r.Output == nil {
		return nil, &Failure{Class: ClassBadAnswer, Message: "the provider's response has no output (check the connection's base_url and api)", Body: string(answer)}
	}
	return p.result(&r, r.Output, w, answer)
}

// failure returns the failure that a response reports, or nil.
func (r *responsesReply) failure(body []byte) error {
	switch {
	case len(r.Error) > 0 && string(r.Error) != "null":
		return responsesError(errorBody(r.Error), body)
	case r.Status == "failed":
		return responsesError(nil, body)
	}
	return nil
}

// responsesError returns the failure for an error in a response with status 200. inside contains
// the error as a member; nil if there is none.
func responsesError(inside, body []byte) error {
	read := func(b []byte) refusal {
		r := responses{}.refusal(b)
		if r.class == "" && errorCode(b) != "" {
			r.class = ClassBadRequest
		}
		if r.text == "" {
			r.text = "the response has failed"
		}
		return r
	}
	err := errorInside(json.RawMessage("true"), read, inside)
	err.(*Failure).Body = string(body)
	return err
}

func (responses) refusal(body []byte) refusal {
	r := openAI{}.refusal(body)
	if r.class != "" {
		return r
	}
	switch errorCode(body) { // that chat completions do not have
	case "server_error":
		r.class = ClassServer
	case "bio_policy", "misalignment_policy_violation", "image_content_policy_violation":
		r.class = ClassContentFilter
	}
	return r
}

// errorCode returns the code of an error, or "".
func errorCode(body []byte) string {
	var o struct {
		Error struct {
			Code any `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(inList(body), &o) // another form has no code
	code, _ := o.Error.Code.(string)
	return code
}

// result converts a response with the given items to a reply.
func (p responses) result(r *responsesReply, items []json.RawMessage, w *replySchema, body []byte) (*effect.AgentReply, error) {
	reason := r.Status
	if reason == "incomplete" && r.Incomplete.Reason != "" {
		reason = r.Incomplete.Reason
	}
	stop, err := stopOf(reason, body)
	if err != nil {
		return nil, err
	}
	out := &effect.AgentReply{
		Model: r.Model, RequestID: r.ID, TokensIn: r.Usage.Input, TokensOut: r.Usage.Output, StopReason: stop, FinishReason: reason,
		Parts:       models.Parts{Cached: r.Usage.InputDetails.CacheRead, CacheWrite: r.Usage.InputDetails.CacheWrite, Reasoning: r.Usage.OutputDetails.Reasoning},
		ServiceTier: tierOf(r.Tier),
	}
	var text, refusal strings.Builder
	hidden, lost := false, false
	for i, raw := range items {
		var item responsesOutput
		if err := json.Unmarshal(raw, &item); err != nil {
			return nil, err
		}
		switch item.Type {
		case "message":
			t, no := item.texts()
			text.WriteString(t)
			refusal.WriteString(no)
			hidden = hidden || item.Phase != ""
		case "function_call":
			if item.Status == "incomplete" {
				lost = true // its arguments are cut off
				continue
			}
			out.ToolCalls = append(out.ToolCalls, effect.ToolCall{ID: orNumber(item.CallID, i), Name: item.Name, Args: item.Arguments})
			lost = lost || item.CallID == ""
		case "reasoning":
			hidden = true
			lost = lost || item.Encrypted == "" // only a provider that has stored the item knows it
		case "":
			return nil, &Failure{Class: ClassBadAnswer, Message: "the provider's response has an item without a type (check the connection's base_url)", Body: string(body)}
		default:
			hidden = true
		}
	}
	out.Text = w.unwrap(text.String())
	if hidden && !lost {
		out.Items = &effect.Items{API: itemsResponses}
		for _, x := range items {
			out.Items.Content = append(out.Items.Content, bytes.Clone(x))
		}
	}
	switch {
	case refusal.Len() > 0:
		out.Text, out.StopReason, out.ToolCalls, out.Items = refusal.String(), stopRefusal, nil, nil
	case len(out.ToolCalls) > 0:
		out.StopReason = "tool"
	}
	p.logRemoved(r)
	return out, nil
}

// logRemoved writes a line about reasoning that the provider has not passed on to the model.
func (p responses) logRemoved(r *responsesReply) {
	if p.log == nil || len(r.Removed) == 0 {
		return
	}
	var reasons []string
	for _, x := range r.Removed {
		reasons = append(reasons, x.Reason)
	}
	p.log("debug", "response "+r.ID+": the provider has removed reasoning from the request: "+strings.Join(reasons, ", "))
}

func (p responses) assemble(w *replySchema) assembly { return &responsesStream{wire: p, w: w} }

// responsesStream assembles a response from its events.
type responsesStream struct {
	wire  responses
	w     *replySchema
	r     responsesReply
	items map[int64]json.RawMessage  // complete items by their index
	sent  map[int64]*strings.Builder // text of each message that was passed on
	begun bool                       // the model has begun to reply
	out   *effect.AgentReply         // nil until the final event
}

// responsesEvent is one event. Type determines which fields are used.
type responsesEvent struct {
	Type     string          `json:"type"`
	Index    int64           `json:"output_index"`
	Delta    json.RawMessage `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response json.RawMessage `json:"response"`
	Error    json.RawMessage `json:"error"` // of servers that do not send its members in the event
}

func (s *responsesStream) event(data []byte) (string, error) {
	if s.out != nil || string(data) == "[DONE]" {
		return "", nil
	}
	var e responsesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return "", err
	}
	s.begun = s.begun || strings.HasSuffix(e.Type, ".delta") || strings.HasPrefix(e.Type, "response.reasoning_") || e.Type == "response.output_item.done"
	switch e.Type {
	case "response.created":
		if len(e.Response) == 0 {
			return "", nil
		}
		return "", json.Unmarshal(e.Response, &s.r)
	case "response.output_text.delta":
		var text string
		if err := json.Unmarshal(e.Delta, &text); err != nil {
			return "", err
		}
		s.text(e.Index).WriteString(text)
		return text, nil
	case "response.output_item.done":
		return s.addItem(e.Index, e.Item)
	case "response.completed", "response.incomplete", "response.failed":
		return s.end(&e, data)
	case "error":
		inside := json.RawMessage(data)
		if len(e.Error) > 0 && string(e.Error) != "null" {
			inside = e.Error
		}
		return "", responsesError(errorBody(inside), data)
	}
	return "", nil
}

// text returns what was passed on of the message with an index.
func (s *responsesStream) text(index int64) *strings.Builder {
	if s.sent == nil {
		s.sent = map[int64]*strings.Builder{}
	}
	if s.sent[index] == nil {
		s.sent[index] = &strings.Builder{}
	}
	return s.sent[index]
}

// addItem adds a complete item. It returns the part of its text that was not passed on.
func (s *responsesStream) addItem(index int64, raw json.RawMessage) (string, error) {
	if old := s.items[index]; old != nil {
		if bytes.Equal(old, raw) {
			return "", nil
		}
		return "", s.broken("has two items with index %d", index)
	}
	var item responsesOutput
	if err := json.Unmarshal(raw, &item); err != nil {
		return "", err
	}
	if s.items == nil {
		s.items = map[int64]json.RawMessage{}
	}
	s.items[index] = bytes.Clone(raw)
	whole, _ := item.texts()
	rest, ok := strings.CutPrefix(whole, s.text(index).String())
	if !ok {
		return "", s.broken("has another text than it has streamed, in the item with index %d", index)
	}
	s.text(index).WriteString(rest)
	return rest, nil
}

func (s *responsesStream) broken(format string, index int64) error {
	return &Failure{Class: ClassBadAnswer, Message: "the provider's response " + fmt.Sprintf(format, index) + " (check the connection's base_url)"}
}

// end reads the final event, and adds the items that only this event contains. It returns the part
// of their text that was not passed on.
func (s *responsesStream) end(e *responsesEvent, data []byte) (text string, err error) {
	if err := json.Unmarshal(e.Response, &s.r); err != nil {
		return "", err
	}
	s.r.Status = strings.TrimPrefix(e.Type, "response.")
	if err := s.r.failure(data); err != nil {
		return "", err
	}
	for i, raw := range s.r.Output {
		if s.items[int64(i)] != nil {
			continue
		}
		rest, err := s.addItem(int64(i), raw)
		if err != nil {
			return "", err
		}
		text += rest
	}
	for index := range s.sent {
		if s.items[index] == nil {
			return "", s.broken("has no item with index %d, whose text it has streamed", index)
		}
	}
	var items []json.RawMessage
	for _, index := range slices.Sorted(maps.Keys(s.items)) {
		items = append(items, s.items[index])
	}
	s.out, err = s.wire.result(&s.r, items, s.w, data)
	return text, err
}

// hasBegun implements beginner.
func (s *responsesStream) hasBegun() bool { return s.begun }

func (s *responsesStream) reply() (*effect.AgentReply, bool) { return s.out, s.out != nil }
