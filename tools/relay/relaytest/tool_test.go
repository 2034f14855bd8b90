//go:build linux

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

// toolVariable is the environment variable that makes the test binary act as the tool of the runs.
// Its value is a directory.
const toolVariable = "RELAYTEST_TOOL"

// pace is the interval of the tool's output.
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

// tool prints increasing numbers, one per line, until it reads the line quit. After it has read the
// line quiet, it only confirms lines. It writes each line that it reads to a file before it prints
// the next number.
func tool(dir string) {
	log, err := os.OpenFile(inputsOf(dir, os.Getenv("RELAY_RUN_ID")), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	// The tool survives every failure, but must not survive a killed test.
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
		if _, err := fmt.Fprintln(log, in.Text()); err != nil {
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

// inputsSentTo returns the lines that the tool of a run has read.
func inputsSentTo(t *testing.T, dir, run string) []string {
	t.Helper()
	text, err := os.ReadFile(inputsOf(dir, run))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
