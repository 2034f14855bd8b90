package inside

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// runPlan starts this test binary with a plan and returns the output and the exit code.
func runPlan(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = []string{"A=1"}
	var b strings.Builder
	c.Stdout, c.Stderr = &b, &b
	_ = c.Run() // the test checks the exit code instead
	return b.String(), c.ProcessState.ExitCode()
}

// TestBecome checks that a plan is either executed completely, or rejected with a message before
// the command runs.
func TestBecome(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	if err := os.WriteFile(file, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	confined := sandbox.Landlock() >= sandbox.LandlockNeeded
	for _, c := range []struct {
		args []string
		code int
		want string // prefix of the output
		when bool
	}{
		{sandbox.Plan{}.Command(), 0, "", true},
		{sandbox.Plan{Run: []string{"/bin/sh", "-c", "echo $A $0; exit 7", "b"}}.Command(), 7, "1 b\n", true},
		{sandbox.Plan{OpenFiles: 20, FileMB: 3, Run: []string{"/bin/sh", "-c", "ulimit -n"}}.Command(), 0, "20\n", true},
		{sandbox.Plan{Run: []string{"/none"}}.Command(), sandbox.Failed, "cannot run /none in its sandbox: no such file or directory\n", true},
		{append(sandbox.Args[:], "{"), sandbox.Failed, "unexpected end of JSON input\n", true},
		{sandbox.Plan{Files: true, Read: []string{"/none"}, Run: []string{"/bin/true"}}.Command(), sandbox.Failed, "cannot restrict files: ", true},
		{sandbox.Plan{Files: true, Read: []string{file}, Run: []string{"/bin/sh", "-c", "cat " + file}}.Command(), sandbox.Failed, "cannot run /bin/sh in its sandbox: permission denied\n", confined},
		{sandbox.Plan{Files: true, Read: []string{"/usr", "/bin", "/lib", "/etc", file}, Run: []string{"/bin/sh", "-c", "cat " + file + "; (echo b > " + file + ") || exit 9"}}.Command(), 9, "a", confined},
		{sandbox.Plan{Files: true, Read: []string{"/usr", "/bin", "/lib", "/etc"}, Write: []string{file}, Run: []string{"/bin/sh", "-c", "cat " + file + "; echo b > " + file}}.Command(), 0, "a", confined},
	} {
		if !c.when {
			continue
		}
		if out, code := runPlan(t, c.args...); code != c.code || !strings.HasPrefix(out, c.want) {
			t.Errorf("plan %s: exit code %d, output\n%s\nwant exit code %d, output\n%s", c.args[2], code, out, c.code, c.want)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "b\n" && confined {
		t.Errorf("the file contains %q (error %v), want b", text, err)
	}
}
