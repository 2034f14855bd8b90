package concerto_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto"
)

// load compiles a program from its text.
func load(t *testing.T, text string) *concerto.Program {
	t.Helper()
	p, err := concerto.LoadSource("main.conc", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// asError returns err as an *Error and checks its kind.
func asError(t *testing.T, err, kind error) *concerto.Error {
	t.Helper()
	e, ok := errors.AsType[*concerto.Error](err)
	if !ok || !errors.Is(err, kind) || e.Kind != kind {
		t.Fatalf("error = %v, want kind %v", kind, err)
	}
	return e
}

// TestLoadFS checks that LoadFS reads modules, the manifest and scripts from the file system only.
func TestLoadFS(t *testing.T) {
	files := fstest.MapFS{
		"app/Concerto.toml":  {Data: []byte("[project]\nname = \"app\"\nentry = \"src/main.conc\"\n\n[connections.judge]\nprovider = \"scripted\"\nscript = \"replies.json\"\n")},
		"app/replies.json":   {Data: []byte(`[{"text": "fine"}]`)},
		"app/src/main.conc":  {Data: []byte("mod words;\n\nagent Judge uses judge { }\n\nfn main() { println(words::shout(Judge.execute(\"how is it?\")?.text)); }\n")},
		"app/src/words.conc": {Data: []byte("pub fn shout(s: String) -> String { \"${s}!\" }\n")},
		"bare/readme.md":     {Data: []byte("nothing")},
	}
	for _, name := range []string{"app", "app/src/main.conc"} {
		p, err := concerto.LoadFS(files, name)
		if err != nil {
			t.Fatalf("LoadFS(%s) failed: %+v", name, err)
		}
		var out bytes.Buffer
		if _, err := p.Run(t.Context(), concerto.Options{Output: &out}); err != nil || out.String() != "fine!\n" {
			t.Errorf("%s: output = %q, error = %v", name, out.String(), err)
		}
	}
	for _, name := range []string{"none", "bare", "bare/readme.md", "app/src/none.conc"} {
		_, err := concerto.LoadFS(files, name)
		asError(t, err, concerto.ErrNotFound)
	}
	if _, err := concerto.LoadFS(files, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestDiagnostics(t *testing.T) {
	_, err := concerto.LoadSource("main.conc", "fn main() {\n\n    let n: Int = \"three\";\n    println(n);\n}\n")
	e := asError(t, err, concerto.ErrSource)
	if e.Code != "E0301" || e.Place.Line != 3 || len(e.Diagnostics) != 1 {
		t.Errorf("diagnostics = %+v", e)
	}
	if got := e.Diagnostics[0].String(); !strings.HasPrefix(got, "main.conc:3:18: error[E0301]: ") {
		t.Error(got)
	}
	p := load(t, "fn main() { let unused = 1; }")
	if w := p.Warnings(); len(w) != 1 || !w[0].Warning || w[0].Line != 1 || w[0].EndColumn <= w[0].Column {
		t.Errorf("warnings = %+v", w)
	}
}

// TestErrors checks that each kind of failure returns an *Error of the corresponding kind.
func TestErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := concerto.Load(filepath.Join(dir, "none.conc"))
	asError(t, err, concerto.ErrNotFound)
	_, err = concerto.LoadIR([]byte("{}"))
	asError(t, err, concerto.ErrInvalidIR)
	_, err = concerto.OpenRun(dir)
	asError(t, err, concerto.ErrNoRun)

	_, err = load(t, "fn helper() { }").Run(t.Context(), concerto.Options{})
	asError(t, err, concerto.ErrNoMain)

	_, err = load(t, "fn fail() {\n    throw AgentError::new(\"x\");\n}\nfn main() { fail(); }").Run(t.Context(), concerto.Options{})
	e := asError(t, err, concerto.ErrProgram)
	if e.Code != "AgentError" || e.Message != "x" || e.Place.Line != 2 || e.Place.Function != "fail" || len(e.Trace) != 2 || !strings.HasSuffix(err.Error(), ": x") {
		t.Errorf("error = %+v", e)
	}
	_, err = load(t, "fn main() { panic(\"gone\"); }").Run(t.Context(), concerto.Options{})
	if e := asError(t, err, concerto.ErrProgram); e.Code != "panic" {
		t.Errorf("error = %+v", e)
	}
	_, err = load(t, "fn main() -> Int { std::process::exit(3) }").Run(t.Context(), concerto.Options{})
	if e := asError(t, err, concerto.ErrProgram); e.Code != "exit" || e.Message != "the program exited with code 3" || e.Place.Line != 1 {
		t.Errorf("error = %+v", e)
	}
	if r, err := load(t, "fn main() -> Int { std::process::exit(0) }").Run(t.Context(), concerto.Options{}); err != nil || string(r.Value) != "null" {
		t.Errorf("exit(0) = %s, %v", r.Value, err)
	}
	if r, err := load(t, "fn main() -> Int { 300 }").Run(t.Context(), concerto.Options{}); err != nil || string(r.Value) != "300" {
		t.Errorf("an Int of main = %s, %v", r.Value, err)
	}
	_, err = load(t, "fn main() { loop { } }").Run(t.Context(), concerto.Options{Budget: concerto.Budget{Time: time.Millisecond}})
	asError(t, err, concerto.ErrTimeLimit)

	if err := os.WriteFile(filepath.Join(dir, "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = load(t, "fn main() { }").Run(t.Context(), concerto.Options{Durable: &concerto.Durable{Dir: dir}})
	asError(t, err, concerto.ErrRunExists)

	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := load(t, "fn main() { loop { } }").Run(ctx, concerto.Options{}); err != stop {
		t.Error(err)
	}
	if _, err := load(t, "fn main() { }").Run(t.Context(), concerto.Options{Input: 7}); err == nil {
		t.Error("Run accepts an input that is no object")
	}
	if _, err := load(t, "fn main() { }").Run(t.Context(), concerto.Options{Permissions: &concerto.Permissions{Net: []string{"https://example.com"}}}); err == nil {
		t.Error("Run accepts a URL as a network host")
	}
}

// TestAnswers: an answer, a refusal, and that there is none.
func TestAnswers(t *testing.T) {
	p := load(t, `fn main() {
    for what in ["a", "b", "c"] {
        match await emit("ask", what) { Ok(v) => println(v), Err(e) => println("${e.reason}: ${e.message}") }
    }
}`)
	var out bytes.Buffer
	var emits []string
	_, err := p.Run(t.Context(), concerto.Options{Output: &out,
		OnEmit: func(e concerto.Emit) { emits = append(emits, e.Channel+string(e.Payload)) },
		AnswerEmit: func(_ context.Context, e concerto.Emit) (any, error) {
			switch string(e.Payload) {
			case `"a"`:
				return map[string]int{"n": 1}, nil
			case `"b"`:
				return nil, errors.New("not now")
			}
			return nil, fmt.Errorf("asked: %w", concerto.ErrNoAnswer)
		}})
	if err != nil {
		t.Fatal(err)
	}
	want := "{\"n\":1}\nrefused: not now\nno_listener: no handler is available to answer\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{`ask"a"`, `ask"b"`, `ask"c"`}, emits); d != "" {
		t.Error(d)
	}
}

// TestModel checks Options.Model: the function receives the requests of an agent with the whole
// conversation, and its replies can call tools.
func TestModel(t *testing.T) {
	p, err := concerto.LoadFS(fstest.MapFS{
		"Concerto.toml": {Data: []byte("[connections.paid]\nprovider = \"openai\"\napi_key_env = \"KEY\"\ndefault_model = \"m-1\"\n")},
		"main.conc":     {Data: []byte("agent Clerk uses paid { system_prompt: \"Be brief.\" }\n\nfn main() { println(Clerk.execute(\"How many?\")?.text); }\n")},
	}, "main.conc")
	if err != nil {
		t.Fatalf("%+v", err)
	}
	var tools concerto.Tools
	type in struct {
		SKU string `json:"sku"`
	}
	stock := concerto.NewTool("stock", "Pieces in stock", func(ctx context.Context, x in) (int, error) {
		c := concerto.ToolCallFrom(ctx)
		return len(x.SKU), c.Emit("looked", c.Metadata["user"])
	})
	if err := tools.Add(stock); err != nil {
		t.Fatal(err)
	}
	if err := tools.Add(stock); err == nil || tools.Replace(stock) != nil {
		t.Error("Add accepts a second tool with the same name, or Replace fails")
	}
	if err := tools.Add(concerto.NewTool("bad", "", func(context.Context, int) (int, error) { return 0, nil })); err == nil {
		t.Error("Add accepts a tool whose parameter is an int")
	}
	script := concerto.ScriptedModel(
		concerto.ModelReply{ToolCalls: []concerto.ModelToolCall{{Name: "stock", Args: json.RawMessage(`{"sku":"a12"}`)}}},
		concerto.ModelReply{Text: "three", TokensIn: 10, TokensOut: 5})
	var requests []concerto.ModelRequest
	var out, emits bytes.Buffer
	r, err := p.Run(t.Context(), concerto.Options{Tools: &tools, Output: &out, Session: concerto.Session{Metadata: map[string]any{"user": "ada"}},
		OnEmit: func(e concerto.Emit) { fmt.Fprintf(&emits, "%s %s\n", e.Channel, e.Payload) },
		Model: func(ctx context.Context, q concerto.ModelRequest) (concerto.ModelReply, error) {
			requests = append(requests, q)
			return script(ctx, q)
		}})
	if err != nil || out.String() != "three\n" || emits.String() != "looked \"ada\"\n" {
		t.Fatalf("output = %q, emits = %q, error = %v", out.String(), emits.String(), err)
	}
	if len(requests) != 2 || requests[0].Agent != "Clerk" || requests[0].Model != "m-1" || requests[0].System != "Be brief." || requests[0].Tools[0].Name != "stock" {
		t.Fatalf("requests = %+v", requests)
	}
	last := requests[1].Messages
	if n := len(last); n != 3 || last[1].ToolCalls[0].Name != "stock" || last[2].Role != "tool" || last[2].Text != "3" || last[2].ToolCallID != last[1].ToolCalls[0].ID {
		t.Errorf("messages of the second request = %+v", last)
	}
	if r.Usage.Calls != 2 || r.UsageByModel[0].Connection != "paid" || r.UsageByModel[0].Model != "m-1" || r.UsageByAgent[0].Agent != "Clerk" || r.Usage.TokensOut < 5 {
		t.Errorf("result = %+v", r)
	}
	_, err = p.Run(t.Context(), concerto.Options{Model: concerto.ScriptedModel()})
	if e := asError(t, err, concerto.ErrProgram); e.Code != "AgentError" || !strings.Contains(e.Message, "all 0 replies of the script are used") {
		t.Errorf("error = %+v", e)
	}
}

// TestReplay checks that the replay of a tape returns the same result as the recorded run.
func TestReplay(t *testing.T) {
	p := load(t, "use std::env;\nuse std::random;\n\nfn main() -> String { \"${env::get(\"WHO\") ?? \"\"} ${random::int(1, 1_000_000)}\" }")
	var tape bytes.Buffer
	first, err := p.Run(t.Context(), concerto.Options{Env: []string{"WHO=ada"}, Permissions: &concerto.Permissions{Env: []string{"WHO"}}, Records: concerto.Records{Tape: &tape}})
	if err != nil {
		t.Fatal(err)
	}
	read := func() *concerto.Tape {
		recorded, err := concerto.ReadTape(bytes.NewReader(tape.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		return recorded
	}
	replayed, err := p.Replay(t.Context(), read(), concerto.Options{})
	if err != nil || string(replayed.Value) != string(first.Value) || replayed.RunID != first.RunID || replayed.Unused != nil {
		t.Errorf("Replay returned %+v, want %+v, error = %v", replayed, first, err)
	}
	other := load(t, "use std::env;\n\nfn main() -> String { env::get(\"WHERE\") ?? \"\" }")
	_, err = other.Replay(t.Context(), read(), concerto.Options{})
	asError(t, err, concerto.ErrDiverged)
	if _, err := concerto.ReadTape(strings.NewReader("{")); err == nil {
		t.Error("ReadTape accepts an incomplete line")
	}
}

const readsFile = "use std::fs;\n\nfn main() { println(fs::read_file(\"a.txt\")?); }"

// TestPermissions checks which runs may read a file: those whose Options.Permissions list it, and
// those of a project whose manifest does. Untrusted source reads nothing by itself.
func TestPermissions(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt", "text")
	write("alone/main.conc", readsFile)
	write("silent/main.conc", readsFile)
	write("silent/Concerto.toml", "[project]\nname = \"silent\"\n")
	write("granted/main.conc", readsFile)
	write("granted/Concerto.toml", "[permissions]\nfs = [\"../a.txt\"]\n")
	write("other/main.conc", readsFile)
	write("other/Concerto.toml", "[permissions]\nfs = [\"b.txt\"]\n")
	loadDir := func(name string) *concerto.Program {
		t.Helper()
		p, err := concerto.Load(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ir := func(p *concerto.Program) *concerto.Program {
		t.Helper()
		q, err := concerto.LoadIR(p.IR())
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	fsys := func(name string) *concerto.Program {
		t.Helper()
		p, err := concerto.LoadFS(os.DirFS(dir), name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	source, alone, silent, granted, other := load(t, readsFile), loadDir("alone/main.conc"), loadDir("silent"), loadDir("granted"), loadDir("other")
	one := &concerto.Permissions{Read: []string{"a.txt"}}
	for _, x := range []struct {
		name    string
		program *concerto.Program
		allowed *concerto.Permissions
		refusal string // a part of the error; "" if the program reads the file
	}{
		{"source", source, nil, `Options.Permissions.Read: ["a.txt"]`},
		{"source", source, &concerto.Permissions{}, `Options.Permissions.Read: ["a.txt"]`},
		{"source", source, &concerto.Permissions{Read: []string{"b.txt"}, Net: []string{"*"}}, `Options.Permissions.Read: ["a.txt"]`},
		{"source", source, one, ""},
		{"source", source, concerto.AllowAll(), ""},
		{"IR of source", ir(source), nil, "Options.Permissions.Read"},
		{"IR of source", ir(source), concerto.AllowAll(), ""},
		{"a file without a manifest", alone, nil, "Options.Permissions.Read"},
		{"a file without a manifest", alone, one, ""},
		{"a manifest without [permissions]", silent, nil, "`fs` in [permissions]"},
		{"a manifest without [permissions]", silent, one, ""},
		{"a manifest that grants it", granted, nil, ""},
		{"a manifest that grants it", granted, &concerto.Permissions{}, "Options.Permissions.Read"},
		{"a manifest in a file system", fsys("silent"), nil, "`fs` in [permissions]"},
		{"IR of a manifest that grants it", ir(granted), nil, "Options.Permissions.Read"},
		{"IR of a manifest that grants it", ir(granted), one, ""},
		{"a manifest that grants other files", other, concerto.AllowAll(), "`fs` in [permissions]"},
	} {
		var out bytes.Buffer
		_, err := x.program.Run(t.Context(), concerto.Options{Dir: dir, ProjectDir: filepath.Join(dir, "granted"), Output: &out, Permissions: x.allowed})
		switch {
		case x.refusal == "" && (err != nil || out.String() != "text\n"):
			t.Errorf("%s with permissions %+v: output %q, error %v", x.name, x.allowed, &out, err)
		case x.refusal != "" && (err == nil || !strings.Contains(err.Error(), x.refusal) || out.Len() > 0):
			t.Errorf("%s with permissions %+v: output %q, error %v, want a refusal with %s", x.name, x.allowed, &out, err, x.refusal)
		}
	}
	want := []concerto.Requirement{{Kind: "read", Detail: "std::fs"}}
	if d := cmp.Diff(want, source.Requirements()); d != "" {
		t.Error(d)
	}
}

// TestNothingIsPermitted tries each kind of resource in source without a manifest.
func TestNothingIsPermitted(t *testing.T) {
	t.Chdir(t.TempDir()) // at which the paths of stores of a source without a manifest start
	allowed := map[string]bool{"read": true, "list": true, "write": true, "temporary": true, "env": true, "run": true, "store": true}
	for name, code := range map[string]string{
		"read": `use std::fs; fn main() { fs::read_file("/etc/passwd")?; }`, "list": `use std::fs; fn main() { fs::list_dir("/")?; }`,
		"write": `use std::fs; fn main() { fs::write_file("x", "y")?; }`, "temporary": `use std::fs; fn main() { fs::temp_dir(); }`,
		"net": `use std::http; fn main() { http::get("http://127.0.0.1:1/")?; }`, "env": `use std::env; fn main() { env::get("HOME")?; }`,
		"run": `use std::tools::RunCommand; fn main() { RunCommand.run("true", [])?; }`, "store": "hashmap s: HashMap<String, Int> = HashMap::new().with_persistence(\"s.db\"); fn main() { s.set(\"a\", 1); }",
	} {
		p, err := concerto.LoadSource("main.conc", code)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, err = p.Run(t.Context(), concerto.Options{Dir: t.TempDir(), Env: []string{"HOME=/root"}})
		if err == nil || !strings.Contains(err.Error(), "Options.Permissions.") {
			t.Errorf("%s: error %v, want one that names the field of Options.Permissions", name, err)
		}
		_, err = p.Run(t.Context(), concerto.Options{Dir: t.TempDir(), Env: os.Environ(), Permissions: concerto.AllowAll()})
		if allowed[name] != (err == nil) || strings.Contains(fmt.Sprint(err), "permitted") {
			t.Errorf("%s: error %v with all permissions", name, err)
		}
	}
}

// TestResumedPermissions checks that resuming grants no more than the run had, unless its options
// do.
func TestResumedPermissions(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := load(t, "use std::fs;\n\nfn main() { let go = await emit(\"go\", 1)?; println(fs::read_file(\"a.txt\")?); }")
	for _, x := range []struct {
		begun, resumed *concerto.Permissions
		reads          bool
	}{{nil, nil, false}, {concerto.AllowAll(), nil, false}, {nil, concerto.AllowAll(), true}} {
		run := filepath.Join(t.TempDir(), "run")
		_, err := p.Run(t.Context(), concerto.Options{Dir: dir, Permissions: x.begun, Durable: &concerto.Durable{Dir: run, SuspendOnQuestion: true}})
		asError(t, err, concerto.ErrSuspended)
		stored, err := concerto.OpenRun(run)
		if err != nil {
			t.Fatal(err)
		}
		if err := stored.Answer(stored.Questions[0].ID, true); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_, err = stored.Resume(t.Context(), concerto.Options{Output: &out, Permissions: x.resumed})
		if (err == nil && out.String() == "text\n") != x.reads || !x.reads && !strings.Contains(fmt.Sprint(err), "not permitted") {
			t.Errorf("begun with %+v, resumed with %+v: output %q, error %v", x.begun, x.resumed, &out, err)
		}
	}
}

// TestLogs checks that concurrent runs can share an audit log and a ledger.
func TestLogs(t *testing.T) {
	dir := t.TempDir()
	records := concerto.Records{AuditFile: filepath.Join(dir, "audit.log"), LedgerFile: filepath.Join(dir, "ledger.log")}
	var tools concerto.Tools
	inside := make(chan bool)
	err := tools.Add(concerto.Tool{Name: "meet", Handler: func(context.Context, json.RawMessage) (any, error) {
		select {
		case inside <- true:
		case <-inside:
		}
		return "met", nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := load(t, `fn main() { println(dispatch_tool("meet", {})); await emit("sure")?; }`)
	errs := make(chan error)
	for range 2 {
		go func() {
			_, err := p.Run(t.Context(), concerto.Options{Tools: &tools, Records: records, AnswerEmit: func(context.Context, concerto.Emit) (any, error) { return true, nil }})
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for _, file := range []string{records.AuditFile, records.LedgerFile} {
		text, err := os.ReadFile(file)
		if err != nil || bytes.Count(text, []byte("\n")) < 2 {
			t.Errorf("log = %s, error = %v, want at least 2 lines", text, err)
		}
	}
}

// TestDurable suspends durable runs at a question and by their context. It then rejects a question
// and resumes the run, and stops another run.
func TestDurable(t *testing.T) {
	t.Parallel()
	p := load(t, "fn main() -> String {\n    match await emit<Bool>(\"ok\") { Ok(v) => \"${v}\", Err(e) => e.message }\n}")
	root := t.TempDir()
	start := func(name string) *concerto.StoredRun {
		dir := filepath.Join(root, name)
		r, err := p.Run(t.Context(), concerto.Options{Durable: &concerto.Durable{Dir: dir, SuspendOnQuestion: true, Metadata: json.RawMessage(`{"for":"ada"}`)}})
		asError(t, err, concerto.ErrSuspended)
		s, err := concerto.OpenRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		if s.State != concerto.RunWaiting || s.ID != r.RunID || len(r.Questions) != 1 || len(s.Questions) != 1 || s.Questions[0].ID != r.Questions[0].ID ||
			s.Questions[0].Type != "Bool" || string(s.Metadata) != `{"for":"ada"}` || s.Started.IsZero() || s.Program != "main.conc" {
			t.Fatalf("stored run = %+v, result = %+v", s, r)
		}
		return s
	}
	s := start("refused")
	if err := s.Answer("q99", true); err == nil {
		t.Error("Answer accepts an unknown question")
	}
	if err := s.Answer(s.Questions[0].ID, "maybe"); err == nil {
		t.Error("Answer accepts a String for a question of type Bool")
	}
	if err := s.Answer(s.Questions[0].ID, errors.New("no budget")); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Resume(t.Context(), concerto.Options{}); err != nil || string(r.Value) != `"no budget"` || r.RunID != s.ID {
		t.Errorf("Resume returned %+v, %v", r, err)
	}
	if err := start("stopped").Stop(t.Context()); err != nil {
		t.Error(err)
	}
	states := map[string]concerto.RunState{}
	all, err := concerto.ListRuns(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		states[filepath.Base(s.Dir)] = s.State
	}
	if d := cmp.Diff(map[string]concerto.RunState{"refused": concerto.RunFinished, "stopped": concerto.RunFailed}, states); d != "" {
		t.Error(d)
	}
	if none, err := concerto.ListRuns(filepath.Join(root, "none")); err != nil || len(none) != 0 {
		t.Error(none, err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the machine restarts")
	_, err = p.Run(ctx, concerto.Options{Durable: &concerto.Durable{Dir: filepath.Join(root, "left"), WaitForAnswer: true},
		OnEmit: func(concerto.Emit) { cancel(why) }})
	if asError(t, err, concerto.ErrSuspended); !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestHostQuestions checks a question of a host that the program does not handle. The application
// receives it. If the run has no AnswerHost, the host receives an error.
func TestHostQuestions(t *testing.T) {
	p, err := concerto.LoadFS(fstest.MapFS{
		"main.conc": {Data: []byte("host W { connector: w, output_format: \"json\", question_timeout: 60 }\n\nfn main() {\n    let r = listen W.execute(\"go\") { \"progress\" => |p| {} };\n    println(to_string(r?.text));\n}\n")},
		"Concerto.toml": {Data: []byte(`[hosts.w]
command = "sh"
args = ["-c", '''
while read -r prompt; do
  echo '{"type":"question","id":1,"question":"Which?"}'; read -r one
  echo "{\"type\":\"result\",\"text\":$one}"
done''']
message_types = ["question", "progress"]
`)},
	}, "main.conc")
	if err != nil {
		t.Fatalf("LoadFS failed: %+v", err)
	}
	var asked []concerto.HostQuestion
	for want, answer := range map[string]func(context.Context, concerto.HostQuestion) (any, error){
		`"value":"blue"`: func(_ context.Context, q concerto.HostQuestion) (any, error) {
			asked = append(asked, q)
			return "blue", nil
		},
		"error": nil,
	} {
		var out bytes.Buffer
		var kinds []string
		_, err := p.Run(t.Context(), concerto.Options{Env: os.Environ(), Output: &out, AnswerHost: answer,
			Records: concerto.Records{OnActivity: func(a concerto.Activity) { kinds = append(kinds, a.Kind) }}})
		if d := cmp.Diff([]string{"listen began", "began", "asked", "answered", "ended", "listen ended"}, kinds); d != "" {
			t.Error(d)
		}
		if err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("output = %q, want it to contain %q; error = %v", out.String(), want, err)
		}
	}
	want := []concerto.HostQuestion{{Host: "W", Type: "question", Message: json.RawMessage(`{"id":1,"question":"Which?"}`), Timeout: time.Minute}}
	if d := cmp.Diff(want, asked); d != "" {
		t.Error(d)
	}
}
