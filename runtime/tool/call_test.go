package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// recorder is the application around a session. It answers approvals in order, and records the
// questions, emits and log lines that it receives.
type recorder struct {
	mu      sync.Mutex
	answers []string // answers to approvals, in order; "" means that there is no approver, "…" waits
	asked   []*Question
	records []audit.Record
	emits   []string
	logs    []string
	full    error // error that the audit log returns; nil if it is not full
}

func (r *recorder) hooks() Hooks {
	return Hooks{Approve: r.approve, Audit: r, Log: func(level, message string) { r.note(&r.logs, level+" "+message) },
		Emit: func(channel string, payload json.RawMessage) { r.note(&r.emits, channel+" "+string(payload)) }}
}

func (r *recorder) note(list *[]string, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, text)
}

func (r *recorder) approve(ctx context.Context, q *Question) (json.RawMessage, audit.Actor, error) {
	answer := func() string {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked = append(r.asked, q)
		answer := r.answers[0]
		r.answers = r.answers[1:]
		return answer
	}()
	switch answer {
	case "":
		return nil, audit.Actor{}, errors.New("nobody listens")
	case "…":
		<-ctx.Done()
		return nil, audit.Actor{}, ctx.Err()
	}
	return json.RawMessage(answer), audit.Actor{Type: "human", Name: "eve"}, nil
}

func (r *recorder) Append(record audit.Record) (audit.Line, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full == nil {
		r.records = append(r.records, record)
	}
	return audit.Line{}, r.full
}

// summaries returns the audit records in short form.
func (r *recorder) summaries() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, x := range r.records {
		out = append(out, fmt.Sprintf("%s %s/%s %s %s", x.Kind, x.Actor.Type, x.Actor.Name, x.Subject, x.Data))
	}
	return out
}

func (r *recorder) so(list *[]string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(*list, "\n")
}

var query = json.RawMessage(`{"type":"object","properties":{"sql":{"type":"string"},"limit":{"type":"integer"},"token":{"type":"string","writeOnly":true}},"required":["sql"]}`)

func queryTool() Definition {
	d := echo("x")
	d.Parameters = query
	return d
}

// TestRefusedByARule checks that the audit records a call that [permissions] refuses as denied by
// that rule.
func TestRefusedByARule(t *testing.T) {
	app := &recorder{}
	h := app.hooks()
	h.Permit = func(*Definition) error { return errors.New("tool 'x' is not permitted") }
	s := opened(t, registered(t, echo("x")), Context{SessionID: "r_1"}, h)
	data := string(s.Prepare(Ask{Name: "x", Args: json.RawMessage(`{"a":1}`)}).Began().Data)
	const sum = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862" // of {"a":1}
	want := `{"approval":{"decision":"deny","scope":null,"actor":{"type":"rule","name":"[permissions] tools"},"ms":0,"asked_sha256":"` + sum +
		`","reason":"tool 'x' is not permitted"},"args":{"a":1},"args_sha256":"` + sum + `"}`
	if data != want {
		t.Errorf("audit data = %s, want %s", data, want)
	}
}

// TestRefusals checks the outcome and the error of each kind of call that ends before its handler.
func TestRefusals(t *testing.T) {
	d := queryTool()
	needs := echo("picture")
	needs.Requires = []string{"render:image/png"}
	r := registered(t, d, version("v", 1), version("v", 3), needs)
	app := &recorder{}
	h := app.hooks()
	h.Permit = func(d *Definition) error {
		if d.Name == "v" {
			return errors.New("tool 'v' is not permitted")
		}
		return nil
	}
	s := opened(t, r, Context{SessionID: "r_1"}, h)
	for _, c := range []struct {
		ask     Ask
		outcome Outcome
		want    string
	}{
		{Ask{Name: "y"}, OutcomeNotFound, "unknown tool 'y'"},
		{Ask{Name: "v@2"}, OutcomeNotFound, "unknown tool 'v@2'"},
		{Ask{Name: "picture"}, OutcomeNotFound, "tool 'picture' is not available: it needs render:image/png, which this session lacks"},
		{Ask{Name: "pictur"}, OutcomeNotFound, "unknown tool 'pictur'"},
		{Ask{Name: "v", Args: json.RawMessage(`[]`)}, OutcomeDenied, "tool 'v' is not permitted"},
		{Ask{Name: "x", Args: json.RawMessage(`{"limit":"six"}`)}, OutcomeArguments, `bad arguments for x: limit: expected integer, got "six"; sql: missing`},
		{Ask{Name: "x", Args: json.RawMessage(`[]`)}, OutcomeArguments, "bad arguments for x: expected object, got an array"},
		{Ask{Name: "x", Args: json.RawMessage(`{"sql"`)}, OutcomeArguments, "bad arguments for x: unexpected EOF"},
		{Ask{Name: "x", Args: json.RawMessage(`{"sql":"a","sql":"b"}`)}, OutcomeArguments, "bad arguments for x: sql: given twice"},
		{Ask{Name: "x", Args: json.RawMessage(`{"sql":"a","token":1}`)}, OutcomeArguments, "bad arguments for x: token: expected string, got a secret"},
		{Ask{Name: "x", Chain: []string{"x", "y"}}, OutcomeLimit, "tool cycle: x → y → x"},
		{Ask{Name: "x", Chain: strings.Split("abcdefgh", "")}, OutcomeLimit, "a chain can contain at most 8 calls of tools: a → b → c → d → e → f → g → h → x"},
	} {
		e := s.Do(context.Background(), c.ask)
		if e.Outcome != c.outcome || e.Result.Success || e.Result.Error != c.want || e.Started {
			t.Errorf("%+v: outcome %s with error %q, want %s with %q", c.ask, e.Outcome, e.Result.Error, c.outcome, c.want)
		}
	}
	if records := app.summaries(); len(records) != 24 || !strings.HasPrefix(records[0], `call client/ {"call":"r_1-1","owner":null,"parent":null,"tool":"y","version":null} {"approval":null,"args":{},"args_sha256":"44136f`) ||
		!strings.HasPrefix(records[1], `done client/ {"call":"r_1-1",`) || !strings.HasSuffix(records[1], `{"duration_ms":0,"error":"unknown tool 'y'","outcome":"not_found","output_bytes":0}`) {
		t.Error(strings.Join(records, "\n"))
	}
}

// TestLargeIntegersAreExact checks that integers reach the handler without rounding.
func TestLargeIntegersAreExact(t *testing.T) {
	s := opened(t, registered(t, echo("x")), Context{}, Hooks{})
	const args = `{"n":[9007199254740993,-18446744073709551616,1.50]}`
	if got := s.Call(context.Background(), "x", json.RawMessage(args)); string(got.Output) != args {
		t.Errorf("output = %s, want %s", got.Output, args)
	}
}

// TestRecords checks that the audit records and the result of a call name the caller and the
// outcome.
func TestRecords(t *testing.T) {
	app := &recorder{}
	s := opened(t, registered(t, queryTool()), Context{SessionID: "r_1", Route: RouteAgent, Caller: "Clerk"}, app.hooks())
	e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"token":"s3cr3t","sql":"<é>","limit":9007199254740993}`), CallID: "r_1-7", Parent: "r_1-3"})
	if e.Outcome != OutcomeOK || e.CallID != "r_1-7" || !e.Started {
		t.Fatalf("call = %+v, want a successful call with ID r_1-7", e)
	}
	tag := Tag([]byte(`"s3cr3t"`))
	records := app.summaries()
	want := `call agent/Clerk {"call":"r_1-7","owner":"go","parent":"r_1-3","tool":"x","version":1} {"approval":null,"args":{"limit":9007199254740993,"sql":"<é>","token":"[redacted:` + tag + `]"},"args_sha256":"`
	if len(records) != 2 || !strings.HasPrefix(records[0], want) || len(tag) != 12 {
		t.Errorf("records:\n%s\nwant two, the first beginning with\n%s", strings.Join(records, "\n"), want)
	}
	if strings.Contains(strings.Join(records, ""), "s3cr3t") {
		t.Error("the records contain a secret")
	}
	info := e.Result.Metadata["concerto"].(Info)
	if info.CallID != "r_1-7" || info.Outcome != OutcomeOK {
		t.Errorf("metadata = %+v, want call ID r_1-7 and outcome ok", info)
	}
}

// TestSecretsAreRedacted checks that known secrets are removed from questions and records, and that
// the handler receives them.
func TestSecretsAreRedacted(t *testing.T) {
	app := &recorder{answers: []string{`"because hunter22"`}}
	h := app.hooks()
	h.Hide = func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("hunter22"), []byte("***PASS***")) }
	s := opened(t, registered(t, guarded(), echo("free")), Context{SessionID: "s"}, h)
	s.Call(context.Background(), "x", json.RawMessage(`{"sql":"hunter22"}`))
	if got := s.Call(context.Background(), "free", json.RawMessage(`{"a":"hunter22"}`)); string(got.Output) != `{"a":"hunter22"}` {
		t.Errorf("result = %+v, want the arguments with the secret", got)
	}
	records := strings.Join(app.summaries(), "\n")
	if strings.Contains(records, "hunter22") || strings.Count(records, "***PASS***") != 4 || string(app.asked[0].Args) != `{"sql":"***PASS***"}` {
		t.Errorf("secrets are not redacted in the question %s or the records\n%s", app.asked[0].Args, records)
	}
}

// TestAuditFails checks that a call is refused if the audit log cannot be written.
func TestAuditFails(t *testing.T) {
	called := false
	d := echo("x")
	d.Handler = func(context.Context, json.RawMessage, *Context) (Result, error) { called = true; return Success(1) }
	app := &recorder{full: errors.New("no space left")}
	s := opened(t, registered(t, d), Context{}, app.hooks())
	e := s.Do(context.Background(), Ask{Name: "x"})
	if e.Outcome != OutcomeUnavailable || e.Result.Error != "x was not called: no space left" || called {
		t.Errorf("call = %+v, handler called %v; want an unavailable tool and no call", e, called)
	}
}

// TestHandlers checks the result of the call for everything that a handler can do: return, fail,
// panic and so on.
func TestHandlers(t *testing.T) {
	for _, c := range []struct {
		name    string
		h       Handler
		outcome Outcome
		want    string
	}{
		{"value", func(context.Context, json.RawMessage, *Context) (Result, error) { return Success("a<b") }, OutcomeOK, `"a<b"`},
		{"nothing", func(context.Context, json.RawMessage, *Context) (Result, error) { return Result{Success: true}, nil }, OutcomeOK, ``},
		{"error", func(context.Context, json.RawMessage, *Context) (Result, error) {
			return Result{}, errors.New("no rows")
		}, OutcomeFailed, "no rows"},
		{"failure", func(context.Context, json.RawMessage, *Context) (Result, error) { return Failure("no %s", "rows"), nil }, OutcomeFailed, "no rows"},
		{"panic", func(context.Context, json.RawMessage, *Context) (Result, error) { panic("boom") }, OutcomeFailed, "tool 'x' panicked: boom"},
		{"fault", func(_ context.Context, input json.RawMessage, _ *Context) (Result, error) {
			return Success([]int{}[len(input)])
		}, OutcomeFailed,
			"tool 'x' panicked: runtime error: index out of range [2] with length 0"},
		{"garbage", func(context.Context, json.RawMessage, *Context) (Result, error) {
			return Result{Success: true, Output: json.RawMessage("{"), Metadata: map[string]any{"f": func() {}}}, nil
		}, OutcomeFailed, "tool 'x' returned an output that is not valid JSON"},
	} {
		d := echo("x")
		d.Handler = c.h
		app := &recorder{}
		e := opened(t, registered(t, d), Context{}, app.hooks()).Do(context.Background(), Ask{Name: "x"})
		got := e.Result.Error
		if e.Result.Success {
			got = string(e.Result.Output)
		}
		if e.Outcome != c.outcome || got != c.want || !e.Started {
			t.Errorf("%s: call = %+v, want outcome %s with %s", c.name, e, c.outcome, c.want)
		}
		if _, err := json.Marshal(e.Result); err != nil {
			t.Errorf("%s: could not encode result: %v", c.name, err)
		}
		if c.name == "panic" && !strings.Contains(app.so(&app.logs), "call_test.go:") {
			t.Errorf("the log does not contain the place of the panic: %s", app.so(&app.logs))
		}
	}
}

// TestOutputSchema checks that a handler's output is validated against the output schema.
func TestOutputSchema(t *testing.T) {
	d := echo("x")
	d.Output = json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)
	s := opened(t, registered(t, d), Context{}, Hooks{})
	if e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"n":"a"}`)}); e.Outcome != OutcomeFailed || e.Result.Output != nil ||
		e.Result.Error != `bad output of x: n: expected integer, got "a"` {
		t.Errorf("call with a bad output = %+v, want a failure that names the member n", e)
	}
	if e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"n":1}`)}); e.Outcome != OutcomeOK {
		t.Errorf("call with a good output = %+v, want outcome ok", e)
	}
}

// TestResultJSON checks that the JSON form of a result has all four members and can be decoded
// again.
func TestResultJSON(t *testing.T) {
	for _, c := range []struct {
		r    Result
		want string
	}{
		{Result{Success: true, Output: json.RawMessage(`7`)}, `{"success":true,"output":7,"error":null,"metadata":{}}`},
		{Result{Error: "<no>", Metadata: map[string]any{"a": 1}}, `{"success":false,"output":null,"error":"<no>","metadata":{"a":1}}`},
	} {
		text, err := jsonwrite.Encode(c.r)
		if err != nil || string(text) != c.want {
			t.Errorf("encoded result = %s (error %v), want %s", text, err, c.want)
		}
		var back Result
		if err := json.Unmarshal(text, &back); err != nil || back.Success != c.r.Success || back.Error != c.r.Error || string(back.Output) != string(c.r.Output) {
			t.Errorf("decoded result = %+v (error %v), want %+v", back, err, c.r)
		}
	}
	var r Result
	for text, want := range map[string]string{`{"output":1}`: `success is required, but got {"output":1}`, `{"success":"yes"}`: `got {"success":"yes"}`, `[]`: "got []"} {
		if err := json.Unmarshal([]byte(text), &r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("decoding %s: error %v, want %q", text, err, want)
		}
	}
	for _, c := range []struct {
		r      Result
		text   string
		failed bool
	}{
		{Result{Success: true, Output: json.RawMessage(`"a\nb"`)}, "a\nb", false}, {Result{Success: true, Output: json.RawMessage(`{"a":1}`)}, `{"a":1}`, false},
		{Result{Success: true}, "null", false}, {Result{Error: "e"}, "e", true}, {Result{}, "the tool failed", true}, {Result{Output: json.RawMessage(`"o"`)}, "o", true},
	} {
		if text, failed := c.r.Text(); text != c.text || failed != c.failed {
			t.Errorf("%+v: Text = %q, %v; want %q, %v", c.r, text, failed, c.text, c.failed)
		}
	}
}

// block returns a handler that waits until its context ends, and then for the additional time.
func block(more time.Duration) Handler {
	return func(ctx context.Context, _ json.RawMessage, _ *Context) (Result, error) {
		<-ctx.Done()
		time.Sleep(more)
		return Success("late")
	}
}

// TestTime checks that a timeout ends a call. The handler's later result must be dropped, and that
// must be logged once.
func TestTime(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Definition)
		cancel  error // cause of a cancellation after 5 s; nil for none
		took    time.Duration
		outcome Outcome
		want    string
		logs    string
	}{
		{"default", func(d *Definition) {}, nil, 60 * time.Second, OutcomeTimeout, "tool 'x' timed out after 60 s", ""},
		{"timeout", func(d *Definition) { d.Timeout = 1500 * time.Millisecond }, nil, 1500 * time.Millisecond, OutcomeTimeout, "tool 'x' timed out after 1.5 s", ""},
		{"slow to end", func(d *Definition) { d.Timeout, d.Handler = time.Second, block(500*time.Millisecond) }, nil, 1500 * time.Millisecond, OutcomeTimeout,
			"tool 'x' timed out after 1 s", ""},
		{"ignores", func(d *Definition) { d.Timeout, d.Handler = time.Second, block(time.Hour) }, nil, 2 * time.Second, OutcomeTimeout, "tool 'x' timed out after 1 s",
			"warn tool 'x' is still running after its call s-1 has ended: its result will be dropped"},
		{"idle", func(d *Definition) { d.IdleTimeout = 2 * time.Second }, nil, 2 * time.Second, OutcomeTimeout, "tool 'x' timed out after 2 s without progress", ""},
		{"cancelled", func(d *Definition) {}, context.Canceled, 5 * time.Second, OutcomeCancelled, "tool 'x' was cancelled", ""},
		{"with a reason", func(d *Definition) { d.Handler = block(time.Hour) }, errors.New("the client is gone"), 6 * time.Second, OutcomeCancelled,
			"tool 'x' was cancelled: the client is gone", "warn tool 'x' is still running after its call s-1 has ended: its result will be dropped"},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := echo("x")
			d.Handler = block(0)
			c.change(&d)
			app := &recorder{}
			s := opened(t, registered(t, d), Context{SessionID: "s"}, app.hooks())
			ctx, cancel := context.WithCancelCause(context.Background())
			if c.cancel != nil {
				time.AfterFunc(5*time.Second, func() { cancel(c.cancel) })
			}
			began := time.Now()
			e := s.Do(ctx, Ask{Name: "x"})
			if took := time.Since(began); took != c.took || e.Outcome != c.outcome || e.Result.Error != c.want || !e.Started || e.Result.Output != nil {
				t.Errorf("%s: call ended after %s with %+v, want %s with %s after %s", c.name, took, e, c.outcome, c.want, c.took)
			}
			time.Sleep(2 * time.Hour)
			if got := app.so(&app.logs); got != c.logs {
				t.Errorf("%s: log = %q, want %q", c.name, got, c.logs)
			}
			cancel(nil)
		})
	}
}

// TestProgress checks three properties of progress reports. A report restarts the idle timeout. At
// most 10 reports are sent in a second, and the latest one is always sent. No report is sent after
// the call has ended.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := echo("x")
		d.IdleTimeout = 150 * time.Millisecond
		var later *Context
		d.Handler = func(_ context.Context, _ json.RawMessage, c *Context) (Result, error) {
			later = c
			for i := range 25 { // takes 2.4 s
				c.Progress(float64(i), 25, "")
				c.Progress(float64(i)+0.5, 0, "half")
				time.Sleep(96 * time.Millisecond)
			}
			return Success(nil)
		}
		app := &recorder{}
		s := opened(t, registered(t, d), Context{SessionID: "s"}, app.hooks())
		if e := s.Do(context.Background(), Ask{Name: "x"}); e.Outcome != OutcomeOK {
			t.Fatalf("call = %+v, want outcome ok", e)
		}
		later.Progress(99, 0, "after the end")
		time.Sleep(time.Minute)
		records := strings.Split(app.so(&app.emits), "\n")
		if len(records) != 28 || records[0] != `tool:progress {"call_id":"s-1","tool":"x","progress":0,"total":25}` || records[9] != `tool:progress {"call_id":"s-1","tool":"x","progress":4.5,"message":"half"}` ||
			records[10] != `tool:progress {"call_id":"s-1","tool":"x","progress":10.5,"message":"half"}` {
			t.Errorf("got %d progress reports, want 28:\n%s", len(records), strings.Join(records, "\n"))
		}
		if err := later.Emit("x", 1); err == nil || err.Error() != "emit on 'x': the call has ended" {
			t.Error(err)
		}
		if got := later.Call(context.Background(), "x", nil); got.Success {
			t.Errorf("a call that has ended called another tool: %+v", got)
		}
	})
}

// TestEmit checks that a tool cannot emit on the channels that are reserved for the runtime.
func TestEmit(t *testing.T) {
	d := echo("x")
	var errs []string
	d.Handler = func(_ context.Context, _ json.RawMessage, c *Context) (Result, error) {
		for _, channel := range []string{"news", "host:x", "listen:x", "pipeline:x", "agent:x", "audit:x", "tool:x", "run:x", "", "toolbox"} {
			if err := c.Emit(channel, map[string]any{"a": "<"}); err != nil {
				errs = append(errs, err.Error())
			}
		}
		if err := c.Emit("bad", make(chan int)); err != nil {
			errs = append(errs, err.Error())
		}
		return Success(nil)
	}
	app := &recorder{}
	opened(t, registered(t, d), Context{}, app.hooks()).Call(context.Background(), "x", nil)
	if got := app.so(&app.emits); got != `news {"a":"<"}`+"\n"+`toolbox {"a":"<"}` {
		t.Error(got)
	}
	if len(errs) != 9 || errs[0] != "emit on 'host:x': channels that start with 'host:' are reserved for the runtime" || !strings.HasPrefix(errs[8], "emit on 'bad': json: unsupported type") {
		t.Error(strings.Join(errs, "\n"))
	}
}

// TestTurns checks that a sequential tool runs one call at a time in a session, that MaxConcurrent
// limits the calls of all sessions, and that the timeout includes the wait for MaxConcurrent.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ json.RawMessage, _ *Context) (Result, error) {
			select {
			case <-time.After(2 * time.Second):
				return Success(nil)
			case <-ctx.Done():
				return Result{}, ctx.Err()
			}
		}
		one, two := echo("one"), echo("two")
		one.Handler, one.Sequential, one.Timeout = slow, true, 3*time.Second
		two.Handler, two.MaxConcurrent, two.Timeout = slow, 2, 5*time.Second
		r := registered(t, one, two)
		a, b := opened(t, r, Context{SessionID: "a"}, Hooks{}), opened(t, r, Context{SessionID: "b"}, Hooks{})
		run := func(name string, sessions ...*Session) (ends []string) {
			began := time.Now()
			var mu sync.Mutex
			var all sync.WaitGroup
			for _, s := range sessions {
				all.Go(func() {
					e := s.Do(context.Background(), Ask{Name: name})
					mu.Lock()
					defer mu.Unlock()
					ends = append(ends, fmt.Sprint(e.Outcome, time.Since(began)))
				})
			}
			all.Wait()
			slices.Sort(ends)
			return ends
		}
		if got := fmt.Sprint(run("one", a, a, a, b)); got != "[ok2s ok2s ok4s ok6s]" {
			t.Error(got)
		}
		if got := fmt.Sprint(run("two", a, b, a, b, a, b)); got != "[ok2s ok2s ok4s ok4s timeout5s timeout5s]" {
			t.Error(got)
		}
	})
}

// TestComposition checks calls of tools by tools. Such a call has all the steps of a call and must
// not form a cycle. When a call ends, the calls that it has made end too.
func TestComposition(t *testing.T) {
	calls := func(name, inner string) Definition {
		d := echo(name)
		d.Handler = func(ctx context.Context, input json.RawMessage, c *Context) (Result, error) {
			if got := From(ctx); got.CallID != c.CallID || !slices.Equal(got.Chain, c.Chain) {
				t.Errorf("From = %+v, want %+v", got, c)
			}
			return c.Call(context.Background(), inner, input), nil
		}
		return d
	}
	app := &recorder{}
	s := opened(t, registered(t, calls("a", "b"), calls("b", "a"), calls("c", "echo"), calls("d", "wait"), echo("echo"), func() Definition {
		d := echo("wait")
		d.Handler = block(0)
		return d
	}()), Context{SessionID: "s", Caller: "client:c", Route: RouteClient}, app.hooks())
	if got := s.Call(context.Background(), "a", nil); got.Error != "tool cycle: a → b → a" || got.Success {
		t.Errorf("result = %+v, want a tool cycle", got)
	}
	if records := app.summaries(); len(records) != 6 || !strings.HasPrefix(records[2], `call tool/b {"call":"s-1.1.1","owner":"go","parent":"s-1.1","tool":"a","version":1}`) ||
		!strings.Contains(records[3], `"outcome":"limit"`) {
		t.Error(strings.Join(records, "\n"))
	}
	if got := s.Call(context.Background(), "c", json.RawMessage(`{"n":9007199254740993}`)); string(got.Output) != `{"n":9007199254740993}` {
		t.Errorf("result = %+v, want the large integer unchanged", got)
	}
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, s.r, Context{SessionID: "t"}, Hooks{})
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if e := s.Do(ctx, Ask{Name: "d"}); e.Outcome != OutcomeCancelled || time.Since(began) != time.Second {
			t.Errorf("call = %+v after %s, want a cancellation after 1s", e, time.Since(began))
		}
	})
}

// TestCancelledBefore calls a tool with an ended context. The handler must not start.
func TestCancelledBefore(t *testing.T) {
	s := opened(t, registered(t, echo("x")), Context{}, Hooks{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if e := s.Do(ctx, Ask{Name: "x"}); e.Outcome != OutcomeCancelled || e.Started {
		t.Errorf("call = %+v, want a cancellation before the handler", e)
	}
}

// TestHookPanics checks that a panic of a hook fails the call and does not crash the process.
func TestHookPanics(t *testing.T) {
	app := &recorder{}
	h := app.hooks()
	h.Permit = func(*Definition) error { panic("boom") }
	s := opened(t, registered(t, echo("x")), Context{SessionID: "s"}, h)
	if e := s.Do(context.Background(), Ask{Name: "x"}); e.Outcome != OutcomeFailed || e.Result.Error != "the call of tool 'x' panicked: boom" ||
		!strings.Contains(app.so(&app.logs), "call_test.go:") {
		t.Errorf("call = %+v, want a failure with the panic's text and a log with its place", e)
	}
}

// TestPausedClockStopsTimeouts checks that no call times out while the clock is paused.
func TestPausedClockStopsTimeouts(t *testing.T) {
	for name, change := range map[string]func(*Definition){
		"timeout":  func(d *Definition) { d.Timeout = time.Minute },
		"progress": func(d *Definition) { d.Timeout, d.IdleTimeout = time.Hour, time.Minute },
		"approval": func(d *Definition) { d.RequiresApproval, d.ApprovalTimeout = true, time.Minute },
	} {
		synctest.Test(t, func(t *testing.T) {
			d := echo("x")
			d.Handler = block(0)
			change(&d)
			hooks := (&recorder{}).hooks()
			hooks.Clock = clock.NewPausableClock()
			hooks.Approve = func(ctx context.Context, _ *Question) (json.RawMessage, audit.Actor, error) {
				<-ctx.Done()
				return nil, audit.Actor{}, context.Cause(ctx)
			}
			s := opened(t, registered(t, d), Context{SessionID: "s"}, hooks)
			began := time.Now()
			time.AfterFunc(10*time.Second, hooks.Clock.Pause)
			time.AfterFunc(time.Hour, hooks.Clock.Resume)
			e := s.Do(t.Context(), Ask{Name: "x"})
			if took := time.Since(began); took != time.Hour+50*time.Second || e.Result.Error == "" {
				t.Errorf("%s: call ended after %s with %+v, want an error after 1h0m50s", name, took, e)
			}
		})
	}
}
