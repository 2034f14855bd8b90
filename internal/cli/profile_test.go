package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

const profiled = `fn fib(n: Int) -> Int {
    if n < 2 { return n; }
    fib(n - 1) + fib(n - 2)
}

fn ordered(n: Int) -> Int {
    let mut xs: Array<Int> = [];
    let mut x = 7;
    for _ in 0..n {
        x = (x * 1103515245 + 12345) % 2147483648;
        xs.push(x);
    }
    xs.sort()[0]
}

fn rest() { std::time::sleep(30); }

fn main() {
    println(fib(29));
    println(ordered(1000000));
    rest();
    if std::env::args().len() > 0 { panic("at the end"); }
}
`

// TestProfile records profiles of a run that succeeds and of one that fails. It checks that `go
// tool pprof` reads each profile and shows functions, lines, native functions and waits. On a busy
// machine the profiler may take no sample while the program works, so the test repeats the run up
// to five times.
func TestProfile(t *testing.T) {
	if randtest.Raced {
		t.Skip("with the race detector the profile shows mostly the detector's own work")
	}
	t.Parallel()
	for _, args := range [][]string{nil, {"--", "fail"}} {
		var missing string
		for range 5 {
			file := filepath.Join(t.TempDir(), "cpu.pprof")
			code, _, stderr := start(t, profiled, "", append([]string{"run", "--profile", file, "main.conc"}, args...)...)
			if want := min(len(args), 1); code != want {
				t.Fatalf("exit code %d, stderr:\n%s", code, stderr)
			}
			if missing = missingRows(t, file); missing == "" {
				break
			}
		}
		if missing != "" {
			t.Error(missing)
		}
	}
}

// missingRows returns a message about the first expected row that pprof does not show for the
// profile in file, or "".
func missingRows(t *testing.T, file string) string {
	t.Helper()
	for _, c := range []struct {
		flags string
		rows  []string // ends of lines that must have a share above zero
	}{
		{"-top", []string{"fib", "ordered", "Array.sort"}},
		{"-top -lines", []string{"fib main.conc:3", "ordered main.conc:11"}},
		{"-top -cum", []string{"main", "fib", "ordered"}},
		{"-top -sample_index=wait", []string{"wait for sleep"}},
		{"-peek Array.sort", []string{"ordered"}},
	} {
		cmd := exec.Command("go", append(append([]string{"tool", "pprof"}, strings.Fields(c.flags)...), file)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("pprof %s: %v\n%s", c.flags, err, out)
		}
		for _, row := range c.rows {
			if !hasRow(string(out), row) {
				return fmt.Sprintf("pprof %s shows no %q:\n%s", c.flags, row, out)
			}
		}
	}
	return ""
}

func hasRow(out, end string) bool {
	for line := range strings.Lines(out) {
		if strings.HasSuffix(strings.TrimSpace(line), " "+end) {
			return true
		}
	}
	return false
}

// TestProfileRefused checks that an unwritable profile is reported before the program runs.
func TestProfileRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no", "cpu.pprof")
	code, out, stderr := start(t, profiled, "", "run", "--profile", file, "main.conc")
	if code != console.ExitRefused || out != "" || !strings.Contains(stderr, "--profile: write "+file+": no such file or directory") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file of the profile was created")
	}
}
