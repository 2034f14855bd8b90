package editors_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/lsp/lsptest"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// session is the result that an editor's script writes.
type session struct {
	Failed     string
	Diagnostic struct {
		Line    int
		Message string
	}
	Hover, Renamed, Formatted string
	Definition                int
}

const written = `fn double(n: Int) -> Int { n*2 }

/// Where it starts.
fn main() {
    let n = 4;
    let m = double(n);
    println(m, nn);
}
`

// TestNeovim checks that Neovim's client shows diagnostics, hovers and definitions, renames and
// formats.
func TestNeovim(t *testing.T) {
	runEditor(t, "nvim", "-n", "--headless", "-u", "NONE", "-i", "NONE", "--cmd", "set runtimepath+=nvim", "--cmd", "filetype plugin on", "--cmd", "runtime ftdetect/concerto.vim", "-S", "testdata/session.lua")
}

// TestEmacs checks the same features with the Emacs client eglot.
func TestEmacs(t *testing.T) {
	runEditor(t, "emacs", "--batch", "-L", "emacs", "--eval", "(package-initialize)", "-l", "testdata/session.el")
}

// runEditor runs the session script of an editor and checks the result.
func runEditor(t *testing.T, name string, args ...string) {
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	t.Parallel()
	command, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, out := filepath.Join(dir, "main.conc"), filepath.Join(dir, "out.json")
	if err := os.WriteFile(file, []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	if *record {
		command = lsptest.Record(t, command, filepath.Join(sessions, name+".ndjson"), map[string]string{dir: "/recorded/root"})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), "CONCERTO="+command, "PROGRAM="+file, "OUT="+out, "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir)
	output, err := c.CombinedOutput()
	text, readErr := os.ReadFile(out)
	if err != nil || readErr != nil {
		t.Fatalf("session of %s: %v, %v\n%s%s", name, err, readErr, output, text)
	}
	var s session
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if s.Diagnostic.Line != 7 || !strings.Contains(s.Diagnostic.Message, "unknown name `nn`") || !strings.Contains(s.Diagnostic.Message, "hint: did you mean `n`?") {
		t.Errorf("diagnostic = %+v", s.Diagnostic)
	}
	if !strings.Contains(s.Hover, "Int") {
		t.Errorf("hover of `m` = %q", s.Hover)
	}
	if s.Definition != 6 {
		t.Errorf("line of the definition of `m` = %d", s.Definition)
	}
	mended := strings.Replace(written, "    println(m, nn);", "    println(m);", 1)
	renamed := strings.TrimSuffix(strings.ReplaceAll(mended, "double", "twofold"), "\n")
	if s.Renamed != renamed {
		t.Errorf("text after the rename = %q, want %q", s.Renamed, renamed)
	}
	if want := strings.Replace(renamed, "n*2", "n * 2", 1); s.Formatted != want {
		t.Errorf("formatted text = %q, want %q", s.Formatted, want)
	}
}
