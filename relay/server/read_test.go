package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// get sends a request as a viewer and decodes the response.
func get[T any](r *servertest.Relay, path string) (v T) {
	r.T.Helper()
	status, body := r.Do(servertest.Viewer, "GET", path, nil)
	if err := json.Unmarshal(body, &v); status != 200 || err != nil {
		r.T.Fatalf("%s: %d %s", path, status, body)
	}
	return v
}

// TestRoutes checks that every route has a right. Only routes with the right Open accept requests
// without credentials.
func TestRoutes(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	open := map[string]bool{"/health": true, "/ws/host": true}
	for _, row := range r.Server.Routes() {
		row.Right.Info() // panics if the right does not exist
		if (row.Right == auth.Open) != open[row.Path] {
			t.Errorf("%s %s requires the right %s", row.Method, row.Path, row.Right)
		}
		path := strings.NewReplacer("{run}", "run_a", "{request}", "q", "{account}", "a_1", "{part}", "roster").Replace(row.Path)
		if status, body := r.Do("", row.Method, path, nil); !open[row.Path] && (status != 401 || !strings.Contains(string(body), `"code":"unauthorized"`)) {
			t.Errorf("%s %s without credentials: response = %d %s, want 401", row.Method, path, status, body)
		}
	}
	if got := get[map[string]string](r, "/health"); got["name"] != "concerto-relay" || got["version"] != "test" || got["status"] != "ok" {
		t.Errorf("health = %v", got)
	}
	chapter, err := os.ReadFile("../../spec/24-relay.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Server.Routes() {
		path := strings.NewReplacer("{run}", "ID", "{request}", "REQUEST", "{account}", "ACCOUNT", "{part}", "roster").Replace(row.Path)
		if !strings.Contains(string(chapter), path) && !strings.HasPrefix(path, "/sessions") {
			t.Errorf("spec/24-relay.md does not name %s", path)
		}
	}
}

// TestReadRoutes checks the routes for reading runs.
func TestReadRoutes(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	a, b := r.Machine("host_a"), r.Machine("host_b")
	a.Begin("run_a")
	r.Advance(1e6)
	b.Begin("run_b")
	a.Send(protocol.RunOutput, "run_a", 2, servertest.Output("one "))
	a.Send(protocol.RunOutput, "run_a", 3, servertest.Output("two"))
	a.Send(protocol.RunPermissionRequested, "run_a", 4, asked)
	a.Send(protocol.RunPermissionRequested, "run_a", 5, `{"request_id":"q2","reason":"choice","prompt":"which?"}`)
	a.Send(protocol.RunInput, "run_a", 6, `{"actor":"web","input_id":"i","text_redacted":"y","text_sha256":"x"}`)
	a.Send(protocol.RunEmit, "run_a", 7, `{"channel":"c","payload":{"n":1},"awaited":false}`)
	a.Acked("run_a", 7)
	b.Send(protocol.RunExited, "run_b", 2, `{"exit_code":3}`)
	b.Acked("run_b", 2)
	run := get[map[string]any](r, "/runs/run_a")
	for name, want := range map[string]string{"id": "run_a", "host_id": "host_a", "tool": "codex", "cwd": "/w", "command": "codex -q", "title": "t", "status": "awaiting_approval", "last_seq": "7",
		"pending_request_id": "q1", "pending_reason": "permission", "pending_prompt": "rm?", "pending_op_tool": "bash", "pending_op_args_summary": "rm x", "ended_at": "<nil>", "exit_code": "<nil>"} {
		if got := fmt.Sprint(run[name]); got != want {
			t.Errorf("run: %s = %s, want %s", name, got, want)
		}
	}
	if pending := run["pending"].([]any); len(pending) != 2 || pending[1].(map[string]any)["prompt"] != "which?" || pending[0].(map[string]any)["run_id"] != "run_a" {
		t.Errorf("pending requests = %v, want both of run_a", run["pending"])
	}
	ids := func(query string) string {
		t.Helper()
		var all []string
		for _, row := range get[[]map[string]any](r, "/runs"+query) {
			all = append(all, row["id"].(string))
		}
		return strings.Join(all, " ")
	}
	for query, want := range map[string]string{"?status=exited": "run_b", "?host=host_a": "run_a", "?status=lost": "", "?limit=1": strings.Fields(ids(""))[0],
		"?before=" + strings.Fields(ids(""))[0]: strings.Fields(ids(""))[1], "?before=2000-01-01T00:00:00Z": ""} {
		if got := ids(query); got != want {
			t.Errorf("runs of %s = %s, want %s", query, got, want)
		}
	}
	if a, b := ids(""), ids("?status="); a != b || len(get[[]any](r, "/sessions")) != 2 {
		t.Errorf("runs without a status = %s, runs with an empty status = %s; want two identical lists", a, b)
	}
	for _, path := range []string{"/runs?status=asleep", "/runs?limit=0", "/runs?before=nothing", "/runs/run_a/events?after=-1", "/runs/run_a/events?limit=x"} {
		if status, body := r.Do(servertest.Viewer, "GET", path, nil); status != 400 {
			t.Errorf("response to GET %s = %d %s, want 400", path, status, body)
		}
	}
	type page struct {
		Events []struct {
			Seq  int64
			Type string
		}
		Cursor map[string]int64
		More   bool
	}
	if p := get[page](r, "/runs/run_a/events?after=1&limit=2"); len(p.Events) != 2 || p.Events[1].Seq != 3 || p.Cursor["run_a"] != 3 || !p.More {
		t.Errorf("first page = %+v, want events 2 and 3", p)
	}
	if p := get[page](r, "/runs/run_a/events?types=run.input,run.emit"); len(p.Events) != 2 || p.Events[0].Type != protocol.RunInput || p.Cursor["run_a"] != 7 || p.More {
		t.Errorf("filtered page = %+v, want run.input and run.emit", p)
	}
	var texts []string
	for _, m := range get[[]struct {
		ID, Role, Kind, Text string
		Seq                  int64
	}](r, "/sessions/run_a/messages") {
		texts = append(texts, fmt.Sprintf("%s %s %s %s", m.ID, m.Role, m.Kind, m.Text))
	}
	want := []string{"run_a:1 system started codex -q", "run_a:2 assistant output one two", "run_a:4 assistant permission_requested rm?", "run_a:5 assistant permission_requested which?",
		"run_a:6 user input y", `run_a:7 assistant emit {"n":1}`}
	if strings.Join(texts, "\n") != strings.Join(want, "\n") {
		t.Errorf("messages =\n%s", strings.Join(texts, "\n"))
	}
	inbox := get[[]map[string]any](r, "/inbox")
	if len(inbox) != 2 || inbox[0]["request_id"] != "q1" || inbox[0]["run_id"] != "run_a" || inbox[0]["host_id"] != "host_a" || inbox[0]["state"] != "open" {
		t.Errorf("inbox = %v, want the requests of run_a", inbox)
	}
	machines := get[[]map[string]any](r, "/hosts")
	if len(machines) != 2 || machines[0]["id"] != "host_a" || machines[0]["online"] != true || machines[0]["auth"] != "token" || machines[0]["last_seen_at"] == nil {
		t.Errorf("machines = %v, want host_a online first", machines)
	}
	r.Server.CloseMachine("host_a", "the machine was removed")
	if code := a.Closed(); code != protocol.CloseUnauthorized {
		t.Errorf("close code of the removed machine = %d, want unauthorized", code)
	}
}

// TestQuotas sends messages of a hostile machine beyond a quota. They are refused, and the messages
// stored before remain.
func TestQuotas(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	a := r.App(servertest.Viewer, "")
	h.Send(protocol.RunStarted, "run_a", 1, `{"tool":"<script>","cwd":"</title>","command":"\u0000\u2028\"'<img>"}`)
	h.Acked("run_a", 1)
	for seq := int64(2); seq < 2+protocol.MaxOpenRequests+5; seq++ {
		h.Send(protocol.RunPermissionRequested, "run_a", seq, fmt.Sprintf(`{"request_id":"q%d","reason":"choice","prompt":"<b>"}`, seq))
	}
	h.Acked("run_a", 1+protocol.MaxOpenRequests+5)
	a.Seqs("run_a", 1+protocol.MaxOpenRequests+5)
	if all := get[[]any](r, "/inbox"); len(all) != protocol.MaxOpenRequests {
		t.Errorf("open requests = %d, want the maximum", len(all))
	}
	lines, err := r.Store.AuditLines(t.Context(), 0, 100)
	if log := strings.Join(lines, "\n"); err != nil || !strings.Contains(log, `"kind":"host_violation"`) || !strings.Contains(log, `"code":"rate_limited"`) {
		t.Errorf("the refusals are not recorded: %v\n%s", err, log)
	}
	status, body := r.Do(servertest.Viewer, "GET", "/runs", nil)
	if status != 200 || strings.Contains(string(body), "<script>") {
		t.Errorf("response to GET /runs = %d %s, want no markup", status, body)
	}
	h.Send(protocol.RunOutput, "run_a", protocol.MaxSeq, servertest.Output("far"))
	h.Ping()
	if run := get[map[string]any](r, "/runs/run_a"); run["last_seq"] != float64(1+protocol.MaxOpenRequests+5) {
		t.Errorf("last sequence number = %v, want that of the last accepted event", run["last_seq"])
	}
}

// TestNoRoute checks that requests with an unknown path or method get an error response in the
// usual form.
func TestNoRoute(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/nope", 404, "unknown_path"}, {"GET", "/runs/run_a/nope", 404, "unknown_path"}, {"GET", "/runs/", 404, "unknown_path"}, {"GET", "//runs", 404, "unknown_path"},
		{"GET", "/x/../runs", 404, "unknown_path"}, {"PUT", "/runs", 405, "bad_message"}, {"DELETE", "/rpc", 405, "bad_message"}, {"GET", "/runs/..%2Fetc", 404, "unknown_run"},
		{"GET", "/ws/app", 426, "bad_message"}, {"GET", "/ws/host?host_id=host_a&host_token=t", 426, "bad_message"},
	} {
		status, body := r.Do(servertest.Viewer, c.method, c.path, nil)
		if status != c.status || !strings.Contains(string(body), `{"error":{"code":"`+c.code+`","message":"`) {
			t.Errorf("response to %s %s = %d %s", c.method, c.path, status, body)
		}
	}
	if machines := get[[]any](r, "/hosts"); len(machines) != 0 {
		t.Errorf("a request without an upgrade created %v", machines)
	}
}
