package hostmsg_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/hostcheck"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/internal/term/progress"
	"github.com/concerto-lang/concerto/internal/term/prompt"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/ingest"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/runs"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/hostrun"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/runtime/host"
)

// asks is a host in sh that sends the two types of messages from export_test.go, and returns the
// answers.
const asks = `read -r prompt
echo '{"type":"confirm","id":"c","description":"rm -r build","tool":"Bash","risk_level":"high"}'; read -r one
echo '{"type":"which","id":"w","question":"Tabs or spaces?","options":["tabs","spaces"]}'; read -r two
echo "{\"type\":\"result\",\"answers\":[$one,$two]}"
`

const program = `
host W { connector: w, output_format: "json" }
fn main() {
    let r = listen W.execute("go") { "question" => |q| "", "approval" => |a| "no", "confirm" => ask, "which" => ask };
    for a in r?.answers { println("${a.in_reply_to} ${a.answer_to} ${a.value}"); }
}`

func compile(t *testing.T) *engine.Program {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.conc": program, "Concerto.toml": "[hosts.w]\ncommand = \"sh\"\nargs = [\"-c\", '''" + asks + "''']\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p, found, err := engine.Compile("main.conc", dir)
	if err != nil || p == nil {
		t.Fatalf("Compile: error %v, %d diagnostics: %+v", err, found.Len(), found)
	}
	return p
}

// terminal is a fake terminal. It types the given lines and records the prompts.
type terminal struct{ types, asked []string }

func (x *terminal) Join(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

func (x *terminal) Turn(context.Context) (func(), error) { return func() {}, nil }

func (x *terminal) Ask(_ context.Context, p screen.Prompt) (string, error) {
	text := p.Text
	for _, r := range p.Body {
		text += "\n" + r.Lead + r.Text
	}
	x.asked = append(x.asked, strings.TrimSuffix(text+"\n"+p.After, "\n"))
	if len(x.types) == 0 {
		return "", io.EOF
	}
	typed := x.types[0]
	x.types = x.types[1:]
	return typed, nil
}

func (x *terminal) View(context.Context, []screen.Row) error { return nil }

func (x *terminal) PrintAbove(string) {}

// TestNewTypes checks that a new type of message needs only a row in the table. The prompter, the
// progress and the ledger must handle it according to the form of its answer.
func TestNewTypes(t *testing.T) {
	typist := &terminal{types: []string{"s", "2"}}
	file := filepath.Join(t.TempDir(), "ledger.ndjson")
	l, err := ledger.Open(file, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var tally progress.Tally
	var lines []string
	plain := progress.NewPlain(func(line string) { lines = append(lines, line) })
	var out strings.Builder
	err = compile(t).Run(t.Context(), engine.Options{
		Environ: []string{"PATH=/bin:/usr/bin"}, Output: engine.Output{To: &out},
		Answers: engine.Answers{Prompter: &prompt.Person{Terminal: typist, Now: time.Now}},
		Records: engine.Records{Ledger: l, OnActivity: func(a activity.Event) {
			tally.Add(&a)
			a.At = 0
			plain.HandleEvent(a)
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasSuffix(got, "\nconfirm c session\nwhich w spaces\n") {
		t.Error(got)
	}
	asked := []string{"W asks to call the tool Bash\n  rm -r build\n  risk: high\n[a]llow once [s]ession a[l]ways [d]eny [v]iew", "W asks: Tabs or spaces?\n  1) tabs\n  2) spaces\n1-2, or your own words"}
	if d := cmp.Diff(asked, typist.asked); d != "" {
		t.Errorf("prompts differ (-want +got):\n%s", d)
	}
	described := []string{"host 'W' starts", "host 'W' requests approval: Call the tool Bash: rm -r build", "host 'W' receives an answer from the terminal: allowed (session)",
		"host 'W' asks: Tabs or spaces?", "host 'W' receives an answer from the terminal: spaces"}
	if d := cmp.Diff(described, lines[:len(lines)-1]); d != "" {
		t.Errorf("progress lines differ (-want +got):\n%s", d)
	}
	if tally.Approvals != 1 || tally.Questions != 1 {
		t.Errorf("tally = %+v, want one approval and one question", tally)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var records []string
	for line := range strings.Lines(string(text)) {
		var r struct {
			Kind string
			Data struct{ Tool string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		records = append(records, strings.TrimSpace(r.Kind+" "+r.Data.Tool))
	}
	if d := cmp.Diff([]string{"confirm Bash", "which"}, records); d != "" {
		t.Errorf("ledger records differ (-want +got):\n%s", d)
	}
}

// hostd is a hostd process without a relay, with its socket and its list of pending approvals.
type hostd struct {
	socket string
	spool  *spool.Spool
	desk   *approvals.Registry
}

func startHostd(t *testing.T) *hostd {
	t.Helper()
	dir := t.TempDir()
	h := &hostd{socket: filepath.Join(dir, "s")}
	var err error
	if h.spool, err = spool.Open(t.Context(), filepath.Join(dir, "spool.db"), spool.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.spool.Close() })
	h.desk = approvals.New(approvals.Options{Events: &runs.Events{Spool: h.spool}})
	r, err := redact.New("", nil)
	if err != nil {
		t.Fatal(err)
	}
	sources := ingest.New(ingest.Options{Spool: h.spool, Approvals: h.desk, Redact: r, Log: slog.New(slog.DiscardHandler),
		PID: func(*http.Request) int { return 0 }, After: func(time.Duration, func()) func() bool { return func() bool { return true } }})
	t.Cleanup(func() { sources.Close() })
	l, err := net.Listen("unix", h.socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+protocol.SourcePath, sources)
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return h
}

// request waits for the request with an id and returns it.
func (h *hostd) request(t *testing.T, id string) (run string, q protocol.PermissionRequested) {
	t.Helper()
	for {
		for _, r := range h.spool.Runs() {
			events, err := h.spool.Next(t.Context(), r.ID, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Type != protocol.RunPermissionRequested {
					continue
				}
				if err := json.Unmarshal(e.Data, &q); err != nil {
					t.Fatal(err)
				}
				if q.RequestID == id {
					return r.ID, q
				}
			}
		}
		select {
		case <-h.spool.Committed():
		case <-t.Context().Done():
			t.Fatalf("request %s did not arrive", id)
		}
	}
}

// decide approves the first request and answers the second.
func (h *hostd) decide(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		id, kind, reason, prompt string
		value                    bool // expected value of WantsValue, which notifications and the page use
		d                        approvals.Decision
	}{
		{"q1", protocol.FromApproval, "permission", "Call the tool Bash\nrm -r build", false, approvals.Decision{Decision: approvals.Approve}},
		{"q2", protocol.FromQuestion, "choice", "Tabs or spaces?", true, approvals.Decision{Decision: approvals.Approve, Answer: json.RawMessage(`"spaces"`)}},
	} {
		run, q := h.request(t, c.id)
		if q.From == nil || q.From.Kind != c.kind || q.From.WantsValue() != c.value || q.IsQuestion() != c.value || q.Reason != c.reason || q.Prompt != c.prompt {
			t.Errorf("request %s = %+v from %+v differs from the expected one", c.id, q, q.From)
		}
		if err := h.desk.Decide(t.Context(), run, c.id, c.d); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *hostd) source() *client.Source {
	return client.New(client.Options{Socket: h.socket, Started: protocol.Started{Tool: "concerto", Cwd: "/", Command: "concerto", Source: "concerto"}})
}

// TestNewTypesAtTheRelay checks that a relay asks people a yes-or-no question or for a value,
// depending on the form of the answer.
func TestNewTypesAtTheRelay(t *testing.T) {
	h := startHostd(t)
	source := h.source()
	var out strings.Builder
	ended := make(chan error, 1)
	p := compile(t)
	go func() {
		ended <- p.Run(t.Context(), engine.Options{Environ: []string{"PATH=/bin:/usr/bin"}, Output: engine.Output{To: &out}, Answers: engine.Answers{Relay: source}})
	}()
	h.decide(t)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	source.End(0)
	if got := out.String(); !strings.HasSuffix(got, "\nconfirm c {\"decision\":\"allow\",\"scope\":\"once\",\"match\":\"args\"}\nwhich w spaces\n") {
		t.Error(got)
	}
}

// TestNewTypesOfARun checks that requests of a host that is another run are answered in the same
// way.
func TestNewTypesOfARun(t *testing.T) {
	h := startHostd(t)
	source := h.source()
	file := filepath.Join(t.TempDir(), "answers")
	ended := make(chan int, 1)
	go func() {
		ended <- hostrun.Run(t.Context(), hostrun.Options{Source: source, Name: "W", Command: []string{"sh", "-c", asks + `echo "$one$two" > "$0"`, file},
			Dir: t.TempDir(), Environ: []string{"PATH=/bin:/usr/bin"}, Prompt: "go"})
	}()
	h.decide(t)
	if code := <-ended; code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	source.End(0)
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"response","in_reply_to":"confirm","answer_to":"c","value":"yes"}{"type":"response","in_reply_to":"which","answer_to":"w","value":"spaces"}` + "\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

// TestNewTypesAreChecked checks that `concerto host test` sends a harmless answer to the new types
// of messages: it denies approvals and chooses the last option.
func TestNewTypesAreChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers")
	o := hostcheck.Options{Config: host.Config{Name: "W", Connector: "w", Command: "sh", Args: []string{"-c", asks + `echo "$one$two" >> "$0"`, file}, InputFormat: "json", OutputFormat: "json"},
		Environ: []string{"PATH=/bin:/usr/bin"}, Only: []string{"prompt"}}
	err := hostcheck.Run(t.Context(), o, func(v hostcheck.Verdict) { t.Logf("%+v", v) })
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"in_reply_to":"confirm","answer_to":"c","value":"no"`, `"in_reply_to":"which","answer_to":"w","value":"spaces"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the wire trace does not contain %s:\n%s", want, got)
		}
	}
}
