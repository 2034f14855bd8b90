package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/agents/guard/serve"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/process/holder"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/ingest"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// process is a process `guard serve` within the test.
type process struct {
	options serve.Options
	client  serve.Client

	mu   sync.Mutex
	stop func() // ends it, and waits for the end
	runs sync.WaitGroup
}

// newProcess returns a process that the first question starts.
func newProcess(t *testing.T) *process {
	t.Helper()
	root := t.TempDir()
	p := &process{options: serve.Options{Dir: filepath.Join(root, "guard"), Shown: filepath.Join(root, "run"), Hostd: filepath.Join(root, "hostd.sock"), Secrets: &secret.Set{}, Log: os.Stderr}}
	p.client = serve.Client{Dir: p.options.Dir, Launch: p.start}
	t.Cleanup(func() { p.end(); p.runs.Wait() })
	return p
}

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	up := make(lineWriter, 1)
	p.runs.Go(func() { ended <- serve.Serve(ctx, p.options, up) })
	<-up
	select {
	case err := <-ended: // another one runs
		cancel()
		return err
	default:
	}
	before := p.stop
	p.stop = func() {
		if before != nil {
			before()
		}
		cancel()
		<-ended
		ended <- nil
	}
	return nil
}

func (p *process) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

// lineWriter receives an element for each line.
type lineWriter chan struct{}

func (w lineWriter) Write(b []byte) (int, error) {
	w <- struct{}{}
	return len(b), nil
}

// call returns the question about a command.
func call(session, id, command string) *guard.Question {
	message := fmt.Sprintf(`{"tool":"Bash","kind":"execute","args":{"command":%q},"reason":"Concerto.toml:3"}`, command)
	return &guard.Question{Agent: "claude-code", Session: session, Dir: "/", ID: id, Hash: "hash of " + command, Type: "approval", Message: json.RawMessage(message), WaitMS: 600_000}
}

// asked is an answer of a person, or an error.
type asked struct {
	*guard.Answer
	err error
}

// ask asks a question, and returns a channel with the result.
func (p *process) ask(ctx context.Context, q *guard.Question) chan asked {
	out := make(chan asked, 1)
	go func() {
		a, err := p.client.Ask(ctx, q)
		out <- asked{a, err}
	}()
	return out
}

// pending waits until a session shows n requests, and returns them.
func (p *process) pending(t *testing.T, session string, n int) []live.Pending {
	t.Helper()
	c := live.NewClient(p.options.Shown)
	defer c.Close()
	for {
		all, err := c.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.Run == session && s.State != live.Invalid && len(s.Pending) == n {
				return s.Pending
			}
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("the requests of %s are not shown: %+v", session, all)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestTop answers calls as `concerto top` does.
func TestTop(t *testing.T) {
	p := newProcess(t)
	one, two := p.ask(t.Context(), call("s1", "t1", "make all")), p.ask(t.Context(), call("s2", "t1", "make x"))
	shown := p.pending(t, "s1", 1)[0]
	if shown.Host != "claude-code" || shown.Type != "approval" || !strings.Contains(string(shown.Payload), "make all") {
		t.Errorf("top shows %+v", shown)
	}
	if err := live.Answer(p.options.Shown, "s1", &shown, "yes", "ann"); err != nil {
		t.Fatal(err)
	}
	if a := <-one; a.err != nil || !a.Allow || a.Name != "ann" || a.By != "answer" {
		t.Errorf("the answer is %+v", a)
	}
	// A late answer changes nothing, and its sender is notified.
	if err := live.Answer(p.options.Shown, "s1", &shown, "no", "bob"); err == nil || !strings.Contains(err.Error(), "no longer open") {
		t.Errorf("a late answer: %v", err)
	}
	shown = p.pending(t, "s2", 1)[0]
	if err := live.Answer(p.options.Shown, "s2", &shown, "no: keep it", "ann"); err != nil {
		t.Fatal(err)
	}
	if a := <-two; a.err != nil || a.Allow || a.Reason != "keep it" {
		t.Errorf("the answer is %+v", a)
	}
	// An option of a question is chosen by its number.
	colour := p.ask(t.Context(), &guard.Question{Agent: "claude-code", Session: "s1", Dir: "/", ID: "t9", Type: "question", Message: json.RawMessage(`{"question":"Which?","options":["Red","Blue"]}`)})
	shown = p.pending(t, "s1", 1)[0]
	if err := live.Answer(p.options.Shown, "s1", &shown, "2", "ann"); err != nil {
		t.Fatal(err)
	}
	if a := <-colour; a.err != nil || string(a.Value) != `"Blue"` {
		t.Errorf("the answer is %+v", a)
	}
	// `x` of top denies what waits.
	three := p.ask(t.Context(), call("s1", "t3", "make y"))
	p.pending(t, "s1", 1)
	if err := live.Cancel(p.options.Shown, "s1"); err != nil {
		t.Fatal(err)
	}
	if a := <-three; a.err != nil || a.Answer == nil || a.Allow || a.Reason != "the session was cancelled" {
		t.Errorf("the answer is %+v", a)
	}
}

// TestWithdrawn checks that the terminal's answer withdraws one request with the same arguments,
// and the end of the session all.
func TestWithdrawn(t *testing.T) {
	p := newProcess(t)
	one, two := p.ask(t.Context(), call("s1", "t1", "make")), p.ask(t.Context(), call("s1", "t2", "make x"))
	shown := p.pending(t, "s1", 2)
	p.client.Withdraw("s1", "hash of make")
	if a := <-one; a.err != nil || a.Answer != nil {
		t.Errorf("the answer is %+v", a)
	}
	p.client.Withdraw("s1", "another hash")
	p.client.Withdraw("s2", "")
	p.pending(t, "s1", 1)
	p.client.Withdraw("s1", "")
	if a := <-two; a.err != nil || a.Answer != nil {
		t.Errorf("the answer is %+v", a)
	}
	for _, q := range shown {
		if err := live.Answer(p.options.Shown, "s1", &q, "yes", "ann"); err == nil {
			t.Error("a late answer is accepted")
		}
	}
	// A hook that is killed withdraws its request.
	ctx, kill := context.WithCancel(t.Context())
	three := p.ask(ctx, call("s3", "t1", "make"))
	p.pending(t, "s3", 1)
	kill()
	if a := <-three; a.err != nil || a.Answer != nil {
		t.Errorf("the answer is %+v", a)
	}
	p.pending(t, "s3", 0)
	// Without a process, nothing waits.
	p.end()
	p.client.Withdraw("s1", "")
}

// TestProcessEnds checks that a hook whose process ends starts another one, where the request has
// the same id.
func TestProcessEnds(t *testing.T) {
	p := newProcess(t)
	got := p.ask(t.Context(), call("s1", "t1", "make"))
	before := p.pending(t, "s1", 1)[0]
	for range 3 {
		p.end()
		if after := p.pending(t, "s1", 1)[0]; after.ID != before.ID {
			t.Errorf("the request has the ids %s and %s", before.ID, after.ID)
		}
	}
	if err := live.Answer(p.options.Shown, "s1", &before, "yes", "ann"); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.err != nil || a.Answer == nil || !a.Allow {
		t.Errorf("the answer is %+v", a)
	}
}

// TestManySessions has 50 sessions that wait at the same time, and one process.
func TestManySessions(t *testing.T) {
	p := newProcess(t)
	const n = 50
	var all []chan asked
	for i := range n {
		all = append(all, p.ask(t.Context(), call(fmt.Sprint("s", i), "t1", "make")))
	}
	for i := range n {
		session := fmt.Sprint("s", i)
		shown := p.pending(t, session, 1)[0]
		if err := live.Answer(p.options.Shown, session, &shown, []string{"yes", "no"}[i%2], "ann"); err != nil {
			t.Fatal(err)
		}
	}
	for i, got := range all {
		if a := <-got; a.err != nil || a.Answer == nil || a.Allow != (i%2 == 0) {
			t.Errorf("session %d: %+v", i, a)
		}
	}
}

// TestGarbage checks that garbage on the socket ends its connection only.
func TestGarbage(t *testing.T) {
	p := newProcess(t)
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"\n", "{}\n", "GET / HTTP/1.1\r\n\r\n", `{"ask":{}}` + "\n", `{"ask":7}` + "\n", "\x00\xff\n", `{"withdraw":{"session":"s9","hash":"x"}}` + "\n"} {
		conn, err := holder.Dial(p.options.Dir, "serve.sock")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if reply, err := io.ReadAll(conn); err == nil && strings.Contains(string(reply), "allow") {
			t.Errorf("%q: %s", text, reply)
		}
		conn.Close()
	}
	got := p.ask(t.Context(), call("s1", "t1", "make"))
	shown := p.pending(t, "s1", 1)[0]
	if err := live.Answer(p.options.Shown, "s1", &shown, "yes", "ann"); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.Answer == nil || !a.Allow {
		t.Errorf("the answer is %+v", a)
	}
}

// TestFalseProcess checks that replies that are no answers are ignored.
func TestFalseProcess(t *testing.T) {
	for _, reply := range []string{"", "\n", "yes\n", "{", `{"answer":{"allow":true}}`, `[{"answer":{"allow":true}}]` + "\n", `{"answer":true}` + "\n", strings.Repeat("x", 2<<20)} {
		p := newProcess(t)
		if err := live.Prepare(p.options.Dir); err != nil {
			t.Fatal(err)
		}
		l, _, err := holder.Listen(p.options.Dir, "serve.sock")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for n := 1; ; n++ {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, reply)
				conn.Close()
				if n == 3 { // it has been asked again
					stop()
				}
			}
		}()
		if a := <-p.ask(ctx, call("s1", "t1", "make")); a.Answer != nil || a.err != nil {
			t.Errorf("%.20q: %+v", reply, a)
		}
		l.Close()
	}
}

// TestForeign checks that a directory that others may enter is used by neither side, and the reason
// if the process cannot be started.
func TestForeign(t *testing.T) {
	p := newProcess(t)
	if err := os.Mkdir(p.options.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"for all":        func() error { return os.Chmod(p.options.Dir, 0o777) },
		"another user's": func() error { return errors.Join(os.Chmod(p.options.Dir, 0o700), os.Chown(p.options.Dir, 12345, -1)) },
	} {
		if err := change(); errors.Is(err, os.ErrPermission) {
			continue // only root may give a file away
		} else if err != nil {
			t.Fatal(err)
		}
		if a := <-p.ask(t.Context(), call("s1", "t1", "make")); !errors.Is(a.err, live.ErrForeign) || a.Answer != nil {
			t.Errorf("%s: %+v", name, a)
		}
		if err := serve.Serve(t.Context(), p.options, io.Discard); !errors.Is(err, live.ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p = newProcess(t)
	p.client.Launch = func() error { return errors.New("no processes left") }
	if a := <-p.ask(t.Context(), call("s1", "t1", "make")); a.Answer != nil || a.err == nil || a.err.Error() != "guard serve could not be started: no processes left" {
		t.Errorf("%+v", a)
	}
}

// startHostd starts a hostd without a relay.
func startHostd(t *testing.T, socket string) (*spool.Spool, *approvals.Registry) {
	t.Helper()
	stored, err := spool.Open(t.Context(), filepath.Join(t.TempDir(), "spool.db"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stored.Close() })
	desk := approvals.New(approvals.Options{Events: &runs.Events{Spool: stored}})
	r, err := redact.New("", nil)
	if err != nil {
		t.Fatal(err)
	}
	sources := ingest.New(ingest.Options{Spool: stored, Approvals: desk, Redact: r, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(sources.Close)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+protocol.SourcePath, sources)
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return stored, desk
}

// find waits for an event of a type that fits, and returns its run.
func find[E any](t *testing.T, s *spool.Spool, typ string, fits func(*E) bool) (run string, data E) {
	t.Helper()
	for {
		for _, r := range s.Runs() {
			events, err := s.Next(t.Context(), r.ID, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				var data E
				if e.Type == typ && json.Unmarshal(e.Data, &data) == nil && fits(&data) {
					return r.ID, data
				}
			}
		}
		select {
		case <-s.Committed():
		case <-t.Context().Done():
			t.Fatalf("no event %s", typ)
		}
	}
}

// TestRelay answers a call and a question through hostd, which shows the session as a run, and
// checks what it shows if another device has answered.
func TestRelay(t *testing.T) {
	p := newProcess(t)
	stored, desk := startHostd(t, p.options.Hostd)
	got := p.ask(t.Context(), call("s1", "t1", "make all"))
	run, q := find(t, stored, protocol.RunPermissionRequested, func(q *protocol.PermissionRequested) bool { return q.OpTool == "Bash" })
	if q.Prompt != "Run a command\nConcerto.toml:3" || string(q.OpArgs) != `{"command":"make all"}` || q.From.Host != "claude-code" || q.ExpiresAt == "" {
		t.Errorf("hostd shows %+v", q)
	}
	if _, started := find(t, stored, protocol.RunStarted, func(*protocol.Started) bool { return true }); started.Tool != "claude-code" || started.Title != "claude-code in /" || started.Cwd != "/" {
		t.Errorf("the run is %+v", started)
	}
	if err := desk.Decide(t.Context(), run, q.RequestID, approvals.Decision{Decision: approvals.Approve, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.Answer == nil || !a.Allow || a.Name != "ann" || a.By != "relay" {
		t.Errorf("the answer is %+v", a)
	}
	ask := &guard.Question{Agent: "claude-code", Session: "s1", Dir: "/", ID: "t2", Type: "question", WaitMS: 600_000,
		Message: json.RawMessage(`{"question":"Which?","questions":[{"id":"Which?","question":"Which?","options":[{"label":"Red"},{"label":"Blue"}],"multi":false}]}`)}
	for _, d := range []struct {
		approvals.Decision
		want guard.Answer
	}{
		{approvals.Decision{Decision: approvals.Approve, Answer: json.RawMessage(`"Blue"`), By: "ann"}, guard.Answer{Allow: true, Value: json.RawMessage(`"Blue"`), By: "relay", Name: "ann"}},
		{approvals.Decision{Decision: approvals.Deny, Text: "later", By: "ann"}, guard.Answer{Reason: "later", By: "relay", Name: "ann"}},
	} {
		got = p.ask(t.Context(), ask)
		before := q.RequestID
		_, q = find(t, stored, protocol.RunPermissionRequested, func(q *protocol.PermissionRequested) bool { return q.OpTool == "" && q.RequestID > before })
		if len(q.Questions) != 1 || len(q.Questions[0].Options) != 2 {
			t.Errorf("hostd shows %+v", q)
		}
		if err := desk.Decide(t.Context(), run, q.RequestID, d.Decision); err != nil {
			t.Fatal(err)
		}
		if a := <-got; a.Answer == nil || fmt.Sprint(*a.Answer) != fmt.Sprint(d.want) {
			t.Errorf("the answer is %+v, want %+v", a.Answer, d.want)
		}
	}
	// A request that `concerto top` has answered is withdrawn, and a late decision is refused.
	got = p.ask(t.Context(), call("s1", "t3", "make x"))
	_, q = find(t, stored, protocol.RunPermissionRequested, func(q *protocol.PermissionRequested) bool { return string(q.OpArgs) == `{"command":"make x"}` })
	shown := p.pending(t, "s1", 1)[0]
	if err := live.Answer(p.options.Shown, "s1", &shown, "yes", "bob"); err != nil {
		t.Fatal(err)
	}
	<-got
	if _, d := find(t, stored, protocol.RunDecision, func(d *protocol.Decided) bool { return d.By == "bob" }); d.RequestID != q.RequestID || d.Decision != protocol.DecisionApprove {
		t.Errorf("hostd shows the decision %+v", d)
	}
	find(t, stored, protocol.RunPermissionResolved, func(r *protocol.PermissionResolved) bool { return r.RequestID == q.RequestID })
	if err := desk.Decide(t.Context(), run, q.RequestID, approvals.Decision{Decision: approvals.Deny, By: "ann"}); err == nil || !strings.Contains(err.Error(), "already closed") {
		t.Errorf("a late decision: %v", err)
	}
	p.client.Withdraw("s1", "")
	find(t, stored, protocol.RunExited, func(e *protocol.Exited) bool { return e.ExitCode == 0 })
}
