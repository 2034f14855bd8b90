package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// start runs the command in a directory that contains program as main.conc. input is the text typed
// at the terminal that is its stdin.
func start(t *testing.T, program, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, err bytes.Buffer
	code = run(args, &console.Console{Stdin: strings.NewReader(input), Stdout: &out, Stderr: &err, Dir: dir, TTY: console.TTY{In: true}})
	return code, out.String(), err.String()
}

// execute runs a command line until ctx is cancelled, and returns its error.
func execute(ctx context.Context, a *console.Console, args ...string) error {
	root := newRoot(a, commands)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

func TestPrompt(t *testing.T) {
	const program = `
fn ask(c: String) {
    match await emit(c, "ok?") { Ok(v) => emit("yes", v), Err(e) => emit("no", e.kind) }
}
fn main() { ask("a"); ask("b"); ask("c"); }`
	code, out, err := start(t, program, "one\ntwo\n", "run", "--answer", "b=given", "main.conc")
	if want := "[a] ok?\n[yes] one\n[b] ok?\n[yes] given\n[c] ok?\n[yes] two\n"; code != 0 || out != want || err != "a> c> " {
		t.Errorf("exit code %d, stdout:\n%s\nstderr %q", code, out, err)
	}
	code, out, err = start(t, program, "one\n", "run", "main.conc")
	if want := "[a] ok?\n[yes] one\n[b] ok?\n[no] EmitError\n[c] ok?\n[no] EmitError\n"; code != 0 || out != want {
		t.Errorf("exit code %d, stdout:\n%s\nstderr %q", code, out, err)
	}
}

// TestPromptTyped checks that a prompt for a typed answer names the type. After an invalid answer,
// the prompt is repeated.
func TestPromptTyped(t *testing.T) {
	const program = `
schema Decision { allow: Bool, why?: String }
fn main() {
    match await emit<Bool>("sure", "delete?") { Ok(v) => emit("is", !v), Err(e) => emit("no", e.reason) }
    match await emit<Decision>("plan") { Ok(d) => emit("is", d.allow), Err(e) => emit("no", e.reason) }
    match await emit<Int?>("n") { Ok(n) => emit("is", n ?? -1), Err(e) => emit("no", e.message) }
}`
	code, out, err := start(t, program, "maybe\nperhaps\n yes\nno\n{\"allow\": 1}\n{\"allow\": true}\nnull\n", "run", "main.conc")
	if want := "[sure] delete?\n[is] false\n[plan]\n[is] true\n[n]\n[is] -1\n"; code != 0 || out != want {
		t.Errorf("exit code %d, stdout:\n%s", code, out)
	}
	want := `sure (yes or no)> expected Bool, got "maybe"
sure (yes or no)> expected Bool, got "perhaps"
sure (yes or no)> plan (JSON: {"allow": Bool, "why"?: String})> expected Decision, got "no"
plan (JSON: {"allow": Bool, "why"?: String})> allow: expected Bool, got 1
plan (JSON: {"allow": Bool, "why"?: String})> n (a whole number, or null)> `
	if err != want {
		t.Errorf("stderr:\n%s\nwant:\n%s", err, want)
	}
	const both = `fn main() { let (a, b) = await (await emit<Int>("a"), await emit<Int>("b")); emit("sum", a? + b?); }`
	if code, out, _ := start(t, both, "x\n1\ny\n2\n", "run", "main.conc"); code != 0 || out != "[a]\n[b]\n[sum] 3\n" {
		t.Errorf("exit code %d, stdout:\n%s", code, out)
	}
	code, out, _ = start(t, program, "x\n", "run", "main.conc")
	if want := "[sure] delete?\n[no] no_listener\n[plan]\n[no] no_listener\n[n]\n[no] no answer to the emit on channel 'n': the input of the terminal was closed (EOF)\n"; code != 0 || out != want {
		t.Errorf("exit code %d, stdout:\n%s", code, out)
	}
}

// TestBug checks that a violated invariant is reported as a bug of Concerto, without Go's crash
// report.
func TestBug(t *testing.T) {
	var err bytes.Buffer
	code := run([]string{"version"}, &console.Console{Stdout: broken{}, Stderr: &err})
	text := err.String()
	if code != console.ExitFailed || !strings.HasPrefix(text, "concerto: internal error: broken\n\nThis is a bug in Concerto.") || strings.Contains(text, "[running]") {
		t.Errorf("exit code %d, stderr:\n%s", code, text)
	}
	if n := strings.Count(text, "\n"); n > 45 {
		t.Errorf("the bug report has %d lines, want at most 45", n)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { panic("broken") }

func TestColor(t *testing.T) {
	var out, err bytes.Buffer
	dir := t.TempDir()
	if e := os.WriteFile(filepath.Join(dir, "main.conc"), []byte("fn main() { let a: Int = true; emit(\"a\", a); }"), 0o666); e != nil {
		t.Fatal(e)
	}
	if code := run([]string{"check", "main.conc"}, &console.Console{Stdout: &out, Stderr: &err, Dir: dir, TTY: console.TTY{Color: true}}); code != console.ExitRefused || !strings.Contains(err.String(), "\x1b[1;31merror[") {
		t.Errorf("exit code %d, stderr %q", code, err.String())
	}
}
