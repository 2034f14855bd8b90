package sim

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// Variables of the environment with which the test starts itself as a program of a rule.
const (
	programVariable = "SIM_PROGRAM"
	dirVariable     = "SIM_DIR"
)

func init() {
	if name := os.Getenv(programVariable); name != "" {
		m := realMachine(os.Getenv(dirVariable), func(keeper.Child) {})
		os.Exit(runProgram(m, name, &realStdio{bufio.NewReader(os.Stdin)}))
	}
	newReal = func(t *testing.T) *machine {
		return realMachine(t.TempDir(), func(c keeper.Child) {
			t.Cleanup(func() {
				c.CloseInput()
				c.End(0, nil)
			})
		})
	}
}

// realMachine returns the real system. started is called with each child.
func realMachine(dir string, started func(keeper.Child)) *machine {
	m := &machine{System: keeper.OS(), dir: dir, pause: runtime.Gosched, hang: func() { select {} }}
	m.files = m.Files(dir)
	m.start = func(program string) keeper.Child {
		c := must(m.Start(procgroup.Command{Path: must(os.Executable()), Env: append(os.Environ(), programVariable+"="+program, dirVariable+"="+dir)}, procgroup.Start))
		started(c)
		return c
	}
	return m
}

type realStdio struct{ in *bufio.Reader }

func (x *realStdio) readLine() (string, bool) {
	text, err := x.in.ReadString('\n')
	return strings.TrimSuffix(text, "\n"), err == nil
}

func (x *realStdio) send(format string, args ...any) bool {
	_, err := fmt.Printf(format+"\n", args...)
	return err == nil
}
