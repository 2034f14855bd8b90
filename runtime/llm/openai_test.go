package llm

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// body compares the JSON body of a request with want.
func body(t *testing.T, got modelserver.Request, want string) {
	t.Helper()
	var w map[string]any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w, got.Body); d != "" {
		t.Error(d)
	}
}

func TestOpenAIRequest(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Text: "one", TokensIn: 9, TokensOut: 4})
	conn.Organization, conn.Project = "org-1", "proj-1"
	c, _ := client(t, conn)
	got, err := ask(c, effect.AgentCall{
		Model: "gpt", System: "Be <kind>.", Temperature: ptr(0.0), TopP: ptr(0.5), MaxTokens: ptr(int64(77)), Stop: []string{"END"},
		Tools: []effect.ToolSpec{{Name: "Calc_add", Description: "Add", Parameters: []byte(`{"type":"object"}`)}},
		Messages: []effect.ChatMessage{
			{Role: "user", Content: "hi"},
			{Role: "assistant", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "Calc_add", Args: `{"a":1}`}}},
			{Role: "tool", ToolCallID: "c1", Content: "no such", IsError: true},
			{Role: "tool", ToolCallID: "c2", Content: "2"},
		},
	})
	wantReply(t, got, err, &effect.AgentReply{Text: "one", TokensIn: 9, TokensOut: 4, Model: "gpt", Provider: "main", StopReason: "end"})
	r := s.Requests()[0]
	body(t, r, `{"model":"gpt","temperature":0,"top_p":0.5,"max_tokens":77,"stop":["END"],
		"tools":[{"type":"function","function":{"name":"Calc_add","description":"Add","parameters":{"type":"object"}}}],
		"messages":[{"role":"system","content":"Be <kind>."},{"role":"user","content":"hi"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Calc_add","arguments":"{\"a\":1}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"Error: no such"},{"role":"tool","tool_call_id":"c2","content":"2"}]}`)
	for name, want := range map[string]string{"Authorization": "Bearer " + key, "Openai-Organization": "org-1", "Openai-Project": "proj-1", "Content-Type": "application/json"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("header %s = %q, want %q", name, got, want)
		}
	}
	if r.Path != "/v1/chat/completions" {
		t.Error(r.Path)
	}
}

func TestOpenAIBareRequest(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Text: "x"})
	conn.APIKeyEnv = "" // a private server may need no key
	c, _ := client(t, conn)
	if _, err := ask(c, effect.AgentCall{}); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[0]
	body(t, r, `{"model":"m","messages":[{"role":"user","content":"hello"}]}`)
	if h, ok := r.Header["Authorization"]; ok {
		t.Error(h)
	}
}

func TestOpenAISchema(t *testing.T) {
	s, conn := server(t, "openai",
		modelserver.Reply{JSON: []byte(`{"n":1}`)},
		modelserver.Reply{JSON: []byte(`{"value":[1, 2]}`)},
		modelserver.Reply{Text: "I would rather not."})
	c, _ := client(t, conn)
	object := effect.AgentCall{Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`), SchemaName: "Verdict"}
	list := effect.AgentCall{Schema: []byte(`{"type":"array","items":{"$ref":"#/$defs/N"},"$defs":{"N":{"type":"integer"}}}`), SchemaName: "Array<Int>"}
	for i, want := range []string{`{"n":1}`, `[1, 2]`, "I would rather not."} {
		call := object
		if i > 0 {
			call = list
		}
		got, err := ask(c, call)
		if err != nil || got.Text != want {
			t.Errorf("call %d: reply %v (error %v), want %s", i, got, err, want)
		}
	}
	format := func(i int) string {
		b, _ := json.Marshal(s.Requests()[i].Body["response_format"])
		return string(b)
	}
	if got := format(0); got != `{"json_schema":{"name":"Verdict","schema":{"properties":{"n":{"type":"integer"}},"type":"object"}},"type":"json_schema"}` {
		t.Error(got)
	}
	if got := format(1); got != `{"json_schema":{"name":"Array_Int_","schema":{"$defs":{"N":{"type":"integer"}},"additionalProperties":false,"properties":{"value":{"$defs":{"N":{"type":"integer"}},"items":{"$ref":"#/$defs/N"},"type":"array"}},"required":["value"],"type":"object"},"strict":true},"type":"json_schema"}` {
		t.Error(got)
	}
}

func TestOpenAIReplies(t *testing.T) {
	raw := func(choice string) modelserver.Reply {
		return modelserver.Reply{Raw: ptr(`{"model":"m-2024","choices":[` + choice + `],"usage":{"prompt_tokens":1,"completion_tokens":2}}`)}
	}
	for name, c := range map[string]struct {
		reply modelserver.Reply
		want  effect.AgentReply
	}{
		"length": {modelserver.Reply{Text: "x", Stop: "length"}, effect.AgentReply{Text: "x", Model: "m", StopReason: "length"}},
		"filter": {modelserver.Reply{Text: "x", Stop: "content_filter"}, effect.AgentReply{Text: "x", Model: "m", StopReason: "filter"}},
		"tools": {modelserver.Reply{ToolCalls: []modelserver.Call{{ID: "c1", Name: "f", Args: []byte(`{"a": 1}`)}}},
			effect.AgentReply{Model: "m", StopReason: "tool", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "f", Args: `{"a": 1}`}}}},
		"tools without id, arguments as an object": {raw(`{"message":{"content":null,"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"stop"}`),
			effect.AgentReply{Model: "m-2024", TokensIn: 1, TokensOut: 2, StopReason: "tool", ToolCalls: []effect.ToolCall{{ID: "call_0", Name: "f", Args: `{"a":1}`}}}},
		"parts": {raw(`{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}`), effect.AgentReply{Text: "ab", Model: "m-2024", TokensIn: 1, TokensOut: 2, StopReason: "end"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, conn := server(t, "openai", c.reply)
			cl, _ := client(t, conn)
			got, err := ask(cl, effect.AgentCall{})
			c.want.Provider = "main"
			wantReply(t, got, err, &c.want)
		})
	}
}
