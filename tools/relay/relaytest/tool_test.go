package relaytest

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// The test's own program is the tool of the runs, when it is started with this variable: a
// directory.
const toolVariable = "RELAYTEST_TOOL"

// pace is how often the tool says something.
const pace = 2 * time.Millisecond

func TestMain(m *testing.M) {
	if dir := os.Getenv(toolVariable); dir != "" {
		tool(dir)
		return
	}
	code := m.Run()
	testproc.RemoveCommand()
	os.Exit(code)
}

// tool counts, a line each, until it is told to quit; with "quiet" it counts no more and
// confirms lines alone. What it is told is in a file before it says another number.
func tool(dir string) {
	told, err := os.OpenFile(inputsOf(dir, os.Getenv("RELAY_RUN_ID")), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	// It outlives everything by design: not a test that was killed, though.
	time.AfterFunc(15*time.Minute, func() { os.Exit(9) })
	var quiet atomic.Bool
	go func() {
		for n := 1; ; n++ {
			if quiet.Load() {
				return
			}
			fmt.Printf("#%d ü\n", n)
			time.Sleep(pace)
		}
	}()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if _, err := fmt.Fprintln(told, in.Text()); err != nil {
			os.Exit(1)
		}
		switch in.Text() {
		case "quiet":
			quiet.Store(true)
		case "quit":
			os.Exit(7)
		}
	}
}

func inputsOf(dir, run string) string { return dir + "/" + run + ".inputs" }

// toldTo is what the tool of a run was told, a line each.
func toldTo(t *testing.T, dir, run string) []string {
	t.Helper()
	text, err := os.ReadFile(inputsOf(dir, run))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
