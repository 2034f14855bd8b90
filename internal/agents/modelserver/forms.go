package modelserver

import (
	"cmp"
	"encoding/json"
	"strings"
)

// form is one API: its paths, and the format of its replies.
type form struct {
	name   string
	paths  []string // suffixes of the API's paths
	whole  func(r *Reply, body map[string]any) any
	events func(r *Reply, body map[string]any) []string // returns the framed events of a streamed reply
	piece  func(text string) string                     // returns a framed event with a text
	first  int                                          // index of the event with the first text
}

var forms = []*form{
	{name: "openai", paths: []string{"/chat/completions"}, whole: (*Reply).openAI, events: (*Reply).openAIEvents, piece: openAIPiece, first: 1},
	{name: "anthropic", paths: []string{"/messages"},
		whole: (*Reply).anthropic, events: (*Reply).anthropicEvents, piece: anthropicPiece, first: 3},
	{name: "gemini", paths: []string{":generateContent", ":streamGenerateContent"}, whole: (*Reply).gemini, events: (*Reply).geminiEvents, piece: geminiPiece},
	{name: "responses", paths: []string{"/responses"}, whole: (*Reply).responses, events: (*Reply).responsesEvents, piece: responsesPiece, first: 2},
	{name: "bedrock", paths: []string{"/converse", "/converse-stream"},
		whole: (*Reply).bedrock, events: (*Reply).bedrockEvents, piece: bedrockPiece, first: 1},
	{name: "ollama", paths: []string{"/api/chat"}, whole: (*Reply).ollama, events: (*Reply).ollamaEvents, piece: ollamaPiece},
}

func formOf(p string) *form {
	for _, f := range forms {
		for _, end := range f.paths {
			if strings.HasSuffix(p, end) {
				return f
			}
		}
	}
	return nil
}

// text returns the reply's text, or its JSON.
func (r *Reply) text() string {
	if r.JSON != nil {
		return string(r.JSON)
	}
	return r.Text
}

// pieces splits the text for a stream.
func (r *Reply) pieces(text string) []string {
	if r.Pieces != nil {
		return r.Pieces
	}
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// mustMarshal encodes JSON that cannot fail to encode.
func mustMarshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

type object = map[string]any

func (r *Reply) openAIStop() string {
	switch {
	case r.Stop != "":
		return r.Stop
	case len(r.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (r *Reply) openAI(body map[string]any) any {
	message := object{"role": "assistant", "content": r.text()}
	if len(r.ToolCalls) > 0 {
		var calls []any
		for _, c := range r.ToolCalls {
			calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.arguments()}})
		}
		message["tool_calls"], message["content"] = calls, nil
	}
	out := object{
		"id": "chatcmpl-1", "object": "chat.completion", "model": body["model"],
		"choices": []any{object{"index": 0, "message": message, "finish_reason": r.openAIStop()}},
		"usage":   r.openAIUsage(),
	}
	if r.Tier != "" {
		out["service_tier"] = r.Tier
	}
	return out
}

func (r *Reply) openAIUsage() object {
	out := object{"prompt_tokens": r.TokensIn, "completion_tokens": r.TokensOut}
	if r.Parts != (Parts{}) {
		out["prompt_tokens_details"] = object{"cached_tokens": r.Cached, "cache_write_tokens": r.CacheWrite}
		out["completion_tokens_details"] = object{"reasoning_tokens": r.Reasoning}
	}
	return out
}

// arguments returns a call's arguments as text. Arguments that the script provides as a string need
// not be valid JSON.
func (c *Call) arguments() string {
	var s string
	if json.Unmarshal(c.Args, &s) == nil {
		return s
	}
	return string(c.Args)
}

func openAIChunk(delta object, finish any) string {
	return "data: " + mustMarshal(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m",
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}}) + "\n\n"
}

func openAIPiece(text string) string { return openAIChunk(object{"content": text}, nil) }

func (r *Reply) openAIEvents(body map[string]any) []string {
	out := []string{openAIChunk(object{"role": "assistant", "content": ""}, nil)}
	for _, p := range r.pieces(r.text()) {
		out = append(out, openAIPiece(p))
	}
	for i, c := range r.ToolCalls {
		args := c.arguments()
		half := len(args) / 2
		out = append(out,
			openAIChunk(object{"tool_calls": []any{object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": args[:half]}}}}, nil),
			openAIChunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": args[half:]}}}}, nil))
	}
	out = append(out, openAIChunk(object{}, r.openAIStop()))
	if o, ok := body["stream_options"].(map[string]any); ok && o["include_usage"] == true {
		out = append(out, "data: "+mustMarshal(object{"id": "chatcmpl-1", "choices": []any{}, "service_tier": cmp.Or(r.Tier, "default"), "usage": r.openAIUsage()})+"\n\n")
	}
	return append(out, "data: [DONE]\n\n")
}

// anthropicBlocks returns the reply's blocks and its stop reason.
func (r *Reply) anthropicBlocks(body map[string]any) (blocks []object, stop string) {
	stop = "end_turn"
	if r.Thought != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": r.Thought, "signature": "c2lnbmVk"})
	}
	choice, forced := body["tool_choice"].(map[string]any)
	text := r.Text
	if !forced {
		text = r.text()
	}
	if text != "" {
		blocks = append(blocks, object{"type": "text", "text": text})
	}
	if forced && r.JSON != nil {
		name := choice["name"]
		if name == nil { // any tool is allowed: use the last one offered, which has the schema
			tools := body["tools"].([]any)
			name = tools[len(tools)-1].(map[string]any)["name"]
		}
		blocks = append(blocks, object{"type": "tool_use", "id": "toolu_0", "name": name, "input": r.JSON})
		stop = "tool_use"
	}
	for _, c := range r.ToolCalls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Args})
		stop = "tool_use"
	}
	if r.Stop != "" {
		stop = r.Stop
	}
	return blocks, stop
}

func (r *Reply) anthropic(body map[string]any) any {
	blocks, stop := r.anthropicBlocks(body)
	if blocks == nil {
		blocks = []object{}
	}
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": blocks, "stop_reason": stop,
		"usage": r.anthropicUsage(r.TokensOut),
	}
}

// anthropicUsage returns the usage with the output tokens so far. The API counts the input tokens
// that are read from its cache or written to it separately.
func (r *Reply) anthropicUsage(out int) object {
	usage := object{"input_tokens": r.TokensIn - r.Cached - r.CacheWrite, "output_tokens": out}
	if r.Parts != (Parts{}) {
		usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"] = r.Cached, r.CacheWrite
		usage["cache_creation"] = object{"ephemeral_5m_input_tokens": r.CacheWrite - r.CacheWrite1h, "ephemeral_1h_input_tokens": r.CacheWrite1h}
		usage["output_tokens_details"] = object{"thinking_tokens": min(r.Reasoning, out)}
		usage["service_tier"] = cmp.Or(r.Tier, "standard")
	}
	return usage
}

func anthropicEvent(kind string, o object) string {
	o["type"] = kind
	return "event: " + kind + "\ndata: " + mustMarshal(o) + "\n\n"
}

func anthropicPiece(text string) string {
	return anthropicEvent("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": text}})
}

func (r *Reply) anthropicEvents(body map[string]any) []string {
	blocks, stop := r.anthropicBlocks(body)
	out := []string{
		anthropicEvent("message_start", object{"message": object{"id": "msg_1", "role": "assistant", "model": body["model"], "content": []any{},
			"usage": r.anthropicUsage(min(r.TokensOut, 1))}}),
		anthropicEvent("ping", object{}),
	}
	for i, b := range blocks {
		begin, delta, key := object{"type": "text", "text": ""}, "text_delta", "text"
		var pieces []string
		switch b["type"] {
		case "thinking":
			begin, delta, key = object{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking"
			pieces = []string{r.Thought}
		case "tool_use":
			begin, delta, key = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}, "input_json_delta", "partial_json"
			text := mustMarshal(b["input"])
			pieces = []string{"", text[:len(text)/2], text[len(text)/2:]}
		default:
			pieces = r.pieces(b["text"].(string))
		}
		out = append(out, anthropicEvent("content_block_start", object{"index": i, "content_block": begin}))
		for _, p := range pieces {
			out = append(out, anthropicEvent("content_block_delta", object{"index": i, "delta": object{"type": delta, key: p}}))
		}
		out = append(out, anthropicEvent("content_block_stop", object{"index": i}))
	}
	return append(out,
		anthropicEvent("message_delta", object{"delta": object{"stop_reason": stop}, "usage": object{"output_tokens": r.TokensOut, "output_tokens_details": object{"thinking_tokens": r.Reasoning}}}),
		anthropicEvent("message_stop", object{}))
}

func (r *Reply) geminiContent(body map[string]any, text string, finish any) object {
	parts := []any{}
	if text != "" {
		parts = append(parts, object{"text": text})
	}
	if finish != nil {
		if config, ok := body["toolConfig"].(map[string]any); ok && config != nil && r.JSON != nil {
			functions := body["tools"].([]any)[0].(map[string]any)["functionDeclarations"].([]any)
			name := functions[len(functions)-1].(map[string]any)["name"]
			parts = []any{object{"functionCall": object{"name": name, "args": r.JSON}}}
		}
		for _, c := range r.ToolCalls {
			call := object{"functionCall": object{"name": c.Name, "args": c.Args}}
			if c.ID != "" {
				call["thoughtSignature"] = c.ID
			}
			parts = append(parts, call)
		}
	}
	candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	if finish != nil {
		candidate["finishReason"] = finish
	}
	return object{"candidates": []any{candidate}, "modelVersion": "m", "responseId": "resp_1",
		"usageMetadata": object{"promptTokenCount": r.TokensIn, "candidatesTokenCount": r.TokensOut - r.Reasoning, "thoughtsTokenCount": r.Reasoning, "cachedContentTokenCount": r.Cached}}
}

func (r *Reply) geminiStop() string {
	if r.Stop != "" {
		return r.Stop
	}
	return "STOP"
}

func (r *Reply) gemini(body map[string]any) any {
	return r.geminiContent(body, r.text(), r.geminiStop())
}

func geminiPiece(text string) string {
	return "data: " + mustMarshal((&Reply{}).geminiContent(nil, text, nil)) + "\r\n\r\n"
}

func (r *Reply) geminiEvents(body map[string]any) []string {
	var out []string
	if body["toolConfig"] == nil {
		for _, p := range r.pieces(r.text()) {
			out = append(out, geminiPiece(p))
		}
	}
	return append(out, "data: "+mustMarshal(r.geminiContent(body, "", r.geminiStop()))+"\r\n\r\n")
}

func (r *Reply) ollama(body map[string]any) any {
	message := object{"role": "assistant", "content": r.text()}
	var calls []any
	for _, c := range r.ToolCalls {
		calls = append(calls, object{"function": object{"name": c.Name, "arguments": c.Args}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	stop := "stop"
	if r.Stop != "" {
		stop = r.Stop
	}
	return object{"model": body["model"], "message": message, "done": true, "done_reason": stop,
		"prompt_eval_count": r.TokensIn, "eval_count": r.TokensOut}
}

func ollamaPiece(text string) string {
	return mustMarshal(object{"model": "m", "message": object{"role": "assistant", "content": text}, "done": false}) + "\n"
}

func (r *Reply) ollamaEvents(body map[string]any) []string {
	var out []string
	for _, p := range r.pieces(r.text()) {
		out = append(out, ollamaPiece(p))
	}
	last := *r
	last.Text, last.JSON = "", nil
	return append(out, mustMarshal(last.ollama(body))+"\n")
}
