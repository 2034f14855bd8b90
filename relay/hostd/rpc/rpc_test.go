package rpc_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/rpc"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/hostd/workdirfs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// fixture is a machine with a run in a directory.
type fixture struct {
	t     *testing.T
	dir   string
	spool *spool.Spool
	desk  *approvals.Registry
	d     *rpc.Dispatcher

	mu      sync.Mutex
	runs    map[string]rpc.Run
	stopped []string
	after   []func() // functions that make pending requests expire
	n       int
}

func (w *fixture) Find(run string) (rpc.Run, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.runs[run]
	return r, ok
}

func (w *fixture) set(run string, r rpc.Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[run] = r
}

func (w *fixture) Start(_ context.Context, q protocol.StartRun, actor string) (string, error) {
	if q.Tool == "none" {
		return "", workdirfs.Errorf(protocol.OutOfScope, "no such place")
	}
	return "run_new_" + actor, nil
}

func (w *fixture) Stop(_ context.Context, run string, q protocol.StopRun) error {
	w.stopped = append(w.stopped, run+" "+q.Signal)
	return nil
}

func (w *fixture) List() []protocol.RunSummary { return nil }

// Commit commits events of the registry to the spool.
func (w *fixture) Commit(ctx context.Context, run string, events []approvals.Event, _ []approvals.Row) error {
	var all []spool.Event
	for _, e := range events {
		all = append(all, spool.Event{Type: e.Type, Data: e.Data})
	}
	_, err := w.spool.Append(ctx, run, all...)
	return err
}

// CommitChange commits a change of the dispatcher to the spool.
func (w *fixture) CommitChange(ctx context.Context, c spool.Change) error {
	_, err := w.spool.Commit(ctx, c)
	return err
}

func newFixture(t *testing.T, change func(*rpc.Options)) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{t: t, dir: filepath.Join(dir, "work"), runs: map[string]rpc.Run{}}
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if w.spool, err = spool.Open(context.Background(), filepath.Join(dir, "spool.db"), spool.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.spool.Close() })
	w.desk = approvals.New(approvals.Options{Events: w, Timeout: 600 * time.Second, Now: func() time.Time { return time.Unix(0, 0) }, After: func(d time.Duration, f func()) func() bool {
		if d != 600*time.Second {
			t.Errorf("timeout of a request = %v, want 10 minutes", d)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.after = append(w.after, f)
		return func() bool { return true }
	}})
	w.set("run_a", rpc.Run{Cwd: w.dir})
	w.set("run_old", rpc.Run{Cwd: w.dir, Ended: true})
	stars, err := redact.New("hunter2", nil)
	if err != nil {
		t.Fatal(err)
	}
	o := rpc.Options{MachineID: "host_a", Version: "1", Runs: w, Approvals: w.desk, Events: w, Redact: stars, RemoteExec: true, Socket: "/sock",
		Doctor: func(context.Context) []protocol.Dep { return []protocol.Dep{{Name: "rg", OK: true, Detail: "d"}} }, Features: []string{"f"}}
	if change != nil {
		change(&o)
	}
	w.d = rpc.New(o)
	return w
}

func (w *fixture) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fixture) text(name string) string {
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// do sends an RPC with a new id and returns the response.
func (w *fixture) do(typ, run, data string) protocol.Response {
	w.n++
	return w.repeat(fmt.Sprintf("q%d", w.n), typ, run, data)
}

func (w *fixture) repeat(id, typ, run, data string) protocol.Response {
	_, r := w.d.Do(context.Background(), rpc.Call{Type: typ, Run: run, Data: withID(id, data)})
	if (r.RequestID != id || r.RPCType != typ) && r.ErrorCode != "bad_message" {
		w.t.Errorf("%s: response = %+v, want the id and type of the RPC", typ, r)
	}
	return r
}

func withID(id, data string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"request_id":%q,%s`, id, strings.TrimPrefix(strings.Replace(data, "{}", `{"x":1}`, 1), "{")))
}

// open waits until a run has an open request, and returns the request.
func (w *fixture) open(run string) protocol.PermissionRequested {
	w.t.Helper()
	for after := int64(0); ; {
		all, err := w.spool.Next(context.Background(), run, after, 100)
		if err != nil {
			w.t.Fatal(err)
		}
		if open := w.desk.Open(run); len(open) > 0 && slices.ContainsFunc(w.events(run), func(e protocol.Envelope) bool { return strings.Contains(string(e.Data), open[0].RequestID) }) {
			return open[0]
		}
		_ = all
		<-w.spool.Committed()
	}
}

func (w *fixture) events(run string) []protocol.Envelope {
	w.t.Helper()
	all, err := w.spool.Next(context.Background(), run, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// eventsOf returns the events of the RPC with an id, each as its type and the relevant data.
func (w *fixture) eventsOf(id string) (out []string) {
	for _, e := range w.events("run_a") {
		var d struct {
			RequestID, Tool, Actor, Decision, Error string
			OK                                      *bool
		}
		var all map[string]json.RawMessage
		if json.Unmarshal(e.Data, &all) != nil || string(all["request_id"]) != `"`+id+`"` {
			continue
		}
		_ = json.Unmarshal(e.Data, &d)
		text := e.Type
		for _, name := range []string{"tool", "actor", "decision", "args", "result", "error"} {
			if v := all[name]; v != nil {
				text += " " + string(v)
			}
		}
		out = append(out, text)
	}
	return out
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("events =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// TestEveryRPC checks that each RPC of the protocol has a handler, but the one in which others are
// sealed.
func TestEveryRPC(t *testing.T) {
	for i := range protocol.Messages {
		if m := &protocol.Messages[i]; m.Kind == protocol.RPC && m.Type != protocol.RPCSealed && !rpc.HasHandler(m) {
			t.Errorf("%s has no handler", m.Type)
		}
	}
}

// TestReading checks that read-only RPCs are answered at once. Their events do not contain the
// content of files. For an ended run the RPCs are answered as well, but no events are recorded.
func TestReading(t *testing.T) {
	w := newFixture(t, nil)
	w.write("a.txt", "one\ntwo hunter2\n")
	git := func(args ...string) {
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		c.Dir = w.dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git failed: %s %v", out, err)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "x")
	w.write("a.txt", "one\nthree hunter2\n")
	for _, row := range []struct{ typ, data, result, event string }{
		{"fs.read", `{"path":"a.txt"}`, `"content":"one\nthree hunter2\n","truncated":false,"size":18`, `{"path":"a.txt","bytes":18,"sha256":"` + sum("one\nthree hunter2\n") + `","truncated":false}`},
		{"fs.list", `{"path":"."}`, `{"name":"a.txt","is_dir":false,"size_bytes":18}`, `{"path":".","entries":2,"truncated":false}`},
		{"fs.search", `{"q":"thr.e"}`, `{"path":"a.txt","line":2,"column":1,"text":"three hunter2"}`, `{"matches":1,"truncated":false}`},
		{"git.status", `{"actor":"cli"}`, `modified:   a.txt`, `"truncated":false}`},
		{"git.diff", `{"path":"a.txt"}`, `-two hunter2\n+three hunter2`, `"truncated":false}`},
	} {
		r := w.do("rpc."+row.typ, "run_a", row.data)
		if !r.OK || !strings.Contains(string(r.Result), row.result) {
			t.Errorf("%s: response = %+v, result = %s", row.typ, r, r.Result)
		}
		all := w.eventsOf(r.RequestID)
		actor := `"web"`
		if strings.Contains(row.data, "cli") {
			actor = `"cli"`
		}
		if len(all) != 2 || !strings.HasPrefix(all[0], `tool.call "rpc.`+row.typ+`" `+actor) || !strings.HasPrefix(all[1], `tool.result "rpc.`+row.typ+`" `+actor) ||
			!strings.HasSuffix(all[1], row.event) || strings.Contains(all[1], "three") {
			t.Errorf("events of %s =\n%s", row.typ, strings.Join(all, "\n"))
		}
	}
	before := len(w.events("run_a"))
	if r := w.do("rpc.fs.read", "run_old", `{"path":"a.txt"}`); !r.OK || len(w.events("run_old")) != 0 || len(w.events("run_a")) != before {
		t.Errorf("read of an ended run = %+v, want ok without events", r)
	}
	if _, r := w.d.Do(context.Background(), rpc.Call{Type: "rpc.fs.read", Run: "run_a", Data: withID("l1", `{"path":"hunter2"}`), Local: true}); r.OK {
		t.Errorf("local read of a missing file = %+v, want an error", r)
	}
	expect(t, w.eventsOf("l1"), `tool.call "fs.read" "local" {"path":"hunter2"}`, `tool.result "fs.read" "local" "***REDACTED*** does not exist"`)
}

// TestRefused sends RPCs that must be refused with the expected code. None may read or write
// outside of the run's directory, or open a request for approval.
func TestRefused(t *testing.T) {
	w := newFixture(t, nil)
	w.write("a.txt", "text")
	w.write("bin", "\xff\xfe")
	outside := filepath.Join(filepath.Dir(w.dir), "outside")
	for _, err := range []error{os.WriteFile(outside, []byte("kept"), 0o600), os.Symlink(outside, filepath.Join(w.dir, "link")), os.Symlink("/proc/self/root/etc", filepath.Join(w.dir, "proc")),
		os.Mkdir(filepath.Join(w.dir, ".git"), 0o700), exec.Command("mkfifo", filepath.Join(w.dir, "fifo")).Run()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("a/", 3000)
	for _, row := range []struct{ typ, run, data, code string }{
		{"fs.read", "run_a", `{"path":"../outside"}`, "out_of_scope"}, {"fs.read", "run_a", `{"path":"link"}`, "out_of_scope"},
		{"fs.read", "run_a", `{"path":"/etc/passwd"}`, "out_of_scope"}, {"fs.read", "run_a", `{"path":"proc/passwd"}`, "out_of_scope"},
		{"fs.read", "run_a", `{"path":"a\u0000"}`, "out_of_scope"}, {"fs.read", "run_a", `{"path":"fifo"}`, "not_regular"},
		{"fs.read", "run_a", `{"path":"."}`, "not_regular"}, {"fs.read", "run_a", `{"path":"bin"}`, "not_text"}, {"fs.read", "run_a", `{"path":"none"}`, "not_found"},
		{"fs.read", "run_a", `{"path":7}`, "bad_message"}, {"fs.read", "run_a", `{"path":"a.txt","limit":0}`, "bad_message"}, {"fs.read", "run_a", `{"path":"` + long + `"}`, "out_of_scope"}, {"fs.write", "run_a", `{"path":"` + long + `","content":""}`, "out_of_scope"},
		{"fs.read", "run_x", `{"path":"a.txt"}`, "unknown_run"}, {"fs.read", "", `{"path":"a.txt"}`, "unknown_run"},
		{"fs.list", "run_a", `{"path":"../"}`, "out_of_scope"}, {"fs.list", "run_a", `{"path":"a.txt"}`, "not_found"},
		{"fs.search", "run_a", `{"q":"("}`, "bad_pattern"}, {"fs.search", "run_a", `{"q":"` + strings.Repeat("x", 1001) + `"}`, "bad_message"},
		{"git.status", "run_a", `{"path":"../x"}`, "out_of_scope"},
		{"fs.write", "run_a", `{"path":"../new","content":"x"}`, "out_of_scope"}, {"fs.write", "run_a", `{"path":"link","content":"x"}`, "not_regular"},
		{"fs.write", "run_a", `{"path":".git/config","content":"x"}`, "out_of_scope"}, {"fs.write", "run_a", `{"path":".GIT/config","content":"x"}`, "out_of_scope"},
		{"fs.write", "run_a", `{"path":"none/a","content":"x"}`, "not_found"}, {"fs.write", "run_a", `{"path":"fifo","content":"x"}`, "not_regular"},
		{"fs.write", "run_a", `{"path":"b","content":"` + strings.Repeat("x", 1<<20+1) + `"}`, "too_large"},
		{"fs.write", "run_a", `{"path":"a.txt","content":"x","base_sha256":"` + sum("other") + `"}`, "changed"},
		{"fs.write", "run_old", `{"path":"b","content":"x"}`, "run_exited"}, {"bash", "run_old", `{"cmd":"touch b"}`, "run_exited"}, {"run.stop", "run_old", `{}`, "run_exited"},
		{"bash", "run_a", `{"cmd":"x","timeout_s":601}`, "bad_message"}, {"fly", "run_a", `{}`, "unknown_type"},
		{"host.info", "run_a", `{"host_id":"host_b"}`, "unknown_host"}, {"host.info", "", `{}`, "bad_message"},
		{"run.start", "", `{"host_id":"host_a","tool":"none","cmd":""}`, "out_of_scope"}, {"host.logs.tail", "", `{"host_id":"host_a"}`, "no_log"},
	} {
		if r := w.do("rpc."+row.typ, row.run, row.data); r.OK || string(r.ErrorCode) != row.code || r.Error == "" {
			t.Errorf("%s %.60s: response = %+v", row.typ, row.data, r)
		}
	}
	for _, typ := range []string{"fs.read", "bash", "run.stop"} {
		if r := w.do("rpc."+typ, "", `{"path":"a.txt","cmd":"x"}`); !strings.Contains(r.Error, typ+" requires run_id") {
			t.Errorf("%s without run_id: response = %+v", typ, r)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "b")); err == nil || w.text("../outside") != "kept" || len(w.desk.Open("run_a")) != 0 {
		t.Error("a refused RPC has changed a file or opened a request")
	}
}

// startRequest sends an RPC that waits for an approval, and returns the open request.
func (w *fixture) startRequest(ctx context.Context, id, typ, data string) (<-chan protocol.Response, protocol.PermissionRequested) {
	w.t.Helper()
	out := make(chan protocol.Response, 1)
	go func() {
		_, r := w.d.Do(ctx, rpc.Call{Type: typ, Run: "run_a", Data: withID(id, data)})
		out <- r
	}()
	return out, w.open("run_a")
}

func (w *fixture) decide(id, decision string) {
	w.t.Helper()
	if err := w.desk.Decide(context.Background(), "run_a", id, approvals.Decision{Decision: decision, Actor: "web", By: "ada"}); err != nil {
		w.t.Error(err)
	}
}

// TestWrite checks that a file is written only after the approval. The request contains the hash of
// the content and path, and shows the diff. The events are in order.
func TestWrite(t *testing.T) {
	w := newFixture(t, nil)
	w.write("a.txt", "one\ntwo\n")
	data := `{"path":"a.txt","content":"one\nhunter2\n","actor":"cli"}`
	answer, asked := w.startRequest(context.Background(), "w1", "rpc.fs.write", data)
	plain, err := jcs.Canonical([]byte(`{"cwd":` + string(mustJSON(w.dir)) + `,"op":"rpc.fs.write","args":{"path":"a.txt","content":"one\nhunter2\n"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if asked.ArgsSHA256 != sum(string(plain)) || asked.RequestID != "w1" || asked.OpTool != "rpc.fs.write" || asked.Reason != "permission" || asked.From.Kind != "rpc" || asked.ExpiresAt == "" ||
		string(asked.OpArgs) != `{"bytes":12,"content_preview":"one\n***REDACTED***\n","content_truncated":false,"path":"a.txt"}` ||
		asked.Diff != "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+***REDACTED***\n" || asked.OpArgsSummary != "a.txt (12 bytes)" {
		t.Errorf("request = %+v, arguments = %s", asked, asked.OpArgs)
	}
	if w.text("a.txt") != "one\ntwo\n" {
		t.Error("the file was written before the approval")
	}
	w.decide("w1", approvals.Approve)
	r := <-answer
	written := `{"path":"a.txt","bytes_written":12,"sha256":"` + sum("one\nhunter2\n") + `","truncated":false}`
	if !r.OK || string(r.Result) != written || w.text("a.txt") != "one\nhunter2\n" {
		t.Errorf("response = %+v, result = %s; want the written file", r, r.Result)
	}
	args := `{"bytes":12,"content_preview":"one\n***REDACTED***\n","content_truncated":false,"path":"a.txt"}`
	expect(t, w.eventsOf("w1"), `tool.call "rpc.fs.write" "cli" `+args, `run.permission_requested`, `run.permission_resolved "web" "approve"`,
		`tool.result "rpc.fs.write" "cli" {"path":"a.txt","bytes":12,"sha256":"`+sum("one\nhunter2\n")+`","truncated":false}`)

	answer, asked = w.startRequest(context.Background(), "w2", "rpc.fs.write", `{"path":"new/b","content":"x","mkdirs":true}`)
	if !strings.HasPrefix(asked.Diff, "--- a/new/b\n+++ b/new/b\n@@ -0,0 +1,1 @@\n+x\n") {
		t.Errorf("diff of a new file = %q", asked.Diff)
	}
	w.decide("w2", approvals.Approve)
	if r := <-answer; !r.OK || w.text("new/b") != "x" {
		t.Errorf("response to the second write = %+v, want ok", r)
	}
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// TestUnapprovedOperations checks that an operation is not performed if its request is denied,
// expires or is withdrawn, or if the operation has changed since. The response has the
// corresponding code.
func TestUnapprovedOperations(t *testing.T) {
	for _, row := range []struct {
		name, code   string
		data         string
		concurrently func(w *fixture, end context.CancelFunc)
	}{
		{"denied", "denied", "", func(w *fixture, _ context.CancelFunc) { w.decide("n1", approvals.Deny) }},
		{"the request expires", "expired", "", func(w *fixture, _ context.CancelFunc) { w.after[0]() }},
		{"hostd is stopping", "withdrawn", "", func(_ *fixture, end context.CancelFunc) { end() }},
		{"the run ends", "withdrawn", "", func(w *fixture, _ context.CancelFunc) {
			if err := w.desk.CloseRun(context.Background(), "run_a"); err != nil {
				w.t.Error(err)
			}
		}},
		{"another directory", "args_changed", "", func(w *fixture, _ context.CancelFunc) {
			w.set("run_a", rpc.Run{Cwd: filepath.Dir(w.dir)})
			w.decide("n1", approvals.Approve)
		}},
		{"an exit that is not told yet", "run_exited", "", func(w *fixture, _ context.CancelFunc) {
			w.set("run_a", rpc.Run{Cwd: w.dir, Ended: true})
			w.decide("n1", approvals.Approve)
		}},
		{"another file", "changed", `,"base_sha256":"` + sum("text") + `"`, func(w *fixture, _ context.CancelFunc) {
			w.write("a.txt", "other")
			w.decide("n1", approvals.Approve)
		}},
		{"a link in its place", "not_regular", "", func(w *fixture, _ context.CancelFunc) {
			outside := filepath.Join(w.dir, "..", "outside")
			for _, err := range []error{os.WriteFile(outside, []byte("kept"), 0o600), os.Remove(filepath.Join(w.dir, "a.txt")), os.Symlink(outside, filepath.Join(w.dir, "a.txt"))} {
				if err != nil {
					w.t.Fatal(err)
				}
			}
			w.decide("n1", approvals.Approve)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newFixture(t, nil)
			w.write("a.txt", "text")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			answer, _ := w.startRequest(ctx, "n1", "rpc.fs.write", `{"path":"a.txt","content":"bad"`+row.data+`}`)
			row.concurrently(w, cancel)
			r := <-answer
			if r.OK || string(r.ErrorCode) != row.code || w.text("a.txt") == "bad" || len(w.desk.Open("run_a")) != 0 {
				t.Errorf("response = %+v, file = %q; want an error and the file unchanged", r, w.text("a.txt"))
			}
			if row.code == "denied" && r.Error != "denied" {
				t.Errorf("response to a denied RPC = %+v", r)
			}
			if all := w.eventsOf("n1"); !strings.HasPrefix(all[len(all)-1], `tool.result "rpc.fs.write" "web" "`) {
				t.Error(strings.Join(all, "\n"))
			}
		})
	}
}

// TestRepeatedRequest repeats RPCs that are waiting or finished. Each is performed once, and each
// repetition gets the same response. Another RPC with the same id is refused. After ten minutes the
// id may be used again.
func TestRepeatedRequest(t *testing.T) {
	now := time.Unix(1000, 0)
	w := newFixture(t, func(o *rpc.Options) { o.Now = func() time.Time { return now } })
	const data = `{"cmd":"echo x >> log; wc -l < log"}`
	answer, asked := w.startRequest(context.Background(), "o1", "rpc.bash", data)
	if asked.OpTool != "bash" || string(asked.OpArgs) != `{"cmd":"echo x >> log; wc -l < log"}` || asked.OpArgsSummary != "echo x >> log; wc -l < log" {
		t.Errorf("request = %+v, arguments = %s", asked, asked.OpArgs)
	}
	more := make(chan protocol.Response, 1)
	go func() { more <- w.repeat("o1", "rpc.bash", "run_a", data) }()
	w.decide("o1", approvals.Approve)
	first := <-answer
	for _, r := range []protocol.Response{<-more, w.repeat("o1", "rpc.bash", "run_a", data), first} {
		if !r.OK || !strings.Contains(string(r.Result), `"stdout":"1\n","stderr":"","exit_code":0,"truncated":false,"timed_out":false`) {
			t.Errorf("response = %+v, result = %s; want the same result", r, r.Result)
		}
	}
	for _, r := range []protocol.Response{w.repeat("o1", "rpc.bash", "run_a", `{"cmd":"rm log"}`), w.repeat("o1", "rpc.fs.list", "run_a", `{}`), w.repeat("o1", "rpc.bash", "run_b", data)} {
		if r.OK || r.ErrorCode != "input_conflict" {
			t.Errorf("RPC with the id of another = %+v, want input_conflict", r)
		}
	}
	if r := w.repeat("r1", "rpc.fs.read", "run_a", `{"path":"log"}`); !strings.Contains(string(r.Result), `"x\n"`) {
		t.Errorf("response = %+v, want the content of the file", r)
	}
	for id, want := range map[string]bool{"r1": true, "r2": false} { // of a signed RPC that the server sends again
		if _, r := w.d.Do(context.Background(), rpc.Call{Type: "rpc.fs.read", Run: "run_a", Data: withID(id, `{"path":"log"}`), Repeated: true}); r.OK != want || !want && r.ErrorCode != "replayed" {
			t.Errorf("repeated RPC %s = %+v, known: %v", id, r, want)
		}
	}
	w.write("log", "other")
	if r := w.repeat("r1", "rpc.fs.read", "run_a", `{"path":"log"}`); !strings.Contains(string(r.Result), `"x\n"`) {
		t.Errorf("repeated read = %s, want the first result", r.Result)
	}
	now = now.Add(protocol.RPCRetention)
	if r := w.repeat("r1", "rpc.fs.read", "run_a", `{"path":"log"}`); !strings.Contains(string(r.Result), `"other"`) {
		t.Errorf("read after ten minutes = %s, want the new content", r.Result)
	}
}

// TestBash checks the environment of commands: empty input and no secrets. All processes of a
// command are killed at its end, and time and output are limited.
func TestBash(t *testing.T) {
	w := newFixture(t, func(o *rpc.Options) { o.Environ = append(os.Environ(), "HOME="+t.TempDir(), "HOST_TOKEN=s3cret") })
	for i, row := range []struct{ cmd, want string }{
		{`{"cmd":"pwd; cat; echo -n e >&2; echo ${HOST_TOKEN-none}; exit 3"}`, `"stdout":"DIR\nnone\n","stderr":"e","exit_code":3,"truncated":false,"timed_out":false`},
		{`{"cmd":"echo a; exec sleep 1000","timeout_s":1}`, `"stdout":"a\n","stderr":"","exit_code":137,"truncated":false,"timed_out":true`},
		{`{"cmd":"sleep 1000 & echo $! > pid"}`, `"stdout":"","stderr":"","exit_code":0,"truncated":false,"timed_out":false`},
		{`{"cmd":"printf '\\xc3\\xa4%.0s' {1..150000}; printf '\\xff' >&2"}`, `"stderr":"\ufffd","exit_code":0,"truncated":true,"timed_out":false`},
		{`{"cmd":"head -c 300000 /dev/zero | tr '\\0' x >&2"}`, `"stdout":"","stderr":"` + strings.Repeat("x", 200_000) + `","exit_code":0,"truncated":true,"timed_out":false`},
	} {
		id := fmt.Sprintf("b%d", i)
		answer, _ := w.startRequest(context.Background(), id, "rpc.bash", row.cmd)
		w.decide(id, approvals.Approve)
		r := <-answer
		var done protocol.BashResult
		if err := json.Unmarshal(r.Result, &done); err != nil || len(done.Stdout) > 200_000 || strings.Trim(done.Stdout, "ä") != done.Stdout && len(done.Stdout) != 200_000 {
			t.Errorf("%s: result = %+v, error = %v", row.cmd, r, err)
		}
		text, err := json.Marshal(done)
		if want := strings.ReplaceAll(row.want, "DIR", w.dir); err != nil || !strings.Contains(strings.ReplaceAll(string(text), "�", `\ufffd`), want) {
			t.Errorf("%s: result = %.300s", row.cmd, text)
		}
	}
	// A background process of the command must have been killed, too.
	pid := strings.TrimSpace(w.text("pid"))
	if out, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output(); err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z") {
		t.Errorf("background process %s is still running: %s", pid, out)
	}
}

// TestRemoteOff checks a machine that refuses remote execution. It refuses such RPCs and omits them
// from its capabilities. RPCs over the local socket still work.
func TestRemoteOff(t *testing.T) {
	w := newFixture(t, func(o *rpc.Options) { o.RemoteExec = false })
	for typ, data := range map[string]string{"rpc.bash": `{"cmd":"x"}`, "rpc.fs.write": `{"path":"a","content":""}`, "rpc.run.start": `{"host_id":"host_a","tool":"t","cmd":""}`} {
		if r := w.do(typ, "run_a", data); r.OK || r.ErrorCode != "forbidden" {
			t.Errorf("%s: response = %+v, want forbidden", typ, r)
		}
	}
	r := w.do("rpc.host.capabilities", "", `{"host_id":"host_a"}`)
	var can protocol.MachineCapabilities
	if err := json.Unmarshal(r.Result, &can); err != nil || slices.Contains(can.SupportedRPC, "rpc.bash") || !slices.Contains(can.SupportedRPC, "rpc.fs.read") || can.LocalSocket != "/sock" || can.Features[0] != "f" {
		t.Errorf("capabilities = %+v, error = %v", can, err)
	}
	answer := make(chan protocol.Response, 1)
	go func() {
		_, r := w.d.Do(context.Background(), rpc.Call{Type: "rpc.bash", Run: "run_a", Data: withID("l1", `{"cmd":"echo hi"}`), Local: true})
		answer <- r
	}()
	w.open("run_a")
	w.decide("l1", approvals.Approve)
	if r := <-answer; !r.OK {
		t.Errorf("response to the local RPC = %+v, want ok", r)
	}
}

// TestMachine checks the RPCs to the machine itself.
func TestMachine(t *testing.T) {
	log := filepath.Join(t.TempDir(), "hostd.log")
	text := strings.Repeat("a line of the log\n", 300) + "the secret is hunter2\nlast"
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newFixture(t, func(o *rpc.Options) { o.LogFile = log })
	if r := w.do("rpc.host.doctor", "run_x", `{"host_id":"host_a"}`); !strings.Contains(string(r.Result), `"deps":[{"name":"rg","ok":true,"detail":"d"}]`) ||
		!strings.Contains(string(r.Result), fmt.Sprintf(`"host_id":"host_a","pid":%d,"os":"linux"`, os.Getpid())) || !strings.Contains(string(r.Result), `{"tool":"claude","bin":`) {
		t.Errorf("rpc.host.doctor = %s", r.Result)
	}
	tail := func(data string) (got protocol.LogTail) {
		r := w.do("rpc.host.logs.tail", "", `{"host_id":"host_a"`+data+`}`)
		if err := json.Unmarshal(r.Result, &got); err != nil || got.Path != log {
			t.Errorf("rpc.host.logs.tail = %+v", r)
		}
		return got
	}
	if got := tail(""); strings.Count(got.Text, "\n") != 199 || !strings.HasSuffix(got.Text, "log\nthe secret is ***REDACTED***\nlast") || got.Truncated {
		t.Errorf("log = %q, want the last 200 lines", got.Text)
	}
	if got := tail(`,"lines":1`); got.Text != "last" || got.Truncated {
		t.Errorf("last line of the log = %+v", got)
	}
	if got := tail(`,"max_bytes":30`); got.Text != "the secret is ***REDACTED***\nl"[:30] && got.Text != "the secret is ***REDACTED***\nla"[:30] || !got.Truncated {
		t.Errorf("last 30 bytes of the log = %+v", got)
	}
	if r := w.do("rpc.runs.list", "run_a", `{}`); string(r.Result) != `{"runs":[]}` {
		t.Errorf("rpc.runs.list = %s, want no runs", r.Result)
	}
	if r := w.do("rpc.run.stop", "run_a", `{}`); string(r.Result) != `{"signal":"term"}` || w.stopped[0] != "run_a term" {
		t.Errorf("rpc.run.stop = %s, stopped runs = %v", r.Result, w.stopped)
	}
	run, r := w.d.Do(context.Background(), rpc.Call{Type: "rpc.run.start", Run: "run_a", Data: withID("s1", `{"host_id":"host_a","tool":"t","cmd":"c","cwd":null}`)})
	if run != "run_new_web" || string(r.Result) != `{"run_id":"run_new_web"}` {
		t.Errorf("rpc.run.start: run = %s, response = %+v", run, r)
	}
	if run, _ = w.d.Do(context.Background(), rpc.Call{Type: "rpc.run.start", Data: withID("s1", `{"host_id":"host_a","tool":"t","cmd":"c","cwd":null}`)}); run != "run_new_web" {
		t.Errorf("repeated rpc.run.start: run = %s, want run_new_web", run)
	}
}

// TestUnsignedInfo repeats the request of a device for the machine's description without its
// signature, as a server can. The results are not those of each other.
func TestUnsignedInfo(t *testing.T) {
	w := newFixture(t, func(o *rpc.Options) {
		o.Seal = func() protocol.SealInfo { return protocol.SealInfo{Account: "a", Fresh: "x"} }
		o.Seals = func() bool { return true }
		o.MachineID, o.Version = "mbp", "marker"
	})
	ask := func(id string, unsigned bool) string {
		_, r := w.d.Do(t.Context(), rpc.Call{Type: protocol.RPCMachineInfo, Unsigned: unsigned, Data: json.RawMessage(`{"host_id":"mbp","request_id":"` + id + `","rpc_type":"rpc.host.info"}`)})
		return string(r.Result)
	}
	for i, order := range [][]bool{{false, true}, {true, false}} {
		for _, unsigned := range order {
			if got := ask(fmt.Sprintf("r%d", i), unsigned); strings.Contains(got, "marker") == unsigned || !strings.Contains(got, `"fresh":"x"`) {
				t.Errorf("unsigned %v: result = %s", unsigned, got)
			}
		}
	}
}
