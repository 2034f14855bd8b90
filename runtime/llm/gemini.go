package llm

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
)

// gemini implements Google's generateContent. A schema is a field of the request. Most models
// refuse that field together with tools; in that case the schema is sent as a function that the
// model must call.
type gemini struct{}

func openGemini(c *Connection, w *world) (Provider, error) {
	e, err := openEndpoint(c, w)
	if err != nil {
		return nil, err
	}
	e.authorize = func(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) }
	return &remote{wire: gemini{}, endpoint: e, adapt: schema.Gemini.Adapt}, nil
}

func (gemini) Capabilities() Capabilities {
	return Capabilities{NoFiles: []string{"image/gif"}, Schema: SchemaNative, SchemaTools: SchemaTool, MaxStop: 5, MaxTemperature: 2, OneSystem: true}
}

func (gemini) path(req *Request, stream bool) string {
	model := inPath(strings.TrimPrefix(req.Model, "models/"))
	if stream {
		return "/models/" + model + ":streamGenerateContent?alt=sse"
	}
	return "/models/" + model + ":generateContent"
}

type geminiRequest struct {
	Contents   []geminiContent   `json:"contents"`
	System     *geminiContent    `json:"systemInstruction,omitempty"`
	Config     *geminiConfig     `json:"generationConfig,omitempty"`
	Tools      []geminiTools     `json:"tools,omitempty"`
	ToolConfig *geminiToolConfig `json:"toolConfig,omitempty"`
}

type geminiContent struct {
	Role  string       `json:"role,omitempty"`
	Parts []geminiPart `json:"parts"`
}

// geminiPart is one part of a content: a text, a file, a call, or the result of a call.
type geminiPart struct {
	Text      *string       `json:"text,omitempty"`
	Data      *geminiData   `json:"inlineData,omitempty"`
	Call      *geminiCall   `json:"functionCall,omitempty"`
	Response  *geminiResult `json:"functionResponse,omitempty"`
	Thought   bool          `json:"thought,omitempty"`
	Signature string        `json:"thoughtSignature,omitempty"`
}

type geminiData struct {
	Type string `json:"mimeType"`
	Data string `json:"data"`
}

type geminiCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type geminiResult struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type geminiConfig struct {
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        *float64        `json:"topP,omitempty"`
	MaxTokens   *int64          `json:"maxOutputTokens,omitempty"`
	Stop        []string        `json:"stopSequences,omitempty"`
	Seed        *int64          `json:"seed,omitempty"`
	Thinking    *geminiThinking `json:"thinkingConfig,omitempty"`
	MIME        string          `json:"responseMimeType,omitempty"`
	Schema      json.RawMessage `json:"responseJsonSchema,omitempty"`
}

type geminiThinking struct {
	Level  string `json:"thinkingLevel,omitempty"`
	Budget *int64 `json:"thinkingBudget,omitempty"` // in tokens, for models without levels
}

type geminiTools struct {
	Functions []geminiFunction `json:"functionDeclarations"`
}

type geminiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type geminiToolConfig struct {
	Calling struct {
		Mode string `json:"mode"`
	} `json:"functionCallingConfig"`
}

func (gemini) body(req *Request, w *replySchema, _ bool) any {
	body := geminiRequest{Contents: geminiContents(req)}
	system := req.System
	for _, m := range req.Messages {
		if m.Role == "system" {
			system = strings.TrimPrefix(system+"\n\n"+m.Content, "\n\n")
		}
	}
	if system != "" {
		body.System = &geminiContent{Parts: []geminiPart{{Text: &system}}}
	}
	config := geminiConfig{Temperature: req.Temperature, TopP: req.TopP, MaxTokens: req.MaxTokens, Stop: req.Stop, Seed: req.Seed}
	if budget, ok := req.row.Budget(req.Effort); ok {
		config.Thinking = &geminiThinking{Budget: &budget}
	} else if req.Effort != "" {
		config.Thinking = &geminiThinking{Level: req.Effort}
	}
	var functions []geminiFunction
	for _, t := range req.Tools {
		functions = append(functions, geminiFunction{t.Name, t.Description, t.Parameters})
	}
	switch {
	case w.native():
		config.MIME, config.Schema = "application/json", w.schema
	case w.asTool():
		functions = append(functions, geminiFunction{w.name, answerTool, w.schema})
		body.ToolConfig = &geminiToolConfig{}
		body.ToolConfig.Calling.Mode = "ANY"
	}
	if config.Temperature != nil || config.TopP != nil || config.MaxTokens != nil || config.Stop != nil || config.Seed != nil || config.Thinking != nil || config.MIME != "" {
		body.Config = &config
	}
	if len(functions) > 0 {
		body.Tools = []geminiTools{{functions}}
	}
	return body
}

// geminiContents converts the conversation. System texts are separate, roles alternate, and each
// result contains the name of its function.
func geminiContents(req *Request) []geminiContent {
	out := []geminiContent{}
	called := map[string]string{} // names of the called functions, by call ID
	for _, m := range req.Messages {
		var parts []geminiPart
		role := "user"
		switch m.Role {
		case "system":
			continue
		case "tool":
			key := "result"
			if m.IsError {
				key = "error"
			}
			id, _ := splitSignature(m.ToolCallID)
			parts = append(parts, geminiPart{Response: &geminiResult{Name: called[m.ToolCallID], ID: callIDOf(id), Response: map[string]string{key: m.Content}}})
		case "assistant":
			role = "model"
			fallthrough
		default:
			for i := range m.Files {
				parts = append(parts, geminiFile(&m.Files[i]))
			}
			if m.Content != "" {
				parts = append(parts, geminiPart{Text: &m.Content})
			}
			for _, t := range m.ToolCalls {
				called[t.ID] = t.Name
				id, signature := splitSignature(t.ID)
				if req.plain {
					signature = anySignature
				}
				parts = append(parts, geminiPart{Call: &geminiCall{ID: callIDOf(id), Name: t.Name, Args: objectOrEmpty(t.Args)}, Signature: signature})
			}
		}
		if len(parts) == 0 {
			continue // the API refuses empty contents
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Parts = append(out[n-1].Parts, parts...)
			continue
		}
		out = append(out, geminiContent{Role: role, Parts: parts})
	}
	return out
}

func geminiFile(f *effect.AttachedFile) geminiPart {
	if f.Type == effect.PlainText {
		text := namedText(f)
		return geminiPart{Text: &text}
	}
	return geminiPart{Data: &geminiData{f.Type, f.Data}}
}

// anySignature replaces the signatures of calls that another model has made, or that the provider
// refuses (npm @ai-sdk/google 3.0.141, src/convert-to-google-generative-ai-messages.ts).
const anySignature = "skip_thought_signature_validator"

// signed separates the ID of a call from its signature. A thinking model signs its calls and
// requires that each signature is sent back with its call. The signature is therefore appended to
// the call's ID after this mark; other code does not interpret the ID.
const signed = "~"

func splitSignature(id string) (plain, signature string) {
	plain, signature, _ = strings.Cut(id, signed)
	return plain, signature
}

// callIDOf returns the provider's ID of a call, or "" if the ID was generated from a number.
func callIDOf(id string) string {
	if strings.HasPrefix(id, "call_") {
		return ""
	}
	return id
}

// geminiReply is a complete response, or one event of a streamed one.
type geminiReply struct {
	Candidates []struct {
		Content      geminiContent `json:"content"`
		FinishReason string        `json:"finishReason"`
	} `json:"candidates"`
	Feedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage struct {
		Prompt     int64 `json:"promptTokenCount"`
		ToolUse    int64 `json:"toolUsePromptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
	} `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	ID    string          `json:"responseId"`
	Error json.RawMessage `json:"error"`
}

func (gemini) read(answer []byte, w *replySchema) (*effect.AgentReply, error) {
	s := &geminiStream{w: w}
	if _, err := s.event(answer); err != nil {
		return nil, err
	}
	reply, ok := s.reply()
	if !ok {
		return nil, &Failure{Class: ClassBadAnswer, Message: "the provider's response has no candidates (check the connection's base_url)", Body: string(answer)}
	}
	return reply, nil
}

func (gemini) assemble(w *replySchema) assembly { return &geminiStream{w: w} }

// geminiStream assembles a response. A response that is not streamed is handled like a stream of
// one event.
type geminiStream struct {
	w          *replySchema
	out        effect.AgentReply
	text       strings.Builder
	structured string
	done       bool
}

func (s *geminiStream) event(data []byte) (string, error) {
	var e geminiReply
	if err := json.Unmarshal(data, &e); err != nil {
		return "", err
	}
	if err := errorInside(e.Error, gemini{}.refusal, data); err != nil {
		return "", err
	}
	if e.Feedback.BlockReason != "" {
		return "", &Failure{Class: ClassContentFilter, Message: "the provider rejected the prompt: " + e.Feedback.BlockReason + " (" + classes[ClassContentFilter].hint + ")", Body: string(data)}
	}
	if e.Model != "" {
		s.out.Model = e.Model
	}
	if e.ID != "" {
		s.out.RequestID = e.ID
	}
	if u := &e.Usage; u.Prompt+u.Candidates+u.Thoughts > 0 { // each event contains the totals so far
		s.out.TokensIn, s.out.TokensOut = max(s.out.TokensIn, u.Prompt+u.ToolUse), max(s.out.TokensOut, u.Candidates+u.Thoughts)
		s.out.Cached, s.out.Reasoning = max(s.out.Cached, u.Cached), max(s.out.Reasoning, u.Thoughts)
	}
	if len(e.Candidates) == 0 {
		return "", nil
	}
	c := &e.Candidates[0]
	text := s.appendParts(c.Content.Parts)
	if c.FinishReason != "" {
		stop, err := stopOf(c.FinishReason, data)
		if err != nil {
			return "", err
		}
		s.done, s.out.StopReason, s.out.FinishReason = true, stop, c.FinishReason
	}
	return text, nil
}

// appendParts adds parts to the response and returns the text in them.
func (s *geminiStream) appendParts(parts []geminiPart) string {
	var text strings.Builder
	for _, p := range parts {
		switch {
		case p.Thought:
		case p.Text != nil:
			text.WriteString(*p.Text)
		case p.Call != nil && s.w.asTool() && p.Call.Name == s.w.name:
			s.structured = s.w.unwrap(string(p.Call.Args))
			text.WriteString(s.structured)
		case p.Call != nil:
			call := effect.ToolCall{ID: orNumber(p.Call.ID, len(s.out.ToolCalls)), Name: p.Call.Name, Args: string(p.Call.Args)}
			if p.Signature != "" {
				call.ID += signed + p.Signature
			}
			s.out.ToolCalls = append(s.out.ToolCalls, call)
		}
	}
	s.text.WriteString(text.String())
	return text.String()
}

func (s *geminiStream) reply() (*effect.AgentReply, bool) {
	s.out.Text = s.w.unwrap(s.text.String())
	if s.structured != "" {
		s.out.Text = s.structured
	}
	if len(s.out.ToolCalls) > 0 {
		s.out.StopReason = "tool"
	}
	return &s.out, s.done
}

// geminiStatuses maps error statuses that are more specific than the HTTP status.
var geminiStatuses = map[string]Class{
	"UNAUTHENTICATED": ClassAuth, "PERMISSION_DENIED": ClassAuth, "RESOURCE_EXHAUSTED": ClassRate, "UNAVAILABLE": ClassOverloaded,
	"NOT_FOUND": ClassNotFound, "INTERNAL": ClassServer, "DEADLINE_EXCEEDED": ClassServer,
}

func (gemini) refusal(body []byte) refusal {
	var o struct {
		Error struct {
			Status  string `json:"status"`
			Details []struct {
				Reason string `json:"reason"`
				Delay  string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	r := refusal{text: bodyError(body)}
	if json.Unmarshal(inList(body), &o) != nil {
		return r
	}
	r.class = geminiStatuses[o.Error.Status]
	for _, d := range o.Error.Details {
		if d.Reason == "API_KEY_INVALID" {
			r.class = ClassAuth
		}
		if after, err := time.ParseDuration(d.Delay); err == nil && after > 0 {
			r.retryAfter = after
		}
	}
	switch {
	case r.class == "" && classOfText(r.text) != "":
		r.class = classOfText(r.text)
	case r.class == ClassRate && strings.Contains(r.text, "billing"):
		r.class = ClassQuota
	}
	return r
}
