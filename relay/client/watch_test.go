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
