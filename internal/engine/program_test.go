package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/vm"
)

// init makes an optimisation that breaks one of the tested programs panic.
func init() { driver.Strict = true }

// compile writes files into a new directory and compiles main.conc there.
func compile(t *testing.T, files map[string]string) *Program {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p, found, err := Compile("main.conc", dir)
	if err != nil || p == nil {
		t.Fatalf("Compile: error %v, %d diagnostics, want a program", err, found.Len())
	}
	return p
}

func TestApplication(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": `
fn main() {
    emit("one", { "a": 1 });
    match await emit("ask", "x") { Ok(v) => emit("yes", v), Err(e) => emit("no", e.message) }
    match await emit("ask", "y") { Ok(v) => emit("yes", v), Err(e) => emit("no", e.message) }
    match await emit("ask", "z") { Ok(v) => emit("yes", v), Err(e) => emit("no", e.message) }
}`})
	var got []string
	answers := []func() (json.RawMessage, error){
		func() (json.RawMessage, error) { return json.RawMessage(`[1,2]`), nil },
		func() (json.RawMessage, error) { return nil, errors.New("not today") },
		func() (json.RawMessage, error) { return json.RawMessage(`{`), nil },
	}
	var out bytes.Buffer
	err := p.Run(context.Background(), Options{
		Output: Output{To: &out},
		OnEmit: func(channel string, payload json.RawMessage) { got = append(got, channel+" "+string(payload)) },
		OnAwait: func(_ context.Context, channel string, _ json.RawMessage) (json.RawMessage, error) {
			a := answers[0]
			answers = answers[1:]
			return a()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`one {"a":1}`, `ask "x"`, `yes [1,2]`, `ask "y"`, `no "not today"`, `ask "z"`, `no "the answer on channel 'ask' was refused: not valid JSON: unexpected end of the text at offset 1"`}
	if d := cmp.Diff(want, got); d != "" || out.Len() != 0 {
		t.Errorf("emits differ (-want +got):\n%s\noutput = %q, want none", d, out.String())
	}
}

func TestLoadedRunsAlike(t *testing.T) {
	p := compile(t, map[string]string{
		"main.conc":     "agent A uses rules { }\nfn main() { emit(\"r\", A.execute(\"x\")?.text); }",
		"Concerto.toml": "[connections.rules]\nprovider = \"scripted\"\nreplies = [{ text = \"yes\" }]\n",
	})
	loaded, err := Load(p.Encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []*Program{p, loaded, p} { // p is run twice to check that a run leaves no state in its program
		var out bytes.Buffer
		if err := x.Run(context.Background(), Options{Output: Output{To: &out, Mode: emit.NDJSON}}); err != nil || out.String() != `{"channel":"r","payload":"yes"}`+"\n" {
			t.Errorf("output = %q, error = %v, want the emit r", out.String(), err)
		}
	}
	if loaded.Assembly() != p.Assembly() || !bytes.Equal(loaded.Encode(), p.Encode()) {
		t.Error("the loaded program differs from the compiled one")
	}
}

func TestRunFails(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": "fn main() {\n    throw AgentError::new(\"x\");\n}"})
	var u *vm.Uncaught
	if err := p.Run(context.Background(), Options{}); !errors.As(err, &u) || u.Kind != "AgentError" || u.Message != "x" || u.Line != 2 || u.File != "main.conc" {
		t.Errorf("Run: error = %+v, want an AgentError in line 2", err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	forever := compile(t, map[string]string{"main.conc": "fn main() { loop { } }"})
	if err := forever.Run(ctx, Options{}); err != stop {
		t.Error(err)
	}
	short := compile(t, map[string]string{"main.conc": "fn main() { loop { } }", "Concerto.toml": "[limits]\nmax_run_seconds = 0.01\n"})
	var te *budget.TimeError
	if err := short.Run(context.Background(), Options{}); !errors.As(err, &te) {
		t.Error(err)
	}
}

func TestCompileFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte("fn main( {"), 0o666); err != nil {
		t.Fatal(err)
	}
	p, found, err := Compile("main.conc", dir)
	if p != nil || err != nil || !found.HasErrors() {
		t.Errorf("Compile of an invalid program = %v, %v, want no program and diagnostics", p, err)
	}
	var pe *driver.PathError
	if _, _, err := Compile("mian.conc", dir); !errors.As(err, &pe) || pe.Hint != "did you mean main.conc?" {
		t.Error(err)
	}
	if _, err := Load([]byte("{}")); !errors.Is(err, ir.ErrNotIR) {
		t.Error(err)
	}
}

// TestConnectionsSurviveTheIR checks that the model client decodes all settings of a connection
// that the manifest encodes in the IR.
func TestConnectionsSurviveTheIR(t *testing.T) {
	m, found := manifest.Parse(source.NewFile("Concerto.toml", []byte(`
[connections.a]
provider = "openai"
api_key_env = "KEY"
base_url = "http://x/v1"
default_model = "m"
timeout = 1.5
organization = "o"
project = "p"
models = { x = "y" }
retry = { max_attempts = 2, backoff = "none", initial_delay_ms = 1, max_delay_ms = 2 }
rate_limit = { requests_per_minute = 3, tokens_per_minute = 4, max_concurrent = 5 }
replies = [{ text = "z" }]
`)))
	if found.Len() != 0 {
		t.Fatal(found.Sorted()[0])
	}
	c := m.Connection("a")
	got, err := llm.ParseConnection("a", c.Embedded(nil, m.Origin(c)))
	want := llm.Connection{
		Name: "a", Provider: "openai", APIKeyEnv: "KEY", BaseURL: "http://x/v1", DefaultModel: "m", Timeout: 1.5, Organization: "o", Project: "p",
		Retry: &effect.Retry{MaxAttempts: 2, Backoff: "none", InitialDelay: 1, MaxDelay: 2}, RateLimit: &llm.RateLimit{RequestsPerMinute: 3, TokensPerMinute: 4, MaxConcurrent: 5},
		Models: map[string]string{"x": "y"}, Replies: []byte(`[{"text":"z"}]`), Origin: "Concerto.toml:4",
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if manifest.Builtin != llm.Builtin {
		t.Errorf("manifest.Builtin = %q, want llm.Builtin = %q", manifest.Builtin, llm.Builtin)
	}
}

// TestNoPathInTheIR checks that a compiled project does not contain its own path.
func TestNoPathInTheIR(t *testing.T) {
	p := compile(t, map[string]string{
		"main.conc":     "host W { connector: w }\nfn main() { emit(\"x\", W.execute(\"a\")?); }",
		"Concerto.toml": "[hosts.w]\ncommand = \"./w\"\n",
	})
	if text := string(p.Encode()); strings.Contains(text, p.root) || strings.Contains(text, filepath.ToSlash(p.root)) {
		t.Error(text)
	}
}
