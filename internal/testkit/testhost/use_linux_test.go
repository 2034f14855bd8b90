package testhost

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/playground/hostscript"
)

// TestUse checks the times that the steps use-memory, use-cpu and use-processes store. The stored
// time is the last one within the limit, even if the host uses more afterwards.
func TestUse(t *testing.T) {
	for _, c := range []struct{ op, least, most string }{{"use-memory", "64", "256"}, {"use-cpu", "0.2", "0.4"}, {"use-processes", "2", "5"}} {
		file := write(t, "now began\n"+c.op+" "+c.least+" "+c.least+" within\nnow full\n"+
			c.op+" "+c.least+" "+c.most+" beyond\nnow over\n"+c.op+" 0 "+c.most+" never\nexit 3\n")
		host := exec.Command(os.Args[0], file)
		host.Env = append(os.Environ(), "TESTHOST=1", "GORACE=atexit_sleep_ms=0")
		host.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var stderr strings.Builder
		host.Stderr = &stderr
		if err := host.Run(); host.ProcessState.ExitCode() != 3 || stderr.String() != "" {
			t.Fatalf("%s: %v: %s", c.op, err, stderr.String())
		}
		_ = syscall.Kill(-host.Process.Pid, syscall.SIGKILL) // kill the children too, if there are any
		at := func(name string) int64 {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
			if err != nil {
				t.Fatal(err)
			}
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err != nil && len(text) > 0 {
				t.Fatal(err)
			}
			return n
		}
		if began, within, full := at("began"), at("within"), at("full"); within < began || within > full {
			t.Errorf("%s: last time within the limit = %d, start = %d, time of full use = %d", c.op, within, began, full)
		}
		if beyond, over := at("beyond"), at("over"); beyond >= over {
			t.Errorf("%s: last time within the limit = %d, first time beyond the limit = %d", c.op, beyond, over)
		}
		if at("never") != 0 {
			t.Errorf("%s: last time within a limit of 0 = %d, want none", c.op, at("never"))
		}
	}
}

func TestUseOfZero(t *testing.T) {
	if _, stderr, code := run(t, "use-cpu 1 when\n", ""); code != hostscript.ExitMismatch || !strings.Contains(stderr, `"1 when" is not LIMIT MOST FILE`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
