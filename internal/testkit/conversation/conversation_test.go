package conversation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

var ways = []Options{{Wire, true}, {Wire, false}, {Listen, false}, {Listen, true}}

// TestModelFinishesEveryConversation checks that the model finishes every conversation, and that a
// seed always generates the same conversation.
func TestModelFinishesEveryConversation(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, o := range ways {
		for seed := range uint64(250) {
			talk := Generate(seed, o)
			if p := talk.Expect().Problems; len(p) > 0 {
				t.Fatalf("options %+v, seed %d: problem %q\n%s", o, seed, p, talk)
			}
			if second := Generate(seed, o); second.String() != talk.String() || second.Source() != talk.Source() {
				t.Fatalf("options %+v, seed %d: the second generation differs from the first", o, seed)
			}
		}
	}
}

// TestConversationsCoverEveryConstruct checks that the generated conversations together contain
// every kind of step and outcome.
func TestConversationsCoverEveryConstruct(t *testing.T) {
	randtest.InOneGoroutine(t)
	var steps, outcomes strings.Builder
	several, replies := 0, 0
	for _, o := range ways {
		for seed := range uint64(60) {
			talk := Generate(seed, o)
			want := talk.Expect()
			for _, process := range talk.Starts {
				for _, s := range process {
					fmt.Fprintf(&steps, "%d %s\n", s.Op, s.Text)
				}
			}
			fmt.Fprintln(&outcomes, want.ProgramReceived, want.Remarks, strings.Join(slices.Concat(want.HostReceived...), "\n"))
			if len(talk.Starts) > 1 {
				several++
			}
			replies += strings.Count(strings.Join(slices.Concat(want.HostReceived...), "\n"), `"response"`)
		}
	}
	for _, part := range []string{
		"\ufeff", "\r\n", "\n\n", "\"withdraw\"", fmt.Sprintf("%d signal", Await), fmt.Sprintf("%d said", Signal), fmt.Sprintf("\n%d \n", Exit), fmt.Sprintf("\n%d \n", Hang),
		`"in two pieces`, `"cancel"`, `"progress","i":199`, `"do":"fail"`, `"id":90071992547409931`, `"id":-`, `{'type'`, `"messages":["m1"]`,
	} {
		if !strings.Contains(steps.String(), part) {
			t.Errorf("no host's steps contain %q", part)
		}
	}
	for _, part := range []string{
		`{"type":"cancel","reason":"stop"}`, "sent an invalid message: ", "in the middle of a message (", "exited without result: 'W' exited with status 1 (exit code 1)", "listen:error", "listen:invalid",
		"listen:unhandled", `"partial_output":`, `"value":"as you like, question"`, `"error":"nothing handles tool_call messages"`, "it is skipped: ", "counts as the result: ",
		"a line that is not a message outside", "'result' outside", `"answer_to":"q`, `"answer_to":-`, `withdraw {"id":`, InitLine,
		`{"type":"steer","id":"t2"`, `"queued":true`, `{"type":"cancel","reason":"interrupted"}`, `host 'W' was interrupted`, `"stage":"turn","next":"t2"`,
	} {
		if !strings.Contains(outcomes.String(), part) {
			t.Errorf("no outcome contains %q", part)
		}
	}
	if several < 20 || replies < 300 {
		t.Errorf("%d conversations with several processes, %d replies", several, replies)
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : [ 1 , 1.5 , null , true ] , "a" : "\u00e9\/" } `: `{"b":[1,1.5,null,true],"a":"é/"}`,
		`{}`:      `{}`,
		`[[],{}]`: `[[],{}]`,
		`{"a":1`:  `not JSON: {"a":1`,
		`1 2`:     `not one JSON text: 1 2`,
	} {
		if got := Canonical(in); got != want {
			t.Errorf("Canonical(%s) = %s, want %s", in, got, want)
		}
	}
}
