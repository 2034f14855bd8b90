package activity

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/testevents"
	"github.com/concerto-lang/concerto/vm"
)

// follow calls do with a run and returns the formatted events.
func follow(t *testing.T, do func(r *testevents.Run)) []string {
	t.Helper()
	var events []string
	f := New(func(e Event) {
		line := fmt.Sprintf("%s %d %s", e.Kind, e.Number, e.Name)
		if e.Lane > 1 {
			line += fmt.Sprintf("/%d", e.Lane)
		}
		for _, part := range []string{e.Type, e.ID, e.By, e.Scope, e.Text} {
			if part != "" {
				line += " " + part
			}
		}
		if e.Percent >= 0 {
			line += fmt.Sprintf(" %v%%", e.Percent)
		}
		if e.Denied {
			line += " denied"
		}
		if e.Failed {
			line += " failed"
		}
		if e.Queue != (effect.QueueState{}) {
			line += " " + e.Queue.String()
		}
		if e.Used != (Usage{}) {
			line += fmt.Sprintf(" %v", e.Used)
		}
		events = append(events, line)
	})
	secrets := new(secret.Set)
	secrets.Add("KEY", "hunter2-hunter2")
	r := testevents.New(secrets, f.Sink())
	do(r)
	r.Close(nil)
	f.Close()
	return events
}

// doRequest performs a request of task 1 with the given outcome.
func doRequest(f *testevents.Run, q effect.Request, r effect.Result, err error) {
	f.Perform(1, q, r, err)
}

// sendLines passes lines of a host to the Follower as messages of the exchange id.
func sendLines(t *testing.T, f *testevents.Run, id int64, lines ...string) {
	t.Helper()
	var all effect.ExchangeMessages
	for _, l := range lines {
		typ, id, payload, err := value.ParseMessage([]byte(l))
		if err != nil {
			t.Fatal(err)
		}
		all.Messages = append(all.Messages, effect.HostMessage{Type: typ, ID: string(id), Payload: payload, Text: []byte(l)})
	}
	doRequest(f, &effect.ExchangeNext{ID: id}, &all, nil)
}

func TestExchange(t *testing.T) {
	got := follow(t, func(f *testevents.Run) {
		f.TaskBegan(1, 0, vm.Place{Function: "main"})
		doRequest(f, &effect.Emit{Channel: "listen:start", Payload: []byte(`{"host":"A"}`)}, nil, nil)
		doRequest(f, &effect.ExchangeOpen{Host: "A"}, &effect.ExchangeOpened{ID: 7}, nil)
		doRequest(f, &effect.ExchangeOpen{Host: "A"}, &effect.ExchangeOpened{ID: 8}, nil)
		sendLines(t, f, 7, `{"type":"progress","message":"one","percent":1}`, `{"type":"progress","message":"two","percent":2}`, `{"type":"partial","text":"x"}`,
			`{"type":"question","id":1,"question":"hunter2-hunter2?"}`, `{"type":"progress","message":"12 tokens","stage":"usage"}`, `{"type":"approval","id":"a","description":"rm"}`)
		// a second attempt of the same reply
		doRequest(f, &effect.ExchangeReply{ID: 7, InReplyTo: "question", AnswerTo: "1", Value: []byte(`["a"]`), By: effect.ByHandler}, nil, effect.ErrWaits)
		doRequest(f, &effect.ExchangeReply{ID: 7, InReplyTo: "question", AnswerTo: "1", Value: []byte(`["a"]`), By: effect.ByHandler}, nil, nil)
		doRequest(f, &effect.ExchangeReply{ID: 7, InReplyTo: "approval", AnswerTo: `"a"`, Value: []byte(`{"decision":"allow","scope":"always"}`), By: effect.ByDefault}, nil, nil)
		doRequest(f, &effect.ExchangeReply{ID: 7, InReplyTo: "tool_call", AnswerTo: `"t"`, By: effect.ByTools}, nil, nil)
		sendLines(t, f, 7, `{"type":"questions","id":1}`, `{"type":"question","id":2,"questions":[{"question":"first?"},{"question":"second?"}]}`, `{"type":"tool_call","id":3,"tool":"Sum.add"}`)
		sendLines(t, f, 7, `{"type":"withdraw","id":9}`, `{"type":"withdraw","id":2}`,
			`{"type":"result","text":"done","usage":{"tokens_in":20,"tokens_out":30},"cost_usd":0.5}`)
		doRequest(f, &effect.ExchangeClose{ID: 7}, nil, nil)
		doRequest(f, &effect.ExchangeOpen{Host: "A"}, &effect.ExchangeOpened{ID: 9}, nil)
		doRequest(f, &effect.ExchangeNext{ID: 8}, nil, effect.Errorf("HostError", "it died"))
		doRequest(f, &effect.ExchangeClose{ID: 8}, nil, nil)
		sendLines(t, f, 9, `{"type":"error","message":"no"}`)
		doRequest(f, &effect.ExchangeClose{ID: 9}, nil, nil)
		doRequest(f, &effect.Emit{Channel: "listen:complete", Payload: []byte(`{"host":"A"}`)}, nil, nil)
	})
	want := []string{
		"listen began 1 main", "began 2 A", "began 3 A/2", "moved 2 A two 2%",
		"asked 2 A question 1 ***KEY***?",
		"moved 2 A", `asked 2 A approval "a" rm`,
		`answered 2 A question 1 handler ["a"]`,
		`answered 2 A approval "a" default always`,
		"asked 2 A question 2 first?", "moved 2 A Sum.add",
		"withdrawn 2 A question 2 {50 0.5}", "ended 2 A {50 0.5}",
		"began 4 A", "ended 3 A/2 it died failed", "ended 4 A no failed", "listen ended 1 main",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestAwaitedEmitAnswersHost checks that under execute, the source of the host's answer is the
// source of the answer to the awaited emit.
func TestAwaitedEmitAnswersHost(t *testing.T) {
	got := follow(t, func(f *testevents.Run) {
		f.TaskBegan(1, 0, vm.Place{Function: "main"})
		doRequest(f, &effect.ExchangeOpen{Host: "A"}, &effect.ExchangeOpened{ID: 1}, nil)
		for _, c := range []struct {
			channel string
			answer  *effect.Answer
			err     error
		}{
			{"host:question", &effect.Answer{By: effect.ByTerminal}, nil},
			{"host:question", nil, errors.New("nobody")},
			{"host:question", &effect.Answer{}, nil},
			{"own", &effect.Answer{By: effect.ByTerminal}, nil},
		} {
			sendLines(t, f, 1, `{"type":"question","id":1,"question":"q"}`)
			doRequest(f, &effect.AwaitEmit{Channel: c.channel}, c.answer, c.err)
			doRequest(f, &effect.ExchangeReply{ID: 1, InReplyTo: "question", AnswerTo: "1", Value: []byte(`"x"`), By: effect.ByHandler}, nil, nil)
		}
	})
	asked := "asked 1 A question 1 q"
	want := []string{"began 1 A", asked, "answered 1 A question 1 terminal x", asked, "answered 1 A question 1 default x",
		asked, "answered 1 A question 1 application x", asked, "answered 1 A question 1 handler x", "ended 1 A the run has ended failed"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestRules checks that an approval decided by the host's rules produces the events of a question
// and an answer.
func TestRules(t *testing.T) {
	got := follow(t, func(f *testevents.Run) {
		f.TaskBegan(1, 0, vm.Place{Function: "main"})
		doRequest(f, &effect.ExchangeOpen{Host: "A"}, &effect.ExchangeOpened{ID: 1}, nil)
		for _, line := range []string{`{"type":"host:decided","host":"A","id":"a","decision":"deny","description":"rm"}`, `{"type":"host:decided","host":"A","id":"b","decision":"allow","description":"ls"}`} {
			_, _, payload, err := value.ParseMessage([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			m := effect.HostMessage{Type: effect.Decided, Payload: payload, Decided: true}
			doRequest(f, &effect.ExchangeNext{ID: 1}, &effect.ExchangeMessages{Messages: []effect.HostMessage{m}}, nil)
		}
	})
	want := []string{"began 1 A", "asked 1 A approval a rm", "answered 1 A approval a rules denied",
		"asked 1 A approval b ls", "answered 1 A approval b rules once", "ended 1 A the run has ended failed"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestSpans checks that the end of a task ends its open stages and listens. Emits of the program
// itself on the same channels must be ignored.
func TestSpans(t *testing.T) {
	got := follow(t, func(f *testevents.Run) {
		f.TaskBegan(1, 0, vm.Place{Function: "main"})
		for _, e := range []struct{ channel, payload string }{
			{"pipeline:start", `{"name":"P"}`}, {"pipeline:stage_start", `{"name":"P","stage":"one"}`}, {"pipeline:stage_start", `{"name":"Q","stage":"in"}`},
			{"pipeline:stage_complete", `{"name":"Q","stage":"in"}`}, {"listen:start", `{"host":"A"}`}, {"pipeline:stage_start", `["two"]`},
			{"pipeline:error", `{"name":"P","stage":"one"}`}, {"pipeline:error", `{"name":"P","stage":"one"}`}, {"pipeline:stage_start", `{"name":"P","stage":"two"}`}, {"else", `{}`},
		} {
			doRequest(f, &effect.Emit{Channel: e.channel, Payload: []byte(e.payload)}, nil, nil)
		}
		f.TaskEnded(1, "")
		doRequest(f, &effect.ExchangeOpen{Host: "A"}, nil, effect.Errorf("HostError", "not found"))
		doRequest(f, &effect.ExchangeOpen{Host: "A"}, nil, errors.New("cancelled"))
	})
	want := []string{"stage began 1 P/one", "stage began 2 Q/in", "stage ended 2 Q/in", "listen began 3 main", "stage ended 1 P/one",
		"stage began 4 P/two", "stage ended 4 P/two", "listen ended 3 main", "ended 0 A not found failed"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestMergeQueues checks the events of a queue that is run, of one whose run fails, and of one that
// is still running at the end. A merge of a single workspace has none.
func TestMergeQueues(t *testing.T) {
	got := follow(t, func(f *testevents.Run) {
		open := func(id int64, queue string) {
			doRequest(f, &effect.MergeOpen{Queue: queue}, &effect.MergeOpened{ID: id}, nil)
		}
		next := func(id int64, kind, data string) {
			doRequest(f, &effect.MergeNext{ID: id}, &effect.MergeEvent{Kind: kind, Data: []byte(data)}, nil)
		}
		open(1, "main")
		next(1, effect.MergeProgress, `{"queued":3,"tested":1,"batch":2,"merged":4,"failed":5}`)
		next(1, "emit", `{"queued":9}`)
		open(2, "")
		next(2, effect.MergeProgress, `{"queued":7}`)
		next(2, effect.MergeEnd, `{}`)
		next(1, effect.MergeEnd, `{}`)
		doRequest(f, &effect.MergeClose{ID: 1}, nil, nil)
		open(3, "busy")
		doRequest(f, &effect.MergeNext{ID: 3}, nil, effect.Errorf("GitError", "busy"))
		doRequest(f, &effect.MergeOpen{Queue: "none"}, nil, effect.Errorf("GitError", "no such queue"))
		open(4, "left")
		open(5, "closed")
		doRequest(f, &effect.MergeClose{ID: 5}, nil, nil)
	})
	want := []string{
		"merge began 1 main", "merge moved 1 main 3 queued · gate 1 of 2 · 4 merged · 5 failed", "merge ended 1 main",
		"merge began 2 busy", "merge ended 2 busy", "merge began 3 left", "merge began 4 closed", "merge ended 4 closed", "merge ended 3 left",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
