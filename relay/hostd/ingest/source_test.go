package ingest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/ingest"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// hostd is a test's hostd with the parts that a source connects to.
type hostd struct {
	dir     string
	spool   *spool.Spool
	desk    *approvals.Registry
	sources *ingest.Sources
	http    *http.Server
	late    func() // called to simulate that the time to reconnect has passed
	old     chan func()
	cut     bool // commits of outcomes fail, as if hostd had been killed
}

// killed commits events until cut is set. Then it simulates a hostd that was killed before the
// commit.
type killed struct {
	*runs.Events
	cut *bool
}

func (k *killed) Commit(ctx context.Context, run string, events []approvals.Event, rows []approvals.Row) error {
	if *k.cut && len(events) > 0 {
		return errors.New("hostd is killed")
	}
	return k.Events.Commit(ctx, run, events, rows)
}

func start(t *testing.T, dir string) *hostd {
	t.Helper()
	ctx := context.Background()
	h := &hostd{dir: dir, old: make(chan func(), 200)}
	var err error
	if h.spool, err = spool.Open(ctx, filepath.Join(dir, "spool.db"), spool.Options{}); err != nil {
		t.Fatal(err)
	}
	events := &runs.Events{Spool: h.spool}
	h.desk = approvals.New(approvals.Options{Events: &killed{events, &h.cut}})
	rows, err := events.Rows(ctx)
	if err == nil {
		err = h.desk.Restore(ctx, rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := redact.New("", nil)
	if err != nil {
		t.Fatal(err)
	}
	h.sources = ingest.New(ingest.Options{Spool: h.spool, Approvals: h.desk, Redact: r, Log: slog.New(slog.DiscardHandler),
		PID: func(*http.Request) int { return 0 }, MaxEnded: 3,
		After: func(d time.Duration, f func()) func() bool {
			if d > time.Hour { // the timer that removes an ended run
				h.old <- f
			} else {
				h.late = f
			}
			return func() bool { return true }
		}})
	if err := h.sources.Restore(ctx); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+protocol.SourcePath, h.sources)
	h.http = &http.Server{Handler: mux}
	go h.http.Serve(l)
	return h
}

func (h *hostd) close() {
	h.http.Close()
	h.sources.Close()
	h.spool.Close()
}

// waitForText waits until the only run has an event that contains a text. It returns the id of the
// run and all its events.
func (h *hostd) waitForText(t *testing.T, text string) (run, all string) {
	t.Helper()
	for late := time.After(2 * time.Minute); ; {
		for _, r := range h.spool.Runs() {
			events, err := h.spool.Next(context.Background(), r.ID, 0, 10000)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, e := range events {
				fmt.Fprintf(&b, "%d %s %s\n", e.Seq, e.Type, e.Data)
			}
			if run, all = r.ID, b.String(); strings.Contains(all, text) {
				return run, all
			}
		}
		select {
		case <-h.spool.Committed():
		case <-late:
			t.Fatalf("no event contains %s:\n%s", text, all)
		}
	}
}

var started = protocol.Started{Tool: "concerto", Cwd: "/", Command: "concerto run --x sk-0123456789abcdefghijklmnopqrstuvwx", Source: "concerto"}

func asking(s *client.Source, q *effect.AwaitEmit) <-chan string {
	got := make(chan string, 1)
	id := s.Emitted(q.Channel, q.Payload, true)
	go func() {
		a, err := s.Ask(context.Background(), id, q, true)
		switch {
		case err != nil:
			got <- err.Error()
		case a == nil:
			got <- "nobody"
		default:
			got <- string(a.Value)
		}
	}()
	return got
}

// TestRun checks a run from its start to its end. Its events are committed in order, and its
// requests are open. An invalid answer is refused with the name of the field. The end is committed.
func TestRun(t *testing.T) {
	h := start(t, t.TempDir())
	defer h.close()
	s := client.New(client.Options{Socket: filepath.Join(h.dir, "s"), Started: started})
	s.Wrote(client.Stdout, "hello\n")
	form := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":3},"ok":{"type":"boolean"}},"required":["n"]}`)
	got := asking(s, &effect.AwaitEmit{Channel: "form", Schema: form})
	run, _ := h.waitForText(t, `run.permission_requested {"request_id":"q1"`)
	decide := func(id string, d approvals.Decision) error { return h.desk.Decide(context.Background(), run, id, d) }
	for answers, want := range map[string]string{`{}`: "n: missing answer", `{"n":"x"}`: "n: ", `{"n":1}`: "n: ", `{"n":3,"x":1}`: "x: no question has this id"} {
		err := decide("q1", approvals.Decision{Decision: approvals.Approve, Answers: json.RawMessage(answers)})
		if err == nil || !strings.HasPrefix(err.Error(), "invalid_answer: "+want) {
			t.Errorf("answers %s: error = %v, want %s", answers, err, want)
		}
	}
	if err := decide("q1", approvals.Decision{Decision: approvals.Approve}); err == nil || !strings.Contains(err.Error(), "invalid_answer") {
		t.Errorf("decision without an answer: error = %v, want invalid_answer", err)
	}
	if err := decide("q1", approvals.Decision{Decision: approvals.Approve, Answers: json.RawMessage(`{"n":3,"ok":true}`), By: "ada"}); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a != `{"n":3,"ok":true}` {
		t.Errorf("answer that the program received = %s", a)
	}
	for i, c := range []struct {
		q    effect.AwaitEmit
		d    approvals.Decision
		want string
	}{
		{effect.AwaitEmit{Channel: "c"}, approvals.Decision{Decision: approvals.Approve}, `"yes"`},
		{effect.AwaitEmit{Channel: "c"}, approvals.Decision{Decision: approvals.Deny}, `"no"`},
		{effect.AwaitEmit{Channel: "c", Schema: json.RawMessage(`{"type":"boolean"}`)}, approvals.Decision{Decision: approvals.Deny}, `false`},
		{effect.AwaitEmit{Channel: "c", Schema: json.RawMessage(`{"type":"integer"}`)}, approvals.Decision{Decision: approvals.Deny, Text: "not today"}, `not today`},
		{effect.AwaitEmit{Channel: "c", Schema: json.RawMessage(`{"type":"integer"}`)}, approvals.Decision{Decision: approvals.Approve, Answer: json.RawMessage(`7`)}, `7`},
		{effect.AwaitEmit{Channel: "tool:approval", Payload: json.RawMessage(`{"call_id":"c","tool":"rm","args":{"a":1}}`)}, approvals.Decision{Decision: approvals.Approve, Scope: "session", Text: "fine"},
			`{"decision":"allow","scope":"session","match":"args","reason":"fine","args_sha256":"` + hash + `"}`},
	} {
		id := fmt.Sprintf("q%d", i+2)
		got := asking(s, &c.q)
		h.waitForText(t, `run.permission_requested {"request_id":"`+id+`"`)
		if err := decide(id, c.d); err != nil {
			t.Fatal(err)
		}
		if a := <-got; a != c.want {
			t.Errorf("answer to %s = %s, want %s", id, a, c.want)
		}
	}
	asking(s, &effect.AwaitEmit{Channel: "left"})
	h.waitForText(t, `run.permission_requested {"request_id":"q8"`)
	if list := h.sources.List(); len(list) != 1 || list[0].RunID != run || list[0].Status != protocol.StatusAwaitingApproval {
		t.Errorf("runs = %+v, want the run as awaiting_approval", list)
	}
	s.End(3)
	_, all := h.waitForText(t, "run.exited")
	for _, want := range []string{`1 run.started {"tool":"concerto","cwd":"/","command":"concerto run --x ***REDACTED***","source":"concerto"}`, `2 run.output {"stream":"stdout","text":"hello\n"}`,
		`"request_id":"q8","decision":"withdrawn"`, `run.exited {"exit_code":3,"reason":"exited"}`} {
		if !strings.Contains(all, want) {
			t.Errorf("events lack %s:\n%s", want, all)
		}
	}
	if !strings.HasSuffix(all, "run.exited {\"exit_code\":3,\"reason\":\"exited\"}\n") {
		t.Errorf("the last event is not the exit:\n%s", all)
	}
}

// hash is the SHA-256 of {"a":1}.
const hash = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"

// TestReconnect restarts hostd during a run. The run must reconnect as the same run, each event
// must be stored once, and open requests must stay open.
func TestReconnect(t *testing.T) {
	dir := t.TempDir()
	h := start(t, dir)
	s := client.New(client.Options{Socket: filepath.Join(dir, "s"), Started: started})
	for i := range 100 {
		s.Emitted("n", json.RawMessage(fmt.Sprint(i)), false)
	}
	got := asking(s, &effect.AwaitEmit{Channel: "go"})
	run, _ := h.waitForText(t, `run.permission_requested`)
	h.close()
	for i := range 100 {
		s.Emitted("n", json.RawMessage(fmt.Sprint(100+i)), false)
	}
	h = start(t, dir)
	defer h.close()
	h.waitForText(t, `"payload":199`)
	if err := h.desk.Decide(context.Background(), run, "q1", approvals.Decision{Decision: approvals.Approve}); err != nil { // may fail until the source has reconnected
		t.Error(err)
	}
	if a := <-got; a != `"yes"` {
		t.Errorf("answer = %s, want \"yes\"", a)
	}
	s.End(0)
	same, all := h.waitForText(t, "run.exited")
	if same != run || len(h.spool.Runs()) != 1 {
		t.Errorf("run %s reconnected as %s", run, same)
	}
	at := 0
	for i := range 200 {
		want := fmt.Sprintf(`{"channel":"n","payload":%d,"awaited":false}`, i)
		if strings.Count(all, want) != 1 || strings.Index(all, want) < at {
			t.Fatalf("event %d is missing, repeated or out of order:\n%s", i, all)
		}
		at = strings.Index(all, want)
	}
	if n := strings.Count(all, "run.permission_requested"); n != 1 {
		t.Errorf("events run.permission_requested = %d, want 1", n)
	}
}

// TestLostSpool starts a hostd that does not know the run, because its spool was moved away. The
// run continues as another one with a gap. Its open request can be answered.
func TestLostSpool(t *testing.T) {
	dir := t.TempDir()
	h := start(t, dir)
	s := client.New(client.Options{Socket: filepath.Join(dir, "s"), Started: started})
	s.Emitted("n", json.RawMessage("1"), false)
	got := asking(s, &effect.AwaitEmit{Channel: "go"})
	first, _ := h.waitForText(t, `run.permission_requested`)
	h.close()
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(dir, "spool.db"+end)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	s.Emitted("n", json.RawMessage("2"), false)
	h = start(t, dir)
	defer h.close()
	run, _ := h.waitForText(t, `run.permission_requested`)
	if run == first {
		t.Errorf("the run has the id %s in both spools", run)
	}
	if err := h.desk.Decide(context.Background(), run, "q1", approvals.Decision{Decision: approvals.Approve}); err != nil {
		t.Error(err)
	}
	if a := <-got; a != `"yes"` {
		t.Errorf("answer = %s, want \"yes\"", a)
	}
	s.End(0)
	_, all := h.waitForText(t, "run.exited")
	var types []string
	for line := range strings.Lines(all) {
		types = append(types, strings.Fields(line)[1])
	}
	if want := []string{"run.started", "run.gap", "run.emit", "run.permission_requested", "run.permission_resolved", "run.exited"}; !slices.Equal(types, want) {
		t.Errorf("types of the events of the second run = %v, want %v\n%s", types, want, all)
	}
}

// TestLostProcess checks that a run is lost if its process exits without reporting the end, or does
// not reconnect. Clients that do not speak the protocol are refused or disconnected.
func TestLostProcess(t *testing.T) {
	dir := t.TempDir()
	h := start(t, dir)
	dial := func(text string) net.Conn {
		c, err := net.Dial("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "POST /source HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: concerto-source\r\n\r\n"+text)
		return c
	}
	c := dial(`{"event":"run.started","data":{"tool":"t","cwd":"/","command":"c"}}` + "\n" + `{"event":"run.permission_resolved","data":{"request_id":"q1","decision":"approve"}}` + "\n")
	h.waitForText(t, "run.started")
	c.Close()
	_, all := h.waitForText(t, "run.exited")
	if !strings.HasSuffix(all, `run.exited {"exit_code":-1,"reason":"lost"}`+"\n") || strings.Contains(all, "resolved") {
		t.Error(all)
	}
	for _, text := range []string{"{\n", "{}\n", `{"ask":"q1"}` + "\n", `{"event":"run.emit","data":{"channel":"c","payload":1,"awaited":false}}` + "\n", strings.Repeat("x", 2*protocol.SourceLine)} {
		c := dial(text)
		var b [4096]byte
		for {
			if _, err := c.Read(b[:]); err != nil {
				break // hostd has closed the connection
			}
		}
		c.Close()
	}
	if n := len(h.spool.Runs()); n != 1 {
		t.Errorf("number of runs = %d, want 1", n)
	}
	c = dial(`{"event":"run.started","data":{"tool":"u","cwd":"/","command":"c"}}` + "\n")
	defer c.Close()
	h.waitForText(t, `"tool":"u"`)
	h.close()
	h = start(t, dir)
	defer h.close()
	h.late()
	h.waitForText(t, `1 run.started {"tool":"u","cwd":"/","command":"c"}`+"\n"+`2 run.exited {"exit_code":-1,"reason":"lost"}`)
	r, err := http.NewRequest(http.MethodPost, "http://x/source", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(dir, "s"))
	}}}
	defer client.CloseIdleConnections()
	a, err := client.Do(r)
	if err != nil || a.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("response to a request without an upgrade = %v, %v", a, err)
	} else {
		a.Body.Close()
	}
}

// TestFollowEndedRun checks that an ended run can be followed for a limited time, and that the
// number of such runs is limited.
func TestFollowEndedRun(t *testing.T) {
	h := start(t, t.TempDir())
	defer h.close()
	end := func() (run string, old func()) {
		c, err := net.Dial("unix", filepath.Join(h.dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "POST /source HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: concerto-source\r\n\r\n"+
			`{"event":"run.started","data":{"tool":"t","cwd":"/","command":"c"}}`+"\n"+`{"event":"run.exited","data":{"exit_code":3,"reason":"exited"}}`+"\n")
		q, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return q.Header.Get(protocol.SourceRun), <-h.old
	}
	follows := func(run string, want bool) {
		t.Helper()
		n := 0
		err := h.sources.Follow(context.Background(), run, func(protocol.Envelope) error { n++; return nil })
		if got := h.sources.Follows(run); got != want || (err == nil) != want || want && n != 2 {
			t.Errorf("the run can be followed = %v, want %v; events = %d (%v)", got, want, n, err)
		}
	}
	first, old := end()
	follows(first, true)
	old()
	follows(first, false)
	if err := h.desk.Decide(context.Background(), first, "q", approvals.Decision{Decision: approvals.Deny}); err == nil || !strings.Contains(err.Error(), "unknown_request") {
		t.Error(err)
	}
	second, _ := end()
	for range 2 {
		end()
	}
	follows(second, true)
	end()
	follows(second, false)
}

// TestDecisionsWhileDisconnected decides requests while hostd is killed. Requests that were decided
// before, or answered elsewhere, must be closed when the run reconnects. Other requests stay open.
func TestDecisionsWhileDisconnected(t *testing.T) {
	dir := t.TempDir()
	h := start(t, dir)
	s := client.New(client.Options{Socket: filepath.Join(dir, "s"), Started: started})
	ctx := context.Background()
	got := asking(s, &effect.AwaitEmit{Channel: "decided"})
	run, _ := h.waitForText(t, `run.permission_requested {"request_id":"q1"`)
	elsewhere, answered := context.WithCancel(ctx)
	cancelled := make(chan error)
	go func() {
		_, err := s.Ask(elsewhere, "", &effect.AwaitEmit{Channel: "elsewhere"}, true)
		cancelled <- err
	}()
	h.waitForText(t, `run.permission_requested {"request_id":"q2"`)
	still := asking(s, &effect.AwaitEmit{Channel: "still"})
	h.waitForText(t, `run.permission_requested {"request_id":"q3"`)
	h.cut = true
	approve := approvals.Decision{Decision: approvals.Approve, Actor: "web", By: "ada"}
	if err := h.desk.Decide(ctx, run, "q1", approve); err == nil {
		t.Fatal("the decision succeeded, although its commit failed")
	}
	if a := <-got; a != `"yes"` {
		t.Fatalf("answer = %s, want \"yes\"", a)
	}
	h.close()
	answered()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	h = start(t, dir)
	defer h.close()
	if err := h.desk.Decide(ctx, run, "q1", approve); err != nil { // the server repeats the decision
		t.Errorf("repeated decision: error = %v", err)
	}
	h.waitForText(t, `run.permission_resolved {"request_id":"q2","decision":"withdrawn"`)
	if open := h.desk.Open(run); len(open) != 1 || open[0].RequestID != "q3" {
		t.Errorf("open requests = %+v, want q3", open)
	}
	if err := h.desk.Decide(ctx, run, "q3", approvals.Decision{Decision: approvals.Deny}); err != nil {
		t.Error(err)
	}
	if a := <-still; a != `"no"` {
		t.Errorf("answer = %s, want \"no\"", a)
	}
	s.End(0)
	_, all := h.waitForText(t, "run.exited")
	if n := strings.Count(all, `run.permission_resolved {"request_id":"q1","decision":"answer","actor":"web","by":"ada","answer":"yes",`); n != 1 || strings.Count(all, "run.permission_resolved") != 3 {
		t.Errorf("outcomes of q1 = %d, want 1 in\n%s", n, all)
	}
}

// TestTooLong checks that an event that does not fit into a frame to the server is dropped.
func TestTooLong(t *testing.T) {
	h := start(t, t.TempDir())
	defer h.close()
	c, err := net.Dial("unix", filepath.Join(h.dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST /source HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: concerto-source\r\n\r\n"+
		`{"event":"run.started","data":{"tool":"t","cwd":"/","command":"c"}}`+"\n"+`{"event":"run.meta","data":{"labels":{"a":"`+strings.Repeat("<", 900_000)+`"}}}`+"\n"+
		`{"event":"run.exited","data":{"exit_code":3,"reason":"exited"}}`+"\n")
	if _, all := h.waitForText(t, "run.exited"); strings.Contains(all, "run.meta") || !strings.Contains(all, `2 run.exited {"exit_code":3`) {
		t.Errorf("events: %.200s", all)
	}
}

// TestSteer sends messages of users to the hosts of a run. Each one is sent and recorded once. The
// reason of a program that refuses a message reaches the user.
func TestSteer(t *testing.T) {
	h := start(t, t.TempDir())
	defer h.close()
	s := client.New(client.Options{Socket: filepath.Join(h.dir, "s"), Started: started})
	defer s.End(0)
	run, _ := h.waitForText(t, "run.started")
	sent := make(chan protocol.Steering, 10)
	send := func(id, text string) error {
		return h.sources.Steer(t.Context(), run, "ada", protocol.SendInput{InputID: id, Text: text, Host: "Coder", Workspace: "fix"})
	}
	if err := send("early", "x"); err == nil || err.Error() != "forbidden: the run has not begun" {
		t.Errorf("message before the run has begun: error = %v", err)
	}
	s.Steers(func(m protocol.Steering) error {
		sent <- m
		if m.Text == "refuse" {
			return errors.New("2 hosts of the run are running: A, B")
		}
		return nil
	})
	for range 2 {
		if err := send("i1", "also the docs"); err != nil {
			t.Fatal(err)
		}
	}
	if m := <-sent; m != (protocol.Steering{ID: "i1", Text: "also the docs", Host: "Coder", Workspace: "fix", By: "ada"}) {
		t.Errorf("the program received %+v", m)
	}
	if err := send("i1", "another text"); err == nil || !strings.HasPrefix(err.Error(), "input_conflict: ") {
		t.Errorf("the same id with another text: error = %v", err)
	}
	if err := send("i2", "refuse"); err == nil || err.Error() != "forbidden: 2 hosts of the run are running: A, B" {
		t.Errorf("refused message: error = %v", err)
	}
	<-sent
	if len(sent) != 0 {
		t.Errorf("the program received %d more messages", len(sent))
	}
	// A second attempt does not know the outcome of the first one. It is sent again once the first
	// one no longer waits.
	release := make(chan struct{})
	s.Steers(func(m protocol.Steering) error {
		sent <- m
		<-release
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- h.sources.Steer(ctx, run, "ada", protocol.SendInput{InputID: "i4", Text: "slow"}) }()
	<-sent
	if err := send("i4", "slow"); !errors.Is(err, approvals.ErrIndeterminate) {
		t.Errorf("second attempt: error = %v, want that the outcome is unknown", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, approvals.ErrIndeterminate) {
		t.Errorf("cancelled attempt: error = %v, want that the outcome is unknown", err)
	}
	close(release)
	if err := send("i4", "slow"); err != nil {
		t.Errorf("third attempt: %v", err)
	}
	<-sent
	if err := h.sources.Steer(t.Context(), "run_none", "ada", protocol.SendInput{InputID: "i3", Text: "x"}); err == nil || !strings.HasPrefix(err.Error(), "unknown_run: ") {
		t.Errorf("unknown run: error = %v", err)
	}
	_, all := h.waitForText(t, "run.input")
	if strings.Count(all, "run.input") != 2 || !strings.Contains(all, `"text_redacted":"also the docs"`) || !strings.Contains(all, `"by":"ada"`) {
		t.Errorf("events = %s", all)
	}
}

// TestChangedRequest lets a program that reconnects ask something else under the id of a request
// that users see. The answer names the arguments that they have seen, so that the program does not
// accept it for others.
func TestChangedRequest(t *testing.T) {
	dir := t.TempDir()
	h := start(t, dir)
	defer func() { h.close() }()
	dial := func(header, lines string) (*bufio.Reader, http.Header) {
		c, err := net.Dial("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprint(c, "POST /source HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: concerto-source\r\n"+header+"\r\n"+lines)
		in := bufio.NewReader(c)
		answer, err := http.ReadResponse(in, nil)
		if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("response = %+v, error = %v", answer, err)
		}
		return in, answer.Header
	}
	ask := func(args, hash string) string {
		return `{"ask":"q1","request_id":"q1","reason":"permission","prompt":"Run a command","op_tool":"bash","op_args":{"command":"` + args + `"},"args_sha256":"` + strings.Repeat(hash, 64) + `","from":{"kind":"approval","host":"w"}}` + "\n"
	}
	const started = `{"event":"run.started","data":{"tool":"t","cwd":"/","command":"c"}}` + "\n"
	_, first := dial("", started+ask("ls", "a"))
	run, _ := h.waitForText(t, "run.permission_requested")
	if first.Get(protocol.SourceRun) != run {
		t.Fatalf("id of the run = %q, want %q", first.Get(protocol.SourceRun), run)
	}
	h.close()
	h = start(t, dir)
	in, _ := dial(protocol.SourceRun+": "+run+"\r\n", ask("rm -rf /", "b"))
	if err := h.desk.Decide(context.Background(), run, "q1", approvals.Decision{Decision: approvals.Approve, Actor: "web"}); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m protocol.HostdMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Answer != "q1" {
			continue
		}
		if !strings.Contains(string(m.Value), `"args_sha256":"`+strings.Repeat("a", 64)+`"`) {
			t.Errorf("answer = %s, want the hash of the arguments that users have seen", m.Value)
		}
		return
	}
}
