package mock

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// nowhere is the performer below a World. It returns an error for every request that reaches it.
var nowhere = effect.PerformerFunc(func(_ context.Context, r effect.Request) (effect.Result, error) {
	return nil, errors.New("reached " + string(r.Kind()))
})

func perform(t *testing.T, w *World, r effect.Request) effect.Result {
	t.Helper()
	res, err := w.Layer(nowhere).Perform(t.Context(), r)
	if err != nil {
		t.Fatalf("%s: %v", r.Kind(), err)
	}
	return res
}

// TestBadScripts checks that every invalid script is refused with the reason.
func TestBadScripts(t *testing.T) {
	for _, c := range []struct {
		host         bool
		script, want string
	}{
		{false, `{"response":5}`, "the mock of X: its response is neither a String nor a Map"},
		{false, `{"response":{"txt":1}}`, "the mock of X: its response has no member `txt`; it may have text, json, tool_calls, error, delay_ms, tokens_in, tokens_out, stop_reason"},
		{false, `{"response":{"text":1}}`, "the mock of X: its response: `text` cannot be 1"},
		{false, `{"response":{"delay_ms":"x"}}`, "the mock of X: its response: `delay_ms` cannot be \"x\""},
		{false, `{"response":{"tool_calls":5}}`, "the mock of X: its response: `tool_calls` is not an array"},
		{false, `{"response":{"tool_calls":[{}]}}`, "the mock of X: its response: tool call 1 has no `name`"},
		{false, `{"response":{"tool_calls":[{"name":"a","arguments":{}}]}}`, "the mock of X: its response: tool call 1 has no member `arguments`; it may have name, args, id"},
		{false, `{"error":5}`, "the mock of X: its error is neither a String nor a Map of message and status"},
		{false, `{"error":{"message":"x","status":"y"}}`, "the mock of X: `status` cannot be \"y\""},
		{false, `{"responses":"x"}`, "the mock of X: `responses` is not an array"},
		{false, `{"responses":["x",null]}`, "the mock of X: response 2 is neither a String nor a Map"},
		{false, `{"messages":[]}`, "the mock of X has no member `messages`; it may have response, error, responses"},
		{true, `{"messages":5}`, "the mock of X: `messages` is not an array"},
		{true, `{"messages":[null]}`, "the mock of X: message 1 is neither a Map nor a String: null"},
		{true, `{"messages":[{"type":5}]}`, "the mock of X: message 1 has no `type`: {\"type\":5}"},
		{true, `{"messages":[{"wait_ms":-1}]}`, "the mock of X: message 1: `wait_ms` cannot be -1"},
		{true, `{"messages":[{"wait_ms":1,"x":1}]}`, "the mock of X: message 1 has no member `x`; it may have wait_ms"},
		{true, `{"messages":[{"exit":"x"}]}`, "the mock of X: message 1: `exit` cannot be \"x\""},
		{true, `{"responses":[5]}`, "the mock of X: response 1 is neither a String nor a Map: 5"},
		{true, `{"response":{"error":"x","text":"y"}}`, "the mock of X: its response has an error and more"},
		{true, `{"error":{"status":5}}`, "the mock of X: its error has no member `status`; it may have message, code, recoverable, session"},
	} {
		w := New(Options{})
		_, err := w.Layer(nowhere).Perform(t.Context(), &effect.MockScript{Name: "X", Host: c.host, Script: json.RawMessage(c.script)})
		var e *effect.Error
		if !errors.As(err, &e) || e.Kind != "RuntimeError" || e.Message != c.want {
			t.Errorf("script %s: error %v, want %s", c.script, err, c.want)
		}
		if len(w.Leftovers()) > 0 || len(w.agents) > 0 || len(w.hosts) > 0 {
			t.Errorf("the invalid script %s was installed", c.script)
		}
	}
}

// TestOutsideRequestsAreRefused checks that requests to the network and to processes are refused
// with an error that names the needed mock, and that all other requests are passed on.
func TestOutsideRequestsAreRefused(t *testing.T) {
	w := New(Options{})
	for _, c := range []struct {
		r    effect.Request
		want string
	}{
		{&effect.MCPOpen{Server: "Files", Method: effect.MCPReadResource, Tool: "x"}, "`Files.read_resource` of an MCP server has no mock: add `mock Files { read_resource: … }` to the test before this call, or run it with --live"},
		{&effect.MCPOpen{Server: "Files", Tool: "read"}, "`Files.read` of an MCP server has no mock: add `mock Files { read: … }` to the test before this call, or run it with --live"},
		{&effect.Command{Command: "git", Args: []string{"log"}}, "the command git log has no mock: add `mock_command(\"git log\", …)` to the test before this call, or run it with --live"},
	} {
		var missing *Missing
		if _, err := w.Layer(nowhere).Perform(t.Context(), c.r); !errors.As(err, &missing) || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.r.Kind(), err, c.want)
		}
		if _, err := New(Options{Live: true}).Layer(nowhere).Perform(t.Context(), c.r); err == nil || err.Error() != "reached "+string(c.r.Kind()) {
			t.Errorf("%s in a live test: error %v, want the request to be passed on", c.r.Kind(), err)
		}
	}
	if _, err := w.Layer(nowhere).Perform(t.Context(), other("fs.read")); err == nil || err.Error() != "reached fs.read" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := w.Layer(nowhere).Perform(ctx, &effect.Sleep{Milliseconds: 5}); err != stop {
		t.Error(err)
	}
}

type other effect.Kind

func (o other) Kind() effect.Kind { return effect.Kind(o) }

// TestChoose checks the order in which Choose selects requests: first those without a delay, then
// messages of hosts, then by time.
func TestChoose(t *testing.T) {
	w := New(Options{Hosts: map[string]Host{"H": {Timeout: 1}}})
	perform(t, w, &effect.MockScript{Name: "H", Host: true, Script: json.RawMessage(`{"messages":[{"wait_ms":40},{"type":"progress"},{"wait_ms":5000},{"type":"result"}]}`)})
	perform(t, w, &effect.MockScript{Name: "A", Script: json.RawMessage(`{"responses":[{"text":"slow","delay_ms":30},"fast"]}`)})
	id := perform(t, w, &effect.ExchangeOpen{Host: "H", Prompt: "p"}).(*effect.ExchangeOpened).ID
	long, short := &effect.Sleep{Milliseconds: 50}, &effect.Sleep{Milliseconds: 20}
	next := &effect.ExchangeNext{ID: id}
	slow, fast := &effect.AgentCall{Agent: "A"}, &effect.AgentCall{Agent: "A"}
	busy := &effect.ExchangeOpen{Host: "H"}
	waiting := []effect.Request{busy, long, next, slow, short, fast}
	type step struct {
		r  effect.Request
		at int64
	}
	var got []step
	for len(waiting) > 1 {
		i := w.Choose(waiting)
		r := waiting[i]
		waiting = append(waiting[:i:i], waiting[i+1:]...)
		perform(t, w, r)
		got = append(got, step{r, w.clock.monotonic})
	}
	want := []step{{fast, 0}, {short, 20}, {slow, 30}, {next, 40}, {long, 50}}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("step %d: the chosen requests are %+v, want %+v", i, got, want)
		}
	}
	// The delay before the result is longer than the timeout of the host.
	late := &effect.ExchangeNext{ID: id}
	if i := w.Choose([]effect.Request{busy, late}); i != 1 || w.clock.monotonic != 1000 {
		t.Errorf("chosen request = %d at %d ms, want 1 at 1000 ms", i, w.clock.monotonic)
	}
	_, err := w.Layer(nowhere).Perform(t.Context(), late)
	var e *effect.Error
	if !errors.As(err, &e) || e.Message != "host 'H' timed out after 1 second" || e.Fields["code"] != "timeout" {
		t.Error(err)
	}
	perform(t, w, &effect.ExchangeClose{ID: id})
	if left := w.Leftovers(); len(left) > 0 {
		t.Error(left)
	}
	if u := perform(t, w, &effect.Clock{}).(*effect.Time); u.Unix != epoch+1000 || u.Monotonic != 1000 {
		t.Errorf("time = %+v, want one second after the epoch", u)
	}
}

// TestRecord checks the JSON form of the recorded output of a test.
func TestRecord(t *testing.T) {
	w := New(Options{})
	perform(t, w, &effect.Emit{Channel: "a", Payload: json.RawMessage(`{"n":1.0}`)})
	perform(t, w, &effect.Emit{Channel: "b"})
	perform(t, w, &effect.MockAnswer{Channel: "c", Value: json.RawMessage(`[1]`)})
	if a := perform(t, w, &effect.AwaitEmit{Channel: "c", Payload: json.RawMessage(`"?"`)}).(*effect.Answer); string(a.Value) != "[1]" {
		t.Errorf("answer = %s, want [1]", a.Value)
	}
	_, err := w.Layer(nowhere).Perform(t.Context(), &effect.AwaitEmit{Channel: "c"})
	var e *effect.Error
	if !errors.As(err, &e) || e.Kind != "EmitError" || e.Fields["reason"] != "no_listener" {
		t.Error(err)
	}
	perform(t, w, &effect.Print{Text: "x", Newline: true})
	perform(t, w, &effect.Print{Text: "y"})
	perform(t, w, &effect.Log{Level: "warn", Message: "careful"})
	for what, want := range map[string]string{
		"emits":   `[{"channel":"a","payload":{"n":1.0}},{"channel":"b","payload":null},{"channel":"c","payload":"?"},{"channel":"c","payload":null}]`,
		"output":  `"x\ny"`,
		"prompts": `[]`,
		"replies": `[]`,
	} {
		if got := string(perform(t, w, &effect.Record{What: what, Party: "P"}).(*effect.Recorded).Value); got != want {
			t.Errorf("record of %s = %s, want %s", what, got, want)
		}
	}
	if d := cmp.Diff([]string{"warn: careful"}, w.Record().Log); d != "" {
		t.Error(d)
	}
}

// TestOutside checks that requests that only tests may make are refused outside a test.
func TestOutside(t *testing.T) {
	_, err := Outside.Perform(t.Context(), &effect.Record{What: "emits"})
	var e *effect.Error
	if !errors.As(err, &e) || e.Kind != "RuntimeError" {
		t.Error(err)
	}
}

// TestCommand checks that a command receives the scripted outcomes in order, and that unused
// outcomes are reported.
func TestCommand(t *testing.T) {
	w := New(Options{})
	run := func(args ...string) string {
		res, err := w.Layer(nowhere).Perform(t.Context(), &effect.Command{Command: "git", Args: args, Timeout: 100})
		if err != nil {
			return "error: " + err.Error()
		}
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, outcome := range []string{`"clean"`, `{"exit_code":2,"stdout":"a","stderr":"b"}`, `{"error":"it is not there"}`, `{"delay_ms":200}`} {
		perform(t, w, &effect.MockCommand{Line: "git status", Outcome: json.RawMessage(outcome)})
	}
	perform(t, w, &effect.MockCommand{Line: "git", Outcome: json.RawMessage(`"left"`)})
	want := []string{
		`{"exit_code":0,"stdout":"clean","stderr":""}`,
		`{"exit_code":2,"stdout":"a","stderr":"b"}`,
		"error: cannot run git: it is not there",
		"error: git did not finish within 100 ms",
		"error: the command git status has no mock: add `mock_command(\"git status\", …)` to the test before this call, or run it with --live",
	}
	var got []string
	for range want {
		got = append(got, run("status"))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{`mock_command("git", …) has 1 outcome left that no run used; the next is "left"`}, w.Leftovers()); d != "" {
		t.Error(d)
	}
	for outcome, want := range map[string]string{`5`: "the outcome of u is neither a String nor a Map", `{"code":1}`: "the outcome of u has no member `code`; it may have stdout, stderr, exit_code, delay_ms, error",
		`{"exit_code":"x"}`: "the outcome of u: `exit_code` cannot be \"x\""} {
		_, err := w.Layer(nowhere).Perform(t.Context(), &effect.MockCommand{Line: "u", Outcome: json.RawMessage(outcome)})
		if err == nil || err.Error() != want {
			t.Errorf("outcome %s: error %v, want %s", outcome, err, want)
		}
	}
}

func TestHTTP(t *testing.T) {
	w := New(Options{})
	ask := func(url string) string {
		res, err := w.Layer(nowhere).Perform(t.Context(), &effect.HTTP{Method: "GET", URL: url, Headers: []effect.Header{{Name: "a", Value: "b"}}, Timeout: 100})
		if err != nil {
			return "error: " + err.Error()
		}
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, answer := range []string{`"plain"`, `{"status":404,"headers":{"X-B":"2","X-A":"1"}}`, `{"body":{"n":1.0}}`, `{"error":"refused"}`, `{"delay_ms":200}`} {
		perform(t, w, &effect.MockHTTP{URL: "u", Answer: json.RawMessage(answer)})
	}
	perform(t, w, &effect.MockHTTP{URL: "v", Answer: json.RawMessage(`"left"`)})
	want := []string{
		`{"status":200,"headers":null,"body":"plain"}`,
		`{"status":404,"headers":[{"name":"x-a","value":"1"},{"name":"x-b","value":"2"}],"body":""}`,
		`{"status":200,"headers":[{"name":"content-type","value":"application/json"}],"body":"{\"n\":1.0}"}`,
		"error: GET u: refused",
		"error: GET u: no response within 100 ms",
		"error: GET u has no mock: add `mock_http(\"u\", …)` to the test before this call, or run it with --live",
	}
	var got []string
	for range want {
		got = append(got, ask("u"))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{`mock_http("v", …) has 1 answer left that no request used; the next is "left"`}, w.Leftovers()); d != "" {
		t.Error(d)
	}
	record := string(perform(t, w, &effect.Record{What: "requests"}).(*effect.Recorded).Value)
	if one := `{"method":"GET","url":"u","headers":{"a":"b"},"body":null}`; record != "["+strings.Repeat(one+",", 5)+one+"]" {
		t.Error(record)
	}
	for answer, want := range map[string]string{`5`: "the answer of u is neither a String nor a Map", `{"code":1}`: "the answer of u has no member `code`; it may have status, headers, body, delay_ms, error",
		`{"status":"x"}`: "the answer of u: `status` cannot be \"x\""} {
		if _, err := w.Layer(nowhere).Perform(t.Context(), &effect.MockHTTP{URL: "u", Answer: json.RawMessage(answer)}); err == nil || err.Error() != want {
			t.Errorf("answer %s: error %v, want %s", answer, err, want)
		}
	}
}

// TestFiles checks that the files of the test are not written to disk, and that requests for all
// other files are passed on.
func TestFiles(t *testing.T) {
	w := New(Options{})
	disk := effect.PerformerFunc(func(_ context.Context, r effect.Request) (effect.Result, error) {
		if q, ok := r.(*effect.ReadFile); ok && q.Path == "real" {
			return &effect.FileText{Text: "from disk"}, nil
		}
		return nowhere.Perform(t.Context(), r)
	})
	do := func(r effect.Request) string {
		res, err := w.Layer(disk).Perform(t.Context(), r)
		if err != nil {
			return "error: " + err.Error()
		}
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for i, c := range []struct {
		r    effect.Request
		want string
	}{
		{&effect.ReadFile{Path: "a"}, "error: reached fs.read"},
		{&effect.MockFile{Path: "./a", Text: "one"}, "null"},
		{&effect.MockFile{Path: "none", Missing: true}, "null"},
		{&effect.ReadFile{Path: "a"}, `{"text":"one"}`},
		{&effect.AttachFile{Path: "a"}, `{"name":"a","type":"text/plain","size":3,"sha256":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed","data":"one"}`},
		{&effect.AttachFile{Path: "none"}, "error: cannot attach none: it is not there"},
		{&effect.WriteFile{Path: "a", Text: "+", Append: true}, "null"},
		{&effect.FileInfo{Path: "x/../a"}, `{"exists":true,"size":4}`},
		{&effect.ReadFile{Path: "none"}, "error: cannot read none: it is not there"},
		{&effect.FileInfo{Path: "none"}, `{"exists":false}`},
		{&effect.WriteFile{Path: "none", Text: "now", Append: true}, "null"},
		{&effect.ReadFile{Path: "none"}, `{"text":"now"}`},
		{&effect.CopyFile{From: "a", Path: "b"}, "null"},
		{&effect.ReadFile{Path: "b"}, `{"text":"one+"}`},
		{&effect.CopyFile{From: "real", Path: "b"}, "null"},
		{&effect.ReadFile{Path: "b"}, `{"text":"from disk"}`},
		{&effect.MoveFile{From: "b", Path: "c"}, "null"},
		{&effect.ReadFile{Path: "b"}, "error: cannot read b: it is not there"},
		{&effect.ReadFile{Path: "c"}, `{"text":"from disk"}`},
		{&effect.MoveFile{From: "b", Path: "d"}, "error: cannot move b: it is not there"},
		{&effect.RemoveFile{Path: "c"}, "null"},
		{&effect.RemoveFile{Path: "c"}, "error: cannot remove c: it is not there"},
		{&effect.MoveFile{From: "real", Path: "a"}, "error: reached fs.remove"},
		{&effect.ReadFile{Path: "real"}, `{"text":"from disk"}`},
		{&effect.ListDir{Path: "."}, "error: reached fs.list"},
	} {
		if got := do(c.r); got != c.want {
			t.Errorf("request %d, %s: got %s, want %s", i, c.r.Kind(), got, c.want)
		}
	}
}

// TestEnvironmentAndSecrets checks that variables that the test has set replace those of the real
// environment, and that secrets are the same in each run.
func TestEnvironmentAndSecrets(t *testing.T) {
	w := New(Options{})
	outside := effect.PerformerFunc(func(_ context.Context, r effect.Request) (effect.Result, error) {
		switch r.(type) {
		case *effect.EnvAll:
			return &effect.EnvVariables{Names: []string{"A", "B"}, Values: []string{"1", "2"}}, nil
		case *effect.Env:
			return &effect.EnvValue{Value: "outside", Set: true}, nil
		}
		return nowhere.Perform(t.Context(), r)
	})
	perform(t, w, &effect.MockEnv{Name: "A"})
	perform(t, w, &effect.MockEnv{Name: "C", Value: "3", Set: true})
	res, err := w.Layer(outside).Perform(t.Context(), &effect.EnvAll{})
	if d := cmp.Diff(&effect.EnvVariables{Names: []string{"B", "C"}, Values: []string{"2", "3"}}, res); d != "" || err != nil {
		t.Error(d, err)
	}
	for name, want := range map[string]effect.EnvValue{"A": {}, "C": {Value: "3", Set: true}, "B": {Value: "outside", Set: true}} {
		if res, err := w.Layer(outside).Perform(t.Context(), &effect.Env{Name: name}); err != nil || *res.(*effect.EnvValue) != want {
			t.Errorf("variable %s = %+v (error %v), want %+v", name, res, err, want)
		}
	}
	a := perform(t, w, &effect.Secret{Bytes: 16}).(*effect.SecretBytes).Bytes
	b := perform(t, New(Options{}), &effect.Secret{Bytes: 16}).(*effect.SecretBytes).Bytes
	if len(a) != 16 || string(a) != string(b) {
		t.Errorf("secrets = %x and %x, want 16 equal bytes", a, b)
	}
}
