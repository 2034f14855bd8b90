package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// spool records the committed events. Its rows can be restored into another registry.
type spool struct {
	mu     sync.Mutex
	events []string
	rows   map[string]approvals.Row
	full   bool
}

func (s *spool) Commit(_ context.Context, run string, events []approvals.Event, rows []approvals.Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return errors.New("no space left on device")
	}
	for _, e := range events {
		text, err := json.Marshal(e.Data)
		if err != nil {
			return err
		}
		s.events = append(s.events, fmt.Sprintf("%s %s %s", run, e.Type, text))
	}
	for _, r := range rows {
		s.rows[r.Run+"/"+r.ID] = r
	}
	return nil
}

func (s *spool) expectEvents(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	s.events = nil
}

// fixture is a registry with its spool and its clock.
type fixture struct {
	*approvals.Registry
	spool  *spool
	now    time.Time
	timers []func()
}

func newFixture(s *spool) *fixture {
	w := &fixture{spool: s, now: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.Registry = approvals.New(approvals.Options{Events: s, Timeout: 600 * time.Second, Now: func() time.Time { return w.now },
		After: func(d time.Duration, f func()) func() bool {
			i := len(w.timers)
			w.timers = append(w.timers, f)
			return func() bool { w.timers[i] = func() {}; return true }
		}})
	return w
}

func request(id string) approvals.Request {
	return approvals.Request{Data: protocol.PermissionRequested{RequestID: id, Reason: "permission", Prompt: "may I?"}}
}

func (w *fixture) ask(t *testing.T, r approvals.Request) <-chan approvals.Decision {
	t.Helper()
	wait, err := w.Submit(context.Background(), "r", r)
	if err != nil {
		t.Fatal(err)
	}
	return wait
}

// code returns the code of an error, or "".
func code(err error) protocol.Code {
	var e *approvals.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return protocol.Code(err.Error())
	}
	return ""
}

func outcome(t *testing.T, wait <-chan approvals.Decision) string {
	t.Helper()
	select {
	case d := <-wait:
		return d.Decision
	default:
		return "open"
	}
}

// TestDecide checks that the first decision on a request is applied. The same decision again has
// the same result, and any other decision is too late. The outcome is committed before the
// requester receives it.
func TestDecide(t *testing.T) {
	w := newFixture(&spool{rows: map[string]approvals.Row{}})
	ctx := context.Background()
	r := request("q1")
	r.UsesTimeout, r.Data.ArgsSHA256, r.Data.OpTool = true, strings.Repeat("a", 64), "bash"
	wait := w.ask(t, r)
	w.spool.expectEvents(t, `r run.permission_requested {"request_id":"q1","reason":"permission","prompt":"may I?","op_tool":"bash","args_sha256":"`+strings.Repeat("a", 64)+`","expires_at":"2025-01-02T03:14:05.000Z"}`)
	for _, c := range []struct {
		run, id string
		d       approvals.Decision
		want    protocol.Code
	}{
		{"r", "q2", approvals.Decision{Decision: approvals.Approve}, protocol.UnknownRequest},
		{"other", "q1", approvals.Decision{Decision: approvals.Approve}, protocol.UnknownRequest},
		{"r", "q1", approvals.Decision{Decision: "maybe"}, protocol.BadMessage},
		{"r", "q1", approvals.Decision{Decision: approvals.Approve, ArgsSHA256: strings.Repeat("b", 64)}, protocol.ArgsChanged},
		{"r", "q1", approvals.Decision{Decision: approvals.Approve, ArgsSHA256: strings.Repeat("a", 64), Actor: "web", By: "ada", Scope: "session"}, ""},
		{"r", "q1", approvals.Decision{Decision: approvals.Approve, By: "ada"}, ""},
		{"r", "q1", approvals.Decision{Decision: approvals.Approve, By: "bob"}, protocol.AlreadyDecided},
		{"r", "q1", approvals.Decision{Decision: approvals.Deny, By: "ada"}, protocol.AlreadyDecided},
	} {
		if got := code(w.Decide(ctx, c.run, c.id, c.d)); got != c.want {
			t.Errorf("decision on %s %s with %+v: code = %q, want %q", c.run, c.id, c.d, got, c.want)
		}
	}
	w.spool.expectEvents(t, `r run.permission_resolved {"request_id":"q1","decision":"approve","actor":"web","by":"ada"}`)
	if got := outcome(t, wait); got != approvals.Approve {
		t.Errorf("outcome = %s, want approve", got)
	}
	r.Data.RequestID = "q3"
	if got := outcome(t, w.ask(t, r)); got != approvals.Approve {
		t.Errorf("outcome of the same call in the session = %s, want approve", got)
	}
	w.spool.expectEvents(t)
	r.Data.ArgsSHA256 = strings.Repeat("c", 64)
	r.Data.RequestID = "q4"
	if got := outcome(t, w.ask(t, r)); got != "open" {
		t.Errorf("outcome of a call with other arguments in the session = %s, want open", got)
	}
}

// TestRequestsClose closes requests by expiry, by withdrawal and by the end of their run. Later
// decisions return the reason.
func TestRequestsClose(t *testing.T) {
	w := newFixture(&spool{rows: map[string]approvals.Row{}})
	ctx := context.Background()
	timed, answered, left := request("timed"), request("taken"), request("left")
	timed.Data.ExpiresAt = "2025-01-02T03:04:06Z"
	left.AwaitingInput = &protocol.AwaitingInput{Reason: "permission", RequestID: "left"}
	a, b, c := w.ask(t, timed), w.ask(t, answered), w.ask(t, left)
	w.spool.expectEvents(t, `r run.permission_requested {"request_id":"timed","reason":"permission","prompt":"may I?","expires_at":"2025-01-02T03:04:06Z"}`,
		`r run.permission_requested {"request_id":"taken","reason":"permission","prompt":"may I?"}`,
		`r run.permission_requested {"request_id":"left","reason":"permission","prompt":"may I?"}`,
		`r run.awaiting_input {"reason":"permission","request_id":"left"}`)
	w.timers[0]()
	if err := w.Withdraw(ctx, "r", "taken", "answered elsewhere"); err != nil {
		t.Fatal(err)
	}
	if err := w.Withdraw(ctx, "r", "taken", "again"); err != nil {
		t.Fatal(err)
	}
	if open := w.Open("r"); len(open) != 1 || open[0].RequestID != "left" {
		t.Errorf("open requests = %v, want left", open)
	}
	if err := w.CloseRun(ctx, "r"); err != nil {
		t.Fatal(err)
	}
	w.spool.expectEvents(t, `r run.permission_resolved {"request_id":"timed","decision":"expired","reason":"the request has expired"}`,
		`r run.permission_resolved {"request_id":"taken","decision":"withdrawn","reason":"answered elsewhere"}`,
		`r run.permission_resolved {"request_id":"left","decision":"withdrawn","reason":"the run has ended"}`)
	if got := outcome(t, a) + " " + outcome(t, b) + " " + outcome(t, c); got != "expired withdrawn withdrawn" {
		t.Errorf("outcomes = %s", got)
	}
	for _, id := range []string{"timed", "taken", "left"} {
		if got := code(w.Decide(ctx, "r", id, approvals.Decision{Decision: approvals.Deny})); got != protocol.Expired {
			t.Errorf("late decision on %s: code = %s, want expired", id, got)
		}
	}
	if _, err := w.Submit(ctx, "r", request("new")); code(err) != protocol.RunHasExited {
		t.Errorf("request after the run's end: error = %v, want run_exited", err)
	}
	if got := code(w.Decide(ctx, "r", "new", approvals.Decision{Decision: approvals.Deny})); got != protocol.RunHasExited {
		t.Errorf("decision after the run's end: code = %s, want run_exited", got)
	}
}

// TestQuota checks the maximum number of open requests of a run, and that each id is used only
// once.
func TestQuota(t *testing.T) {
	w := newFixture(&spool{rows: map[string]approvals.Row{}})
	ctx := context.Background()
	for i := range protocol.MaxOpenRequests {
		w.ask(t, request(fmt.Sprint("q", i)))
	}
	if _, err := w.Submit(ctx, "r", request("more")); code(err) != protocol.RateLimited {
		t.Errorf("request above the maximum: error = %v, want rate_limited", err)
	}
	if _, err := w.Submit(ctx, "other", request("more")); err != nil {
		t.Errorf("request of another run: error = %v", err)
	}
	if err := w.Decide(ctx, "r", "q3", approvals.Decision{Decision: approvals.Deny}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]protocol.Code{"q3": protocol.InputConflict, "q4": protocol.InputConflict, "a b": protocol.BadMessage} {
		if _, err := w.Submit(ctx, "r", request(id)); code(err) != want {
			t.Errorf("request with id %q: error = %v", id, err)
		}
	}
	w.ask(t, request("more"))
}

// TestAnswers checks that an invalid answer is refused with the name of the field, and that the
// request stays open. Events contain only the hash of a secret answer.
func TestAnswers(t *testing.T) {
	w := newFixture(&spool{rows: map[string]approvals.Row{}})
	ctx := context.Background()
	r := request("q")
	r.Data.Questions = []protocol.Question{{ID: "name", Kind: "text", Required: true, Secret: true}, {ID: "color", Kind: "choice", Options: []protocol.Option{{Value: json.RawMessage(`"red"`)}, {Value: json.RawMessage(`2`)}}},
		{ID: "tags", Kind: "multi", AllowOther: true}, {ID: "sure", Kind: "confirm"}, {ID: "any", Kind: "json"}}
	r.Check = func(d approvals.Decision) error {
		if d.Answers == nil {
			return errors.New("answers are missing")
		}
		return nil
	}
	wait := w.ask(t, r)
	w.spool.events = nil
	for answers, want := range map[string]string{
		`[]`: "answers must be an object", `{}`: "name: missing answer", `{"name":1}`: "name: must be a string", `{"name":null}`: "name: must be a string",
		`{"name":"x","color":"blue"}`: `color: must be one of ["red" 2]`, `{"name":"x","tags":"a"}`: "tags: must be an array", `{"name":"x","sure":"yes"}`: "sure: must be true or false",
		`{"name":"x","age":1}`: "age: no question has this id",
	} {
		err := w.Decide(ctx, "r", "q", approvals.Decision{Decision: approvals.Approve, Answers: json.RawMessage(answers)})
		if code(err) != protocol.InvalidAnswer || !strings.Contains(err.Error(), want) {
			t.Errorf("answers %s: error = %v, want %s", answers, err, want)
		}
	}
	if err := w.Decide(ctx, "r", "q", approvals.Decision{Decision: approvals.Approve, Answer: json.RawMessage(`"x"`)}); code(err) != protocol.InvalidAnswer {
		t.Errorf("single answer to five questions: error = %v, want invalid_answer", err)
	}
	if err := w.Decide(ctx, "r", "q", approvals.Decision{Decision: approvals.Approve}); code(err) != protocol.InvalidAnswer {
		t.Errorf("decision without answers: error = %v, want invalid_answer", err)
	}
	w.spool.expectEvents(t)
	if err := w.Decide(ctx, "r", "q", approvals.Decision{Decision: approvals.Approve, Answers: json.RawMessage(`{"sure": true, "color":2, "name":"x","tags":["a"],"any":null}`)}); err != nil {
		t.Fatal(err)
	}
	w.spool.expectEvents(t, `r run.permission_resolved {"request_id":"q","decision":"answer"}`)
	if outcome(t, wait) != approvals.Answer {
		t.Error("the outcome is not an answer")
	}
}

// TestAnswerIsRecorded checks that an answer is recorded as an answer with its value, never as an
// approval. A plain refusal of a question is recorded as its answer. Repeating the decision changes
// nothing.
func TestAnswerIsRecorded(t *testing.T) {
	ctx := context.Background()
	from := func(kind string) *protocol.Origin { return &protocol.Origin{Kind: kind} }
	for _, c := range []struct {
		kind  string
		from  *protocol.Origin
		dec   approvals.Decision
		event string
	}{
		{"confirm", from("emit"), approvals.Decision{Decision: approvals.Approve, Answer: json.RawMessage(`false`)}, `"answer","by":"ann","answer":false,`},
		{"confirm", from("emit"), approvals.Decision{Decision: approvals.Deny}, `"answer","by":"ann","answer":false,`},
		{"confirm", from("question"), approvals.Decision{Decision: approvals.Approve}, `"answer","by":"ann","answer":true,`},
		{"text", from("emit"), approvals.Decision{Decision: approvals.Approve, Answers: json.RawMessage(`{"answer":"No"}`)}, `"answer","by":"ann","answer":"No",`},
		{"text", from("emit"), approvals.Decision{Decision: approvals.Approve, Answer: json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)}, `"answer","by":"ann","answer":{"$truncated":5002,"preview":"\"xx`},
		{"choice", from("emit"), approvals.Decision{Decision: approvals.Deny, Text: "none of them"}, `"deny","by":"ann","reason":"none of them"}`},
		{"", from("approval"), approvals.Decision{Decision: approvals.Deny}, `"deny","by":"ann"}`},
		{"", from("rpc"), approvals.Decision{Decision: approvals.Approve}, `"approve","by":"ann"}`},
		{"text", from("pty"), approvals.Decision{Decision: approvals.Deny}, `"deny","by":"ann"}`},
	} {
		w := newFixture(&spool{rows: map[string]approvals.Row{}})
		r := request("q")
		if r.Data.From = c.from; c.kind != "" {
			r.Data.Questions = []protocol.Question{{ID: protocol.WholeAnswer, Kind: c.kind}}
		}
		w.ask(t, r)
		w.spool.events = nil
		c.dec.By = "ann"
		for range 2 {
			if err := w.Decide(ctx, "r", "q", c.dec); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(w.spool.events, "\n"); !strings.HasPrefix(got, `r run.permission_resolved {"request_id":"q","decision":`+c.event) {
			t.Errorf("%s of %s with %+v: events =\n%s", c.dec.Decision, c.from.Kind, c.dec, got)
		}
	}
}

// TestApply checks that a decision is applied once, before its outcome is committed. If Apply fails
// or the disk is full, the request stays open. The end of the run waits for a decision that is
// being applied.
func TestApply(t *testing.T) {
	w := newFixture(&spool{rows: map[string]approvals.Row{}})
	ctx := context.Background()
	begun, goOn := make(chan struct{}), make(chan error)
	r := request("q")
	r.Apply = func(_ context.Context, d approvals.Decision) ([]approvals.Event, error) {
		begun <- struct{}{}
		return []approvals.Event{{Type: protocol.RunInput, Data: protocol.Input{Actor: "web", InputID: "q"}}}, <-goOn
	}
	wait := w.ask(t, r)
	w.spool.events = nil
	decided := make(chan error)
	decide := func() {
		decided <- w.Decide(ctx, "r", "q", approvals.Decision{Decision: approvals.Approve, Actor: "web"})
	}
	go decide()
	<-begun
	if got := code(w.Decide(ctx, "r", "q", approvals.Decision{Decision: approvals.Deny})); got != protocol.AlreadyDecided {
		t.Errorf("decision while another is applied: code = %s, want already_decided", got)
	}
	if err := w.Withdraw(ctx, "r", "q", "too late"); err != nil {
		t.Error(err)
	}
	goOn <- errors.New("the terminal is gone")
	if err := <-decided; code(err) != protocol.Internal {
		t.Errorf("decision whose Apply fails: error = %v, want internal", err)
	}
	w.spool.expectEvents(t)
	w.spool.full = true
	go decide()
	<-begun
	goOn <- nil
	if err := <-decided; code(err) != protocol.Internal || outcome(t, wait) != "open" {
		t.Errorf("decision on a full disk: error = %v, want internal and an open request", err)
	}
	w.spool.full = false
	go decide()
	<-begun
	ended := make(chan error)
	go func() { ended <- w.CloseRun(ctx, "r") }()
	goOn <- nil
	if err := <-decided; err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	w.spool.expectEvents(t, `r run.input {"actor":"web","input_id":"q","text_redacted":""}`, `r run.permission_resolved {"request_id":"q","decision":"approve","actor":"web"}`)
}

// TestRestore checks the requests after a restart. Persistent requests are open and can be attached
// to, other requests are withdrawn, and outcomes are available.
func TestRestore(t *testing.T) {
	s := &spool{rows: map[string]approvals.Row{}}
	ctx := context.Background()
	before := newFixture(s)
	persistent, temporary, done := request("kept"), request("gone"), request("done")
	persistent.Persistent, done.Persistent = true, true
	for _, r := range []approvals.Request{persistent, temporary, done} {
		before.ask(t, r)
	}
	if err := before.Decide(ctx, "r", "done", approvals.Decision{Decision: approvals.Deny, By: "ada"}); err != nil {
		t.Fatal(err)
	}
	s.events = nil
	w := newFixture(s)
	var rows []approvals.Row
	for _, row := range s.rows {
		rows = append(rows, row)
	}
	if err := w.Restore(ctx, rows); err != nil {
		t.Fatal(err)
	}
	s.expectEvents(t, `r run.permission_resolved {"request_id":"gone","decision":"withdrawn","reason":"hostd was restarted"}`)
	if got := code(w.Decide(ctx, "r", "done", approvals.Decision{Decision: approvals.Approve})); got != protocol.AlreadyDecided {
		t.Errorf("other decision on a closed request: code = %s, want already_decided", got)
	}
	if err := w.Decide(ctx, "r", "done", approvals.Decision{Decision: approvals.Deny, By: "ada"}); err != nil {
		t.Errorf("repeated decision on a closed request: error = %v", err)
	}
	soon, cancel := context.WithCancel(ctx)
	cancel() // the decision must not wait for a requester
	if err := w.Decide(soon, "r", "kept", approvals.Decision{Decision: approvals.Approve}); code(err) != protocol.MachineOffline {
		t.Errorf("decision before the requester attaches: error = %v, want host_offline", err)
	}
	if w.Attach("r", "gone", temporary) != nil {
		t.Error("attached to a closed request")
	}
	wait := w.Attach("r", "kept", persistent)
	if err := w.Decide(ctx, "r", "kept", approvals.Decision{Decision: approvals.Approve}); err != nil || outcome(t, wait) != approvals.Approve {
		t.Errorf("decision after the requester has attached: error = %v", err)
	}
	if err := w.Restore(ctx, []approvals.Row{{Run: "r", ID: "x", Data: json.RawMessage(`[`)}}); err == nil || !strings.Contains(err.Error(), "request x of run r") {
		t.Errorf("restore of an invalid row: error = %v", err)
	}
}

// restart returns a new registry that restores the rows of the spool.
func (s *spool) restart(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(s)
	var rows []approvals.Row
	for _, row := range s.rows {
		rows = append(rows, row)
	}
	if err := w.Restore(context.Background(), rows); err != nil {
		t.Fatal(err)
	}
	s.events = nil
	return w
}

// TestSettle kills hostd while a decision is being applied. If the requester no longer exists, the
// decision counts as applied. If the run has ended, or the request was closed in another way,
// its result is unknown. The server sends the decision another time to the next hostd, and receives
// the same result.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		id   string
		end  func(*fixture) error
		want string
	}{
		{"tried", func(w *fixture) error { return w.ResolveRestored(context.Background(), "r", "tried", nil, "why") },
			`{"request_id":"tried","decision":"approve","by":"ada","answer_sha256":"ba2df4903a2c14e86dc3bcca58911b44ac1d2514b7227bf6eb08cfb978f55a1b"}`},
		{"failed", func(w *fixture) error { return w.ResolveRestored(context.Background(), "r", "failed", nil, "why") }, `{"request_id":"failed","decision":"withdrawn","reason":"why"}`},
		{"undecided", func(w *fixture) error { return w.ResolveRestored(context.Background(), "r", "undecided", nil, "why") }, `{"request_id":"undecided","decision":"withdrawn","reason":"why"}`},
		{"tried", func(w *fixture) error { return w.CloseRun(context.Background(), "r") },
			`{"request_id":"tried","decision":"withdrawn","reason":"it was decided, and it is unknown whether it took effect","unknown":true}`},
		{"tried", func(w *fixture) error { return w.Withdraw(context.Background(), "r", "tried", "why") },
			`{"request_id":"tried","decision":"withdrawn","reason":"it was decided, and it is unknown whether it took effect","unknown":true}`},
		{"tried", func(w *fixture) error { w.timers[0](); return nil }, // it expires
			`{"request_id":"tried","decision":"expired","reason":"it was decided, and it is unknown whether it took effect","unknown":true}`},
	} {
		s := &spool{rows: map[string]approvals.Row{}}
		before := newFixture(s)
		r := request(c.id)
		var failure error
		r.Persistent, r.UsesTimeout, r.StoreAttempt, r.Apply = true, true, true, func(context.Context, approvals.Decision) ([]approvals.Event, error) {
			if s.full = true; c.id == "failed" { // hostd is killed after the decision is applied
				s.full, failure = false, errors.New("it is gone")
			}
			return nil, failure
		}
		before.ask(t, r)
		if c.id != "undecided" {
			if err := before.Decide(context.Background(), "r", c.id, approvals.Decision{Decision: approvals.Approve, By: "ada", Answer: json.RawMessage(`"x"`)}); code(err) != protocol.Internal {
				t.Errorf("decision on %s: error = %v, want internal", c.id, err)
			}
		}
		s.full = false
		w := s.restart(t)
		repeated := make(chan error, 1)
		if c.id == "tried" {
			go func() {
				repeated <- w.Decide(context.Background(), "r", c.id, approvals.Decision{Decision: approvals.Approve, By: "ada", Answer: json.RawMessage(`"x"`)})
			}()
		}
		if err := c.end(w); err != nil {
			t.Error(err)
		}
		s.expectEvents(t, "r run.permission_resolved "+c.want)
		if c.id == "tried" {
			if err, isUnknown := <-repeated, strings.Contains(c.want, "unknown"); errors.Is(err, approvals.ErrIndeterminate) != isUnknown || err != nil && !isUnknown {
				t.Errorf("repeated decision, whose result is unknown: %v: error = %v", isUnknown, err)
			}
			if err := w.Decide(context.Background(), "r", c.id, approvals.Decision{Decision: approvals.Deny, By: "bob"}); err == nil || errors.Is(err, approvals.ErrIndeterminate) {
				t.Errorf("decision of another user on a closed request: error = %v", err)
			}
		}
		if err := w.ResolveRestored(context.Background(), "r", c.id, nil, "again"); err != nil {
			t.Error(err)
		}
		s.expectEvents(t)
	}
}
