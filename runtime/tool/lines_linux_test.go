package tool

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// speaker is the test binary running as a long-lived process of a tool.
type speaker struct {
	mu      sync.Mutex
	waiting map[string]chan rpcMessage // receivers of the responses to this process's requests, by request ID
	cancels map[string]chan string     // channels that receive the cancellation of a call, by the ID of its request
}

func (s *speaker) writeLine(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(v)
}

// request sends a request and returns the response.
func (s *speaker) request(id, method string, params any) rpcMessage {
	answer := make(chan rpcMessage, 1)
	s.mu.Lock()
	s.waiting[id] = answer
	s.mu.Unlock()
	s.writeLine(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return <-answer
}

func speak([]string) {
	s := &speaker{waiting: map[string]chan rpcMessage{}, cancels: map[string]chan string{}}
	count := 0
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var m rpcMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			panic(err)
		}
		var of struct {
			ID     json.RawMessage
			Reason string
		}
		_ = json.Unmarshal(m.Params, &of)
		switch m.Method {
		case "tool/call":
			count++
			cancel := make(chan string, 1)
			s.mu.Lock()
			s.cancels[string(m.ID)] = cancel
			s.mu.Unlock()
			go s.call(m, count, cancel)
		case "$/cancelRequest":
			s.mu.Lock()
			s.cancels[string(of.ID)] <- of.Reason
			s.mu.Unlock()
		default:
			var id string
			_ = json.Unmarshal(m.ID, &id)
			s.mu.Lock()
			answer := s.waiting[id]
			s.mu.Unlock()
			if answer != nil {
				answer <- m
			}
		}
	}
}

// call performs the instruction in the arguments of a call.
func (s *speaker) call(m rpcMessage, count int, cancel chan string) {
	var p struct {
		CallID string `json:"call_id"`
		Args   struct {
			Do, Text, File string
			Times          int
		}
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		panic(err)
	}
	answer := func(output any) {
		s.writeLine(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"success": true, "output": output}})
	}
	notify := func(method string, params map[string]any) {
		params["call_id"] = p.CallID
		s.writeLine(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	}
	switch p.Args.Do {
	case "params":
		answer(m.Params)
	case "count":
		answer(count)
	case "pid":
		answer(os.Getpid())
	case "where":
		dir, _ := os.Getwd()
		answer(map[string]any{"dir": dir, "given": os.Getenv("GIVEN")})
	case "raw": // as an answer
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, p.Args.Text)
	case "says": // another value
		fmt.Println(p.Args.Text)
		answer("said")
	case "twice":
		answer(1)
		answer(2)
		notify("tool/progress", map[string]any{"message": "late"})
	case "progress":
		for i := range p.Args.Times {
			notify("tool/progress", map[string]any{"progress": i + 1, "total": p.Args.Times, "message": "m"})
		}
		notify("tool/emit", map[string]any{"channel": "news", "payload": map[string]any{"a": 1}})
		notify("tool/emit", map[string]any{"channel": "tool:news"})
		answer("told")
	case "compose":
		answer(s.compose(p.CallID))
	case "exits":
		fmt.Fprintln(os.Stderr, "out of paper")
		os.Exit(3)
	case "waits": // until it is cancelled
		mark(p.Args.File)
		reason := <-cancel
		mark(p.Args.File + ".cancelled")
		s.writeLine(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32005, "message": reason}})
	case "hangs":
		mark(p.Args.File)
	}
}

func mark(file string) {
	if err := os.WriteFile(file, []byte(fmt.Sprint(os.Getpid())), 0o600); err != nil {
		panic(err)
	}
}

// compose calls other tools in all supported ways.
func (s *speaker) compose(call string) map[string]any {
	out := map[string]any{}
	for name, params := range map[string]any{
		"ok": map[string]any{"name": "other", "args": map[string]any{"a": 1}, "parent": call}, "only": map[string]any{"name": "other"},
		"cycle": map[string]any{"name": "x", "parent": call}, "nobody": map[string]any{"name": "other", "parent": "none"}, "none": map[string]any{"parent": call},
	} {
		out[name] = s.outcome(s.request(name, "tools/call", params))
	}
	out["ping"], out["method"] = s.outcome(s.request("ping", "ping", nil)), s.outcome(s.request("method", "tools/list", nil))
	done := make(chan string)
	go func() {
		done <- s.outcome(s.request("waits", "tools/call", map[string]any{"name": "waits", "parent": call}))
	}()
	s.request("begun", "tools/call", map[string]any{"name": "begun", "parent": call})
	s.writeLine(map[string]any{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": map[string]any{"id": "waits", "reason": "enough"}})
	out["taken back"] = <-done
	return out
}

func (s *speaker) outcome(m rpcMessage) string {
	if m.Error != nil {
		return fmt.Sprint(m.Error.Code, " ", m.Error.Message)
	}
	var r Result
	if json.Unmarshal(m.Result, &r) != nil {
		return string(m.Result)
	}
	text, _ := r.Text()
	return text
}

func init() { roles["speak"] = speak }

// stays returns a command that runs the test binary as a long-lived process.
func stays() Command {
	x := plays("speak")
	x.Answer = AnswerLines
	return x
}

// spoken returns a session with the long-lived tool `x`, and a recorder of its events.
func spoken(t *testing.T, spec Spec, more ...Definition) (*Session, *recorder) {
	t.Helper()
	var rec recorder
	h := rec.hooks()
	h.World.Stderr = func(tool, line string) { rec.note(&rec.logs, tool+": "+line) }
	r := registered(t, append(more, defined(t, stays(), spec))...)
	t.Cleanup(r.Close)
	return opened(t, r, Context{SessionID: "s"}, h), &rec
}

func expectResult(t *testing.T, s *Session, args, want string) {
	t.Helper()
	e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(args), Caller: "Clerk", Route: RouteAgent})
	if got, _ := e.Text(); got != want {
		t.Errorf("%s: got %s, want %s", args, got, want)
	}
}

// TestLines checks that a long-lived process can serve several calls, one after another and
// concurrently, with the messages of a client of `concerto serve`.
func TestLines(t *testing.T) {
	s, _ := spoken(t, Spec{Timeout: 30, Version: 2})
	expectResult(t, s, `{"do":"params"}`, `{"call_id":"s-1","session_id":"s","name":"x","version":2,"args":{"do":"params"},"context":{"session_id":"s","cwd":"","environment":{},`+
		`"metadata":{},"call_id":"s-1","tool":"x","version":2,"by":"Clerk","route":"agent"},"by":"Clerk","route":"agent","chain":["x"],"timeout_s":30}`)
	for i := range 3 {
		expectResult(t, s, `{"do":"count"}`, fmt.Sprint(i+2))
	}
	var all sync.WaitGroup
	seen := make([]bool, 100)
	for range 100 {
		all.Go(func() {
			var n int
			if e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"do":"count"}`)}); json.Unmarshal(e.Result.Output, &n) != nil || n < 5 || n > 104 {
				t.Errorf("call = %+v, want a count of at least 5", e)
				return
			}
			seen[n-5] = true
		})
	}
	all.Wait()
	if slices.Contains(seen, false) {
		t.Error("two calls received the same count")
	}
}

// TestLinesAnswers checks how the process's response determines the result of the call.
func TestLinesAnswers(t *testing.T) {
	s, rec := spoken(t, Spec{})
	for text, want := range map[string]string{
		`"result": {"success": true, "output": {"a": [1, 2]}}`:     `{"a":[1,2]}`,
		`"result": {"success": false, "error": "no rows"}`:         `no rows`,
		`"result": {"success": false}`:                             `failed without an error message`,
		`"result": {"a": 1}`:                                       `returned no result: {"a": 1}`,
		`"result": null`:                                           `returned no result: null`,
		`"error": {"code": -32000, "message": "the disk is full"}`: `the disk is full`,
	} {
		args, err := json.Marshal(map[string]string{"do": "raw", "text": text})
		if err != nil {
			t.Fatal(err)
		}
		expectResult(t, s, string(args), want)
	}
	expectResult(t, s, `{"do":"twice"}`, `1`)
	expectResult(t, s, `{"do":"says","text":"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}"}`, "said")
	expectResult(t, s, `{"do":"says","text":"{\"jsonrpc\":\"2.0\",\"method\":\"nothing\"}"}`, "said")
	expectResult(t, s, `{"do":"says","text":"debugging …"}`, "said")
	expectResult(t, s, `{"do":"says","text":"more"}`, "said")
	if want := []string{"warn tool 'x' wrote a line that is not a message (answer: lines): debugging …"}; !slices.Equal(rec.logs, want) {
		t.Errorf("log = %q, want one warning about the line", rec.logs)
	}
}

// TestLinesTalk checks that a process can send progress, emit values and call other tools, with the
// same limits as any handler.
func TestLinesTalk(t *testing.T) {
	begun := make(chan struct{})
	waits := Definition{Name: "waits", Handler: func(ctx context.Context, _ json.RawMessage, _ *Context) (Result, error) {
		close(begun)
		<-ctx.Done()
		return Result{}, ctx.Err()
	}}
	starts := Definition{Name: "begun", Handler: func(context.Context, json.RawMessage, *Context) (Result, error) {
		<-begun
		return Success(nil)
	}}
	s, rec := spoken(t, Spec{}, echo("other"), waits, starts)
	expectResult(t, s, `{"do":"progress","times":3000}`, "told")
	if n := len(rec.emits); n < 11 || n > 40 || rec.emits[0] != `tool:progress {"call_id":"s-1","tool":"x","progress":1,"total":3000,"message":"m"}` || !slices.Contains(rec.emits, `news {"a":1}`) {
		t.Errorf("got %d emits, want between 11 and 40: %q", n, rec.emits)
	}
	if len(rec.logs) != 1 || !strings.Contains(rec.logs[0], "channels that start with 'tool:' are reserved for the runtime") {
		t.Errorf("log = %q, want one error about the reserved channel", rec.logs)
	}
	expectResult(t, s, `{"do":"compose"}`, `{"cycle":"tool cycle: x → x","method":"-32601 unknown method \"tools/list\"","nobody":"-32602 invalid parameters: parent: must be the call_id of a running call",`+
		`"none":"-32602 invalid parameters: name: missing","ok":"{\"a\":1}","only":"{}","ping":"{}","taken back":"-32005 the tool has cancelled the call: enough"}`)
}

// TestLinesRestart checks that a process that has exited is started again, and that a call that the
// old process did not read goes to the new one.
func TestLinesRestart(t *testing.T) {
	s, rec := spoken(t, Spec{})
	expectResult(t, s, `{"do":"count"}`, "1")
	expectResult(t, s, `{"do":"exits"}`, "its process ended: exited with 3: out of paper")
	expectResult(t, s, `{"do":"count"}`, "1")
	expectResult(t, s, `{"do":"count"}`, "2")
	if want := []string{"x: out of paper"}; !slices.Equal(rec.logs, want) {
		t.Errorf("log = %q, want the line of standard error", rec.logs)
	}
	sh := func(script string) *Session {
		x := Command{Run: []string{"sh", "-c", script}, Answer: AnswerLines}
		return opened(t, registered(t, defined(t, x, Spec{})), Context{}, Hooks{})
	}
	s = sh(`read call; echo '{"jsonrpc":"2.0","id":1,"result":{"success":true,"output":"one call"}}'`)
	for range 20 {
		expectResult(t, s, `{}`, "one call")
	}
	if e := sh(`read call; printf '{"jsonrpc":"2.0","id":1,"res'; exit 5`).Do(context.Background(), Ask{Name: "x"}); e.Result.Error != "its process ended: exited with 5" {
		t.Errorf("error = %q, want that the process ended", e.Result.Error)
	}
	e := sh("exit 3").Do(context.Background(), Ask{Name: "x"})
	if want := "its process ended: exited with 3, as 2 others before they read the call"; e.Result.Error != want {
		t.Errorf("error = %q, want %q", e.Result.Error, want)
	}
}

// TestLinesScope checks that each session has its own process for a session tool, and that all
// sessions share the process of a global tool.
func TestLinesScope(t *testing.T) {
	t.Setenv("GIVEN", "process")
	x := stays()
	x.PassEnv = []string{"GIVEN"}
	r := registered(t, defined(t, x, Spec{Scope: PerSession}), defined(t, x, Spec{Name: "g"}))
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	wd, _ := os.Getwd()
	open := func(id string) *Session {
		return opened(t, r, Context{SessionID: id, Cwd: dir, Environment: map[string]string{"GIVEN": id}}, Hooks{})
	}
	a, b := open("a"), open("b")
	call := func(s *Session, name, do string) string {
		text, _ := s.Call(context.Background(), name, json.RawMessage(`{"do":"`+do+`"}`)).Text()
		return text
	}
	if call(a, "x", "count")+call(a, "x", "count")+call(b, "x", "count")+call(a, "g", "count")+call(b, "g", "count") != "12112" {
		t.Error("the counts show that sessions do not share exactly the process of the global tool")
	}
	for _, c := range []struct{ got, want string }{
		{call(a, "x", "where"), `{"dir":"` + dir + `","given":"a"}`}, {call(b, "x", "where"), `{"dir":"` + dir + `","given":"b"}`}, {call(a, "g", "where"), `{"dir":"` + wd + `","given":"process"}`},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	ofA, global := pid(t, call(a, "x", "pid")), pid(t, call(b, "g", "pid"))
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	lives(t, ofA, false)
	lives(t, global, true)
	r.Unregister("x")
	if got := call(b, "x", "count"); !strings.HasPrefix(got, "unknown tool 'x'") {
		t.Error(got)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	r.Close()
	lives(t, global, false)
}

func pid(t *testing.T, text string) int {
	t.Helper()
	var n int
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func lives(t *testing.T, pid int, want bool) {
	t.Helper()
	within := 2 * time.Minute // the process's threads may take a moment to exit
	if want {
		within = 0
	}
	if left, err := testproc.AwaitExit(within, pid); err != nil || len(left) > 0 != want {
		t.Errorf("process %d is running: %v (error %v), want %v", pid, len(left) > 0, err, want)
	}
}

// TestLinesUnregister removes and replaces a global tool during a call. The tool's process must run
// until its last call has ended.
func TestLinesUnregister(t *testing.T) {
	r := registered(t, defined(t, stays(), Spec{}))
	s := opened(t, r, Context{}, Hooks{})
	file := filepath.Join(t.TempDir(), "begun")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan Ended)
	go func() {
		done <- s.Do(ctx, Ask{Name: "x", Args: json.RawMessage(`{"do":"waits","file":"` + file + `"}`)})
	}()
	await(t, file)
	if err := r.Replace(defined(t, stays(), Spec{})); err != nil {
		t.Fatal(err)
	}
	expectResult(t, s, `{"do":"count"}`, "1")
	old := fileNumber(t, file)
	lives(t, old, true)
	cancel(errors.New("enough"))
	if e := <-done; e.Outcome != OutcomeCancelled {
		t.Errorf("call = %+v, want a cancellation", e)
	}
	await(t, file+".cancelled")
	if left, err := testproc.AwaitExit(time.Minute, old); err != nil || len(left) > 0 {
		t.Errorf("the old process is still running (error %v)", err)
	}
	r.Close()
}

func await(t *testing.T, file string) {
	t.Helper()
	if err := testproc.AwaitFile(file); err != nil {
		t.Fatal(err)
	}
}

func fileNumber(t *testing.T, file string) (n int) {
	t.Helper()
	for n == 0 { // the file exists before its content is written
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Sscan(string(text), &n)
	}
	return n
}

// TestLinesCancel checks that the process is notified of a cancelled or late call. A process that
// then answers continues to run. Any other process is replaced without waiting for its exit.
func TestLinesCancel(t *testing.T) {
	const timeout = 3 // in seconds; a busy machine starts the process within this time
	s, rec := spoken(t, Spec{Timeout: timeout})
	dir := t.TempDir()
	file := filepath.Join(dir, "begun")
	e := s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"do":"waits","file":"` + file + `"}`)})
	if e.Outcome != OutcomeTimeout {
		t.Errorf("call = %+v, want a timeout", e)
	}
	await(t, file+".cancelled")
	first := fileNumber(t, file)
	expectResult(t, s, `{"do":"pid"}`, fmt.Sprint(first))

	file = filepath.Join(dir, "hung")
	e = s.Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(`{"do":"hangs","file":"` + file + `"}`)})
	if e.Outcome != OutcomeTimeout || e.Duration > timeout*time.Second+commandGrace {
		t.Errorf("call = %+v, want a timeout without waiting for the process", e)
	}
	if left, err := testproc.AwaitExit(time.Minute, first); err != nil || len(left) > 0 {
		t.Errorf("the replaced process is still running (error %v)", err)
	}
	expectResult(t, s, `{"do":"count"}`, "1")
	if want := []string{"warn tool 'x' does not finish a cancelled call: its process is replaced"}; !slices.Equal(rec.logs, want) {
		t.Errorf("log = %q, want one warning about the replaced process", rec.logs)
	}
}

// TestLinesFloods checks that a process that writes too much, or does not read its input, is ended.
func TestLinesFloods(t *testing.T) {
	x := stays()
	x.MaxOutput = 1000
	s := opened(t, registered(t, defined(t, x, Spec{})), Context{}, Hooks{})
	args, err := json.Marshal(map[string]string{"do": "says", "text": strings.Repeat("x", 2000)})
	if err != nil {
		t.Fatal(err)
	}
	expectResult(t, s, string(args), "returned more than 1000 bytes (max_output)")
	expectResult(t, s, `{"do":"count"}`, "1")

	hangs := plays("hang")
	hangs.Answer = AnswerLines
	s = opened(t, registered(t, defined(t, hangs, Spec{})), Context{}, Hooks{})
	big, err := json.Marshal(map[string]string{"a": strings.Repeat("x", 9<<20)})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if e := s.Do(context.Background(), Ask{Name: "x", Args: big}); e.Outcome != OutcomeFailed || !strings.HasPrefix(e.Result.Error, "its process ended: exited with 1") {
				t.Errorf("outcome %s with error %q, want that the process was ended", e.Outcome, e.Result.Error)
			}
		})
	}
	all.Wait()
}
