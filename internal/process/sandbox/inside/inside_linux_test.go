package inside

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// runPlan starts this binary with a plan and returns its output and exit code.
func runPlan(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = []string{"A=1"}
	var b strings.Builder
	c.Stdout, c.Stderr = &b, &b
	_ = c.Run() // the exit code is checked instead
	return b.String(), c.ProcessState.ExitCode()
}

// A plan is executed completely, or the process reports the problem and executes nothing.
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
			t.Errorf("%s: exit %d\n%s\nnot %d\n%s", c.args[2], code, out, c.code, c.want)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "b\n" && confined {
		t.Errorf("it has %q (%v)", text, err)
	}
}
