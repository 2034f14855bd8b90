// Package compare_test runs the programs of the comparisons that need no network.
package compare_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testproc.RemoveCommand()
	os.Exit(code)
}

// output returns the output of a script, which finds the command concerto.
func output(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the script needs a Unix shell")
	}
	concerto, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", script)
	c.Env = append(os.Environ(), "PATH="+filepath.Dir(concerto)+":"+os.Getenv("PATH"), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	var errs bytes.Buffer
	c.Stderr = &errs
	got, err := c.Output()
	if err != nil {
		t.Errorf("%s: %v\nstderr:\n%s", script, err, errs.String())
	}
	return string(got)
}

// TestConcerto runs the script concerto/run.sh, which kills a run at three points. It checks that
// the payment is made exactly once in each case.
func TestConcerto(t *testing.T) {
	const want = `before: 1 payment, shipped, asked what became of the payment: retry
after: 1 payment, shipped, asked what became of the payment: done:{"outcome":"ok","output":"paid"}
waiting: 1 payment, shipped
`
	if diff := cmp.Diff(want, output(t, "concerto/run.sh")); diff != "" {
		t.Errorf("concerto/run.sh: want (-), got (+):\n%s", diff)
	}
}

// TestClaude runs the script claude/run.sh, which compares a hook of Claude Code with a policy in
// Concerto. README.md of this directory contains the output.
func TestClaude(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the hook needs python3")
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, "claude/run.sh"); !strings.Contains(string(page), "```text\n"+got+"```\n") {
		t.Errorf("README.md does not contain the output of claude/run.sh:\n%s", got)
	}
}
