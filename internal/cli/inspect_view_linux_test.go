package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testterm"
)

const inspectedFiles = `
-- main.conc --
fn square(n: Int) -> Int {
  let result = n * n;
  emit("square", result);
  result
}
fn main() {
  let mut total = 0;
  let wide = "世界 wide\u{1b}[2J";
  for i in 1..4 {
    total = total + square(i);
  }
  let huge = std::env::get("NOTHING").unwrap_or("x").repeat(100000);
  emit("total", total);
  println("${wide.len()} ${huge.len()}");
}
`

// startInspect creates a run in the directory job and inspects it.
func startInspect(t *testing.T, width, height int, change func(*exec.Cmd), args ...string) (*testterm.Running, string, syscall.Termios) {
	t.Helper()
	r, dir := onTerminal(t, inspectedFiles, width, height, func(c *exec.Cmd) {
		run := exec.Command(c.Path, "run", "--journal", "job", "main.conc")
		run.Dir, run.Env = c.Dir, c.Env
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("record the run: %v\n%s", err, out)
		}
		if change != nil {
			change(c)
		}
	}, append([]string{"runs", "inspect", "job"}, args...)...)
	return r, dir, r.Before
}

// checkRestored checks that the terminal was restored.
func checkRestored(t *testing.T, r *testterm.Running, before syscall.Termios, code int) {
	t.Helper()
	got, s := r.AwaitExit()
	if got != code || r.Modes() != before || s.Hidden || s.Style != "" || len(s.Odd) > 0 {
		t.Errorf("exit code %d, want %d; cursor hidden: %v, style %q, unexpected sequences %v; screen:\n%s", got, code, s.Hidden, s.Style, s.Odd, s.Text())
	}
	if strings.Contains(s.Text(), "▸") {
		t.Errorf("the view was not removed:\n%s", s.Text())
	}
}

const (
	right, left, down, up = "\x1b[C", "\x1b[D", "\x1b[B", "\x1b[A"
)

// TestInspectView checks that keys step through a run by effects and by lines, forwards and
// backwards. The view must show the variables, and the terminal must be restored at the end.
func TestInspectView(t *testing.T) {
	temp := t.TempDir()
	r, dir, before := startInspect(t, 110, 24, func(c *exec.Cmd) { c.Env = append(c.Env, "TMPDIR="+temp) })
	s := r.AwaitText("effect 1 of 6", "▸ 1 ✓ emit", "▸  3   emit(\"square\", result);", "square  main.conc:3:3", "n = 1", "result = 1", "main  main.conc:10:21", "→ ← effect")
	if strings.Contains(s.Text(), "[result]") || !strings.Contains(s.Rows[len(s.Rows)-1], "→ ← effect") {
		t.Errorf("unexpected first view:\n%s", s.Text())
	}
	r.Type(right)
	r.AwaitText("effect 2 of 6", "n = 2", "result = 4")
	r.Type("\t")
	r.AwaitText("▸ 10     total = total + square(i);", "total = 1", "i = 2", `wide = "世界 wide\u001b[2J"`)
	r.Type(down)
	r.AwaitText("after effect 2 of 6", "▸ 10     total", "total = 1")
	r.Type(down + down + down)
	r.AwaitText("after effect 2 of 6", "▸  2   let", "n = 3", "main  main.conc:10:21")
	r.Type(up + up + up + up)
	r.AwaitText("after effect 1 of 6", "▸  3   emit", "result = 4")
	r.Type(up + up)
	r.AwaitText("after effect 1 of 6", "▸ 10     total", "i = 2", "total = 1")
	r.Type(left)
	r.AwaitText("effect 1 of 6", "n = 1")
	r.Type(left)
	r.AwaitText("this is the first effect")
	r.Type("g5\r")
	r.AwaitText("effect 5 of 6", "total = 14", "emit, effect 5: done", `request  {"channel":"total","payload":14}`, `huge = "xxxx`)
	r.Type("g9\r")
	r.AwaitText("there is no effect 9: the last one is 6")
	r.Type("/PRINT\r")
	r.AwaitText("effect 6 of 6", "▸ 6 ✓ print")
	r.Type("/square\r")
	r.AwaitText("effect 1 of 6", "from the first on")
	r.Type("n")
	r.AwaitText("effect 2 of 6")
	r.Type("/nothing like it\x7f\x7f\x1b")
	r.AwaitText("→ ← effect")
	r.Type("?")
	r.AwaitText("the line before", "fork here", "any key goes back")
	r.Type("x\x1b[F")
	r.AwaitText("effect 6 of 6")
	r.Type(right)
	r.AwaitText("the end, after 6 effects", "end of the recording")
	r.Type(right + up)
	r.AwaitText("after effect 6 of 6", "▸ 15 }")
	r.Type("f")
	r.AwaitText("fork at effect 6, with the result")
	r.Type("{\r")
	r.AwaitText("invalid JSON; put text in quotes")
	r.Type("f\r")
	s = r.AwaitText("created the fork r_", "resume with: concerto runs resume r_")
	r.Type("q")
	checkRestored(t, r, before, 0)
	if all, _ := filepath.Glob(filepath.Join(dir, "r_*", "journal-000001.ndjson")); len(all) != 1 {
		t.Errorf("forks = %v, want one; screen:\n%s", all, s.Text())
	}
	if _, err := os.Stat(filepath.Join(dir, "job", "journal-000001.ndjson")); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("temporary files %v were not removed", left)
	}
}

// TestInspectViewSizes checks that the view is redrawn when the terminal's size changes, even to a
// single cell.
func TestInspectViewSizes(t *testing.T) {
	r, _, before := startInspect(t, 100, 20, nil, "--at", "3")
	r.AwaitText("effect 3 of 6", "n = 3")
	for _, size := range [][2]int{{50, 20}, {20, 8}, {4, 3}, {1, 1}, {120, 40}} {
		r.Resize(size[0], size[1])
		s := r.AwaitState("the view in the new size", func(s testterm.State) bool {
			// A terminal of one cell shows only the margin.
			return (len(s.Rows) > 0 || size[0] == 1) && len(s.Rows) <= size[1] && (size[0] < 20 || strings.Contains(s.Text(), "▸"))
		})
		for _, row := range s.Rows {
			if len([]rune(row)) > size[0] {
				t.Fatalf("a row is wider than %d cells: %q", size[0], row)
			}
		}
	}
	r.AwaitText("effect 3 of 6", "n = 3")
	r.Type("\x03")
	checkRestored(t, r, before, 130)
}

// TestInspectViewEnds checks that the terminal is restored after a signal. On a terminal that
// cannot be redrawn, the command prints a hint.
func TestInspectViewEnds(t *testing.T) {
	r, _, before := startInspect(t, 80, 20, nil)
	r.AwaitText("effect 1 of 6")
	r.Signal(syscall.SIGTERM)
	checkRestored(t, r, before, 130)

	r, _, before = startInspect(t, 80, 20, func(c *exec.Cmd) { c.Env = append(c.Env, "NO_COLOR=") })
	r.AwaitText("effect 1 of 6", "▸ 1 ✓ emit")
	r.Type("q")
	checkRestored(t, r, before, 0)

	r, _, before = startInspect(t, 80, 20, func(c *exec.Cmd) { c.Env = append(c.Env, "TERM=dumb") })
	code, s := r.AwaitExit()
	if code != 2 || !strings.Contains(s.Text(), "concerto runs inspect job --format ndjson") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
	_ = before
}
