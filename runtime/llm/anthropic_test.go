package llm

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
)

func TestAnthropicRequest(t *testing.T) {
	s, conn := server(t, "anthropic", modelserver.Reply{Text: "one", TokensIn: 9, TokensOut: 4})
	c, _ := client(t, conn)
	got, err := ask(c, effect.AgentCall{
		Model: "claude", System: "Be kind.", Temperature: ptr(0.5), TopP: ptr(1.0), MaxTokens: ptr(int64(77)), Stop: []string{"END"},
		Tools: []effect.ToolSpec{{Name: "Calc_add", Description: "Add", Parameters: []byte(`{"type":"object"}`)}},
		Messages: []effect.ChatMessage{
			{Role: "system", Content: "Be brief."},
			{Role: "user", Content: "hi"},
			{Role: "user", Content: "again"},
			{Role: "assistant", Content: "", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "Calc_add", Args: `{"a":1}`}, {ID: "c2", Name: "Calc_add", Args: `oops`}}},
			{Role: "tool", ToolCallID: "c1", Content: "2"},
			{Role: "tool", ToolCallID: "c2", Content: "no object", IsError: true},
			{Role: "assistant", Content: ""},
		},
	})
	wantReply(t, got, err, &effect.AgentReply{Text: "one", TokensIn: 9, TokensOut: 4, Model: "claude", Provider: "main", StopReason: "end"})
	r := s.Requests()[0]
	body(t, r, `{"model":"claude","max_tokens":77,"temperature":0.5,"top_p":1,"stop_sequences":["END"],"system":"Be kind.\n\nBe brief.",
		"tools":[{"name":"Calc_add","description":"Add","input_schema":{"type":"object"}}],
		"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"again"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Calc_add","input":{"a":1}},{"type":"tool_use","id":"c2","name":"Calc_add","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"2"},{"type":"tool_result","tool_use_id":"c2","content":"no object","is_error":true}]}]}`)
	if r.Header.Get("X-Api-Key") != key || r.Header.Get("Anthropic-Version") != "2023-06-01" || r.Header.Get("Authorization") != "" {
		t.Error(r.Header)
	}
	if r.Path != "/v1/messages" {
		t.Error(r.Path)
	}
}

func TestAnthropicBareRequest(t *testing.T) {
	s, conn := server(t, "anthropic", modelserver.Reply{Text: "x"})
	c, _ := client(t, conn)
	if _, err := ask(c, effect.AgentCall{}); err != nil {
		t.Fatal(err)
	}
	body(t, s.Requests()[0], `{"model":"m","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}]}`)
}

func TestAnthropicSchema(t *testing.T) {
	s, conn := server(t, "anthropic",
		modelserver.Reply{JSON: []byte(`{"n":1}`)},
		modelserver.Reply{JSON: []byte(`{"value":true}`), Text: "Here it is."},
		modelserver.Reply{ToolCalls: []modelserver.Call{{ID: "c1", Name: "f", Args: []byte(`{}`)}}, Text: "First a tool."})
	c, _ := client(t, conn)
	got, err := ask(c, effect.AgentCall{Schema: []byte(`{"type":"object"}`), SchemaName: "Verdict"})
	wantReply(t, got, err, &effect.AgentReply{Text: `{"n":1}`, Model: "m", Provider: "main", StopReason: "end"})
	body(t, s.Requests()[0], `{"model":"m","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],
		"tools":[{"name":"Verdict","description":"Give the answer with this tool.","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"Verdict"}}`)
	tools := []effect.ToolSpec{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}
	got, err = ask(c, effect.AgentCall{Schema: []byte(`{"type":"boolean"}`), SchemaName: "Bool", Tools: tools})
	wantReply(t, got, err, &effect.AgentReply{Text: `true`, Model: "m", Provider: "main", StopReason: "end"})
	if choice := s.Requests()[1].Body["tool_choice"].(map[string]any); len(choice) != 1 || choice["type"] != "any" {
		t.Error(choice)
	}
	got, err = ask(c, effect.AgentCall{Schema: []byte(`{"type":"boolean"}`), SchemaName: "Bool", Tools: tools})
	wantReply(t, got, err, &effect.AgentReply{Text: "First a tool.", Model: "m", Provider: "main", StopReason: "tool",
		ToolCalls: []effect.ToolCall{{ID: "c1", Name: "f", Args: `{}`}}})
}

func TestAnthropicStopReasons(t *testing.T) {
	for wire, want := range map[string]string{"end_turn": "end", "max_tokens": "length", "stop_sequence": "stop"} {
		_, conn := server(t, "anthropic", modelserver.Reply{Text: "x", Stop: wire})
		c, _ := client(t, conn)
		if got, err := ask(c, effect.AgentCall{}); err != nil || got.StopReason != want {
			t.Errorf("stop reason %s: reply %v (error %v), want %s", wire, got, err, want)
		}
	}
}
