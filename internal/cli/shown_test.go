package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// TestTerminalIsNotSteered checks that a program's output cannot send control sequences to a
// terminal. They are escaped on stdout and stderr, except for the colours that println prints.
// Without a terminal, stdout is unchanged.
func TestTerminalIsNotSteered(t *testing.T) {
	dir := t.TempDir()
	program := `use std::log;
fn main() {
    let said = "\u{1b}]0;owned\u{7}\u{202e}x\n[result] forged";
    emit("said", said);
    emit("object", { a: "\u{9b}31m" });
    println("\u{1b}[32mgreen\u{1b}[0m \u{1b}[2J");
    log::warn(said);
    throw RuntimeError { message: said };
}
@test fn fails() {
    emit("said", "\u{9b}31m");
    println("\u{1b}[2J");
    throw RuntimeError { message: "\u{1b}c" };
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(terminal bool, args ...string) (string, string) {
		var out, errs strings.Builder
		run(args, &console.Console{Stdout: &out, Stderr: &errs, Dir: dir, TTY: console.TTY{Out: terminal, Err: terminal}})
		return out.String(), errs.String()
	}
	for _, args := range [][]string{{"run", "main.conc"}, {"run", "main.conc", "--emit", "ndjson"}, {"test", "main.conc"}} {
		out, errs := run(true, args...)
		for _, bad := range []string{"\x1b]", "\x1b[2J", "\x1bc", "\x07", "\u202e", "\u009b"} {
			if strings.Contains(out+errs, bad) {
				t.Errorf("concerto %v prints the control sequence %q: %s%s", args, bad, out, errs)
			}
		}
	}
	out, errs := run(true, "run", "main.conc")
	if want := `[said] \u{1b}]0;owned\u{7}\u{202e}x
  [result] forged
[object] {"a":"\u{9b}31m"}
` + "\x1b[32mgreen\x1b[0m \\u{1b}[2J\n"; out != want {
		t.Errorf("stdout = %s, want %s", out, want)
	}
	for _, want := range []string{`warn: \u{1b}]0;owned\u{7}\u{202e}x`, `error: RuntimeError: \u{1b}]0;owned\u{7}`} {
		if !strings.Contains(errs, want) {
			t.Errorf("stderr does not contain %s: %s", want, errs)
		}
	}
	if out, errs = run(false, "run", "main.conc"); !strings.HasPrefix(out, "[said] \x1b]0;owned\x07\u202ex\n  [result] forged\n") || !strings.Contains(errs, `warn: \u{1b}]0;owned\u{7}`) {
		t.Errorf("without a terminal: stdout %q, stderr %q", out, errs)
	}
}
