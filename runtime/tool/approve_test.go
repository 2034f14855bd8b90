package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

func guarded() Definition {
	d := queryTool()
	d.RequiresApproval = true
	return d
}

// TestAnswers checks the effect of each answer to an approval on the call, on the text for the
// model and on the audit.
func TestAnswers(t *testing.T) {
	args := `{"sql":"drop","token":"s3cr3t"}`
	tag := Tag([]byte(`"s3cr3t"`))
	shown := `{"sql":"drop","token":"[redacted:` + tag + `]"}`
	hash := decision.Hash([]byte(shown))
	for _, c := range []struct {
		answer   string
		outcome  Outcome
		want     string // the expected output or error
		approval string
		stop     bool
	}{
		{`true`, OutcomeOK, args, `"actor":{"type":"human","name":"eve"},"ms":0,"asked_sha256":"` + hash + `","reason":null`, false},
		{`"yes"`, OutcomeOK, args, `{"decision":"allow","scope":"once",`, false},
		{`"always"`, OutcomeOK, args, `{"decision":"allow","scope":"session",`, false},
		{`{"approved":true}`, OutcomeOK, args, `{"decision":"allow","scope":"once",`, false},
		{`"no"`, OutcomeDenied, "x was not called: the application rejected it", `{"decision":"deny","scope":null,`, false},
		{`"not on a Friday"`, OutcomeDenied, "x was not called: not on a Friday", `"reason":"not on a Friday"`, false},
		{`7`, OutcomeDenied, "x was not called: not a decision: 7", `{"decision":"deny"`, false},
		{`{"decision":"deny","reason":"enough","stop":true}`, OutcomeDenied, "x was not called: enough", `{"decision":"deny"`, true},
		{`{"decision":"allow","args_sha256":"` + hash + `"}`, OutcomeOK, args, `{"decision":"allow"`, false},
		{`{"decision":"allow","args_sha256":"00"}`, OutcomeDenied, "x was not called: the approval is for other arguments", `{"decision":"deny"`, false},
		{`{"decision":"respond","output":{"rows":[]}}`, OutcomeOK, `{"rows":[]}`, `{"decision":"respond","scope":null`, false},
		{`{"decision":"respond"}`, OutcomeOK, `null`, `{"decision":"respond"`, false},
		{`{"decision":"respond","args_sha256":"00"}`, OutcomeDenied, "x was not called: the approval is for other arguments", `{"decision":"deny"`, false},
		{`{"decision":"allow","input":{"sql":"read","token":"[redacted:` + tag + `]"}}`, OutcomeOK, `{"sql":"read","token":"s3cr3t"}`, `"asked_sha256":"` + hash + `"`, false},
		{`{"decision":"allow","input":{"limit":1}}`, OutcomeArguments, "bad arguments for x: sql: missing", `{"decision":"allow"`, false},
		{`{"decision":"allow","input":{"sql":"a","sql":"b"}}`, OutcomeArguments, "bad arguments for x: sql: given twice", `{"decision":"allow"`, false},
		{`{"decision":"allow","input":{"sql":"a","token":"[redacted:000000000000]"}}`, OutcomeArguments,
			"bad arguments for x: token: [redacted:000000000000] matches no value of the original arguments", `{"decision":"allow"`, false},
		{``, OutcomeDenied, "x was not called: it was not approved: nobody listens", `"actor":{"type":"default","name":""}`, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			app := &recorder{answers: []string{c.answer}}
			s := opened(t, registered(t, guarded()), Context{SessionID: "s", Cwd: "/w"}, app.hooks())
			e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(args), Caller: "Clerk", Route: RouteAgent, Chain: []string{"outer"}})
			got := e.Result.Error
			if e.Result.Success {
				got = string(e.Result.Output)
			}
			if e.Outcome != c.outcome || got != c.want || e.Stop != c.stop {
				t.Errorf("answer %s: call = %+v, want outcome %s with %s", c.answer, e, c.outcome, c.want)
			}
			records := app.summaries()
			approval, _ := jsonwrite.Encode(json.RawMessage(records[0][strings.Index(records[0], `{"approval":`):]))
			if len(records) != 2 || !strings.Contains(string(approval), c.approval) || strings.Contains(strings.Join(records, ""), "s3cr3t") {
				t.Errorf("answer %s: records\n%s\ndo not contain the approval %s", c.answer, strings.Join(records, "\n"), c.approval)
			}
			question, _ := jsonwrite.Encode(app.asked[0])
			if want := `{"tool":"x","args":` + shown + `,"by":"Clerk","description":"Returns its input","call_id":"s-1","version":1,"route":"agent","chain":["outer","x"],` +
				`"context":{"session_id":"s","cwd":"/w","metadata":{}},"args_sha256":"` + hash + `","options":["once","session","deny"],"timeout_s":300}`; string(question) != want {
				t.Errorf("question:\n%s\nwant:\n%s", question, want)
			}
		})
	}
}

// TestChangedArguments checks that the model is informed of arguments that an answer has changed,
// without their secrets.
func TestChangedArguments(t *testing.T) {
	app := &recorder{answers: []string{`{"decision":"allow","input":{"sql":"read","token":"other1"}}`, `{"decision":"allow","input":{"sql": "same"}}`}}
	s := opened(t, registered(t, guarded()), Context{}, app.hooks())
	e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"sql":"drop"}`)})
	shown := `{"sql":"read","token":"[redacted:` + Tag([]byte(`"other1"`)) + `]"}`
	if text, failed := e.Text(); failed || text != `{"sql":"read","token":"other1"}`+"\n(called with changed arguments: "+shown+")" {
		t.Error(text)
	}
	if records := app.summaries(); !strings.Contains(records[0], `"args":`+shown+`,"args_sha256":"`+decision.Hash([]byte(shown))) {
		t.Error(records[0])
	}
	e = s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"sql":"same"}`)})
	if text, _ := e.Text(); text != `{"sql":"same"}` {
		t.Error(text)
	}
}

// TestGrants checks the permissions for the rest of a session. Such a permission applies only to
// the registration of the version that was approved. If it is restricted to the arguments, it
// applies only to calls with the same arguments.
func TestGrants(t *testing.T) {
	app := &recorder{answers: []string{`{"decision":"allow","scope":"session","match":"args"}`, `"once"`, `"session"`, `"yes"`, `"no"`}}
	r := registered(t, guarded())
	s := opened(t, r, Context{SessionID: "s"}, app.hooks())
	call := func(args string) Outcome {
		return s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(args)}).Outcome
	}
	call(`{"sql":"a","limit":1}`) // asked: for these
	call(`{"limit":1.0, "sql":"a"}`)
	call(`{"sql":"b"}`) // asked: once
	call(`{"sql":"b"}`) // asked: session
	call(`{"sql":"c"}`)
	if n := len(app.asked); n != 3 {
		t.Errorf("approval was requested %d times, want 3", n)
	}
	if records := app.summaries(); !strings.Contains(records[8], `"actor":{"type":"session","name":"eve"}`) || !strings.Contains(records[8], `"scope":"session"`) {
		t.Error(records[8])
	}
	other := opened(t, r, Context{SessionID: "t"}, app.hooks())
	other.Call(context.Background(), "x", json.RawMessage(`{"sql":"c"}`)) // asked: yes
	if err := r.Replace(guarded()); err != nil {
		t.Fatal(err)
	}
	if got := call(`{"sql":"c"}`); got != OutcomeDenied || len(app.asked) != 5 { // asked: no
		t.Errorf("call of a replaced tool: outcome %s after %d requests, want denied after 5", got, len(app.asked))
	}
}

// TestUnansweredApprovalIsDenied checks approvals without an answer. Without an approver the call
// is denied immediately. After a timeout, on_timeout of the tool determines the outcome.
func TestUnansweredApprovalIsDenied(t *testing.T) {
	s := opened(t, registered(t, guarded()), Context{}, Hooks{})
	if e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"sql":""}`)}); e.Outcome != OutcomeDenied || e.Result.Error != "x was not called: it was not approved" {
		t.Errorf("call without an approver = %+v, want a denial", e)
	}
	for onTimeout, want := range map[string]struct {
		outcome Outcome
		text    string
		stop    bool
	}{
		"":      {OutcomeDenied, "x was not called: there was no answer within 300 s", false},
		"halt":  {OutcomeDenied, "x was not called: there was no answer within 300 s", true},
		"allow": {OutcomeOK, "", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := guarded()
			d.OnTimeout = onTimeout
			app := &recorder{answers: []string{"…"}}
			s := opened(t, registered(t, d), Context{}, app.hooks())
			began := time.Now()
			e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"sql":""}`)})
			if e.Outcome != want.outcome || e.Result.Error != want.text || e.Stop != want.stop || time.Since(began) != 300*time.Second || e.Duration != 0 {
				t.Errorf("on_timeout %s: after %s the call ended with %+v, want %+v after 300s", onTimeout, time.Since(began), e, want)
			}
			if records := app.summaries(); !strings.Contains(records[0], `"actor":{"type":"timeout","name":""},"ms":300000`) {
				t.Error(records[0])
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		app := &recorder{answers: []string{"…"}}
		s := opened(t, registered(t, guarded()), Context{}, app.hooks())
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(errors.New("the run ends")) })
		if e := s.Do(ctx, Ask{Name: "x", Args: json.RawMessage(`{"sql":""}`)}); e.Outcome != OutcomeCancelled || e.Result.Error != "tool 'x' was cancelled: the run ends" {
			t.Errorf("cancelled call = %+v, want a cancellation", e)
		}
	})
}

// TestMustApprove checks that a manifest can require approval for further tools, and that a panic
// of the hook denies the call.
func TestMustApprove(t *testing.T) {
	app := &recorder{answers: []string{`"no"`}}
	h := app.hooks()
	only, _ := Only("category:db")
	h.MustApprove = only.Has
	d := queryTool()
	d.Category = "db"
	s := opened(t, registered(t, d, echo("free")), Context{}, h)
	if got := s.Call(context.Background(), "free", nil); !got.Success {
		t.Errorf("call that needs no approval = %+v, want success", got)
	}
	if e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"sql":""}`)}); e.Outcome != OutcomeDenied {
		t.Errorf("call = %+v, want a denial", e)
	}
	if e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"sql":""}`)}); e.Outcome != OutcomeDenied || !strings.Contains(e.Result.Error, "panicked") {
		t.Errorf("call with a panicking hook = %+v, want a denial with the panic's text", e)
	}
}

// TestInvalidArgumentsNeedNoApproval checks that invalid arguments are refused before an approval
// is requested.
func TestInvalidArgumentsNeedNoApproval(t *testing.T) {
	app := &recorder{}
	s := opened(t, registered(t, guarded()), Context{}, app.hooks())
	if e := s.Do(context.Background(), Ask{Name: "x"}); e.Outcome != OutcomeArguments || len(app.asked) != 0 {
		t.Errorf("call = %+v, want bad arguments without a request for approval", e)
	}
}

// TestSteps performs the single steps of a call, also for a call that is prepared a second time.
func TestSteps(t *testing.T) {
	s := opened(t, registered(t, guarded()), Context{SessionID: "s"}, Hooks{})
	ask := Ask{Name: "x", Args: json.RawMessage(`{"sql":"a"}`), CallID: "s-9"}
	c := s.Prepare(ask)
	q := c.Question()
	if q == nil || c.Refused() || q.Timeout() != 300*time.Second || c.ID() != "s-9" || c.Definition().Name != "x" {
		t.Fatalf("question = %+v, want one with a timeout of 300s for call s-9", q)
	}
	c.Answer(json.RawMessage(`true`), actor("human", "eve"), time.Second)
	repeated := s.Prepare(ask)
	repeated.Approved(c.Approval())
	if repeated.Question() != nil {
		t.Error("an approved call requests approval again")
	}
	if a, b := string(c.Began().Data), string(repeated.Began().Data); a != b || !strings.Contains(a, `"ms":1000`) {
		t.Errorf("records of the original and the repeated call:\n%s\n%s\nwant equal ones", a, b)
	}
	if e := repeated.Run(context.Background()); e.Outcome != OutcomeOK || string(e.Result.Output) != `{"sql":"a"}` {
		t.Errorf("call = %+v, want success", e)
	}
}

// TestCallWithoutApprovalIsDenied skips the request for a needed approval. The call must be denied,
// both when the caller skips the question and when the call is repeated without the prepared call.
func TestCallWithoutApprovalIsDenied(t *testing.T) {
	app := &recorder{answers: []string{"true"}}
	s := opened(t, registered(t, guarded()), Context{SessionID: "s"}, app.hooks())
	var p Performer
	p.Open(s)
	r, err := p.Perform(context.Background(), &effect.AppCall{AppAsk: effect.AppAsk{Tool: "x", Version: 1, Args: json.RawMessage(`{"sql":"drop"}`), CallID: "s-1", By: "Clerk", Route: RouteAgent}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.(*effect.AppResult); got.Outcome != string(OutcomeDenied) || got.Error != "x was not called: it was not approved" {
		t.Errorf("result = %+v, want a denial", got)
	}
	if len(app.asked) != 0 {
		t.Errorf("requested approvals = %v, want none", app.asked)
	}
}
