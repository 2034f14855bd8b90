package llm

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

func script(t *testing.T, replies string) (*Client, *sleeps) {
	conn := Connection{Name: "main", Provider: "scripted", Origin: "Concerto.toml:4"}
	if replies != "" {
		conn.Replies = []byte(replies)
	}
	return client(t, conn)
}

func prompt(p string) effect.AgentCall {
	return effect.AgentCall{Messages: []effect.ChatMessage{{Role: "user", Content: p}}}
}

func TestScriptedOrderAndMatch(t *testing.T) {
	c, _ := script(t, `[
		{"match": "(?i)token", "text": "cookie"},
		{"text": "first"},
		{"match": "^again", "text": "repeated", "repeat": true},
		{"agent": "B", "text": "not for A"},
		{"text": "second"}]`)
	for _, x := range []struct{ prompt, want string }{
		{"again", "first"}, {"again", "repeated"}, {"where is the TOKEN?", "cookie"}, {"again", "repeated"}, {"the token", "second"},
	} {
		got, err := ask(c, prompt(x.prompt))
		if err != nil || got.Text != x.want {
			t.Errorf("prompt %s: reply %v (error %v), want %s", x.prompt, got, err, x.want)
		}
	}
	_, err := ask(c, prompt("one\nmore"))
	e := agentError(t, err)
	want := "agent 'A' (connection 'main', model scripted): none of the script's 2 unused replies matches for the prompt \"one more\": " +
		"add a reply to connection 'main' (Concerto.toml:4), or set `repeat = true` in one"
	if e.Message != want {
		t.Errorf("error:\n got %s\nwant %s", e.Message, want)
	}
	if d := cmp.Diff(map[string]any{"model": "scripted", "provider": "main", "retryable": false, "reason": "script"}, e.Fields); d != "" {
		t.Error(d)
	}
}

func TestScriptedExhausted(t *testing.T) {
	c, _ := script(t, `[]`)
	_, err := ask(c, prompt("x"))
	if e := agentError(t, err); e.Message != "agent 'A' (connection 'main', model scripted): all 0 replies of the script are used for the prompt \"x\": "+
		"add a reply to connection 'main' (Concerto.toml:4), or set `repeat = true` in one" {
		t.Error(e.Message)
	}
}

func TestScriptedReply(t *testing.T) {
	c, s := script(t, `[{"json": {"b": 1.0, "a": "<é>"}, "tokens_in": 9, "tokens_out": 0, "stop": "length", "delay_ms": 30},
		{"tool_calls": [{"name": "add", "args": {"a": 1}}, {"name": "f", "id": "x"}]}]`)
	got, err := ask(c, effect.AgentCall{Model: "m", System: "12345678"})
	wantReply(t, got, err, &effect.AgentReply{Text: `{"b":1.0,"a":"<é>"}`, TokensIn: 9, Model: "m", Provider: "main", StopReason: "length"})
	if d := cmp.Diff([]time.Duration{30 * time.Millisecond}, s.d); d != "" {
		t.Error(d)
	}
	got, err = ask(c, effect.AgentCall{System: "12345678", Tools: []effect.ToolSpec{{Name: "Calc_add"}, {Name: "f"}}})
	wantReply(t, got, err, &effect.AgentReply{TokensIn: 4, Model: "scripted", Provider: "main", StopReason: "tool",
		ToolCalls: []effect.ToolCall{{ID: "call_0", Name: "Calc_add", Args: `{"a": 1}`}, {ID: "x", Name: "f", Args: "{}"}}})
}

func TestScriptedErrors(t *testing.T) {
	c, _ := script(t, `[{"error": {"status": 429, "message": "slow down"}}, {"error": {"kind": "timeout"}}, {"error": {"kind": "connection", "message": "cable"}}, {"error": {}}]`)
	for _, want := range []struct {
		message string
		fields  map[string]any
	}{
		{"the provider answered 429 Too Many Requests: slow down (give the agent a retry_policy, or the connection a rate_limit)", map[string]any{"status": int64(429), "retryable": true, "reason": "rate"}},
		{"no response in time", map[string]any{"retryable": true, "reason": "timeout"}},
		{"the connection was closed: cable", map[string]any{"retryable": true, "reason": "connection"}},
		{"the provider answered 500 Internal Server Error (the provider failed: give the agent a retry_policy, or the connection a fallback)", map[string]any{"status": int64(500), "retryable": true, "reason": "server"}},
	} {
		_, err := ask(c, effect.AgentCall{})
		e := agentError(t, err)
		want.fields["model"], want.fields["provider"] = "scripted", "main"
		if d := cmp.Diff(want.fields, e.Fields); d != "" || e.Message != "agent 'A' (connection 'main', model scripted): "+want.message {
			t.Errorf("error = %s\nfields (-want +got):\n%s", e.Message, d)
		}
	}
}

func TestScriptedRetry(t *testing.T) {
	c, _ := script(t, `[{"error": {"status": 503}}, {"text": "x"}]`)
	if got, err := ask(c, effect.AgentCall{Retry: &effect.Retry{MaxAttempts: 2}}); err != nil || got.Text != "x" {
		t.Error(got, err)
	}
}

func TestScriptedDelayIsCancelled(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	c := New(Config{Connections: []Connection{{Name: "main", Provider: "scripted", Replies: []byte(`[{"delay_ms": 60000}]`)}},
		Sleep: func(ctx context.Context, _ time.Duration) error { cancel(stop); <-ctx.Done(); return ctx.Err() }})
	if _, err := askIn(ctx, c, effect.AgentCall{}); err != stop {
		t.Error(err)
	}
}

func TestEcho(t *testing.T) {
	c := New(Config{})
	got, err := ask(c, effect.AgentCall{Connection: "scripted"})
	wantReply(t, got, err, &effect.AgentReply{Text: "scripted reply to: hello", TokensIn: 2, TokensOut: 6, Model: "scripted", Provider: "scripted", StopReason: "end"})
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"label":{"enum":["good","bad"]},"n":{"type":"integer"},"f":{"type":"number"},"tags":{"type":"array"},"opt":{"type":"string"},"ok":{"type":["boolean","null"]},"d":{"default":3}},"required":["label","n","f","tags","ok","d"]}`: `{"label":"good","n":0,"f":0.0,"tags":[],"ok":false,"d":3}`,
		`{"type":"array","prefixItems":[{"type":"string"},{"const":7}]}`:                                             `["",7]`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":[]}}}`: `{}`,
		`{"anyOf":[{"type":"null"},{"type":"string"}]}`:                                                              `null`,
		`{"oneOf":[{"type":"string"}]}`:                                                                              `""`,
		`"not a schema"`:                                                                                             `{}`,
	} {
		got, err := ask(c, effect.AgentCall{Connection: "scripted", Schema: json.RawMessage(schema)})
		if err != nil || got.Text != want {
			t.Errorf("schema %s: reply %v (error %v), want %s", schema, got, err, want)
		}
	}
}

// TestEchoEnds checks that echo terminates for a schema that requires itself and therefore has no
// finite value.
func TestEchoEnds(t *testing.T) {
	c := New(Config{})
	schema := `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"]}}}`
	got, err := ask(c, effect.AgentCall{Connection: "scripted", Schema: json.RawMessage(schema)})
	if err != nil || !json.Valid([]byte(got.Text)) {
		t.Error(got, err)
	}
}
