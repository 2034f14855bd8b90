//go:build unix

package ptyholder

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/creack/pty"
)

// term is a pseudo-terminal and the process that runs on it. The process leads its session and
// process group.
type term struct {
	master *os.File
	cmd    *exec.Cmd

	mu       sync.Mutex
	exited   bool        // Wait has returned for the process
	deadline time.Time   // time until which the output of orphaned processes is read
	killAt   time.Time   // time at which the stopped process is killed
	kill     *time.Timer // timer that fires at killAt; nil if no stop is in progress
}

func startTerm(spec *Spec) (*term, error) {
	cmd := &exec.Cmd{Path: spec.Path, Args: append([]string{spec.Name}, spec.Args...), Env: spec.Env, Dir: spec.Cwd}
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(spec.Cols), Rows: uint16(spec.Rows)})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	t := &term{cmd: cmd}
	if t.master, err = pollable(master); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	return t, nil
}

// pollable returns a non-blocking copy of a terminal, which supports deadlines. The pty library
// returns a blocking terminal.
func pollable(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// control calls ioctl on the terminal and leaves the terminal non-blocking.
func (t *term) control(what uintptr, arg unsafe.Pointer) error {
	raw, err := t.master.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, what, uintptr(arg))
	}); err != nil {
		return err
	}
	if errno != 0 {
		return errno
	}
	return nil
}

func (t *term) pid() int { return t.cmd.Process.Pid }

// read reads output. ended must be set if the process has exited. Then only orphaned processes can
// write output, and read waits only briefly.
func (t *term) read(b []byte, ended bool) (int, error) {
	for {
		if ended {
			t.mu.Lock()
			at := time.Now().Add(200 * time.Millisecond)
			if t.deadline.Before(at) {
				at = t.deadline
			}
			t.mu.Unlock()
			_ = t.master.SetReadDeadline(at)
		}
		n, err := t.master.Read(b)
		if n == 0 && !ended && errors.Is(err, os.ErrDeadlineExceeded) {
			ended = true // hurry has set the deadline
			continue
		}
		return n, err
	}
}

// hurry makes a blocked read return. Later reads end after afterExit.
func (t *term) hurry() {
	t.mu.Lock()
	t.deadline = time.Now().Add(afterExit)
	t.mu.Unlock()
	_ = t.master.SetReadDeadline(time.Now())
}

func (t *term) write(b []byte) (int, error) { return t.master.Write(b) }

func (t *term) close() { t.master.Close() }

func (t *term) resize(cols, rows int64) error {
	return t.control(syscall.TIOCSWINSZ, unsafe.Pointer(&pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}))
}

// wait waits until the process exits and returns how it exited.
func (t *term) wait() Exit {
	_ = t.cmd.Wait() // ignore the error: ProcessState contains the result
	t.mu.Lock()
	t.exited = true
	t.mu.Unlock()
	status, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case !ok:
		return Exit{Code: -1}
	case status.Signaled():
		return Exit{Code: 128 + int64(status.Signal()), Signal: signalName(status.Signal())}
	}
	return Exit{Code: int64(status.ExitStatus())}
}

// stop stops the processes of the session. It sends a termination signal and, after the grace
// period, a kill. If signal is "kill", it kills them at once.
func (t *term) stop(signal string, graceS int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exited {
		return
	}
	if signal == "kill" {
		t.signal(syscall.SIGKILL)
		return
	}
	t.signal(syscall.SIGTERM)
	t.signal(syscall.SIGCONT)
	at := time.Now().Add(time.Duration(graceS) * time.Second)
	if t.kill != nil && !at.Before(t.killAt) {
		return
	}
	if t.kill != nil {
		t.kill.Stop()
	}
	t.killAt = at
	t.kill = time.AfterFunc(time.Until(at), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.exited {
			t.signal(syscall.SIGKILL)
		}
	})
}

// killRest kills the processes of a stopped run that remain after its process has exited. It waits
// until they have exited or the grace period has passed.
func (t *term) killRest() {
	for t.groupAlive() && time.Now().Before(t.killAt) {
		time.Sleep(20 * time.Millisecond)
	}
	t.signal(syscall.SIGKILL)
}

// groupAlive reports whether the process group still has a process.
func (t *term) groupAlive() bool { return syscall.Kill(-t.pid(), 0) == nil }

// signal sends a signal to every process group of the session. It ignores errors, because an error
// means that the group no longer exists.
func (t *term) signal(s syscall.Signal) {
	_ = syscall.Kill(-t.pid(), s)
	for _, group := range groupsOf(t.pid()) {
		if group != t.pid() {
			_ = syscall.Kill(-group, s)
		}
	}
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL", syscall.SIGTRAP: "SIGTRAP",
	syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE", syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1",
	syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2", syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM",
}

func signalName(s syscall.Signal) string {
	if name := signalNames[s]; name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}
