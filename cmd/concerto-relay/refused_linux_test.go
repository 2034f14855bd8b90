package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/powercut"
)

// TestHostdRefused starts hostd with settings that cannot work. hostd must report what is wrong and
// how to fix it. It must not disturb a running hostd, and must not change files that are not its
// own.
func TestHostdRefused(t *testing.T) {
	t.Parallel()
	h := newMachine(t)
	h.start()
	put := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(h.dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	broken := strings.Repeat("this is no database, but a text. ", 50)
	put("broken/spool.db", broken)
	put("file", "a file\n")
	for _, c := range []struct{ flags, want string }{
		{"--state other", "another hostd serves " + filepath.Join(h.dir, "s") + ": stop it, or use another --socket"},
		{"--socket s2", "another hostd uses the spool"},
		{"--state broken --socket s2", "the spool is damaged"},
		{"--state file --socket s2", "file"},
		{"--state other --socket file", "file"},
		{"--state other --socket " + strings.Repeat("long", 40), "a socket's path has at most 107 bytes: use a shorter --socket"},
		{"--state other --socket s2 --root none", "--root"},
		{"--state other --socket s2 --server ftp://x", "--server"},
	} {
		out := h.do(2, append([]string{"hostd", "--state", "state", "--root", h.dir}, strings.Fields(c.flags)...)...)
		if !strings.Contains(out, c.want) {
			t.Errorf("hostd %s: output = %s, want it to contain %q", c.flags, out, c.want)
		}
	}
	for _, c := range [][]string{{"--title", strings.Repeat("t", 201), "title"}, {"--tool", strings.Repeat("t", 65), "tool"}} {
		if out := h.do(1, "run", "--detach", c[0], c[1], "--", "true"); !strings.Contains(out, c[2]) {
			t.Errorf("run with an invalid %s: output = %s, want it to contain %q", c[0], out, c[2])
		}
	}
	if run := h.detached("echo still here"); run == "" {
		t.Error("the first hostd has stopped")
	}
	left := powercut.Files(t, filepath.Join(h.dir, "broken"))
	if left["spool.db"] != broken || h.text("file") != "a file\n" {
		t.Errorf("files of the damaged spool = %d, other file = %q; want them unchanged", len(left), h.text("file"))
	}
}

func (h *machine) text(name string) string {
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}
