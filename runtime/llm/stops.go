package llm

import (
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// stops maps the reasons for which replies end, as the APIs spell them, to those of the program. A
// reason that is in neither table is no success: the reply may be incomplete.
var stops = map[string]string{
	// OpenAI and compatible servers
	"stop": "end", "eos": "end", "eos_token": "end", "end": "end", "length": "length", "tool_calls": "tool", "function_call": "tool", "content_filter": "filter",
	"completed": "end", "max_output_tokens": "length",
	// Anthropic, also of compatible servers that pass on its reasons
	"end_turn": "end", "max_tokens": "length", "model_context_window_exceeded": "length", "tool_use": "tool", "stop_sequence": "stop", "refusal": stopRefusal, "pause_turn": stopPause,
	// Bedrock
	"guardrail_intervened": "filter", "content_filtered": "filter",
	// Gemini
	"MAX_TOKENS": "length", "STOP": "end", "SAFETY": "filter", "RECITATION": "filter", "BLOCKLIST": "filter", "PROHIBITED_CONTENT": "filter", "SPII": "filter",
	"LANGUAGE": "filter", "IMAGE_SAFETY": "filter",
}

// stopRefusal is the reason of a reply that contains the model's refusal. It is an error for the
// program, which is made after the reply's tokens are counted.
const stopRefusal = "refusal"

// brokenOff maps the reasons with which providers break off a reply to classes of failures.
var brokenOff = map[string]Class{
	"error":                        ClassServer,     // gateways
	"insufficient_system_resource": ClassOverloaded, // DeepSeek
	"abort":                        ClassServer,     // vLLM
	"load":                         ClassOverloaded, // Ollama: the model is being loaded
	"unload":                       ClassOverloaded, // Ollama
	"malformed_model_output":       ClassBadAnswer,  // Bedrock
	"malformed_tool_use":           ClassBadAnswer,  // Bedrock
	"MALFORMED_FUNCTION_CALL":      ClassBadAnswer,  // Gemini
	"UNEXPECTED_TOOL_CALL":         ClassBadAnswer,  // Gemini
	"TOO_MANY_TOOL_CALLS":          ClassBadAnswer,  // Gemini
}

// stopOf returns the reason for the end of a reply. error is a failure if the reply may be
// incomplete. An empty reason is that of a server that sends none.
func stopOf(reason string, body []byte) (string, error) {
	if reason == "" {
		return "end", nil
	}
	if stop := stops[reason]; stop != "" {
		return stop, nil
	}
	f := &Failure{Class: brokenOff[reason], Message: "the provider broke off the reply: " + reason, Body: string(body)}
	if f.Class == "" {
		f.Class = ClassBadAnswer
		f.Message = "the reply ended for a reason that is unknown, and may be incomplete: " + reason
	}
	hint := classes[f.Class].hint
	if f.Class == ClassBadAnswer {
		hint = "try again, or change the prompt"
	}
	f.Message += " (" + hint + ")"
	return "", f
}

// errorTexts contains parts of the texts of errors, in lower case, by which providers report what
// their status and codes do not.
var errorTexts = []struct {
	part  string
	class Class
}{
	{"maximum context length", ClassContextLength},               // OpenAI, vLLM
	{"exceeds the available context", ClassContextLength},        // llama.cpp
	{"exceeds the context", ClassContextLength},                  // Ollama
	{"exceeds maximum context length", ClassContextLength},       // Ollama
	{"exceed context limit", ClassContextLength},                 // Anthropic: input and max_tokens
	{"prompt is too long", ClassContextLength},                   // Anthropic, Bedrock
	{"input is too long", ClassContextLength},                    // Bedrock
	{"exceeds the maximum number of tokens", ClassContextLength}, // Gemini
	{"credit balance", ClassQuota},                               // Anthropic
	{"specified api usage limits", ClassQuota},                   // Anthropic: a limit of the workspace
	{"exceeded your current quota", ClassQuota},                  // OpenAI, compatible servers
}

// classOfText returns the class of an error by its text, or "".
func classOfText(text string) Class {
	text = strings.ToLower(text)
	for _, x := range errorTexts {
		if strings.Contains(text, x.part) {
			return x.class
		}
	}
	return ""
}

// streamedCalls assembles the tool calls of a stream of an OpenAI-compatible server. Such servers
// number calls from 0 or 1, give several calls the same number, or send no numbers; and they send
// the ID and the name once or in each piece. A call is therefore found by its ID, then by its
// number, then by its place.
type streamedCalls struct {
	all []*streamedCall
}

type streamedCall struct {
	id, name  string
	number    *int
	arguments strings.Builder
}

// add adds a piece of a call. It returns an error if the piece belongs to no call.
func (s *streamedCalls) add(t *openAICall) error {
	c := s.find(t)
	if c == nil {
		if t.ID == "" && t.Function.Name == "" {
			return &Failure{Class: ClassBadAnswer, Message: "the provider's response continues a tool call that has not begun (check the connection's base_url)"}
		}
		c = &streamedCall{number: t.Index}
		s.all = append(s.all, c)
	}
	if c.id == "" {
		c.id = t.ID
	}
	if name := t.Function.Name; name != c.name { // otherwise it is repeated
		c.name += name
	}
	c.arguments.WriteString(argumentsText(t.Function.Arguments))
	return nil
}

// find returns the call to which a piece belongs, or nil for a new call.
func (s *streamedCalls) find(t *openAICall) *streamedCall {
	for i := len(s.all) - 1; i >= 0; i-- {
		switch c := s.all[i]; {
		case t.ID != "" && c.id == t.ID:
			return c
		case t.ID != "" && c.id != "":
		case t.Index != nil && c.number != nil && *t.Index == *c.number:
			return c
		case t.Index != nil && c.number != nil:
		case i == len(s.all)-1 && !s.begins(t, c):
			return c
		}
	}
	return nil
}

// begins reports whether a piece without a number begins a call after the last one, c.
func (s *streamedCalls) begins(t *openAICall, c *streamedCall) bool {
	switch {
	case t.ID != "":
		return c.name != "" // otherwise c has begun with its name or number only
	case t.Function.Name == "":
		return false
	}
	return t.Function.Name != c.name || json.Valid([]byte(c.arguments.String()))
}

// calls returns the calls in the order in which they began.
func (s *streamedCalls) calls() (out []effect.ToolCall) {
	for i, c := range s.all {
		out = append(out, effect.ToolCall{ID: orNumber(c.id, i), Name: c.name, Args: c.arguments.String()})
	}
	return out
}
