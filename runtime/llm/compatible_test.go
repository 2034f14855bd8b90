package llm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// events returns a reply with server-sent events.
func events(all ...string) modelserver.Reply {
	raw := ""
	for _, e := range all {
		raw += "data: " + e + "\n\n"
	}
	return modelserver.Reply{Raw: &raw, Headers: map[string]string{"Content-Type": "text/event-stream"}}
}

// TestStreamedCalls checks that parallel tool calls remain separate however a compatible server
// numbers and repeats them.
func TestStreamedCalls(t *testing.T) {
	piece := func(members, name, arguments string) string {
		function := fmt.Sprintf(`"arguments":%q`, arguments)
		if name != "" {
			function = fmt.Sprintf(`"name":%q,`, name) + function
		}
		return fmt.Sprintf(`{%s"function":{%s}}`, members, function)
	}
	weather, clock := effect.ToolCall{ID: "a", Name: "weather", Args: `{"city":"Oslo"}`}, effect.ToolCall{ID: "b", Name: "clock", Args: `{}`}
	both := []effect.ToolCall{weather, clock}
	unnamed := []effect.ToolCall{{ID: "call_0", Name: "weather", Args: `{"city":"Oslo"}`}, {ID: "call_1", Name: "clock", Args: `{}`}}
	for name, c := range map[string]struct {
		pieces []string
		want   []effect.ToolCall
	}{
		"as the API":                  {[]string{piece(`"index":0,"id":"a",`, "weather", ""), piece(`"index":0,`, "", `{"city":`), piece(`"index":0,`, "", `"Oslo"}`), piece(`"index":1,"id":"b",`, "clock", "{}")}, both},
		"interleaved":                 {[]string{piece(`"index":0,"id":"a",`, "weather", `{"city":`), piece(`"index":1,"id":"b",`, "clock", ""), piece(`"index":0,`, "", `"Oslo"}`), piece(`"index":1,`, "", `{}`)}, both},
		"no index":                    {[]string{piece(`"id":"a",`, "weather", `{"city":"Oslo"}`), piece(`"id":"b",`, "clock", "{}")}, both},
		"no index, pieces without id": {[]string{piece(`"id":"a",`, "weather", `{"city":`), piece("", "", `"Oslo"}`), piece(`"id":"b",`, "clock", ""), piece("", "", "{}")}, both},
		"the same index":              {[]string{piece(`"index":0,"id":"a",`, "weather", `{"city":"Oslo"}`), piece(`"index":0,"id":"b",`, "clock", ""), piece(`"index":0,`, "", "{}")}, both},
		"from 1":                      {[]string{piece(`"index":1,"id":"a",`, "weather", `{"city":"Oslo"}`), piece(`"index":2,"id":"b",`, "clock", "{}")}, both},
		"a gap":                       {[]string{piece(`"index":0,"id":"a",`, "weather", `{"city":"Oslo"}`), piece(`"index":7,"id":"b",`, "clock", "{}")}, both},
		"negative":                    {[]string{piece(`"index":-1,"id":"a",`, "weather", `{"city":"Oslo"}`), piece(`"index":-2,"id":"b",`, "clock", "{}")}, both},
		"repeated id and name":        {[]string{piece(`"index":0,"id":"a",`, "weather", `{"city":`), piece(`"index":0,"id":"a",`, "weather", `"Oslo"}`), piece(`"index":1,"id":"b",`, "clock", "{}")}, both},
		"repeated id, no index":       {[]string{piece(`"id":"a",`, "weather", `{"city":`), piece(`"id":"b",`, "clock", "{}"), piece(`"id":"a",`, "weather", `"Oslo"}`)}, both},
		"the id comes later":          {[]string{piece(`"index":0,`, "weather", ""), piece(`"index":0,"id":"a",`, "", `{"city":"Oslo"}`), piece(`"index":1,"id":"b",`, "clock", "{}")}, both},
		"a name in pieces":            {[]string{piece(`"index":0,"id":"a",`, "wea", ""), piece(`"index":0,`, "ther", `{"city":"Oslo"}`), piece(`"index":1,"id":"b",`, "clock", "{}")}, both},
		"neither index nor id":        {[]string{piece("", "weather", `{"city":`), piece("", "", `"Oslo"}`), piece("", "clock", "{}")}, unnamed},
		"neither, repeated name":      {[]string{piece("", "weather", `{"city":`), piece("", "weather", `"Oslo"}`), piece("", "clock", "{}")}, unnamed},
		"neither, twice the same tool": {[]string{piece("", "clock", "{}"), piece("", "clock", "{}")},
			[]effect.ToolCall{{ID: "call_0", Name: "clock", Args: "{}"}, {ID: "call_1", Name: "clock", Args: "{}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []string
			for _, p := range c.pieces {
				all = append(all, `{"choices":[{"delta":{"tool_calls":[`+p+`]}}]}`)
			}
			all = append(all, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")
			_, conn := server(t, "openai", events(all...))
			cl, _ := client(t, conn)
			_, got, err := streamed(t.Context(), cl, effect.AgentCall{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got.ToolCalls); d != "" {
				t.Error(d)
			}
		})
	}
	_, conn := server(t, "openai", events(`{"choices":[{"delta":{"tool_calls":[`+piece(`"index":3,`, "", "{}")+`]}}]}`, "[DONE]"))
	cl, _ := client(t, conn)
	_, _, err := streamed(t.Context(), cl, effect.AgentCall{})
	if e := agentError(t, err); e.Fields["reason"] != "bad_answer" || !strings.Contains(e.Message, "continues a tool call that has not begun") {
		t.Error(e.Message, e.Fields)
	}
}

// TestBrokenOff checks that no reply that its provider has broken off, or that ends for an unknown
// reason, is a success.
func TestBrokenOff(t *testing.T) {
	chat := func(choice string) string { return `{"choices":[` + choice + `]}` }
	for name, c := range map[string]struct {
		provider, whole string
		stream          []string
		reason          string
		retryable       bool
		text            string
	}{
		"error in a choice": {"openai", chat(`{"message":{"content":""},"finish_reason":"error","error":{"code":502,"message":"upstream is gone"}}`),
			[]string{chat(`{"delta":{"content":"half "}}`), chat(`{"delta":{},"finish_reason":"error","error":{"code":502,"message":"upstream is gone"}}`), "[DONE]"}, "server", true, "upstream is gone"},
		"a limit in a choice": {"openai", chat(`{"message":{"content":""},"error":{"code":429,"message":"slow down"}}`), nil, "rate", true, "slow down"},
		"finish reason error": {"openai", chat(`{"message":{"content":"half"},"finish_reason":"error"}`), []string{chat(`{"delta":{"content":"half"},"finish_reason":"error"}`)}, "server", true, "broke off the reply: error"},
		"interrupted":         {"openai", chat(`{"message":{"content":"half"},"finish_reason":"insufficient_system_resource"}`), nil, "overloaded", true, "insufficient_system_resource"},
		"unknown":             {"openai", chat(`{"message":{"content":"half"},"finish_reason":"tired"}`), []string{chat(`{"delta":{"content":"half"},"finish_reason":"tired"}`)}, "bad_answer", false, "unknown, and may be incomplete: tired"},
		"Ollama loads":        {"ollama", `{"message":{"content":""},"done":true,"done_reason":"load"}`, nil, "overloaded", true, "broke off the reply: load"},
		"Anthropic":           {"anthropic", `{"content":[{"type":"text","text":"half"}],"stop_reason":"tired"}`, nil, "bad_answer", false, "tired"},
		"Gemini":              {"gemini", `{"candidates":[{"content":{"parts":[{"text":"half"}]},"finishReason":"OTHER"}]}`, nil, "bad_answer", false, "OTHER"},
		"Bedrock":             {"bedrock", `{"output":{"message":{"content":[{"text":"half"}]}},"stopReason":"malformed_tool_use"}`, nil, "bad_answer", false, "malformed_tool_use"},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(err error, retryable bool) {
				t.Helper()
				e := agentError(t, err)
				if e.Fields["reason"] != c.reason || e.Fields["retryable"] != retryable || !strings.Contains(e.Message, c.text) {
					t.Errorf("error %s with %v, want reason %s, retryable %v and %q", e.Message, e.Fields, c.reason, retryable, c.text)
				}
			}
			_, conn := server(t, c.provider, modelserver.Reply{Raw: &c.whole})
			cl, _ := client(t, conn)
			_, err := ask(cl, effect.AgentCall{})
			check(err, c.retryable)
			if c.stream == nil {
				return
			}
			_, conn = server(t, c.provider, events(c.stream...))
			cl, _ = client(t, conn)
			_, _, err = streamed(t.Context(), cl, effect.AgentCall{})
			check(err, c.retryable && !strings.Contains(c.stream[0], "half "))
		})
	}
}

// TestBlocksByIndex checks that the indexes of blocks are names, not positions.
func TestBlocksByIndex(t *testing.T) {
	_, conn := server(t, "anthropic", events(`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"h"}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"i"}}`,
		`{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"t","name":"clock"}}`, `{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"!"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`))
	cl, _ := client(t, conn)
	text, got, err := streamed(t.Context(), cl, effect.AgentCall{})
	if err != nil || text != "hi!" || got.Text != "hi!" || len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != "clock" {
		t.Error(text, got, err)
	}
}
