package client

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestDecisions checks which decisions a relay receives, and in which form. It must not receive
// those that its users made, because hostd reports them, and those that no request required.
func TestDecisions(t *testing.T) {
	s := New(Options{Socket: filepath.Join(t.TempDir(), "none")})
	defer s.End(0)
	lines(&s.queue)
	asked := &effect.AskHost{Asking: effect.Asking{Host: "Coder", Type: "approval"}, Message: json.RawMessage(`{"tool":"Bash","kind":"execute","args":{"command":"make\nmake test"}}`)}
	s.requests.asked[askedKey(asked)] = "q7"
	handle := s.Sink().Shows[event.Decision]
	for _, d := range []*event.Decided{
		{Kind: "approval", Host: "Coder", Asked: json.RawMessage(`{"tool":"Read","kind":"read","args":{"file_path":".env"}}`), Answer: json.RawMessage(`"deny"`), By: effect.ByRules,
			Actor: effect.Actor{Type: effect.ActorRule, Name: "[hosts.Coder.permissions]"}},
		{Kind: "approval", Host: "Coder", Asked: asked.Message, Answer: json.RawMessage(`"yes"`), By: effect.ByTerminal, Actor: effect.Actor{Type: effect.ActorHuman, Name: "ann"}},
		{Kind: "approval", Host: "Coder", Asked: asked.Message, Answer: json.RawMessage(`{"decision":"deny","reason":"not now"}`), By: effect.ByHandler, Handler: true,
			Actor: effect.Actor{Type: effect.ActorRule}, At: event.Place{File: "main.conc", Line: 12}},
		{Kind: "question", Host: "Coder", Asked: json.RawMessage(`{"id":"m1","question":"How many?\nSay."}`), Answer: json.RawMessage(`"four"`), By: effect.ByAnswer, Actor: effect.Actor{Type: effect.ActorHuman}},
		{Kind: "question", Host: "Coder", Asked: json.RawMessage(`{"question":"Which?"}`), Problem: "no answer within 2 s", By: effect.ByTimeout, Actor: effect.Actor{Type: effect.ActorTimeout}},
		{Kind: "await", Channel: "review", Asked: json.RawMessage(`"Ship it?"`), Answer: json.RawMessage(`true`), By: effect.ByTerminal, Actor: effect.Actor{Type: effect.ActorHuman}},
		{Kind: "tool", Asked: json.RawMessage(`{"call_id":"c1","by":"Agent","tool":"delete_user","args":{"id":7}}`), Call: &effect.AppDecided{Decision: "deny", Reason: "never"}, Actor: effect.Actor{Type: effect.ActorApplication}},
		{Kind: "approval", Host: "Coder", Asked: asked.Message, Answer: json.RawMessage(`"yes"`), By: effect.ByRelay, Actor: effect.Actor{Type: effect.ActorHuman}},
		{Kind: "gate", Host: "Coder"},
	} {
		handle(&event.Event{Decided: d})
	}
	text, _ := lines(&s.queue)
	var got []protocol.Decided
	for line := range strings.Lines(text) {
		var e struct {
			Event string
			Data  protocol.Decided
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Event != protocol.RunDecision {
			t.Fatal(line, err)
		}
		got = append(got, e.Data)
	}
	want := []protocol.Decided{
		{Title: "Read .env", Decision: "deny", Actor: "rule", By: "[hosts.Coder.permissions]", Host: "Coder"},
		{RequestID: "q7", Title: "Run a command", Line: "make", Decision: "approve", Actor: "human", By: "ann", Host: "Coder"},
		{Title: "Run a command", Line: "make", Decision: "deny", Actor: "rule", By: "main.conc:12", Reason: "not now", Host: "Coder"},
		{Title: "Answer a question", Line: "How many?", Decision: "answer", Actor: "human", Answer: json.RawMessage(`"four"`), Host: "Coder", MessageID: "m1"},
		{Title: "Answer a question", Line: "Which?", Decision: "expired", Actor: "timeout", Reason: "no answer within 2 s", Host: "Coder"},
		{Title: "Answer a question", Line: "Ship it?", Decision: "answer", Actor: "human", Answer: json.RawMessage(`true`)},
		{Title: "Call the tool delete_user", Line: `{"id":7}`, Decision: "deny", Actor: "application", Reason: "never"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}
