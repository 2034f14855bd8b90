package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEval runs the commands in the README.md of the example eval, and compares their output.
func TestEval(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "eval")
	if err := os.CopyFS(dir, os.DirFS("eval")); err != nil {
		t.Fatal(err)
	}
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```\n\\$ concerto ([^\n]*)\n(.*?)```").FindAllStringSubmatch(read(t, "eval", "README.md"), -1)
	if len(blocks) != 2 {
		t.Fatalf("README.md has %d commands, want 2", len(blocks))
	}
	for _, b := range blocks {
		args, _, _ := strings.Cut(b[1], " |")
		c := exec.Command(path, strings.Fields(args)...)
		c.Dir = dir
		out, err := c.Output()
		if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
		var got strings.Builder
		for line := range strings.Lines(filepath.ToSlash(string(out))) {
			if !strings.HasPrefix(line, "latency") {
				got.WriteString(line)
			}
		}
		if diff := cmp.Diff(b[2], got.String()); diff != "" {
			t.Errorf("%s: README.md (-), printed (+):\n%s", args, diff)
		}
	}
}
