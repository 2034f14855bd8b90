package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/testkit/testevents"
	"github.com/concerto-lang/concerto/vm"
)

// play calls f with a run whose clock advances by a second at each event. It returns the records,
// the logged lines, and the usage.
func play(t *testing.T, bodies bool, f func(r *testevents.Run)) (records, printed []string, used Usage) {
	t.Helper()
	var out bytes.Buffer
	r := New(Options{Out: &out, Log: func(line string) { printed = append(printed, line) }, Bodies: bodies, Program: "p", Started: time.Unix(0, 0)})
	f(testevents.New(nil, r.Sink()))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		var any map[string]any
		if err := json.Unmarshal([]byte(line), &any); err != nil {
			t.Errorf("invalid record %s: %v", line, err)
		}
		records = append(records, strings.TrimSuffix(line, "\n"))
	}
	return records, printed, r.Usage()
}

// attempt returns attempt 1 at a call.
func attempt(q *effect.AgentCall) *event.Attempt {
	return &event.Attempt{Call: q, Connection: "main", Model: "m", Number: 1, Of: 1, Used: models.Sum{Calls: 1, FailedCalls: 1}}
}

func TestStream(t *testing.T) {
	q := &effect.StreamOpen{AgentCall: effect.AgentCall{Agent: "A", Connection: "main", Messages: []effect.ChatMessage{{Role: "user", Content: "<a>\nb"}}}}
	records, log, used := play(t, true, func(r *testevents.Run) {
		r.TaskBegan(1, 0, vm.Place{Function: "main"})
		r.Perform(1, &effect.Emit{Channel: "pipeline:stage_start", Payload: []byte(`{"name":"P","stage":"one"}`)}, nil, nil)
		r.TaskBegan(2, 1, vm.Place{Function: "f"})
		r.Perform(2, q, &effect.StreamOpened{ID: 1}, nil) // the stream is open; its request and reply follow
		r.Perform(1, &effect.Emit{Channel: "pipeline:stage_complete", Payload: []byte(`{"name":"P","stage":"one"}`)}, nil, nil)
		r.ReportAttempt(event.Model, event.Begin, attempt(&q.AgentCall), nil)
		a := attempt(&q.AgentCall)
		a.Reply, a.Took = &effect.AgentReply{Text: "c", TokensIn: 1, TokensOut: 2, StopReason: "length", Model: "m-1"}, 1500*time.Millisecond
		a.Used = a.Reply.Sum(0, false)
		r.ReportAttempt(event.Model, event.End, a, nil)
		r.CallEnded(&q.AgentCall)
		r.TaskEnded(2, "")
		r.Perform(1, &effect.Step{What: effect.StepMended, By: "A", Text: "x"}, nil, nil)
	})
	if diff := cmp.Diff([]string{
		`{"concerto_transcript":1,"started":"1970-01-01T00:00:00Z","program":"p"}`,
		`{"t":12,"kind":"request","task":2,"stage":"P/one","agent":"A","attempt":1,"of":1,"connection":"main","model":"m","messages":[{"role":"user","content":"<a>\nb"}]}`,
		`{"t":13,"kind":"reply","task":2,"stage":"P/one","agent":"A","attempt":1,"of":1,"connection":"main","model":"m-1","seconds":1.5,"tokens_in":1,"tokens_out":2,"cost_usd":null,"stop_reason":"length","text":"c"}`,
		`{"t":16,"kind":"mended","task":1,"agent":"A","message":"x"}`,
		`{"t":16,"kind":"end","calls":1,"failed_calls":0,"tokens_in":1,"tokens_out":2,"cost_usd":null}`,
	}, records); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"task 2: P/one: agent A asks m of connection main: 1 message", "  user| <a>", "  user| b",
		"task 2: P/one: agent A: m-1 answers in 1.500 s: 1 tokens in, 2 out, stopped by length", "  assistant| c",
	}, log); diff != "" {
		t.Error(diff)
	}
	u := models.Sum{Calls: 1, TokensIn: 1, TokensOut: 2, Unpriced: 1}
	want := Usage{Agents: []Share{{Agent: "A", Sum: u}}, Stages: []Share{{Pipeline: "P", Stage: "one", Sum: u}}, Tasks: []Share{{Task: 2, Function: "f", Sum: u}}}
	if diff := cmp.Diff(want, used); diff != "" {
		t.Error(diff)
	}
}

// TestRefused checks that a refused request without an attempt is recorded as a failure, and does
// not count as a call.
func TestRefused(t *testing.T) {
	q := &effect.AgentCall{Agent: "A", Connection: "c", Model: "m"}
	records, log, used := play(t, false, func(r *testevents.Run) {
		r.TaskBegan(1, 0, vm.Place{Function: "main"})
		r.Perform(1, q, nil, effect.Errorf("AgentError", "not permitted").With("reason", "permission"))
		r.Perform(1, q, nil, errors.New("interrupted"))
	})
	if len(records) != 4 || records[1] != `{"t":6,"kind":"failure","task":1,"agent":"A","connection":"c","model":"m","seconds":0,"reason":"permission","message":"not permitted"}` {
		t.Error(records)
	}
	if len(log) != 2 || log[0] != "agent A: not permitted" || len(used.Agents) != 0 {
		t.Error(log, used)
	}
}

// TestConcurrentAttempts checks that several goroutines may report attempts.
func TestConcurrentAttempts(t *testing.T) {
	records, _, used := play(t, true, func(r *testevents.Run) {
		r.TaskBegan(1, 0, vm.Place{})
		var all sync.WaitGroup
		for i := range 50 {
			q := &effect.AgentCall{Agent: fmt.Sprint("A", i%2)}
			done := r.Request(1, q)
			all.Go(func() {
				err := errors.New("the server is overloaded")
				r.ReportAttempt(event.Model, event.Begin, attempt(q), nil)
				r.ReportAttempt(event.Model, event.End, attempt(q), err)
				r.CallEnded(q)
				done(nil, err)
			})
		}
		all.Wait()
	})
	if len(records) != 102 || len(used.Agents) != 2 || used.Agents[0].FailedCalls != 25 || used.Tasks[0].Calls != 50 {
		t.Error(len(records), used)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestCannotWrite(t *testing.T) {
	r := New(Options{Out: full{}})
	testevents.New(nil, r.Sink()).Perform(1, &effect.Step{What: effect.StepRetry}, nil, nil)
	if err := r.Close(); err == nil || err.Error() != "could not write the transcript: no space left" {
		t.Error(err)
	}
}
