package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/schema"
	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
)

// bedrock implements the Converse API of Amazon Bedrock, which is the same for all models. A schema
// is sent as a tool that the model must call.
type bedrock struct{}

// Environment variables with AWS's credentials. The last variable is set only for credentials that
// expire.
const (
	awsID     = "AWS_ACCESS_KEY_ID"
	awsSecret = "AWS_SECRET_ACCESS_KEY"
	awsToken  = "AWS_SESSION_TOKEN"
)

func bedrockAddress(region string) string {
	if region == "" {
		return ""
	}
	return "https://bedrock-runtime." + region + ".amazonaws.com"
}

func openBedrock(c *Connection, w *world) (Provider, error) {
	if c.Location == "" {
		return nil, errors.New("bedrock needs a region: write `location = \"us-east-1\"`, or set the environment variable AWS_REGION")
	}
	e, err := openEndpoint(c, w)
	if err != nil {
		return nil, err
	}
	e.framing = framedAWS
	// With api_key_env, the key of Bedrock is sent as a token. Without it, requests are signed.
	if c.signs() {
		e.sign = func(r *http.Request, body []byte) error {
			keys, err := e.awsCredentials()
			if err == nil {
				keys.sign(r, body, c.Location, "bedrock", w.clock.Now())
			}
			return err
		}
	}
	return &remote{wire: bedrock{}, endpoint: e, adapt: schema.Claude.Adapt}, nil
}

// awsCredentials reads AWS's credentials from the environment.
func (e *endpoint) awsCredentials() (*credentials, error) {
	var values [3]string
	for i, name := range []string{awsID, awsSecret, awsToken} {
		v, err := e.variable(name)
		if err != nil && name != awsToken {
			return nil, err
		}
		e.world.secrets.AddHeader(name, v)
		values[i] = v
	}
	return &credentials{values[0], values[1], values[2]}, nil
}

func (bedrock) Capabilities() Capabilities {
	return Capabilities{Schema: SchemaTool, SchemaTools: SchemaTool, MaxTemperature: 1, NoSeed: true, NoEffort: true, OneSystem: true}
}

func (bedrock) path(req *Request, stream bool) string {
	if stream {
		return "/model/" + inPath(req.Model) + "/converse-stream"
	}
	return "/model/" + inPath(req.Model) + "/converse"
}

type bedrockRequest struct {
	Messages  []bedrockMessage  `json:"messages"`
	System    []bedrockBlock    `json:"system,omitempty"`
	Inference *bedrockInference `json:"inferenceConfig,omitempty"`
	Tools     *bedrockTools     `json:"toolConfig,omitempty"`
	Output    *bedrockOutput    `json:"outputConfig,omitempty"`
}

type bedrockInference struct {
	MaxTokens   *int64   `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	Stop        []string `json:"stopSequences,omitempty"`
}

type bedrockMessage struct {
	Role    string         `json:"role"`
	Content []bedrockBlock `json:"content"`
}

// bedrockBlock is a content block of a request or a response. Exactly one of its fields is set.
type bedrockBlock struct {
	Text       *string        `json:"text,omitempty"`
	Image      *bedrockFile   `json:"image,omitempty"`
	Document   *bedrockFile   `json:"document,omitempty"`
	ToolUse    *bedrockUse    `json:"toolUse,omitempty"`
	ToolResult *bedrockResult `json:"toolResult,omitempty"`
	CachePoint *bedrockPoint  `json:"cachePoint,omitempty"`
}

// bedrockPoint marks the end of what the provider stores in its cache (npm
// @aws-sdk/client-bedrock-runtime 3.1164.0).
type bedrockPoint struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"` // five minutes by default
}

// bedrockFile is an image without a name, or a document with a name.
type bedrockFile struct {
	Format string `json:"format"`
	Name   string `json:"name,omitempty"`
	Source struct {
		Bytes string `json:"bytes"`
	} `json:"source"`
}

type bedrockUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type bedrockResult struct {
	ID      string         `json:"toolUseId"`
	Content []bedrockBlock `json:"content"`
	Status  string         `json:"status,omitempty"`
}

// bedrockOutput is the form of a reply that the model enforces
// (docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html).
type bedrockOutput struct {
	Format struct {
		Type      string `json:"type"`
		Structure struct {
			Schema bedrockSchema `json:"jsonSchema"`
		} `json:"structure"`
	} `json:"textFormat"`
}

type bedrockSchema struct {
	Name   string `json:"name"`
	Schema string `json:"schema"` // as JSON text
}

type bedrockTools struct {
	Tools  []bedrockTool  `json:"tools"`
	Choice map[string]any `json:"toolChoice,omitempty"`
}

// bedrockTool is a tool, or the mark after the last one. Exactly one of its fields is set.
type bedrockTool struct {
	Spec       *bedrockSpec  `json:"toolSpec,omitempty"`
	CachePoint *bedrockPoint `json:"cachePoint,omitempty"`
}

type bedrockSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Input       struct {
		JSON json.RawMessage `json:"json"`
	} `json:"inputSchema"`
}

func (bedrock) body(req *Request, w *replySchema, _ bool) any {
	var body bedrockRequest
	system, messages := anthropicMessages(req)
	system = w.system(system)
	body.System, body.Messages = bedrockMessages(system, messages)
	if req.MaxTokens != nil || req.Temperature != nil || req.TopP != nil || len(req.Stop) > 0 {
		body.Inference = &bedrockInference{req.MaxTokens, req.Temperature, req.TopP, req.Stop}
	}
	tools := &bedrockTools{}
	offer := func(name, description string, schema json.RawMessage) {
		t := bedrockTool{Spec: &bedrockSpec{Name: name, Description: description}}
		t.Spec.Input.JSON = schema
		tools.Tools = append(tools.Tools, t)
	}
	for _, t := range req.Tools {
		offer(t.Name, t.Description, t.Parameters)
	}
	switch {
	case w.native():
		body.Output = &bedrockOutput{}
		body.Output.Format.Type = "json_schema"
		body.Output.Format.Structure.Schema = bedrockSchema{w.name, string(w.schema)}
	case w.asTool():
		offer(w.name, answerTool, w.schema)
		tools.Choice = map[string]any{"tool": map[string]string{"name": w.name}}
		if len(req.Tools) > 0 {
			tools.Choice = map[string]any{"any": map[string]string{}}
		}
	}
	if len(tools.Tools) > 0 {
		body.Tools = tools
	}
	body.mark(req.marksOf(w, system, messages), req.hour)
	return body
}

// mark adds marks to the request.
func (r *bedrockRequest) mark(m marks, hour bool) {
	point := &bedrockPoint{Type: "default"}
	if hour {
		point.TTL = models.CacheHour
	}
	if m.tools {
		r.Tools.Tools = append(r.Tools.Tools, bedrockTool{CachePoint: point})
	}
	if m.system {
		r.System = append(r.System, bedrockBlock{CachePoint: point})
	}
	for _, i := range m.messages {
		r.Messages[i].Content = append(r.Messages[i].Content, bedrockBlock{CachePoint: point})
	}
}

// bedrockMessages converts a conversation in the form of Anthropic's API. The member of a block
// names the block's type.
func bedrockMessages(prompt string, messages []anthropicMessage) (system []bedrockBlock, out []bedrockMessage) {
	if prompt != "" {
		system = []bedrockBlock{{Text: &prompt}}
	}
	documents := 0
	for _, m := range messages {
		next := bedrockMessage{Role: m.Role}
		for _, b := range m.Content {
			var block bedrockBlock
			switch b.Type {
			case "image":
				block.Image = newBedrockFile(b.Source)
			case "document":
				documents++
				block.Document = newBedrockFile(b.Source)
				block.Document.Name = bedrockName(b.Title, documents)
			case "text":
				block.Text = &b.Text
			case "tool_use":
				block.ToolUse = &bedrockUse{b.ID, b.Name, b.Input}
			case "tool_result":
				result := &bedrockResult{ID: b.ToolUseID, Content: []bedrockBlock{}}
				if *b.Content != "" { // the API refuses empty texts
					result.Content = append(result.Content, bedrockBlock{Text: b.Content})
				}
				if b.IsError {
					result.Status = "error"
				}
				block.ToolResult = result
			}
			next.Content = append(next.Content, block)
		}
		out = append(out, next)
	}
	return system, out
}

func newBedrockFile(s *anthropicSource) *bedrockFile {
	f := &bedrockFile{Format: path.Base(s.MediaType)}
	f.Source.Bytes = s.Data
	return f
}

// bedrockName returns the name of the n-th document of a request. The API allows letters, digits,
// hyphens and brackets, and requires unique names.
func bedrockName(file string, n int) string {
	plain := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, file)
	return fmt.Sprintf("%s (%d)", plain[:min(len(plain), 150)], n)
}

// bedrockReply is a whole response. The API counts input tokens that are read from the cache or
// written to it separately.
type bedrockReply struct {
	Output struct {
		Message struct {
			Content []bedrockBlock `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason string       `json:"stopReason"`
	Usage      bedrockUsage `json:"usage"`
}

type bedrockUsage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheWriteInputTokens"`
	Written    []struct {
		TTL    string `json:"ttl"`
		Tokens int64  `json:"inputTokens"`
	} `json:"cacheDetails"` // CacheWrite by lifetime
}

func (p bedrock) read(answer []byte, w *replySchema) (*effect.AgentReply, error) {
	var reply struct {
		bedrockReply
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return nil, err
	}
	if err := errorInside(reply.Error, p.refusal, answer); err != nil {
		return nil, err
	}
	if reply.Output.Message.Content == nil {
		return nil, &Failure{Class: ClassBadAnswer, Message: "the provider's response has no content (check the connection's base_url)", Body: string(answer)}
	}
	if _, err := stopOf(reply.StopReason, answer); err != nil {
		return nil, err
	}
	return reply.result(w), nil
}

// result converts a response to a reply. If the model called the schema's tool, the input of that
// call is the reply's text.
func (r *bedrockReply) result(w *replySchema) *effect.AgentReply {
	m := anthropicReply{StopReason: r.StopReason}
	m.Usage = anthropicUsage{Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead, CacheWrite: r.Usage.CacheWrite}
	for _, w := range r.Usage.Written {
		if w.TTL == "1h" {
			m.Usage.Written.Hour += w.Tokens
		}
	}
	for _, b := range r.Output.Message.Content {
		switch {
		case b.Text != nil:
			m.Content = append(m.Content, anthropicPiece{Type: "text", Text: *b.Text})
		case b.ToolUse != nil:
			m.Content = append(m.Content, anthropicPiece{Type: "tool_use", ID: b.ToolUse.ID, Name: b.ToolUse.Name, Input: b.ToolUse.Input})
		}
	}
	out := m.result(w)
	out.FinishReason = r.StopReason
	return out
}

func (bedrock) assemble(w *replySchema) assembly { return &bedrockStream{w: w} }

// bedrockStream assembles a response from its events.
type bedrockStream struct {
	w     *replySchema
	r     bedrockReply
	parts []*bedrockPart       // parts of the response, in the order in which they began
	at    map[int]*bedrockPart // the same by the index in events, which may have gaps
	done  bool
}

// bedrockPart is a block that arrives in pieces: a text, or the input of a tool call as JSON.
type bedrockPart struct {
	use  *bedrockUse // the tool call; nil for a text
	text strings.Builder
}

// bedrockEvent is one event. Exactly one of its fields is set.
type bedrockEvent struct {
	Start *struct {
		Index int `json:"contentBlockIndex"`
		Start struct {
			ToolUse *bedrockUse `json:"toolUse"`
		} `json:"start"`
	} `json:"contentBlockStart"`
	Delta *struct {
		Index int `json:"contentBlockIndex"`
		Delta struct {
			Text    string `json:"text"`
			ToolUse struct {
				Input string `json:"input"`
			} `json:"toolUse"`
		} `json:"delta"`
	} `json:"contentBlockDelta"`
	Stop *struct {
		StopReason string `json:"stopReason"`
	} `json:"messageStop"`
	Metadata *struct {
		Usage bedrockUsage `json:"usage"`
	} `json:"metadata"`
	Exception *struct {
		Type    string          `json:"type"`
		Message json.RawMessage `json:"message"`
	} `json:"exception"`
}

// maxBlocks is the maximum number of blocks in a response.
const maxBlocks = 10000

func (s *bedrockStream) event(data []byte) (string, error) {
	var e bedrockEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return "", err
	}
	switch {
	case e.Start != nil:
		part, err := s.part(e.Start.Index)
		if err != nil {
			return "", err
		}
		part.use = e.Start.Start.ToolUse
	case e.Delta != nil:
		part, err := s.part(e.Delta.Index)
		if err != nil {
			return "", err
		}
		piece := e.Delta.Delta.Text + e.Delta.Delta.ToolUse.Input
		part.text.WriteString(piece)
		if part.use == nil || s.w.asTool() && part.use.Name == s.w.name {
			return piece, nil
		}
	case e.Stop != nil:
		if _, err := stopOf(e.Stop.StopReason, data); err != nil {
			return "", err
		}
		s.r.StopReason, s.done = e.Stop.StopReason, true
	case e.Metadata != nil:
		s.r.Usage = e.Metadata.Usage
	case e.Exception != nil:
		class := bedrockExceptions[strings.ToLower(strings.TrimSuffix(e.Exception.Type, "Exception"))]
		if class == "" {
			class = ClassServer
		}
		return "", &Failure{Class: class, Message: fmt.Sprintf("the provider ended the response: %s: %s", e.Exception.Type, messageOf(e.Exception.Message)), Body: string(data)}
	}
	return "", nil
}

// part returns the block with index i. A block begins with its first piece.
func (s *bedrockStream) part(i int) (*bedrockPart, error) {
	if s.at[i] == nil {
		if len(s.parts) >= maxBlocks {
			return nil, &Failure{Class: ClassBadAnswer, Message: fmt.Sprintf("the provider's response has more than %d parts (check the connection's base_url)", maxBlocks)}
		}
		if s.at == nil {
			s.at = map[int]*bedrockPart{}
		}
		s.at[i] = &bedrockPart{}
		s.parts = append(s.parts, s.at[i])
	}
	return s.at[i], nil
}

func (s *bedrockStream) reply() (*effect.AgentReply, bool) {
	s.r.Output.Message.Content = nil
	for _, p := range s.parts {
		text := p.text.String()
		block := bedrockBlock{Text: &text}
		if p.use != nil {
			input := json.RawMessage(text)
			if text == "" {
				input = json.RawMessage("{}")
			}
			block = bedrockBlock{ToolUse: &bedrockUse{p.use.ID, p.use.Name, input}}
		}
		s.r.Output.Message.Content = append(s.r.Output.Message.Content, block)
	}
	return s.r.result(s.w), s.done
}

// bedrockExceptions maps the exceptions in a stream to classes. The names are in lower case,
// because the header and the API's documentation spell them differently.
var bedrockExceptions = map[string]Class{
	"throttling": ClassRate, "serviceunavailable": ClassOverloaded, "modelstreamerror": ClassServer,
	"internalserver": ClassServer, "validation": ClassBadRequest,
}

func (bedrock) refusal(body []byte) refusal {
	r := refusal{text: bodyError(body)}
	var o struct {
		Message json.RawMessage `json:"message"`
	}
	if json.Unmarshal(body, &o) == nil && o.Message != nil {
		r.text = messageOf(o.Message)
	}
	switch {
	case strings.Contains(r.text, "security token included in the request is"):
		r.class = ClassAuth
	default:
		r.class = classOfText(r.text)
	}
	return r
}

// messageOf returns the message of an error, which should be a string.
func messageOf(m json.RawMessage) string {
	var text string
	if json.Unmarshal(m, &text) != nil {
		return string(m)
	}
	return text
}
