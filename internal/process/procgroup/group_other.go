//go:build !unix && !windows

package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

type groupSignal int

const (
	termSignal groupSignal = iota
	killSignal
)

// setGroup returns an error: without process groups, the descendants of a host could not be killed.
func setGroup(*exec.Cmd, *Command) error {
	return errors.New("subprocesses need process groups, which " + runtime.GOOS + " lacks: run on Linux or macOS")
}

func exhausted(error) bool { return false }

func signalGroup(int, groupSignal) {}

func groupAlive(int) bool { return false }

type ended struct{ state *os.ProcessState }

func (e ended) exit() Exit { return Exit{Code: e.state.ExitCode()} }

type children struct{}

var ours children

func (children) startProcess(cmd *exec.Cmd) (int, <-chan ended, error) {
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	end := make(chan ended, 1)
	go func() {
		_ = cmd.Wait() // the process state contains the exit code
		end <- ended{cmd.ProcessState}
	}()
	return cmd.Process.Pid, end, nil
}

type pipeEnd struct{}

func (o *output) open() {}

func (o *output) readWait(b []byte) (int, error) { return o.f.Read(b) }

func (o *output) readNow([]byte) (int, error) { return 0, nil }

type input struct{}

func newInput(*os.File) *input { return nil }

func (*input) writeNow([]byte) int { return 0 }
