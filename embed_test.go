package concerto_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto"
)

const triage = `
struct Ticket { title: String, urgent: Bool = false, tags: Array<String> = [] }
struct Verdict { queue: String, score: Int, of: Ticket }

pub fn triage(ticket: Ticket, limit: Int = 5) -> Verdict {
    emit("seen", ticket.title);
    Verdict { queue: if ticket.urgent { "now" } else { "later" }, score: if ticket.tags.len() < limit { ticket.tags.len() } else { limit }, of: ticket }
}

pub fn fails() -> Result<Int, ParseError> { "x".parse_int() }
pub fn panics() { panic("gone"); }
pub fn endless() { loop { } }
pub fn applies(f: fn(Int) -> Int) -> Int { f(1) }
fn hidden() -> Int { 1 }
fn main() { emit("main"); }
`

type ticket struct {
	Title  string   `json:"title"`
	Urgent bool     `json:"urgent"`
	Tags   []string `json:"tags"`
}

// TestCall calls functions of a program with structs, and reads their results as structs.
func TestCall(t *testing.T) {
	p := load(t, triage)
	var seen []string
	o := concerto.Options{OnEmit: func(e concerto.Emit) { seen = append(seen, e.Channel+string(e.Payload)) }}
	r, err := p.Call(t.Context(), "triage", map[string]any{"ticket": ticket{"late", true, []string{"a", "b"}}, "limit": 1}, o)
	if err != nil {
		t.Fatal(err)
	}
	type verdict struct {
		Queue string `json:"queue"`
		Score int    `json:"score"`
		Of    ticket `json:"of"`
	}
	got, err := concerto.As[verdict](r)
	if d := cmp.Diff(verdict{"now", 1, ticket{"late", true, []string{"a", "b"}}}, got); d != "" || err != nil {
		t.Errorf("verdict differs (-want +got), error %v:\n%s", err, d)
	}
	if d := cmp.Diff([]string{`seen"late"`}, seen); d != "" || r.RunID == "" {
		t.Errorf("run %q, emits differ (-want +got):\n%s", r.RunID, d)
	}
	for _, x := range []struct {
		function string
		args     any
		kind     error
		part     string
	}{
		{"hidden", nil, concerto.ErrNotCallable, "it has triage, fails"},
		{"missing", nil, concerto.ErrNotCallable, "`missing`"},
		{"applies", map[string]any{"f": 1}, concerto.ErrNotCallable, "cannot be decoded from JSON"},
		{"triage", nil, concerto.ErrNotCallable, "ticket"},
		{"triage", map[string]any{"ticket": ticket{}, "limit": "many"}, concerto.ErrNotCallable, "limit"},
		{"triage", map[string]any{"ticket": ticket{}, "limits": 1}, concerto.ErrNotCallable, "limits"},
		{"triage", 7, concerto.ErrNotCallable, "object"},
		{"triage", func() {}, nil, "encode the arguments"},
		{"fails", nil, concerto.ErrProgram, ""},
		{"panics", nil, concerto.ErrProgram, "gone"},
	} {
		seen = nil
		_, err := p.Call(t.Context(), x.function, x.args, o)
		var e *concerto.Error
		if !errors.As(err, &e) || x.kind != nil && !errors.Is(err, x.kind) || !strings.Contains(err.Error(), x.part) || len(seen) > 0 {
			t.Errorf("%s(%v): error %v, emits %v; want an error of kind %v with %q", x.function, x.args, err, seen, x.kind, x.part)
		}
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := p.Call(ctx, "endless", nil, o); !errors.Is(err, stop) {
		t.Errorf("a cancelled call: error %v, want its cause", err)
	}
	if _, err := concerto.As[string](&concerto.Result{}); err == nil {
		t.Error("As decodes a missing result")
	}
	if _, err := concerto.As[string](r); err == nil || !strings.Contains(err.Error(), "decode the result") {
		t.Errorf("As of another type: error %v", err)
	}
	ir, err := concerto.LoadIR(p.IR())
	if err != nil {
		t.Fatal(err)
	}
	_, err = ir.Call(t.Context(), "triage", nil, o)
	asError(t, err, concerto.ErrNotCallable)
}

// TestModelSeesTheRequest checks that a Model receives all of a request, and how its errors and the
// reasons for the end of its replies reach the program.
func TestModelSeesTheRequest(t *testing.T) {
	dir := t.TempDir()
	png := []byte("\x89PNG\r\n\x1a\nthe rest")
	for name, data := range map[string][]byte{"a.png": png, "b.txt": []byte("text")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := load(t, `
agent Eye uses any {
    model: "m", temperature: 0.5, max_tokens: 9, stop_sequences: ["END"], seed: 3,
    retry_policy: { max_attempts: 3, backoff: "none", initial_delay_ms: 1 },
}

fn main() {
    match Eye.with_files(["a.png", "b.txt"]).execute("look") {
        Ok(r) => emit("reply", { text: r.text, stop: r.stop_reason }),
        Err(e) => emit("error", { reason: e.reason, retryable: e.retryable, status: e.status, id: e.request_id }),
    }
}`)
	var requests []concerto.ModelRequest
	run := func(model concerto.Model) string {
		t.Helper()
		requests = nil
		var out bytes.Buffer
		_, err := p.Run(t.Context(), concerto.Options{Dir: dir, Output: &out, Permissions: concerto.AllowAll(),
			Model: func(ctx context.Context, r concerto.ModelRequest) (concerto.ModelReply, error) {
				requests = append(requests, r)
				return model(ctx, r)
			}})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	got := run(func(context.Context, concerto.ModelRequest) (concerto.ModelReply, error) {
		if len(requests) < 2 {
			return concerto.ModelReply{}, &concerto.ModelError{Message: "busy", Retryable: true, Status: 529}
		}
		return concerto.ModelReply{Text: "a cat", StopReason: concerto.StopLength}, nil
	})
	if want := `[reply] {"text":"a cat","stop":"length"}`; got != want || len(requests) != 2 {
		t.Errorf("output %q after %d requests, want %q after 2", got, len(requests), want)
	}
	r := requests[0]
	if len(r.Messages) != 1 || r.Temperature == nil || *r.Temperature != 0.5 || r.MaxTokens == nil || *r.MaxTokens != 9 || r.Seed == nil || *r.Seed != 3 || !slices.Equal(r.Stop, []string{"END"}) {
		t.Fatalf("request = %+v", r)
	}
	if d := cmp.Diff([]concerto.ModelFile{{Name: "a.png", Type: "image/png", Data: png}, {Name: "b.txt", Type: "text/plain", Data: []byte("text")}}, r.Messages[0].Files); d != "" {
		t.Errorf("files differ (-want +got):\n%s", d)
	}
	for want, failure := range map[string]error{
		`[error] {"reason":"auth","retryable":false,"status":401,"id":"r1"}`:    &concerto.ModelError{Message: "no", Status: 401, RequestID: "r1"},
		`[error] {"reason":"script","retryable":false,"status":503,"id":null}`:  &concerto.ModelError{Message: "never again", Status: 503},
		`[error] {"reason":"script","retryable":false,"status":null,"id":null}`: errors.New("no"),
		`[error] {"reason":"quota","retryable":false,"status":429,"id":null}`:   &concerto.ModelError{Reason: "quota", Message: "no credit", Status: 429},
		`[error] {"reason":"rate","retryable":false,"status":null,"id":null}`:   &concerto.ModelError{Reason: "rate", Message: "come tomorrow"},
		`[error] {"reason":"script","retryable":false,"status":529,"id":null}`:  &concerto.ModelError{Reason: "tired", Message: "no", Status: 529, Retryable: true},
	} {
		got := run(func(context.Context, concerto.ModelRequest) (concerto.ModelReply, error) {
			return concerto.ModelReply{}, failure
		})
		if got != want || len(requests) != 1 {
			t.Errorf("error %+v: output %q after %d requests, want %q after 1", failure, got, len(requests), want)
		}
	}
	for _, reply := range []concerto.ModelReply{{Text: "x", StopReason: "done"}, {Text: "x", Items: []json.RawMessage{json.RawMessage("{")}}} {
		got = run(func(context.Context, concerto.ModelRequest) (concerto.ModelReply, error) { return reply, nil })
		if !strings.Contains(got, `"reason":"script"`) {
			t.Errorf("the invalid reply %+v: output %q", reply, got)
		}
	}
}

// TestModelItems checks that the hidden content of a reply returns in the requests with the results
// of its tool calls, also after a request that was repeated, in no later call of the agent, and
// from a tape; that the program receives all numbers of tokens; and that a secret of the run in the
// content drops it.
func TestModelItems(t *testing.T) {
	p := load(t, `
use std::env;

tool Shop {
    description: "The shop",
    @describe("Looks something up")
    pub fn look(self, what: String) -> Int { 3 }
}

memory notes: Memory = Memory::new();

agent Clerk uses any {
    tools: [Shop], reasoning_effort: "high",
    retry_policy: { max_attempts: 2, backoff: "none", initial_delay_ms: 1 },
}

fn main() {
    let _key = env::get("API_KEY");
    let talk = Clerk.with_memory(notes);
    let r = talk.execute("count")?;
    emit("reply", [r.text, r.model, r.tokens_in, r.tokens_cached, r.tokens_cache_write, r.tokens_out, r.tokens_reasoning]);
    emit("reply", talk.execute("again")?.text);
}`)
	hidden := []json.RawMessage{json.RawMessage(`{"signature":"s1"}`), json.RawMessage(`"text"`)}
	run := func(items []json.RawMessage) (requests []concerto.ModelRequest, output string, tape []byte) {
		t.Helper()
		var out, recorded bytes.Buffer
		_, err := p.Run(t.Context(), concerto.Options{Output: &out, Permissions: concerto.AllowAll(), Env: []string{"API_KEY=the-secret"}, Records: concerto.Records{Tape: &recorded},
			Model: func(_ context.Context, r concerto.ModelRequest) (concerto.ModelReply, error) {
				requests = append(requests, r)
				switch len(requests) {
				case 1:
					return concerto.ModelReply{TokensIn: 1, TokensOut: 1, Items: items, ToolCalls: []concerto.ModelToolCall{{Name: "Shop_look", Args: json.RawMessage(`{"what":"pens"}`)}}}, nil
				case 2:
					return concerto.ModelReply{}, &concerto.ModelError{Reason: "overloaded", Message: "busy", Retryable: true, RetryAfter: time.Millisecond}
				case 3:
					return concerto.ModelReply{Text: "three", Model: "m-2", TokensIn: 90, TokensCached: 40, TokensCacheWrite: 30, TokensOut: 20, TokensReasoning: 10}, nil
				}
				return concerto.ModelReply{Text: "as before"}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		return requests, out.String(), recorded.Bytes()
	}
	requests, output, tape := run(hidden)
	if want := "[reply] [\"three\",\"m-2\",91,40,30,21,10]\n[reply] as before\n"; output != want || len(requests) != 4 {
		t.Fatalf("output %q after %d requests, want %q after 4", output, len(requests), want)
	}
	for i, r := range requests {
		for _, m := range r.Messages {
			var want []json.RawMessage
			if (i == 1 || i == 2) && m.Role == "assistant" {
				want = hidden
			}
			if d := cmp.Diff(want, m.Items); d != "" {
				t.Errorf("request %d, message of the role %s: items differ (-want +got):\n%s", i+1, m.Role, d)
			}
		}
		if r.Effort != "high" {
			t.Errorf("request %d: effort %q", i+1, r.Effort)
		}
	}
	opened, err := concerto.ReadTape(bytes.NewReader(tape))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if _, err := p.Replay(t.Context(), opened, concerto.Options{Output: &again}); err != nil || again.String() != output {
		t.Errorf("replay: output %q, error %v", again.String(), err)
	}
	requests, _, _ = run([]json.RawMessage{json.RawMessage(`"with the-secret"`)})
	for _, m := range requests[2].Messages {
		if m.Items != nil {
			t.Errorf("hidden content with a secret returned: %s", m.Items)
		}
	}
}

// TestLoadContext checks that loading stops with its context.
func TestLoadContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main.conc")
	if err := os.WriteFile(file, []byte("fn main() { }"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, err := concerto.LoadContext(ctx, file); err != nil {
		t.Error(err)
	}
	cancel(stop)
	if p, err := concerto.LoadContext(ctx, file); p != nil || !errors.Is(err, stop) {
		t.Errorf("program %v, error %v, want the cause", p, err)
	}
}

// TestDiagnosticFixes applies the fix of a diagnostic to the source.
func TestDiagnosticFixes(t *testing.T) {
	_, err := concerto.LoadSource("main.conc", "fn add(a: Int, b: Int) -> Int { a + b }\nfn main() { println(add(1, \"2\")); }\n")
	d := asError(t, err, concerto.ErrSource).Diagnostics[0]
	if len(d.Labels) == 0 || d.Labels[0].Place.Line != 1 || d.Labels[0].Place.File != "main.conc" || d.Labels[0].Text == "" {
		t.Errorf("diagnostic = %+v, want a label in line 1", d)
	}
	const source = "fn main() { let unsued = 1; }\n"
	warnings := load(t, source).Warnings()
	if len(warnings) != 1 || len(warnings[0].Fixes) == 0 {
		t.Fatalf("warnings = %+v, want one with a fix", warnings)
	}
	unread := warnings[0]
	text := source
	for _, edit := range slices.Backward(unread.Fixes[0].Edits) {
		if edit.File != "main.conc" {
			t.Errorf("edit of %q", edit.File)
		}
		text = text[:edit.Start] + edit.Text + text[edit.End:]
	}
	if !strings.Contains(text, "_unsued") {
		t.Errorf("the fixed source is:\n%s", text)
	}
}

// TestToolsAreListed checks that tools can be read back, and added to other Tools with their
// handlers.
func TestToolsAreListed(t *testing.T) {
	var all, other concerto.Tools
	hello := concerto.NewTool("hello", "greets", func(_ context.Context, in struct{ Name string }) (string, error) { return "hello, " + in.Name, nil })
	hello.Category, hello.OnApprovalTimeout = "demo", concerto.AllowCall
	newer := hello
	newer.Version = 2
	if err := all.Add(hello, newer); err != nil {
		t.Fatal(err)
	}
	if got := all.List(); len(got) != 2 || got[0].Version != 1 || got[1].Version != 2 || got[0].Category != "demo" || got[0].OnApprovalTimeout != concerto.AllowCall || got[0].Scope != concerto.ScopeAll {
		t.Errorf("tools = %+v", got)
	}
	one, ok := all.Get("hello@1")
	if latest, has := all.Get("hello"); !ok || !has || one.Version != 1 || latest.Version != 2 {
		t.Errorf("hello@1 = %+v, hello = %+v", one, latest)
	}
	if _, ok := all.Get("gone"); ok {
		t.Error("a tool that does not exist was found")
	}
	if err := other.Add(one); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err := load(t, `fn main() { println(dispatch_tool("hello", { Name: "ada" })); }`).Run(t.Context(), concerto.Options{Output: &out, Tools: &other})
	if err != nil || out.String() != "hello, ada\n" {
		t.Errorf("output %q, error %v", &out, err)
	}
	if err := other.Add(concerto.Tool{Name: "odd", Handler: func(context.Context, json.RawMessage) (any, error) { return nil, nil }, OnApprovalTimeout: "later"}); err == nil {
		t.Error("a tool with an unknown action was added")
	}
}

type counted struct{ closed *atomic.Int32 }

func (c counted) Close() error { c.closed.Add(1); return nil }

// TestToolOfARun checks that a tool with ScopeRun has a handler for each run, which is closed.
func TestToolOfARun(t *testing.T) {
	var tools concerto.Tools
	var opened, closed atomic.Int32
	err := tools.Add(concerto.Tool{Name: "next", Scope: concerto.ScopeRun, Open: func(context.Context) (concerto.ToolHandler, io.Closer, error) {
		opened.Add(1)
		n := 0
		return func(context.Context, json.RawMessage) (any, error) { n++; return n, nil }, counted{&closed}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := load(t, `fn main() { dispatch_tool("next", {}); println(dispatch_tool("next", {})); }`)
	for range 2 {
		var out bytes.Buffer
		if _, err := p.Run(t.Context(), concerto.Options{Output: &out, Tools: &tools}); err != nil || out.String() != "2\n" {
			t.Errorf("output %q, error %v, want 2", &out, err)
		}
	}
	if opened.Load() != 2 || closed.Load() != 2 {
		t.Errorf("opened %d times, closed %d times, want 2", opened.Load(), closed.Load())
	}
}

// TestLog checks that a logger receives the lines for which it is enabled.
func TestLog(t *testing.T) {
	p := load(t, `use std::log; fn main() { log::debug("d"); log::info("i", { n: 1 }); log::error("e"); }`)
	for level, want := range map[slog.Level]string{slog.LevelDebug: "level=DEBUG msg=d", slog.LevelInfo: "level=INFO msg=\"i {\\\"n\\\":1}\"", slog.LevelError: "level=ERROR msg=e"} {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))
		if _, err := p.Run(t.Context(), concerto.Options{Log: log}); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(out.String(), "\n")
		if !strings.HasSuffix(first, want) {
			t.Errorf("at level %v the first line is %q, want %q", level, first, want)
		}
	}
}

// TestDurableOptions checks that a wrong setting of a durable run is refused, and that the
// questions of a suspended run have the type of their answer.
func TestDurableOptions(t *testing.T) {
	p := load(t, `fn main() { emit("got", await emit<Int>("how_many", "?")?); }`)
	for part, d := range map[string]concerto.Durable{"Durable.Dir is empty": {}, `Durable.Sync is "evry"`: {Dir: t.TempDir(), Sync: "evry"}} {
		if _, err := p.Run(t.Context(), concerto.Options{Durable: &d}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%+v: error %v, want %q", d, err, part)
		}
	}
	r, err := p.Run(t.Context(), concerto.Options{Durable: &concerto.Durable{Dir: filepath.Join(t.TempDir(), "run"), SuspendOnQuestion: true, Sync: concerto.SyncEvery}})
	asError(t, err, concerto.ErrSuspended)
	if len(r.Questions) != 1 || r.Questions[0].Type != "Int" || r.Questions[0].Channel != "how_many" {
		t.Errorf("questions = %+v, want one of type Int", r.Questions)
	}
}

const supervised = `
host Worker { connector: worker, timeout: 60 }



fn main() {
    let r = listen Worker.execute("build ${std::env::args()[0]}") {
        "progress" => |p| { emit("progress", p.message); },
        "question" => |q| { "answer to ${q.question}" },
        "approval" => |a| { a.tool == "read" },
    };
    match r { Ok(done) => emit("done", done), Err(e) => emit("failed", e.message) }
}`

// TestGoHost runs a program whose host is a Go function: with progress, questions, approvals,
// results of several forms, errors and panics.
func TestGoHost(t *testing.T) {
	p := load(t, supervised)
	run := func(h concerto.Host, o concerto.Options) string {
		t.Helper()
		var out strings.Builder
		o.OnEmit = func(e concerto.Emit) {
			if !strings.HasPrefix(e.Channel, "listen:") {
				out.WriteString("[" + e.Channel + "] " + strings.Trim(string(e.Payload), `"`) + "\n")
			}
		}
		o.Args, o.Hosts = []string{"x"}, map[string]concerto.Host{"Worker": h}
		if _, err := p.Run(t.Context(), o); err != nil {
			t.Error(err)
		}
		return out.String()
	}
	got := run(func(_ context.Context, s *concerto.HostSession) error {
		if err := s.Progress("begun " + s.Prompt); err != nil {
			return err
		}
		answer, err := s.Ask("which?", "a", "b")
		if err != nil {
			return err
		}
		var decisions []bool
		for _, tool := range []string{"read", "write"} {
			d, err := s.Approve("use it", tool, map[string]int{"n": 1})
			if err != nil {
				return err
			}
			decisions = append(decisions, d.Allow)
		}
		s.Finish(map[string]any{"answer": answer, "decisions": decisions})
		return nil
	}, concerto.Options{})
	want := "[progress] begun build x\n[done] {\"answer\":\"answer to which?\",\"decisions\":[true,false]}\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the output differs (-want +got):\n%s", d)
	}
	for want, h := range map[string]concerto.Host{
		"[done] {\"text\":\"hello\"}\n": func(_ context.Context, s *concerto.HostSession) error { s.Finish("hello"); return nil },
		"[done] {\"text\":\"\"}\n":      func(context.Context, *concerto.HostSession) error { return nil },
		"no idea":                       func(context.Context, *concerto.HostSession) error { return errors.New("no idea") },
		"panic: oh":                     func(context.Context, *concerto.HostSession) error { panic("oh") },
		"not a JSON object":             func(_ context.Context, s *concerto.HostSession) error { s.Finish(7); return nil },
		"[progress] one\n": concerto.ScriptedHost(concerto.HostMessage{Type: "progress", Members: map[string]string{"message": "one"}},
			concerto.HostMessage{Type: "question", Members: map[string]string{"question": "q"}}, concerto.HostMessage{Type: "result", Members: "two"}),
	} {
		if got := run(h, concerto.Options{Permissions: &concerto.Permissions{}}); !strings.Contains(got, want) {
			t.Errorf("output %q, want %q", got, want)
		}
	}
}

// TestGoHostIsLate checks that a session sends nothing after its exchange has ended, so that the
// next exchange does not receive it, and that members cannot replace those of the session.
func TestGoHostIsLate(t *testing.T) {
	p := load(t, `
host Worker { connector: worker, timeout: 60 }
fn main() {
    for prompt in ["one", "two"] {
        let r = listen Worker.execute(prompt) { "progress" => |p| { emit("progress", p.message); } };
        emit("done", r?.text);
    }
}`)
	var got []string
	var first *concerto.HostSession
	_, err := p.Run(t.Context(), concerto.Options{
		OnEmit: func(e concerto.Emit) {
			if !strings.HasPrefix(e.Channel, "listen:") {
				got = append(got, e.Channel+string(e.Payload))
			}
		},
		Hosts: map[string]concerto.Host{"Worker": func(_ context.Context, s *concerto.HostSession) error {
			if first == nil {
				first = s
				for _, members := range []map[string]string{{"type": "result"}, {"question": "q", "id": "1"}} {
					if _, err := s.Request(concerto.HostMessage{Type: "question", Members: members}); err == nil || !strings.Contains(err.Error(), "which the session sets") {
						t.Errorf("members %v: error %v", members, err)
					}
				}
			} else {
				if err := first.Progress("late"); !errors.Is(err, concerto.ErrRefused) {
					t.Errorf("late progress: error %v", err)
				}
				if _, err := first.Ask("late?"); !errors.Is(err, concerto.ErrRefused) {
					t.Errorf("late question: error %v", err)
				}
			}
			s.Finish(s.Prompt)
			return nil
		}},
	})
	if d := cmp.Diff([]string{`done"one"`, `done"two"`}, got); d != "" || err != nil {
		t.Errorf("error %v, emits differ (-want +got):\n%s", err, d)
	}
}

// TestGoHostEnds checks that a Go host ends with its run, and that its requests then fail.
func TestGoHostEnds(t *testing.T) {
	p := load(t, `
host Worker { connector: worker, timeout: 60 }
fn main() { Worker.execute("go")?; }`)
	ctx, cancel := context.WithCancel(t.Context())
	var late error
	ended := make(chan struct{})
	_, err := p.Run(ctx, concerto.Options{Hosts: map[string]concerto.Host{"Worker": func(ctx context.Context, s *concerto.HostSession) error {
		defer close(ended)
		cancel()
		<-ctx.Done()
		_, late = s.Ask("still there?")
		return nil
	}}})
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatalf("the host did not end; run: %v", err)
	}
	if !errors.Is(err, context.Canceled) || !errors.Is(late, concerto.ErrRefused) {
		t.Errorf("run: %v, request: %v", err, late)
	}
	for part, o := range map[string]concerto.Options{
		"cannot have them": {Durable: &concerto.Durable{Dir: t.TempDir()}, Hosts: map[string]concerto.Host{"Worker": concerto.ScriptedHost()}},
		"declares no host": {Hosts: map[string]concerto.Host{"worker": concerto.ScriptedHost()}},
		"is nil":           {Hosts: map[string]concerto.Host{"Worker": nil}},
	} {
		if _, err := p.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want %q", err, part)
		}
	}
}
