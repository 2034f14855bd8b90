// Package compare_test runs the Concerto side of the comparison with LangGraph.
package compare_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testproc.RemoveCommand()
	os.Exit(code)
}

// TestConcerto runs the script concerto/run.sh, which kills a run at three points. It checks that
// the payment is made exactly once in each case.
func TestConcerto(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the script needs a Unix shell")
	}
	concerto, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "concerto/run.sh")
	c.Env = append(os.Environ(), "PATH="+filepath.Dir(concerto)+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+t.TempDir())
	var errs bytes.Buffer
	c.Stderr = &errs
	got, err := c.Output()
	const want = `before: 1 payment, shipped, asked what became of the payment: retry
after: 1 payment, shipped, asked what became of the payment: done:{"outcome":"ok","output":"paid"}
waiting: 1 payment, shipped
`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("concerto/run.sh: error %v; output: want (-), got (+):\n%s\nstderr:\n%s", err, diff, errs.String())
	}
}
