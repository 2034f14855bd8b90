package rpc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"math/rand/v2"

	"github.com/concerto-lang/concerto/relay/hostd/rpc"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestDiff checks that git can apply each diff, and that the result is the new text.
func TestDiff(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range dice.IntN(40) {
			b.WriteString([]string{"a\n", "b\n", "c\n", "d\n", "\n", "e"}[dice.IntN(6)])
		}
		return b.String()
	}
	change := func(old string) string {
		all := strings.SplitAfter(old, "\n")
		for range 1 + dice.IntN(3) {
			i := dice.IntN(len(all))
			all[i] = []string{"", "x\n", all[i] + "y\n"}[dice.IntN(3)]
		}
		return strings.Join(all, "")
	}
	dir := t.TempDir()
	for i := range 30 {
		old := text()
		changed := change(old)
		if i%5 == 0 {
			changed = text()
		}
		d := rpc.Diff("f", old, changed)
		if (d == "") != (old == changed) {
			t.Errorf("diff of %q and %q = %q", old, changed, d)
		}
		if d == "" || old == "" || changed == "" {
			continue // for created and deleted files, git requires header lines that diff omits
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("git", "apply", "--unidiff-zero", "-")
		c.Dir, c.Stdin = dir, strings.NewReader(d)
		out, err := c.CombinedOutput()
		if got, _ := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != changed {
			t.Errorf("git apply of the diff of %q and %q: %v %s, result = %q\n%s", old, changed, err, out, got, d)
		}
	}
	long := protocol.CutDiff(rpc.Diff("f", "", strings.Repeat("line\n", 30_000)))
	if len(long) > 64<<10 || !strings.HasSuffix(long, "+line\n\\ the rest of the diff is left out: it is longer than 64 KiB\n") {
		t.Errorf("length of the shortened diff = %d, end = %q", len(long), long[len(long)-100:])
	}
}
