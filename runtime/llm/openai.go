package llm

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// openAI implements OpenAI's chat completions, which many servers support. own is true for OpenAI's
// own servers, which have additional limits and have renamed max_tokens.
type openAI struct{ own bool }

func openOpenAI(c *Connection, w *world) (Provider, error) {
	e, err := openEndpoint(c, w)
	if err != nil {
		return nil, err
	}
	if c.Organization != "" {
		e.header.Set("OpenAI-Organization", c.Organization)
	}
	if c.Project != "" {
		e.header.Set("OpenAI-Project", c.Project)
	}
	own := models.IsOpenAI(e.root.Hostname())
	return newOpenAI(c, e, openAI{own: own}, responses{log: w.log})
}

func (p openAI) Capabilities() Capabilities {
	if p.own {
		return Capabilities{MaxStop: 4}
	}
	return Capabilities{}
}

func (openAI) path(*Request, bool) string { return "/chat/completions" }

type openAIRequest struct {
	Model               string               `json:"model"`
	Messages            []openAIMessage      `json:"messages"`
	Temperature         *float64             `json:"temperature,omitempty"`
	TopP                *float64             `json:"top_p,omitempty"`
	MaxTokens           *int64               `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int64               `json:"max_completion_tokens,omitempty"`
	Stop                []string             `json:"stop,omitempty"`
	Seed                *int64               `json:"seed,omitempty"`
	Effort              string               `json:"reasoning_effort,omitempty"`
	ResponseFormat      *openAIFormat        `json:"response_format,omitempty"`
	Tools               []openAITool         `json:"tools,omitempty"`
	CacheOptions        *openAICacheOptions  `json:"prompt_cache_options,omitempty"`
	Stream              bool                 `json:"stream,omitempty"`
	StreamOptions       *openAIStreamOptions `json:"stream_options,omitempty"`
}

// openAICacheOptions determine what the provider stores in its cache: with the mode explicit, only
// what a request marks.
type openAICacheOptions struct {
	Mode string `json:"mode"`
}

// options returns the member of a request for the provider's cache, or nil.
func (c caching) options() *openAICacheOptions {
	if c.off {
		return &openAICacheOptions{"explicit"}
	}
	return nil
}

type openAIStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type openAIFormat struct {
	Type   string       `json:"type"`
	Schema openAISchema `json:"json_schema"`
}

type openAISchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict,omitempty"`
}

type openAIMessage struct {
	Role       string       `json:"role"`
	Content    any          `json:"content"` // a *string, a []openAIPart or nil
	ToolCalls  []openAICall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
	openAIReasoning
}

// openAIReasoning is the reasoning of a message, as compatible servers send it.
type openAIReasoning struct {
	Content json.RawMessage `json:"reasoning_content,omitempty"` // DeepSeek, Kimi, vLLM, llama.cpp
	Details json.RawMessage `json:"reasoning_details,omitempty"` // OpenRouter, MiniMax
}

// openAIPart is a part of a message with files. Type determines which other field is set.
type openAIPart struct {
	Type  string       `json:"type"`
	Text  string       `json:"text,omitempty"`
	Image *openAIImage `json:"image_url,omitempty"`
	File  *openAIFile  `json:"file,omitempty"`
}

type openAIImage struct {
	URL string `json:"url"`
}

type openAIFile struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

type openAICall struct {
	Index    *int   `json:"index,omitempty"` // only in streams
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

func (p openAI) body(req *Request, w *replySchema, stream bool) any {
	body := openAIRequest{Model: req.Model, Messages: openAIMessages(req), Temperature: req.Temperature, TopP: req.TopP, Stop: req.Stop, Seed: req.Seed, Effort: req.Effort, CacheOptions: req.options()}
	if p.own || req.renamed {
		body.MaxCompletionTokens = req.MaxTokens
	} else {
		body.MaxTokens = req.MaxTokens
	}
	if w != nil {
		body.ResponseFormat = &openAIFormat{"json_schema", openAISchema{w.name, w.schema, schema.IsStrict(w.schema)}}
	}
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, openAITool{"function", openAIFunction{t.Name, t.Description, t.Parameters}})
	}
	if stream {
		body.Stream, body.StreamOptions = true, &openAIStreamOptions{true}
	}
	return body
}

// openAIMessages converts the conversation to the API's messages.
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
			call.Function.Arguments, _ = jsonwrite.Encode(t.Args)
			o.ToolCalls = append(o.ToolCalls, call)
		}
		if blocks := itemsOf(&m, itemsChat); len(blocks) > 0 && len(o.ToolCalls) > 0 {
			if err := json.Unmarshal(blocks[0], &o.openAIReasoning); err != nil {
				panic(err) // items has encoded it
			}
		}
		switch {
		case len(o.ToolCalls) > 0 && m.Content == "":
			o.Content = nil
		case m.IsError:
			// The API has no member that marks a failed tool.
			text := "Error: " + m.Content
			o.Content = &text
		case len(m.Files) > 0:
			o.Content = openAIParts(&m)
		}
		out = append(out, o)
	}
	return out
}

// openAIParts returns the parts for the files of a message, followed by its text.
func openAIParts(m *effect.ChatMessage) []openAIPart {
	var parts []openAIPart
	for i := range m.Files {
		switch f := &m.Files[i]; f.Type {
		case effect.PlainText:
			parts = append(parts, openAIPart{Type: "text", Text: namedText(f)})
		case effect.PDF:
			parts = append(parts, openAIPart{Type: "file", File: &openAIFile{f.Name, dataURL(f)}})
		default:
			parts = append(parts, openAIPart{Type: "image_url", Image: &openAIImage{dataURL(f)}})
		}
	}
	if m.Content != "" {
		parts = append(parts, openAIPart{Type: "text", Text: m.Content})
	}
	return parts
}

// openAIReply is a complete response, or one event of a streamed one.
type openAIReply struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Message      *openAIText     `json:"message"` // of a complete response
		Delta        openAIText      `json:"delta"`
		FinishReason string          `json:"finish_reason"`
		Error        json.RawMessage `json:"error"` // of a gateway
	} `json:"choices"`
	Usage openAIUsage     `json:"usage"`
	Tier  string          `json:"service_tier"`
	Error json.RawMessage `json:"error"`
}

type openAIUsage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	PromptDetails struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// addTo adds a report to a reply. The numbers of a stream only grow.
func (u *openAIUsage) addTo(r *effect.AgentReply) {
	r.TokensIn, r.TokensOut = max(r.TokensIn, u.Prompt), max(r.TokensOut, u.Completion)
	r.Cached, r.CacheWrite = max(r.Cached, u.PromptDetails.Cached), max(r.CacheWrite, u.PromptDetails.CacheWrite)
	r.Reasoning = max(r.Reasoning, u.CompletionDetails.Reasoning)
}

type openAIText struct {
	openAIReasoning
	Content   json.RawMessage `json:"content"`
	Refusal   string          `json:"refusal"`
	ToolCalls []openAICall    `json:"tool_calls"`
}

func (p openAI) read(answer []byte, w *replySchema) (*effect.AgentReply, error) {
	var reply openAIReply
	if err := json.Unmarshal(answer, &reply); err != nil {
		return nil, err
	}
	if err := errorInside(reply.Error, p.refusal, answer); err != nil {
		return nil, err
	}
	if len(reply.Choices) == 0 {
		return nil, &Failure{Class: ClassBadAnswer, Message: "the provider's response has no choices (check the connection's base_url)", Body: string(answer)}
	}
	c := &reply.Choices[0]
	if err := errorInside(c.Error, p.refusal, errorBody(c.Error)); err != nil {
		return nil, err
	}
	stop, err := stopOf(c.FinishReason, answer)
	if err != nil {
		return nil, err
	}
	message := c.Message
	if message == nil {
		if stop != "filter" {
			return nil, &Failure{Class: ClassBadAnswer, Message: "the provider's response has a choice without a message (check the connection's base_url)", Body: string(answer)}
		}
		message = &openAIText{} // the response contains no message
	}
	out := &effect.AgentReply{
		Text: w.unwrap(contentText(message.Content)), Model: reply.Model, RequestID: reply.ID,
		StopReason: stop, FinishReason: c.FinishReason, ServiceTier: tierOf(reply.Tier),
	}
	reply.Usage.addTo(out)
	for i, t := range message.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, effect.ToolCall{ID: orNumber(t.ID, i), Name: t.Function.Name, Args: argumentsText(t.Function.Arguments)})
	}
	out.Items = message.openAIReasoning.items(out)
	return openAIEnd(out, message.Refusal), nil
}

// items returns the reasoning of a reply with tool calls as hidden content, or nil.
func (r *openAIReasoning) items(reply *effect.AgentReply) *effect.Items {
	for _, x := range []*json.RawMessage{&r.Content, &r.Details} {
		if string(*x) == "null" || string(*x) == `""` || string(*x) == "[]" {
			*x = nil
		}
	}
	if len(reply.ToolCalls) == 0 || r.Content == nil && r.Details == nil {
		return nil
	}
	return &effect.Items{API: itemsChat, Content: []json.RawMessage{jsonwrite.MustEncode(r)}}
}

// openAIEnd sets the reason for the end of the reply.
func openAIEnd(out *effect.AgentReply, refusal string) *effect.AgentReply {
	if len(out.ToolCalls) > 0 {
		out.StopReason = "tool"
	}
	if refusal != "" {
		out.Text, out.StopReason, out.ToolCalls = refusal, stopRefusal, nil
	}
	return out
}

// contentText returns the text of a message's content, which is a string, null, or a list of parts.
func contentText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
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

// argumentsText returns the arguments of a call as JSON text. The API sends them as a string; some
// servers send the object itself.
func argumentsText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// orNumber returns the ID of a call. If the call has none, it returns an ID generated from the
// call's index i.
func orNumber(id string, i int) string {
	if id != "" {
		return id
	}
	return fmt.Sprintf("call_%d", i)
}

func (p openAI) assemble(w *replySchema) assembly { return &openAIStream{w: w} }

// openAIStream assembles the chunks of a chat completion.
type openAIStream struct {
	w       *replySchema
	out     effect.AgentReply
	text    strings.Builder
	refusal string
	calls   streamedCalls
	thought strings.Builder   // pieces of the reasoning
	details []json.RawMessage // the same in parts
	done    bool
}

func (s *openAIStream) event(data []byte) (string, error) {
	if string(data) == "[DONE]" {
		s.done = true
		return "", nil
	}
	var e openAIReply
	if err := json.Unmarshal(data, &e); err != nil {
		return "", err
	}
	if err := errorInside(e.Error, openAI{}.refusal, data); err != nil {
		return "", err
	}
	if e.ID != "" {
		s.out.RequestID = e.ID
	}
	if e.Model != "" {
		s.out.Model = e.Model
	}
	if e.Tier != "" {
		s.out.ServiceTier = tierOf(e.Tier)
	}
	e.Usage.addTo(&s.out) // only the last event, which has no choices, contains a report
	if len(e.Choices) == 0 {
		return "", nil
	}
	c := &e.Choices[0]
	if err := errorInside(c.Error, openAI{}.refusal, errorBody(c.Error)); err != nil {
		return "", err
	}
	if c.FinishReason != "" {
		stop, err := stopOf(c.FinishReason, data)
		if err != nil {
			return "", err
		}
		s.out.StopReason, s.out.FinishReason, s.done = stop, c.FinishReason, true
	}
	for i := range c.Delta.ToolCalls {
		if err := s.calls.add(&c.Delta.ToolCalls[i]); err != nil {
			return "", err
		}
	}
	s.refusal += c.Delta.Refusal
	s.thought.WriteString(contentText(c.Delta.openAIReasoning.Content))
	var details []json.RawMessage
	_ = json.Unmarshal(c.Delta.Details, &details) // parts of another form are no reasoning
	s.details = append(s.details, details...)
	text := contentText(c.Delta.Content)
	s.text.WriteString(text)
	return text, nil
}

func (s *openAIStream) reply() (*effect.AgentReply, bool) {
	s.out.Text = s.w.unwrap(s.text.String())
	s.out.ToolCalls = s.calls.calls()
	var r openAIReasoning
	if s.thought.Len() > 0 {
		r.Content = jsonwrite.MustEncode(s.thought.String())
	}
	if len(s.details) > 0 {
		r.Details = jsonwrite.MustEncode(s.details)
	}
	s.out.Items = r.items(&s.out)
	if s.out.StopReason == "" {
		s.out.StopReason = "end"
	}
	return openAIEnd(&s.out, s.refusal), s.done
}

// openAICodes maps error codes that are more specific than the status.
var openAICodes = map[string]Class{
	"invalid_api_key": ClassAuth, "insufficient_quota": ClassQuota, "billing_hard_limit_reached": ClassQuota, "billing_not_active": ClassQuota,
	"rate_limit_exceeded": ClassRate, "context_length_exceeded": ClassContextLength, "exceed_context_size_error": ClassContextLength, "string_above_max_length": ClassContextLength,
	"content_filter": ClassContentFilter, "content_policy_violation": ClassContentFilter, "model_not_found": ClassNotFound,
}

func (openAI) refusal(body []byte) refusal {
	var o struct {
		Error struct {
			Code json.RawMessage `json:"code"`
			Type string          `json:"type"`
		} `json:"error"`
	}
	r := refusal{text: bodyError(body)}
	if json.Unmarshal(inList(body), &o) != nil {
		return r
	}
	var code string
	var status int // of servers that send a number
	if len(o.Error.Code) > 0 && json.Unmarshal(o.Error.Code, &code) == nil {
		r.class = openAICodes[code]
	} else {
		_ = json.Unmarshal(o.Error.Code, &status) // a code of another form has no meaning
	}
	if r.class == "" {
		r.class = openAICodes[o.Error.Type]
	}
	if r.class == "" {
		r.class = classOfText(r.text)
	}
	if r.class == "" && status >= 400 && status < 600 {
		r.class = classOf(status)
	}
	return r
}

// errorBody returns an error that is a member of another object as the body of an error.
func errorBody(member json.RawMessage) []byte {
	return jsonwrite.MustEncode(map[string]json.RawMessage{"error": member})
}

// bodyError returns the message of an error body, `{"error": {"message": …}}` or `{"error": "…"}`,
// or "".
func bodyError(body []byte) string {
	var o struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(inList(body), &o) != nil || len(o.Error) == 0 || string(o.Error) == "null" {
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
	return string(o.Error)
}

// inList returns the first element of a body that is a list, and any other body unchanged.
func inList(body []byte) []byte {
	var all []json.RawMessage
	if json.Unmarshal(body, &all) == nil && len(all) > 0 {
		return all[0]
	}
	return body
}

// errorInside returns the failure for a response whose status is a success but whose body contains
// an error, or nil.
func errorInside(member json.RawMessage, read func([]byte) refusal, answer []byte) error {
	if len(member) == 0 || string(member) == "null" {
		return nil
	}
	r := read(answer)
	if r.class == "" {
		r.class = ClassServer
	}
	message := "the provider returned an error: " + r.text
	if hint := classes[r.class].hint; hint != "" {
		message += " (" + hint + ")"
	}
	return &Failure{Class: r.class, Message: message, Body: string(answer), RetryAfter: r.retryAfter, Sent: true}
}

// inPath escapes the name of a model for use in a path.
func inPath(model string) string { return url.PathEscape(model) }
