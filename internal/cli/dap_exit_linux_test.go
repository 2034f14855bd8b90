package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// waiting is a program whose host starts and does not exit.
var waiting = map[string]string{
	"Concerto.toml": "[hosts.w]\ncommand = \"testhost\"\nargs = [\"w.host\"]\noutput_format = \"json\"\n",
	"w.host":        "ignore-sigterm\n" + family + "close-stdin\n< {\"type\":\"progress\",\"message\":\"up\"}\nhang\n",
	"main.conc":     "host W { connector: w }\nfn main() { println(W.execute(\"a\").is_ok()); }",
}

// hosted launches the program waiting. It waits for the processes of its host and returns their
// ids.
func hosted(t *testing.T) (*debugger, []int) {
	t.Helper()
	d := startDebugger(t, waiting)
	d.launch(nil)
	d.begin()
	for !strings.Contains(d.output["stderr"], "host 'W': up") {
		d.next()
	}
	return d, family4(t, d.dir)
}

func awaitExit(t *testing.T, all []int) {
	t.Helper()
	if left, err := testproc.AwaitExit(outlive, all...); len(left) > 0 || err != nil {
		t.Fatalf("processes %v did not exit (error %v)", left, err)
	}
}

// TestDapLeavesNothing checks that no process of the run remains after the session, however the
// session ends.
func TestDapLeavesNothing(t *testing.T) {
	t.Parallel()
	t.Run("terminate", func(t *testing.T) {
		t.Parallel()
		d, all := hosted(t)
		d.ask("terminate", nil)
		if code := d.awaitExit(); code != console.ExitInterrupted {
			t.Errorf("exit code %d, want console.ExitInterrupted", code)
		}
		if left := alive(all); len(left) > 0 {
			t.Errorf("processes %v still run", left)
		}
	})
	t.Run("disconnect", func(t *testing.T) {
		t.Parallel()
		d, all := hosted(t)
		d.ask("disconnect", nil)
		if left := alive(all); len(left) > 0 {
			t.Errorf("processes %v still run", left)
		}
	})
	t.Run("editor killed", func(t *testing.T) {
		t.Parallel()
		d, all := hosted(t)
		_ = d.in.Close()
		awaitExit(t, append(all, d.cmd.Process.Pid))
	})
	t.Run("adapter killed", func(t *testing.T) {
		t.Parallel()
		d, all := hosted(t)
		_ = d.cmd.Process.Kill()
		awaitExit(t, all)
	})
}

// TestDapOnATerminal checks that the command prints on a terminal that it must be started by an
// editor.
func TestDapOnATerminal(t *testing.T) {
	began := time.Now()
	code, out, errors := start(t, "fn main() {}", "", "dap")
	if code != console.ExitRefused || out != "" || !strings.Contains(errors, "an editor must start `concerto dap`") || time.Since(began) > outlive {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out, errors)
	}
}
