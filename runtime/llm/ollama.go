package llm

import (
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// ollama implements Ollama's chat API. A schema is a field of the request. Because that field
// prevents a model from calling tools, the schema is added to the prompt if the request has tools.
type ollama struct{}

func openOllama(c *Connection, w *world) (Provider, error) {
	e, err := openEndpoint(c, w)
	if err != nil {
		return nil, err
	}
	e.framing = framedNDJSON
	return &remote{wire: ollama{}, endpoint: e}, nil
}

func (ollama) Capabilities() Capabilities {
	return Capabilities{Schema: SchemaNative, SchemaTools: SchemaPrompted, NoFiles: []string{effect.PDF}}
}

func (ollama) path(*Request, bool) string { return "/chat" }

type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Stream   bool            `json:"stream"` // if missing, the server streams
	Format   json.RawMessage `json:"format,omitempty"`
	Options  *ollamaOptions  `json:"options,omitempty"`
	Tools    []openAITool    `json:"tools,omitempty"`
	Think    any             `json:"think,omitempty"` // a level, or false
}

type ollamaOptions struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	MaxTokens   *int64   `json:"num_predict,omitempty"`
	Stop        []string `json:"stop,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
}

type ollamaMessage struct {
	Role      string       `json:"role"`
	Content   string       `json:"content"`
	ToolCalls []ollamaCall `json:"tool_calls,omitempty"`
	ToolName  string       `json:"tool_name,omitempty"`
	Images    []string     `json:"images,omitempty"`
}

type ollamaCall struct {
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func (ollama) body(req *Request, w *replySchema, stream bool) any {
	body := ollamaRequest{Model: req.Model, Messages: ollamaMessages(req, w), Stream: stream}
	if req.Temperature != nil || req.TopP != nil || req.MaxTokens != nil || req.Stop != nil || req.Seed != nil {
		body.Options = &ollamaOptions{req.Temperature, req.TopP, req.MaxTokens, req.Stop, req.Seed}
	}
	switch req.Effort {
	case "":
	case "none":
		body.Think = false
	default:
		body.Think = req.Effort
	}
	if w.native() {
		body.Format = w.schema
	}
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, openAITool{"function", openAIFunction{t.Name, t.Description, t.Parameters}})
	}
	return body
}

// ollamaMessages converts the conversation. The result of a tool contains the name of the tool,
// because calls have no ID.
func ollamaMessages(req *Request, w *replySchema) []ollamaMessage {
	var out []ollamaMessage
	if system := w.system(req.System); system != "" {
		out = append(out, ollamaMessage{Role: "system", Content: system})
	}
	called := map[string]string{}
	for _, m := range req.Messages {
		o := ollamaMessage{Role: m.Role, Content: m.Content, ToolName: called[m.ToolCallID]}
		if m.IsError {
			o.Content = "Error: " + m.Content
		}
		o.addFiles(m.Files)
		for _, t := range m.ToolCalls {
			called[t.ID] = t.Name
			var c ollamaCall
			c.Function.Name, c.Function.Arguments = t.Name, objectOrEmpty(t.Args)
			o.ToolCalls = append(o.ToolCalls, c)
		}
		out = append(out, o)
	}
	return out
}

// addFiles adds images to the message, and the content of text files before its text.
func (m *ollamaMessage) addFiles(files []effect.AttachedFile) {
	var texts strings.Builder
	for i := range files {
		if f := &files[i]; f.Type == effect.PlainText {
			texts.WriteString(namedText(f) + "\n\n")
		} else {
			m.Images = append(m.Images, f.Data)
		}
	}
	m.Content = texts.String() + m.Content
}

// ollamaReply is a complete response, or one line of a streamed one.
type ollamaReply struct {
	Model   string `json:"model"`
	Message *struct {
		Content   string       `json:"content"`
		ToolCalls []ollamaCall `json:"tool_calls"`
	} `json:"message"`
	Done   bool            `json:"done"`
	Reason string          `json:"done_reason"`
	In     int64           `json:"prompt_eval_count"`
	Out    int64           `json:"eval_count"`
	Error  json.RawMessage `json:"error"`
}

func (ollama) read(answer []byte, w *replySchema) (*effect.AgentReply, error) {
	s := &ollamaStream{w: w}
	if _, err := s.event(answer); err != nil {
		return nil, err
	}
	reply, ok := s.reply()
	if !ok {
		return nil, &Failure{Class: ClassBadAnswer, Message: "the provider's response has no message (check the connection's base_url)", Body: string(answer)}
	}
	return reply, nil
}

func (ollama) assemble(w *replySchema) assembly { return &ollamaStream{w: w} }

// ollamaStream assembles a response. A response that is not streamed is handled like a stream of
// one line.
type ollamaStream struct {
	w       *replySchema
	out     effect.AgentReply
	text    strings.Builder
	started bool
	done    bool
}

func (s *ollamaStream) event(data []byte) (string, error) {
	var e ollamaReply
	if err := json.Unmarshal(data, &e); err != nil {
		return "", err
	}
	if err := errorInside(e.Error, ollama{}.refusal, data); err != nil {
		return "", err
	}
	if e.Model != "" {
		s.out.Model = e.Model
	}
	if e.Done {
		stop, err := stopOf(e.Reason, data)
		if err != nil {
			return "", err
		}
		s.done, s.out.TokensIn, s.out.TokensOut, s.out.StopReason, s.out.FinishReason = true, e.In, e.Out, stop, e.Reason
	}
	if e.Message == nil {
		return "", nil
	}
	s.started = true
	for _, c := range e.Message.ToolCalls {
		s.out.ToolCalls = append(s.out.ToolCalls, effect.ToolCall{ID: orNumber("", len(s.out.ToolCalls)), Name: c.Function.Name, Args: string(c.Function.Arguments)})
	}
	s.text.WriteString(e.Message.Content)
	return e.Message.Content, nil
}

func (s *ollamaStream) reply() (*effect.AgentReply, bool) {
	s.out.Text = s.w.unwrap(s.text.String())
	if len(s.out.ToolCalls) > 0 {
		s.out.StopReason = "tool"
	}
	return &s.out, s.done && s.started
}

func (ollama) refusal(body []byte) refusal {
	r := refusal{text: bodyError(body)}
	switch {
	case strings.Contains(r.text, "not found"):
		r.class = ClassNotFound
		r.text += ", pull it with `ollama pull`"
	case strings.Contains(r.text, "does not support tools"):
		r.class = ClassBadRequest
	default:
		r.class = classOfText(r.text)
	}
	return r
}
