//go:build unix

package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

type groupSignal = syscall.Signal

const (
	termSignal = syscall.SIGTERM
	killSignal = syscall.SIGKILL
)

func setGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

// signalGroup's failures mean that nobody is left to get the signal.
func signalGroup(pgid int, s groupSignal) { _ = syscall.Kill(-pgid, s) }

func exitState(st *os.ProcessState) Exit {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Code: 128 + int(ws.Signal()), Signal: ws.Signal().String()}
	}
	return Exit{Code: st.ExitCode()}
}

// readNow reads what lies in the pipe without waiting; 0 and nil mean that it
// is empty or at its end.
func readNow(f *os.File, b []byte) (int, error) {
	rc, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var rerr error
	err = rc.Control(func(fd uintptr) {
		for {
			n, rerr = syscall.Read(int(fd), b)
			if rerr != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return 0, err
	}
	if errors.Is(rerr, syscall.EAGAIN) {
		return 0, nil
	}
	return n, rerr
}

// WriteNow writes as much to the pipe as it takes without waiting, and gives how
// much that was: none after a failure, which the next ordinary write meets too.
// Nothing else may be writing.
func WriteNow(f *os.File, b []byte) int {
	rc, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	err = rc.Control(func(fd uintptr) {
		for {
			k, werr := syscall.Write(int(fd), b)
			if werr == syscall.EINTR {
				continue
			}
			n = max(k, 0)
			return
		}
	})
	if err != nil {
		return 0
	}
	return n
}
