package testterm

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// Constants of poll(2) and waitid(2).
const (
	pollIn  = 1
	waitPid = 1
)

// timeout is the maximum time to wait for an expected display.
const timeout = 2 * time.Minute

// Running is a command on a pseudo-terminal.
type Running struct {
	*Term
	Before  syscall.Termios // terminal modes when the command was started
	t       *testing.T
	master  *os.File
	cmd     *exec.Cmd
	reading sync.Mutex // held from reading output until the output is shown
	ended   chan struct{}
	code    int
}

// Start starts a command whose standard streams are a terminal of this size, except those that are
// already set.
func Start(t *testing.T, cmd *exec.Cmd, width, height int) *Running {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	var number, unlocked int32
	control(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := &Running{Term: New(width, height), t: t, master: master, cmd: cmd, ended: make(chan struct{})}
	r.size(width, height)
	r.Before = r.Modes()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if cmd.Stderr == nil {
		cmd.Stderr, cmd.SysProcAttr.Ctty = slave, 2
	}
	if cmd.Stdout == nil {
		cmd.Stdout, cmd.SysProcAttr.Ctty = slave, 1
	}
	if cmd.Stdin == nil {
		cmd.Stdin, cmd.SysProcAttr.Ctty = slave, 0
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		for r.waitReadable(-1) && r.readOutput() {
		}
	}()
	go func() {
		_ = cmd.Wait() // the exit code contains the outcome
		<-read
		r.code = cmd.ProcessState.ExitCode()
		close(r.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-r.ended:
		default:
			_ = cmd.Process.Kill()
			<-r.ended
		}
		master.Close()
	})
	return r
}

func control(t *testing.T, f *os.File, what uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), what, uintptr(arg)); errno != 0 {
		t.Fatalf("ioctl %x: %v", what, errno)
	}
}

func (r *Running) size(width, height int) {
	size := [4]uint16{uint16(height), uint16(width)}
	control(r.t, r.master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
}

// waitReadable waits up to ms milliseconds, or forever if ms is -1, until output is readable or
// every process has closed the terminal.
func (r *Running) waitReadable(ms int) bool {
	wanted := struct {
		fd               int32
		events, happened int16
	}{fd: int32(r.master.Fd()), events: pollIn}
	var limit *syscall.Timespec // nil means no limit
	if ms >= 0 {
		t := syscall.NsecToTimespec(int64(ms) * int64(time.Millisecond))
		limit = &t
	}
	for {
		n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&wanted)), 1, uintptr(unsafe.Pointer(limit)), 0, 0, 0)
		if errno != syscall.EINTR {
			return errno == 0 && n > 0
		}
	}
}

// readOutput reads and shows output, unless Resize did. It returns false after every process has
// closed the terminal.
func (r *Running) readOutput() bool {
	r.reading.Lock()
	defer r.reading.Unlock()
	return !r.waitReadable(0) || r.readAvailable()
}

func (r *Running) readAvailable() bool {
	var b [4096]byte
	n, err := r.master.Read(b[:])
	_, _ = r.Term.Write(b[:max(n, 0)])
	return err == nil
}

// Resize resizes the terminal. It stops the command first and shows all its output, because output
// that is drawn for one size and shown in another would make tests depend on timing.
func (r *Running) Resize(width, height int) {
	r.t.Helper()
	if r.cmd.Process.Signal(syscall.SIGSTOP) == nil {
		_, _, _ = syscall.Syscall6(syscall.SYS_WAITID, waitPid, uintptr(r.cmd.Process.Pid), 0, syscall.WSTOPPED|syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		defer func() { _ = r.cmd.Process.Signal(syscall.SIGCONT) }() // the command may have exited
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	for r.waitReadable(0) && r.readAvailable() {
	}
	r.Term.Resize(width, height)
	r.size(width, height)
}

// Type types a text.
func (r *Running) Type(text string) {
	r.t.Helper()
	if _, err := r.master.WriteString(text); err != nil {
		r.t.Fatal(err)
	}
}

// AwaitText waits until one line of the display contains each of these texts.
func (r *Running) AwaitText(texts ...string) State {
	r.t.Helper()
	return r.AwaitState(strings.Join(texts, "» and «"), func(s State) bool {
		all := s.Text()
		for _, text := range texts {
			if !strings.Contains(all, text) {
				return false
			}
		}
		return true
	})
}

// AwaitState waits until the display satisfies match.
func (r *Running) AwaitState(what string, match func(State) bool) State {
	r.t.Helper()
	over := make(chan struct{})
	timer := time.AfterFunc(timeout, func() { close(over) })
	defer timer.Stop()
	done := make(chan struct{})
	go func() {
		select {
		case <-over:
		case <-r.ended:
		}
		close(done)
	}()
	s, ok := r.Wait(match, done)
	if !ok {
		r.t.Fatalf("the display does not show «%s»:\n%s\ncursor %d,%d", what, s.Text(), s.X, s.Y)
	}
	return s
}

// AwaitExit waits for the command to exit and returns its exit code and the final display.
func (r *Running) AwaitExit() (int, State) {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(timeout):
		r.t.Fatalf("the command does not exit:\n%s", r.State().Text())
	}
	return r.code, r.State()
}

// Signal sends a signal to the command.
func (r *Running) Signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// Modes returns the input modes of the terminal. A program must restore them before it exits.
func (r *Running) Modes() syscall.Termios {
	r.t.Helper()
	var m syscall.Termios
	control(r.t, r.master, syscall.TCGETS, unsafe.Pointer(&m))
	return m
}
