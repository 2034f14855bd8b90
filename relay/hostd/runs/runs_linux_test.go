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

// machine is a machine whose state survives restarts of hostd.
type machine struct {
	*runs.Manager
	t      *testing.T
	state  string
	root   string
	spool  *spool.Spool
	desk   *approvals.Registry
	seen   map[string]int64
	all    map[string][]protocol.Envelope
	timers chan func() // functions that hostd calls after runs.EndedRetention
	cut    bool        // commits of outcomes fail, as if hostd had been killed
}

// killed commits events until cut is set. Then it simulates a hostd that was killed before the
// commit.
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

func newMachine(t *testing.T) *machine {
	t.Helper()
	h := &machine{t: t, state: t.TempDir(), root: t.TempDir(), seen: map[string]int64{}, all: map[string][]protocol.Envelope{}, timers: make(chan func(), 100)}
	h.open()
	t.Cleanup(func() {
		for _, r := range h.List() {
			_ = h.Stop(context.Background(), r.RunID, true, 0)
		}
		h.close()
	})
	return h
}

func (h *machine) open() {
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

func (h *machine) after(d time.Duration, f func()) func() bool {
	if d != runs.EndedRetention {
		return time.AfterFunc(d, f).Stop
	}
	h.timers <- f
	return func() bool { return true }
}

func (h *machine) close() {
	h.Close()
	if err := h.spool.Close(); err != nil {
		h.t.Error(err)
	}
}

func (h *machine) start(cmd string) string {
	h.t.Helper()
	id, err := h.Start(context.Background(), runs.Spec{Tool: "test", Cmd: cmd})
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// until reads further events of a run until one has the type and contains the text. It returns that
// event.
func (h *machine) until(id, typ, text string) protocol.Envelope {
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
			h.t.Fatalf("the run ended without %s containing %q: exit = %s, output = %q", typ, text, e.Data, output)
		}
	}
}

// waitForEvent waits until a run has an event with the type and the text, and returns the first
// one. Unlike until, it also finds events that were already read, because the order of some events
// depends on the machine.
func (h *machine) waitForEvent(id, typ, text string) protocol.Envelope {
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
			h.t.Fatalf("the run ended without %s containing %q: exit = %s", typ, text, e.Data)
		}
	}
}

// next waits for the next event of a run. It fails if a sequence number is missing.
func (h *machine) next(id string) protocol.Envelope {
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
			h.t.Fatalf("sequence number = %d after %d", more[0].Seq, h.seen[id])
		}
		h.seen[id] = more[0].Seq
		h.all[id] = append(h.all[id], more[0])
		return more[0]
	}
}

// wrote waits until the complete output of a run contains a text.
func (h *machine) wrote(id, text string) {
	h.t.Helper()
	for !strings.Contains(h.output(id), text) {
		h.next(id)
	}
}

// output returns the complete output of a run from its events. It fails if their offsets have a
// hole.
func (h *machine) output(id string) string {
	h.t.Helper()
	var b strings.Builder
	for _, e := range h.all[id] {
		if e.Type != protocol.RunOutput {
			continue
		}
		o, err := protocol.Decode[protocol.Output](&e)
		if err != nil || *o.Off != int64(b.Len()) {
			h.t.Fatalf("offset of the output = %v, want %d (%v)", o.Off, b.Len(), err)
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

// TestRun checks a run from its start to its end. The environment must be as specified, and output,
// inputs and the exit must be reported once and in order.
func TestRun(t *testing.T) {
	h := newMachine(t)
	ctx := context.Background()
	id := h.start(`echo "$RELAY_RUN_ID $RELAY_TOOL $RELAY_CWD $RELAY_HOSTD_SOCK $TERM [$HOST_TOKEN]"; pwd; printf 'caf\303'; printf '\251 \377\342\202|'; read x; echo "got $x"; exit 5`)
	h.until(id, protocol.RunOutput, "|")
	for range 2 {
		if state, err := h.Input(ctx, id, runs.Input{ID: "i1", Text: "token=s3cret\n", Actor: "web", By: "ada"}); state != "applied" || err != nil {
			t.Fatalf("state of the input = %s, error = %v", state, err)
		}
	}
	if _, err := h.Input(ctx, id, runs.Input{ID: "i1", Text: "other\n"}); code(err) != protocol.InputConflict {
		t.Errorf("input with the same id and another text: error = %v, want input_conflict", err)
	}
	in := h.until(id, protocol.RunInput, "i1")
	if field(t, in, "text_redacted") != "token=***REDACTED***\n" || field(t, in, "by") != "ada" || field(t, in, "actor") != "web" {
		t.Errorf("run.input = %s", in.Data)
	}
	end := h.until(id, protocol.RunExited, "")
	if string(end.Data) != `{"exit_code":5,"reason":"exited"}` {
		t.Errorf("run.exited = %s", end.Data)
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
		t.Errorf("inputs = %d, output = %q, want %q", inputs, got.String(), want)
	}
	if state, err := h.Input(ctx, id, runs.Input{ID: "i1", Text: "token=s3cret\n"}); state != "applied" || err != nil {
		t.Errorf("repeated input after the end: state = %s, error = %v", state, err)
	}
	if _, err := h.Input(ctx, id, runs.Input{ID: "i2", Text: "late\n"}); code(err) != protocol.RunHasExited {
		t.Errorf("new input after the end: error = %v, want run_exited", err)
	}
	for _, err := range []error{h.Keys(id, "x"), h.Stop(ctx, id, false, 1), h.Resize(ctx, id, 80, 24, "")} {
		if code(err) != protocol.RunHasExited {
			t.Errorf("operation after the end: error = %v, want run_exited", err)
		}
	}
	if _, err := h.Input(ctx, "run_x", runs.Input{ID: "i2"}); code(err) != protocol.UnknownRun {
		t.Errorf("input for an unknown run: error = %v, want unknown_run", err)
	}
}

// TestPrompts checks questions on a terminal. Each becomes a request whose decision is written
// once. Further output or another input withdraws the request. The request stays open over restarts
// of hostd.
func TestPrompts(t *testing.T) {
	h := newMachine(t)
	ctx := context.Background()
	id := h.start(`printf 'One? [y/N] '; read a; printf 'Two? (y/n) '; read b; echo "$a$b"; printf 'Three? [y/N] '; read c; echo; stty -echo; printf 'Password: '; read p; stty echo; echo "p=${#p}"; read x`)
	asked := h.until(id, protocol.RunPermissionRequested, "One?")
	if field(t, asked, "reason") != "permission" || field(t, asked, "approve_text") != "y\n" || field(t, asked, "deny_text") != "n\n" {
		t.Errorf("request = %s", asked.Data)
	}
	first := field(t, asked, "request_id")
	if waits := h.until(id, protocol.RunAwaitingInput, ""); field(t, waits, "request_id") != first || h.List()[0].Status != protocol.StatusAwaitingApproval {
		t.Errorf("run.awaiting_input = %s, status = %s", waits.Data, h.List()[0].Status)
	}
	h.close()
	h.open()
	if open := h.desk.Open(id); len(open) != 1 || open[0].RequestID != first {
		t.Fatalf("open requests after a restart = %v, want the first", open)
	}
	for range 2 {
		if err := h.desk.Decide(ctx, id, first, approvals.Decision{Decision: approvals.Approve, Actor: "web", By: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	if in := h.until(id, protocol.RunInput, first); field(t, in, "text_redacted") != "y\n" {
		t.Errorf("run.input = %s, want the approving text", in.Data)
	}
	h.until(id, protocol.RunPermissionResolved, `"approve"`)
	second := field(t, h.waitForEvent(id, protocol.RunPermissionRequested, "Two?"), "request_id")
	if _, err := h.Input(ctx, id, runs.Input{ID: "by-hand", Text: "n\n", Actor: "cli"}); err != nil {
		t.Fatal(err)
	}
	if event := h.waitForEvent(id, protocol.RunPermissionResolved, second); field(t, event, "decision") != "withdrawn" {
		t.Errorf("outcome = %s, want withdrawn", event.Data)
	}
	if err := h.desk.Decide(ctx, id, second, approvals.Decision{Decision: approvals.Approve}); code(err) != protocol.Expired {
		t.Errorf("late decision: error = %v, want expired", err)
	}
	third := field(t, h.waitForEvent(id, protocol.RunPermissionRequested, "Three?"), "request_id")
	// An input that was sent earlier does not answer the question, even if its sender sends it
	// again.
	if state, err := h.Input(ctx, id, runs.Input{ID: "by-hand", Text: "n\n", Actor: "cli"}); state != "applied" || err != nil {
		t.Fatal(state, err)
	}
	if err := h.desk.Decide(ctx, id, third, approvals.Decision{Decision: approvals.Deny}); err != nil {
		t.Fatal(err)
	}
	secret := h.waitForEvent(id, protocol.RunPermissionRequested, "Password:")
	if field(t, secret, "reason") != "prompt" || !strings.Contains(string(secret.Data), `"secret":true`) {
		t.Errorf("request for the password = %s", secret.Data)
	}
	secretID := field(t, secret, "request_id")
	if err := h.desk.Decide(ctx, id, secretID, approvals.Decision{Decision: approvals.Approve}); code(err) != protocol.InvalidAnswer {
		t.Errorf("approval without the password: error = %v, want invalid_answer", err)
	}
	h.cut = true
	if err := h.desk.Decide(ctx, id, secretID, approvals.Decision{Decision: approvals.Approve, By: "ada", Answers: json.RawMessage(`{"answer":"hunter2"}`)}); code(err) != protocol.Internal {
		t.Fatal(err)
	}
	if in := h.waitForEvent(id, protocol.RunInput, secretID); field(t, in, "text_redacted") != redact.Mark {
		t.Errorf("run.input = %s, want it redacted", in.Data)
	}
	h.wrote(id, "p=7")
	h.cut = false
	h.close()
	h.open()
	if over := h.waitForEvent(id, protocol.RunPermissionResolved, secretID); field(t, over, "decision") != "answer" || field(t, over, "by") != "ada" || strings.Contains(string(over.Data), "\"answer\":") {
		t.Errorf("outcome = %s, want an answer by ada without its value", over.Data)
	}
	if err := h.Stop(ctx, id, false, 0); err != nil {
		t.Fatal(err)
	}
	if end := h.until(id, protocol.RunExited, ""); field(t, end, "reason") != "stopped" {
		t.Errorf("run.exited = %s, want stopped", end.Data)
	}
	for _, e := range h.all[id] {
		if strings.Contains(string(e.Data), "hunter2") {
			t.Errorf("event with the password: %s", e.Data)
		}
	}
	for _, file := range []string{"spool.db", "spool.db-wal", filepath.Join("runs", id, "in"), filepath.Join("runs", id, "run.json")} {
		if text, err := os.ReadFile(filepath.Join(h.state, file)); err == nil && strings.Contains(string(text), "hunter2") {
			t.Errorf("the password is stored in %s", file)
		}
	}
	if out := h.output(id); strings.Count(out, "One?") != 1 || strings.Count(out, "Three?") != 1 {
		t.Errorf("output = %q", out)
	}
}

// TestRestarts restarts hostd at random moments. Each byte of output must be reported once. A run
// that ends during a restart must be reported, and a run whose holder was killed is lost.
func TestRestarts(t *testing.T) {
	h := newMachine(t)
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
		t.Fatalf("lines of output = %d, want 60000", len(out))
	}
	for i, line := range out {
		if want := fmt.Sprintf("%06d-%d", i%20000+1, i/20000+1); line != want {
			t.Fatalf("line %d = %s", i, line)
		}
	}
	lost := h.start(`echo $PPID; read x`)
	var pid int
	h.wrote(lost, "\n") // the line break may arrive in a separate event
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
		t.Errorf("run.exited = %s, want lost", end.Data)
	}
	h.spool.Ack(id, h.seen[id])
	h.close()
	h.open()
	var left []string
	for _, r := range h.List() {
		left = append(left, r.RunID+" "+string(r.Status))
	}
	if len(left) != 1 || left[0] != lost+" exited" {
		t.Errorf("listed runs = %v, want the lost one", left)
	}
	var seen []string
	if err := h.Follow(ctx, lost, 0, func(e protocol.Envelope) error { seen = append(seen, e.Type); return nil }); err != nil || strings.Join(slices.Compact(seen), " ") != "run.started run.output run.exited" {
		t.Errorf("followed events = %v, error = %v", seen, err)
	}
}

// TestSpec checks the errors for invalid run specifications.
func TestSpec(t *testing.T) {
	h := newMachine(t)
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
			t.Errorf("%+v: error = %v", c.spec, err)
		}
	}
	if all := h.List(); len(all) != 0 {
		t.Errorf("runs = %v, want none", all)
	}
	// A link with the name of a tool that leads to this program must be skipped.
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
		t.Errorf("run.exited = %s, want exit code 0", end.Data)
	}
	if started := h.all[id][0]; field(t, started, "title") != "nothing" || field(t, started, "command") != "true" {
		t.Errorf("run.started = %s", started.Data)
	}
}

// TestEnded checks how long ended runs remain. A run is listed and can be followed until the server
// has all its events and it has either expired or exceeds the maximum number. Then its files are
// removed. A run with followers remains.
func TestEnded(t *testing.T) {
	h := newMachine(t)
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
	old() // the run remains, because the server has none of its events
	if got := listed(); !slices.Equal(got, []string{first}) {
		t.Fatalf("listed runs = %v, want the first", got)
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
	old() // the run remains, because it has a follower
	old = <-h.timers
	goOn <- true
	if err := <-done; err != nil {
		t.Errorf("error of the follower = %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.state, "runs", first)); err != nil {
		t.Error(err)
	}
	old()
	if _, err := os.Stat(filepath.Join(h.state, "runs", first)); !errors.Is(err, fs.ErrNotExist) || len(listed()) != 0 {
		t.Errorf("listed runs = %v, directory of the first run: %v; want both removed", listed(), err)
	}
	if err := h.Follow(ctx, first, 0, nil); code(err) != protocol.UnknownRun {
		t.Errorf("following a removed run: error = %v, want unknown_run", err)
	}
	if err := h.desk.Decide(ctx, first, request, approvals.Decision{Decision: approvals.Deny}); code(err) != protocol.UnknownRequest {
		t.Errorf("decision for a removed run: error = %v, want unknown_request", err)
	}
	if _, err := h.spool.Append(ctx, first, spool.Event{Type: protocol.ToolCall, Data: protocol.Called{RequestID: "r", Tool: "bash", Actor: "web", Args: json.RawMessage("{}")}}); !errors.Is(err, spool.ErrEnded) {
		t.Errorf("append to a removed run: error = %v, want ErrEnded", err)
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
		t.Errorf("listed runs = %v, want %v", got, want)
	}
}

// TestMenus checks that the choices of a menu on a terminal become the choices of the question. The
// chosen key is typed with its suffix and recorded as the answer.
func TestMenus(t *testing.T) {
	ctx := context.Background()
	h := newMachine(t)
	id := h.start(`printf '1) red\n2) blue\n3) none\nSelect 1-3: '; read x; echo got=$x`)
	asked := h.waitForEvent(id, protocol.RunPermissionRequested, "Select 1-3")
	if !strings.Contains(string(asked.Data), `"approve_text":"\n"`) || !strings.Contains(string(asked.Data), `{"value":"2","label":"2. blue","description":"types 2⏎"}`) || strings.Count(string(asked.Data), `"value":`) != 3 {
		t.Errorf("request = %s", asked.Data)
	}
	q := field(t, asked, "request_id")
	if err := h.desk.Decide(ctx, id, q, approvals.Decision{Decision: approvals.Approve, Answer: json.RawMessage(`"9"`)}); code(err) != protocol.InvalidAnswer {
		t.Errorf("invalid choice: error = %v, want invalid_answer", err)
	}
	if err := h.desk.Decide(ctx, id, q, approvals.Decision{Decision: approvals.Approve, Answer: json.RawMessage(`"2"`)}); err != nil {
		t.Fatal(err)
	}
	h.wrote(id, "got=2")
	if over := h.waitForEvent(id, protocol.RunPermissionResolved, q); field(t, over, "decision") != "answer" || field(t, over, "answer") != "2" {
		t.Errorf("outcome = %s, want the answer 2", over.Data)
	}
}
