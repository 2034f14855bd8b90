package llm

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// chain returns a client with two connections. The connection `main` has the fallback `second`,
// which has no fallback.
func chain(t *testing.T, first, second modelserver.Reply) (*Client, *modelserver.Server, *modelserver.Server) {
	s1, main := server(t, "openai", first)
	s2, other := server(t, "anthropic", second)
	main.Fallback, other.Name, other.DefaultModel = []string{"second"}, "second", "claude"
	other.Models = map[string]string{"fast": "claude-mini"}
	c, _ := client(t, main, other)
	return c, s1, s2
}

// TestFallback checks which classes of failures lead to the fallback. Errors of the request, the
// key or the prompt do not.
func TestFallback(t *testing.T) {
	for class, c := range map[Class]struct {
		status int
		code   string
		falls  bool
	}{
		ClassRate: {429, "rate_limit_exceeded", true}, ClassQuota: {429, "insufficient_quota", true}, ClassServer: {500, "", true},
		ClassOverloaded: {503, "", true}, ClassContextLength: {400, "context_length_exceeded", true},
		ClassAuth: {401, "", false}, ClassBadRequest: {400, "", false}, ClassContentFilter: {400, "content_filter", false}, ClassNotFound: {404, "", false},
	} {
		raw := `{"error":{"message":"m","code":"` + c.code + `"}}`
		cl, _, s2 := chain(t, modelserver.Reply{Status: c.status, Raw: &raw}, modelserver.Reply{Text: "from the second"})
		got, err := ask(cl, effect.AgentCall{Model: "gpt"})
		if c.falls {
			wantReply(t, got, err, &effect.AgentReply{Text: "from the second", Model: "claude", Provider: "second", StopReason: "end"})
			continue
		}
		if e := agentError(t, err); e.Fields["reason"] != string(class) || len(s2.Requests()) != 0 {
			t.Errorf("class %s: error %s, and %d requests to the fallback, want none", class, e.Message, len(s2.Requests()))
		}
	}
}

// TestFallbackItems checks that a fallback receives the hidden content of its own replies, although
// the connection that was called before does not.
func TestFallbackItems(t *testing.T) {
	c, s1, s2 := chain(t, modelserver.Reply{Status: 503}, modelserver.Reply{Text: "done"})
	items := &effect.Items{API: itemsAnthropic, Connection: "second", Model: "claude", Content: []json.RawMessage{[]byte(`{"type":"thinking","thinking":"hmm","signature":"s"}`), itemCall}}
	call := effect.AgentCall{Messages: []effect.ChatMessage{{Role: "user", Content: "go"}, {Role: "assistant", ToolCalls: []effect.ToolCall{{ID: "c1", Name: "f", Args: "{}"}}, Items: items}, {Role: "tool", ToolCallID: "c1", Content: "1"}}}
	if _, err := ask(c, call); err != nil {
		t.Fatal(err)
	}
	for i, s := range []*modelserver.Server{s1, s2} {
		sent := string(jsonwrite.MustEncode(s.Requests()[0].Body))
		if own := i == 1; strings.Contains(sent, "hmm") != own {
			t.Errorf("server %d: a request with the fallback's hidden content: %t, want %t: %s", i+1, !own, own, sent)
		}
	}
	if call.Messages[1].Items != items {
		t.Error("the call of the program has lost its hidden content")
	}
}

// TestFallbackAlias checks that an alias in the agent selects the fallback's model for that alias.
func TestFallbackAlias(t *testing.T) {
	c, _, s2 := chain(t, modelserver.Reply{Status: 500}, modelserver.Reply{Text: "x"})
	if _, err := ask(c, effect.AgentCall{Model: "fast"}); err != nil || s2.Requests()[0].Body["model"] != "claude-mini" {
		t.Error(err)
	}
}

// TestFallbacksFail checks that if all connections fail, the error is that of the last one and
// names the others.
func TestFallbacksFail(t *testing.T) {
	c, _, _ := chain(t, modelserver.Reply{Status: 503, Error: "busy"}, modelserver.Reply{Status: 401, Error: "no"})
	_, err := ask(c, effect.AgentCall{Model: "gpt"})
	e := agentError(t, err)
	want := "agent 'A' (connection 'second', model claude): the provider answered 401 Unauthorized: no (check the key in KEY); it was called as a fallback, " +
		"after connection 'main': the provider answered 503 Service Unavailable: busy (give the agent a retry_policy, or the connection a fallback)"
	if e.Message != want {
		t.Errorf("error:\n got %s\nwant %s", e.Message, want)
	}
	if d := cmp.Diff(map[string]any{"model": "claude", "provider": "second", "reason": "auth", "retryable": false, "status": int64(401),
		"raw_response": `{"error":{"message":"no","type":"error"},"type":"error"}`}, e.Fields); d != "" {
		t.Error(d)
	}
}

// TestFallbackAfterTimeout checks that the timeout of a connection leads to the fallback, whereas
// the timeout of the agent ends the whole call.
func TestFallbackAfterTimeout(t *testing.T) {
	s1, main := server(t, "openai", modelserver.Reply{Hang: true, Repeat: true})
	main.Timeout, main.Fallback = 0.05, []string{"second"}
	c, _ := client(t, main, Connection{Name: "second", Provider: "scripted"})
	if got, err := ask(c, effect.AgentCall{}); err != nil || got.Provider != "second" {
		t.Error(got, err)
	}
	<-s1.Disconnected
	_, err := ask(c, effect.AgentCall{Timeout: 0.05})
	if e := agentError(t, err); !strings.HasPrefix(e.Message, "agent 'A' timed out after 0.05 seconds (connection 'main', model m)") {
		t.Error(e.Message)
	}
}

// TestFallbackAfterRetries checks that the retries of a connection precede its fallback, and that
// the fallback is retried too.
func TestFallbackAfterRetries(t *testing.T) {
	c, s1, s2 := chain(t, modelserver.Reply{Status: 500, Repeat: true}, modelserver.Reply{Status: 500, Repeat: true})
	_, err := ask(c, effect.AgentCall{Retry: &effect.Retry{MaxAttempts: 3}})
	if e := agentError(t, err); len(s1.Requests()) != 3 || len(s2.Requests()) != 3 || strings.Count(e.Message, "(attempt 3 of 3)") != 2 {
		t.Errorf("error = %s after %d and %d requests, want 3 for each connection", e.Message, len(s1.Requests()), len(s2.Requests()))
	}
}

// TestUnknownFallback checks the error for a fallback that does not exist.
func TestUnknownFallback(t *testing.T) {
	_, main := server(t, "openai", modelserver.Reply{Status: 500})
	main.Fallback = []string{"nobody"}
	c, _ := client(t, main)
	_, err := ask(c, effect.AgentCall{})
	if e := agentError(t, err); !strings.HasPrefix(e.Message, "unknown connection 'nobody': add [connections.nobody]") || !strings.Contains(e.Message, "after connection 'main'") {
		t.Error(e.Message)
	}
}

// TestMeter checks that the meter is called before each attempt with the tokens that the attempt
// may use, and afterwards with the tokens that the provider reported.
func TestMeter(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Status: 500}, modelserver.Reply{Text: "x", TokensIn: 7, TokensOut: 3, Repeat: true})
	conn.Prices = map[string]models.Rates{"m": {Input: 1, Output: 2}, AnyModel: {Input: 3, Output: 4}}
	type settled struct {
		In, Out  int64
		Answered bool
		Cost     int64
	}
	var asked []Metered
	var settlements []settled
	granted := int64(50)
	c := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return key, true }, Sleep: (&sleeps{}).sleep,
		Meter: func(_ context.Context, m Metered) (int64, func(models.Spent), error) {
			asked = append(asked, m)
			return granted, func(x models.Spent) { settlements = append(settlements, settled{x.In, x.Out, x.Answered, x.Cost}) }, nil
		}})
	t.Cleanup(c.Close)
	for _, call := range []effect.AgentCall{{Retry: &effect.Retry{MaxAttempts: 2}}, {Model: "other", MaxTokens: ptr(int64(9))}} {
		if _, err := ask(c, call); err != nil {
			t.Fatal(err)
		}
	}
	one, other := models.Price{Rates: conn.Prices["m"]}, models.Price{Rates: conn.Prices[AnyModel]}
	if d := cmp.Diff([]Metered{{"main", "m", 2, 0, &one, false}, {"main", "m", 2, 0, &one, false}, {"main", "other", 2, 9, &other, false}}, asked); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]settled{{}, {7, 3, true, 7*1e6 + 3*2e6}, {7, 3, true, 7*3e6 + 3*4e6}}, settlements); d != "" {
		t.Error(d)
	}
	for i, want := range []any{50.0, 50.0, 9.0} {
		if got := s.Requests()[i].Body["max_tokens"]; got != want {
			t.Errorf("request %d: max_tokens = %v, want %v", i, got, want)
		}
	}
}
