package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/prompt"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "shim" {
		if err := ptyholder.Main(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// host is a host's state, over restarts.
type host struct {
	*runs.Manager
	t      *testing.T
	state  string
	root   string
	spool  *spool.Spool
	desk   *approvals.Registry
	seen   map[string]int64
	all    map[string][]protocol.Envelope
	timers chan func() // functions to call after runs.EndedRetention
	cut    bool        // outcomes of requests are no longer committed
}

// killed is a hostd that is killed before it commits the outcome of a request.
type killed struct {
	*runs.Events
	cut *bool
}

func (k *killed) Commit(ctx context.Context, run string, events []approvals.Event, rows []approvals.Row) error {
	if *k.cut {
		return errors.New("hostd is killed")
	}
	return k.Events.Commit(ctx, run, events, rows)
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, state: t.TempDir(), root: t.TempDir(), seen: map[string]int64{}, all: map[string][]protocol.Envelope{}, timers: make(chan func(), 100)}
	h.open()
	t.Cleanup(func() {
		for _, r := range h.List() {
			_ = h.Stop(context.Background(), r.RunID, true, 0)
		}
		h.close()
	})
	return h
}

func (h *host) open() {
	h.t.Helper()
	ctx := context.Background()
	rules, err := prompt.Load("")
	if err != nil {
		h.t.Fatal(err)
	}
	hide, err := redact.New("", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if h.spool, err = spool.Open(ctx, filepath.Join(h.state, "spool.db"), spool.Options{}); err != nil {
		h.t.Fatal(err)
	}
	events := &runs.Events{Spool: h.spool}
	h.desk = approvals.New(approvals.Options{Events: &killed{events, &h.cut}})
	h.Manager, err = runs.New(runs.Options{Dir: filepath.Join(h.state, "runs"), Roots: []string{h.root}, Holder: []string{os.Args[0], "shim"}, Env: append(os.Environ(), "HOME="+h.state, "HOST_TOKEN=t0ken"),
		Socket: "/sock", Spool: h.spool, Approvals: h.desk, Rules: rules, Redact: hide, Log: slog.New(slog.NewTextHandler(h.t.Output(), nil)), MaxEnded: 2, After: h.after})
	if err != nil {
		h.t.Fatal(err)
	}
	events.Runs = h.Manager
	rows, err := events.Rows(ctx)
	if err == nil {
		err = h.desk.Restore(ctx, rows)
	}
	if err == nil {
		err = h.Restore(ctx)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) after(d time.Duration, f func()) func() bool {
	if d != runs.EndedRetention {
		return time.AfterFunc(d, f).Stop
	}
	h.timers <- f
	return func() bool { return true }
}

func (h *host) close() {
	h.Close()
	if err := h.spool.Close(); err != nil {
		h.t.Error(err)
	}
}

func (h *host) start(cmd string) string {
	h.t.Helper()
	id, err := h.Start(context.Background(), runs.Spec{Tool: "test", Cmd: cmd})
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// until reads a run's further events until one matches, and returns it.
func (h *host) until(id, typ, text string) protocol.Envelope {
	h.t.Helper()
	output := ""
	for {
		e := h.next(id)
		data := string(e.Data)
		if e.Type == protocol.RunOutput {
			output += field(h.t, e, "text")
			data = output
		}
		if e.Type == typ && strings.Contains(data, text) {
			return e
		}
		if e.Type == protocol.RunExited {
			h.t.Fatalf("%s with %q never came; the run ended %s after %q", typ, text, e.Data, output)
		}
	}
}

// waitForEvent waits until any of a run's events matches, and returns the first one: for events
// whose order depends on the machine.
func (h *host) waitForEvent(id, typ, text string) protocol.Envelope {
	h.t.Helper()
	for i := 0; ; i++ {
		if i == len(h.all[id]) {
			h.next(id)
		}
		e := h.all[id][i]
		if e.Type == typ && strings.Contains(string(e.Data), text) {
			return e
		}
		if e.Type == protocol.RunExited {
			h.t.Fatalf("%s with %q never came; the run ended %s", typ, text, e.Data)
		}
	}
}

// next waits for a run's next event. Seqs have no holes.
func (h *host) next(id string) protocol.Envelope {
	h.t.Helper()
	for {
		more, err := h.spool.Next(context.Background(), id, h.seen[id], 1)
		if err != nil {
			h.t.Fatal(err)
		}
		if len(more) == 0 {
			<-h.spool.Committed()
			continue
		}
		if more[0].Seq != h.seen[id]+1 {
			h.t.Fatalf("seq %d after %d", more[0].Seq, h.seen[id])
		}
		h.seen[id] = more[0].Seq
		h.all[id] = append(h.all[id], more[0])
		return more[0]
	}
}

// wrote waits until a run has written a text, since its beginning.
func (h *host) wrote(id, text string) {
	h.t.Helper()
	for !strings.Contains(h.output(id), text) {
		h.next(id)
	}
}

// output is all that a run wrote, by its events; their offsets have no holes.
func (h *host) output(id string) string {
	h.t.Helper()
	var b strings.Builder
	for _, e := range h.all[id] {
		if e.Type != protocol.RunOutput {
			continue
		}
		o, err := protocol.Decode[protocol.Output](&e)
		if err != nil || *o.Off != int64(b.Len()) {
			h.t.Fatalf("output at %v, after %d bytes: %v", o.Off, b.Len(), err)
		}
		b.WriteString(o.Text)
	}
	return b.String()
}

func field(t *testing.T, e protocol.Envelope, name string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(e.Data, &all); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(all[name])
}

func code(err error) protocol.Code {
	var e *approvals.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// TestRun checks that a run's environment, output, inputs and end are reported in order, each once.
func TestRun(t *testing.T) {
	h := newHost(t)
	ctx := context.Background()
	id := h.start(`echo "$RELAY_RUN_ID $RELAY_TOOL $RELAY_CWD $RELAY_HOSTD_SOCK $TERM [$HOST_TOKEN]"; pwd; printf 'caf\303'; printf '\251 \377\342\202|'; read x; echo "got $x"; exit 5`)
	h.until(id, protocol.RunOutput, "|")
	for range 2 {
		if state, err := h.Input(ctx, id, runs.Input{ID: "i1", Text: "token=s3cret\n", Actor: "web", By: "ada"}); state != "applied" || err != nil {
			t.Fatalf("%s %v", state, err)
		}
	}
	if _, err := h.Input(ctx, id, runs.Input{ID: "i1", Text: "other\n"}); code(err) != protocol.InputConflict {
		t.Errorf("another text: %v", err)
	}
	in := h.until(id, protocol.RunInput, "i1")
	if field(t, in, "text_redacted") != "token=***REDACTED***\n" || field(t, in, "by") != "ada" || field(t, in, "actor") != "web" {
		t.Errorf("run.input is %s", in.Data)
	}
	end := h.until(id, protocol.RunExited, "")
	if string(end.Data) != `{"exit_code":5,"reason":"exited"}` {
		t.Errorf("it ended %s", end.Data)
	}
	root, _ := filepath.EvalSymlinks(h.root)
	want := fmt.Sprintf("%s test %s /sock xterm-256color []\r\n%s\r\ncafé \ufffd\ufffd\ufffd|token=s3cret\r\ngot token=s3cret\r\n", id, root, root)
	var got strings.Builder
	inputs := 0
	for _, e := range h.all[id] {
		if e.Type == protocol.RunOutput {
			got.WriteString(field(t, e, "text"))
		}
		if e.Type == protocol.RunInput {
			inputs++
		}
	}
	if got.String() != want || inputs != 1 || h.all[id][0].Type != protocol.RunStarted {
		t.Errorf("%d inputs, it wrote %q, not %q", inputs, got.String(), want)
	}
	if state, err := h.Input(ctx, id, runs.Input{ID: "i1", Text: "token=s3cret\n"}); state != "applied" || err != nil {
		t.Errorf("again after the end: %s %v", state, err)
	}
	if _, err := h.Input(ctx, id, runs.Input{ID: "i2", Text: "late\n"}); code(err) != protocol.RunHasExited {
		t.Errorf("a late one: %v", err)
	}
	for _, err := range []error{h.Keys(id, "x"), h.Stop(ctx, id, false, 1), h.Resize(ctx, id, 80, 24, "")} {
		if code(err) != protocol.RunHasExited {
			t.Errorf("after the end: %v", err)
		}
	}
	if _, err := h.Input(ctx, "run_x", runs.Input{ID: "i2"}); code(err) != protocol.UnknownRun {
		t.Errorf("no such run: %v", err)
	}
}

// TestPrompts checks that a terminal's question becomes a request whose decision is written once;
// output or an input withdraws it; and it remains open over restarts.
func TestPrompts(t *testing.T) {
	h := newHost(t)
	ctx := context.Background()
	id := h.start(`printf 'One? [y/N] '; read a; printf 'Two? (y/n) '; read b; echo "$a$b"; printf 'Three? [y/N] '; read c; echo; stty -echo; printf 'Password: '; read p; stty echo; echo "p=${#p}"; read x`)
	asked := h.until(id, protocol.RunPermissionRequested, "One?")
	if field(t, asked, "reason") != "permission" || field(t, asked, "approve_text") != "y\n" || field(t, asked, "deny_text") != "n\n" {
		t.Errorf("asked %s", asked.Data)
	}
	first := field(t, asked, "request_id")
	if waits := h.until(id, protocol.RunAwaitingInput, ""); field(t, waits, "request_id") != first || h.List()[0].Status != protocol.StatusAwaitingApproval {
		t.Errorf("waits %s, %s", waits.Data, h.List()[0].Status)
	}
	h.close()
	h.open()
	if open := h.desk.Open(id); len(open) != 1 || open[0].RequestID != first {
		t.Fatalf("after a restart %v is open", open)
	}
	for range 2 {
		if err := h.desk.Decide(ctx, id, first, approvals.Decision{Decision: approvals.Approve, Actor: "web", By: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	if in := h.until(id, protocol.RunInput, first); field(t, in, "text_redacted") != "y\n" {
		t.Errorf("written %s", in.Data)
	}
	h.until(id, protocol.RunPermissionResolved, `"approve"`)
	second := field(t, h.waitForEvent(id, protocol.RunPermissionRequested, "Two?"), "request_id")
	if _, err := h.Input(ctx, id, runs.Input{ID: "by-hand", Text: "n\n", Actor: "cli"}); err != nil {
		t.Fatal(err)
	}
	if event := h.waitForEvent(id, protocol.RunPermissionResolved, second); field(t, event, "decision") != "withdrawn" {
		t.Errorf("%s", event.Data)
	}
	if err := h.desk.Decide(ctx, id, second, approvals.Decision{Decision: approvals.Approve}); code(err) != protocol.Expired {
		t.Errorf("too late: %v", err)
	}
	third := field(t, h.waitForEvent(id, protocol.RunPermissionRequested, "Three?"), "request_id")
	// An earlier input is not the answer to it, even if its sender requests its state again.
	if state, err := h.Input(ctx, id, runs.Input{ID: "by-hand", Text: "n\n", Actor: "cli"}); state != "applied" || err != nil {
		t.Fatal(state, err)
	}
	if err := h.desk.Decide(ctx, id, third, approvals.Decision{Decision: approvals.Deny}); err != nil {
		t.Fatal(err)
	}
	secret := h.waitForEvent(id, protocol.RunPermissionRequested, "Password:")
	if field(t, secret, "reason") != "prompt" || !strings.Contains(string(secret.Data), `"secret":true`) {
		t.Errorf("asked %s", secret.Data)
	}
	secretID := field(t, secret, "request_id")
	if err := h.desk.Decide(ctx, id, secretID, approvals.Decision{Decision: approvals.Approve}); code(err) != protocol.InvalidAnswer {
		t.Errorf("without the password: %v", err)
	}
	h.cut = true
	if err := h.desk.Decide(ctx, id, secretID, approvals.Decision{Decision: approvals.Approve, By: "ada", Answers: json.RawMessage(`{"answer":"hunter2"}`)}); code(err) != protocol.Internal {
		t.Fatal(err)
	}
	if in := h.waitForEvent(id, protocol.RunInput, secretID); field(t, in, "text_redacted") != redact.Mark {
		t.Errorf("run.input is %s", in.Data)
	}
	h.wrote(id, "p=7")
	h.cut = false
	h.close()
	h.open()
	if over := h.waitForEvent(id, protocol.RunPermissionResolved, secretID); field(t, over, "decision") != "answer" || field(t, over, "by") != "ada" || strings.Contains(string(over.Data), "\"answer\":") {
		t.Errorf("run.permission_resolved is %s", over.Data)
	}
	if err := h.Stop(ctx, id, false, 0); err != nil {
		t.Fatal(err)
	}
	if end := h.until(id, protocol.RunExited, ""); field(t, end, "reason") != "stopped" {
		t.Errorf("it ended %s", end.Data)
	}
	for _, e := range h.all[id] {
		if strings.Contains(string(e.Data), "hunter2") {
			t.Errorf("an event has the secret: %s", e.Data)
		}
	}
	for _, file := range []string{"spool.db", "spool.db-wal", filepath.Join("runs", id, "in"), filepath.Join("runs", id, "run.json")} {
		if text, err := os.ReadFile(filepath.Join(h.state, file)); err == nil && strings.Contains(string(text), "hunter2") {
			t.Errorf("it is in %s", file)
		}
	}
	if out := h.output(id); strings.Count(out, "One?") != 1 || strings.Count(out, "Three?") != 1 {
		t.Errorf("it wrote %q", out)
	}
}

// TestRestarts checks that over restarts at any moment each byte is reported once; that the end of
// a run during a restart is reported, and that a run whose holder was killed is lost.
func TestRestarts(t *testing.T) {
	h := newHost(t)
	ctx := context.Background()
	id := h.start(`for i in $(seq 3); do seq -f "%06.0f-$i" 20000; done`)
	h.until(id, protocol.RunOutput, "000100-1")
	for range 3 {
		h.close()
		h.open()
		h.until(id, protocol.RunOutput, "00")
	}
	h.until(id, protocol.RunExited, "")
	out := strings.Fields(h.output(id))
	if len(out) != 60000 {
		t.Fatalf("%d lines", len(out))
	}
	for i, line := range out {
		if want := fmt.Sprintf("%06d-%d", i%20000+1, i/20000+1); line != want {
			t.Fatalf("line %d is %s", i, line)
		}
	}
	lost := h.start(`echo $PPID; read x`)
	var pid int
	h.wrote(lost, "\n") // the line end may arrive separately
	if _, err := fmt.Sscan(h.output(lost), &pid); err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	if end := h.until(lost, protocol.RunExited, ""); string(end.Data) != `{"exit_code":-1,"reason":"lost"}` {
		t.Errorf("it ended %s", end.Data)
	}
	h.spool.Ack(id, h.seen[id])
	h.close()
	h.open()
	var left []string
	for _, r := range h.List() {
		left = append(left, r.RunID+" "+string(r.Status))
	}
	if len(left) != 1 || left[0] != lost+" exited" {
		t.Errorf("left are %v", left)
	}
	var seen []string
	if err := h.Follow(ctx, lost, 0, func(e protocol.Envelope) error { seen = append(seen, e.Type); return nil }); err != nil || strings.Join(slices.Compact(seen), " ") != "run.started run.output run.exited" {
		t.Errorf("followed: %v %v", seen, err)
	}
}

// TestSpec checks the errors for invalid specs.
func TestSpec(t *testing.T) {
	h := newHost(t)
	outside := t.TempDir()
	link := filepath.Join(h.root, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec runs.Spec
		want protocol.Code
		text string
	}{
		{runs.Spec{Cmd: "ls"}, protocol.BadMessage, "tool is missing"},
		{runs.Spec{Tool: "no-such-tool"}, protocol.Code(protocol.MissingDependency), "no-such-tool is not installed"},
		{runs.Spec{Tool: "t", Cmd: "ls", Cwd: outside}, protocol.Code(protocol.OutOfScope), "--root"},
		{runs.Spec{Tool: "t", Cmd: "ls", Cwd: link}, protocol.Code(protocol.OutOfScope), "--root"},
		{runs.Spec{Tool: "t", Cmd: "ls", Cwd: "x"}, protocol.BadMessage, "absolute"},
		{runs.Spec{Tool: "t", Cmd: "ls", Cwd: h.root + "/none"}, protocol.Code(protocol.NotFound), "none"},
	} {
		if _, err := h.Start(context.Background(), c.spec); code(err) != c.want || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v", c.spec, err)
		}
	}
	if all := h.List(); len(all) != 0 {
		t.Errorf("runs: %v", all)
	}
	// A tool's name that leads to ourselves is passed over.
	bin := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(bin, "true")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	h.close()
	h.open()
	id, err := h.Start(context.Background(), runs.Spec{Tool: "true", Title: "nothing", Cwd: h.root})
	if err != nil {
		t.Fatal(err)
	}
	if end := h.until(id, protocol.RunExited, ""); field(t, end, "exit_code") != "0" {
		t.Errorf("it ended %s", end.Data)
	}
	if started := h.all[id][0]; field(t, started, "title") != "nothing" || field(t, started, "command") != "true" {
		t.Errorf("run.started is %s", started.Data)
	}
}

// TestEnded checks that an ended run is listed and followed until the server has all of it and it
// is old, or there are too many; then nothing of it is left, and followers are not disconnected.
func TestEnded(t *testing.T) {
	h := newHost(t)
	ctx := context.Background()
	listed := func() (all []string) {
		for _, r := range h.List() {
			all = append(all, r.RunID)
		}
		return all
	}
	first := h.start(`printf 'Go on? [y/N] '; read x`)
	request := field(t, h.until(first, protocol.RunPermissionRequested, ""), "request_id")
	if err := h.desk.Decide(ctx, first, request, approvals.Decision{Decision: approvals.Approve}); err != nil {
		t.Fatal(err)
	}
	h.until(first, protocol.RunExited, "")
	old := <-h.timers
	old() // the server has nothing
	if got := listed(); !slices.Equal(got, []string{first}) {
		t.Fatalf("the server has nothing: %v", got)
	}
	old = <-h.timers
	begun, goOn, done := make(chan bool), make(chan bool), make(chan error)
	go func() {
		seen := 0
		done <- h.Follow(ctx, first, 0, func(protocol.Envelope) error {
			if seen++; seen == 1 {
				begun <- true
				<-goOn
			}
			return nil
		})
	}()
	<-begun
	h.spool.Ack(first, h.seen[first])
	old() // it has a follower
	old = <-h.timers
	goOn <- true
	if err := <-done; err != nil {
		t.Errorf("who follows it: %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.state, "runs", first)); err != nil {
		t.Error(err)
	}
	old()
	if _, err := os.Stat(filepath.Join(h.state, "runs", first)); !errors.Is(err, fs.ErrNotExist) || len(listed()) != 0 {
		t.Errorf("left: %v, %v", listed(), err)
	}
	if err := h.Follow(ctx, first, 0, nil); code(err) != protocol.UnknownRun {
		t.Errorf("to follow it: %v", err)
	}
	if err := h.desk.Decide(ctx, first, request, approvals.Decision{Decision: approvals.Deny}); code(err) != protocol.UnknownRequest {
		t.Errorf("to decide of it: %v", err)
	}
	if _, err := h.spool.Append(ctx, first, spool.Event{Type: protocol.ToolCall, Data: protocol.Called{RequestID: "r", Tool: "bash", Actor: "web", Args: json.RawMessage("{}")}}); !errors.Is(err, spool.ErrEnded) {
		t.Errorf("appending to an ended run: %v", err)
	}
	var want []string
	for i := range 4 {
		id := h.start("true")
		h.until(id, protocol.RunExited, "")
		<-h.timers
		if h.spool.Ack(id, h.seen[id]); i > 1 {
			want = append(want, id)
		}
	}
	if got := listed(); !slices.Equal(got, want) {
		t.Errorf("of four %v are left, not %v", got, want)
	}
}

// TestMenus checks that the choices of a terminal's menu become those of the question; the chosen
// one is typed with its suffix and recorded as the answer.
func TestMenus(t *testing.T) {
	ctx := context.Background()
	h := newHost(t)
	id := h.start(`printf '1) red\n2) blue\n3) none\nSelect 1-3: '; read x; echo got=$x`)
	asked := h.waitForEvent(id, protocol.RunPermissionRequested, "Select 1-3")
	if !strings.Contains(string(asked.Data), `"approve_text":"\n"`) || !strings.Contains(string(asked.Data), `{"value":"2","label":"2. blue","description":"types 2⏎"}`) || strings.Count(string(asked.Data), `"value":`) != 3 {
		t.Errorf("asked %s", asked.Data)
	}
	q := field(t, asked, "request_id")
	if err := h.desk.Decide(ctx, id, q, approvals.Decision{Decision: approvals.Approve, Answer: json.RawMessage(`"9"`)}); code(err) != protocol.InvalidAnswer {
		t.Errorf("a choice that there is not: %v", err)
	}
	if err := h.desk.Decide(ctx, id, q, approvals.Decision{Decision: approvals.Approve, Answer: json.RawMessage(`"2"`)}); err != nil {
		t.Fatal(err)
	}
	h.wrote(id, "got=2")
	if over := h.waitForEvent(id, protocol.RunPermissionResolved, q); field(t, over, "decision") != "answer" || field(t, over, "answer") != "2" {
		t.Errorf("recorded as %s", over.Data)
	}
}
