package client

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/testevents"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/vm"
)

// TestConversations checks what a relay receives about the conversations with hosts and agents.
func TestConversations(t *testing.T) {
	s := New(Options{Socket: filepath.Join(t.TempDir(), "none")})
	defer s.End(0)
	lines(&s.queue)
	r := testevents.New(nil, s.Sink())
	r.TaskBegan(1, 0, vm.Place{Function: "main"})
	r.Perform(1, &effect.ExchangeOpen{Host: "H", Prompt: "p\nq"}, &effect.ExchangeOpened{ID: 7}, nil)
	payload := value.NewMap(1)
	payload.SetString("question", value.String("a?"))
	r.Perform(1, &effect.ExchangeNext{ID: 7}, &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: "question", ID: `"1"`, Payload: payload.Slot()}}}, nil)
	r.Perform(1, &effect.ExchangeReply{ID: 7, InReplyTo: "question", AnswerTo: `"1"`, Value: []byte(`"yes"`)}, nil, nil)
	one := r.Request(1, &effect.AgentCall{Agent: "A", Messages: []effect.ChatMessage{{Role: "user", Content: "a"}}})
	two := r.Request(1, &effect.AgentCall{Agent: "B"})
	two(nil, effect.Errorf("AgentError", "overloaded"))
	one(&effect.AgentReply{Text: "b"}, nil)
	r.Perform(1, &effect.StreamOpen{AgentCall: effect.AgentCall{Agent: "C"}}, &effect.StreamOpened{ID: 3}, nil)
	r.Perform(1, &effect.StreamNext{ID: 3}, &effect.StreamPiece{Text: "c"}, nil)
	r.Perform(1, &effect.StreamNext{ID: 3}, &effect.StreamPiece{Reply: &effect.AgentReply{Text: "cd"}}, nil)
	r.Perform(1, &effect.StreamClose{ID: 3}, nil, nil)
	r.Perform(1, &effect.ExchangeClose{ID: 7, Reason: "stopped"}, nil, nil)
	r.Perform(1, &effect.ExchangeOpen{Host: "H"}, nil, effect.Errorf("HostError", "not found"))
	text, _ := lines(&s.queue)
	var got []string
	for line := range strings.Lines(text) {
		var e struct {
			Event string
			Data  protocol.Listen
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		d := e.Data
		got = append(got, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s %s %s %s", e.Event, d.ListenID, d.Host, d.Phase, d.MessageType, d.MessageID, d.Value, d.Error)), " "))
	}
	want := []string{`run.listen x7 H start prompt "p\nq"`, `run.listen x7 H message question 1 {"question":"a?"}`, `run.listen x7 H reply question 1 "yes"`,
		`run.listen a1 A start prompt "a"`, "run.listen a2 B start", "run.listen a2 B error overloaded", `run.listen a1 A message result {"text":"b"}`, "run.listen a1 A complete", "run.listen a3 C start",
		`run.listen s3 C message result {"text":"cd"}`, "run.listen s3 C complete", "run.listen x7 H error stopped", "run.listen x0 H error not found"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the relay's events differ (-want +got):\n%s", diff)
	}
}

// TestTitles checks that calls, approvals, decisions of rules and events of the runtime have the
// texts that people read, and that other messages and emits have none.
func TestTitles(t *testing.T) {
	s := New(Options{Socket: filepath.Join(t.TempDir(), "none")})
	defer s.End(0)
	r := testevents.New(nil, s.Sink())
	r.Perform(1, &effect.ExchangeOpen{Host: "H"}, &effect.ExchangeOpened{ID: 7}, nil)
	lines(&s.queue)
	message := func(typ, payload string, isOwn bool) {
		m, err := value.ParseWire([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		r.Perform(1, &effect.ExchangeNext{ID: 7}, &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: typ, Payload: m, Decided: isOwn}}}, nil)
	}
	message("progress", `{"message":"Bash: ls","stage":"tool","payload":{}}`, false)
	message("progress", `{"message":"half"}`, false)
	message("approval", `{"description":"Edit: a.go","tool":"Edit","kind":"edit","args":{"file_path":"a.go","old_string":"a","new_string":"b"}}`, false)
	message("host:decided", `{"host":"H","decision":"deny","description":"Bash: rm x","asked":{"tool":"Bash","kind":"execute","args":{"command":"rm x"}}}`, true)
	message("host:blocked", `{"host":"H","address":"a:1"}`, true)
	message("host:blocked", `{"host":"H","address":"a:1"}`, false)
	s.Emitted("host:repair", []byte(`{"host":"H","turn":1,"error":"e"}`), false)
	s.Emitted("own", []byte(`{"host":"H"}`), false)
	text, _ := lines(&s.queue)
	var got []string
	for line := range strings.Lines(text) {
		var e struct {
			Data struct{ Title, Line, Text string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Data.Title+"|"+e.Data.Line+"|"+e.Data.Text)
	}
	if d := cmp.Diff([]string{"Run a command|ls|", "||", "Edit a.go||", "Run a command|rm x|", "H: blocked: a:1||", "||", "||H: asked again: e", "||"}, got); d != "" {
		t.Errorf("texts (-want +got):\n%s", d)
	}
}
