package llm

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestFunction checks that a function answers instead of a provider, whole and streamed, and that
// its error is not retried.
func TestFunction(t *testing.T) {
	calls := 0
	c := New(Config{Getenv: func(string) (string, bool) { return "", false }, Connections: []Connection{{Name: "a", Provider: "scripted", Function: func(_ context.Context, r *Request) (*effect.AgentReply, error) {
		calls++
		if r.Prompt() == "fail" {
			return nil, errors.New("not today")
		}
		return &effect.AgentReply{Text: "you said " + r.Prompt(), ToolCalls: []effect.ToolCall{{Name: "look", Args: "{}"}}}, nil
	}}}})
	defer c.Close()
	call := func(text string) effect.AgentCall {
		return effect.AgentCall{Agent: "A", Connection: "a", Messages: []effect.ChatMessage{{Role: "user", Content: text}}, Tools: []effect.ToolSpec{{Name: "Shop_look"}}}
	}
	q := call("hi")
	got, err := c.Perform(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	r := got.(*effect.AgentReply)
	if r.Text != "you said hi" || r.StopReason != "tool" || r.TokensIn != 1 || r.TokensOut != 5 || r.Provider != "a" || r.Model != "scripted" || r.ToolCalls[0].Name != "Shop_look" || r.ToolCalls[0].ID == "" {
		t.Errorf("reply = %+v, want the function's text, tool call and estimated tokens", r)
	}
	opened, err := c.Perform(t.Context(), &effect.StreamOpen{AgentCall: call("hi")})
	if err != nil {
		t.Fatal(err)
	}
	id := opened.(*effect.StreamOpened).ID
	piece, err := c.Perform(t.Context(), &effect.StreamNext{ID: id})
	if err != nil || piece.(*effect.StreamPiece).Text != "you said hi" {
		t.Error(piece, err)
	}
	calls = 0
	bad := call("fail")
	_, err = c.Perform(t.Context(), &bad)
	if e, ok := errors.AsType[*effect.Error](err); !ok || e.Kind != "AgentError" || calls != 1 {
		t.Error(calls, err)
	}
}

// TestFunctionItems checks that a function receives only hidden content that it has returned itself
// for the same connection and model.
func TestFunctionItems(t *testing.T) {
	content := []json.RawMessage{json.RawMessage(`1`)}
	for name, x := range map[string]struct {
		items *effect.Items
		want  int
	}{
		"its own":            {&effect.Items{API: itemsFunction, Connection: "a", Model: "m", Content: content}, 1},
		"of a provider":      {&effect.Items{API: itemsAnthropic, Connection: "a", Model: "m", Content: content}, 0},
		"another model":      {&effect.Items{API: itemsFunction, Connection: "a", Model: "n", Content: content}, 0},
		"another connection": {&effect.Items{API: itemsFunction, Connection: "b", Model: "m", Content: content}, 0},
		"none":               {nil, 0},
	} {
		r := Request{AgentCall: &effect.AgentCall{Connection: "a"}, Model: "m"}
		if got := r.FunctionItems(&effect.ChatMessage{Role: "assistant", Items: x.items}); len(got) != x.want {
			t.Errorf("%s: received %s, want %d blocks", name, got, x.want)
		}
	}
	if FunctionItems(nil) != nil {
		t.Error("a reply without content has items")
	}
}
