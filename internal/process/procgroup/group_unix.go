//go:build unix

package procgroup

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/procgroup/nonblock"
)

type groupSignal = syscall.Signal

const (
	termSignal = syscall.SIGTERM
	killSignal = syscall.SIGKILL
)

func setGroup(cmd *exec.Cmd, c *Command) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !c.Finishes {
		dieWithParent(cmd.SysProcAttr)
	}
	if c.Isolated || c.PrivateMounts {
		return isolate(cmd.SysProcAttr, c)
	}
	return nil
}

// exhausted reports whether a start failed because the system ran out of file descriptors,
// processes or memory.
func exhausted(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// signalGroup sends a signal to a process group. It ignores the error, which means that the group
// has no member.
func signalGroup(pgid int, s groupSignal) { _ = syscall.Kill(-pgid, s) }

// pipeEnd reads from a pipe without package os. This makes it possible to lock output.count exactly
// while bytes are read from the pipe.
type pipeEnd struct {
	raw  syscall.RawConn
	wait io.Reader // waits for data
	bad  error     // error of opening the pipe for reading; nil if it can be read
}

func (o *output) open() {
	p := &o.pipe
	if p.raw, p.bad = o.f.SyscallConn(); p.bad == nil {
		p.wait, p.bad = nonblock.NewReaderBy(o.f, o.readOnce)
	}
}

// readWait waits for data and reads it.
func (o *output) readWait(b []byte) (int, error) {
	if o.pipe.bad != nil {
		return 0, o.pipe.bad
	}
	return o.pipe.wait.Read(b)
}

// readNow reads without waiting. It returns 0 and nil if the pipe is empty or at its end.
func (o *output) readNow(b []byte) (n int, err error) {
	if o.pipe.bad != nil {
		return 0, o.pipe.bad
	}
	if cerr := o.pipe.raw.Control(func(fd uintptr) { n, err = o.readOnce(int(fd), b) }); cerr != nil {
		return 0, cerr
	}
	if errors.Is(err, syscall.EAGAIN) {
		return 0, nil
	}
	return n, err
}

// readOnce reads from the pipe once. It returns EAGAIN if the pipe is empty.
func (o *output) readOnce(fd int, b []byte) (int, error) {
	o.count.Lock()
	defer o.count.Unlock()
	n, err := nonblock.Read(fd, b)
	o.bytesRead += int64(n)
	return n, err
}

// input writes to a pipe without waiting. The function for the write is created only once, so that
// writes do not allocate memory.
type input struct {
	raw   syscall.RawConn
	begin func(fd uintptr)
	buf   []byte // buffer of the current write
	n     int
}

func newInput(f *os.File) *input {
	raw, err := f.SyscallConn()
	if err != nil {
		return &input{}
	}
	in := &input{raw: raw}
	in.begin = func(fd uintptr) { in.n, _ = nonblock.Write(int(fd), in.buf) }
	return in
}

func (in *input) writeNow(b []byte) int {
	if in.raw == nil {
		return 0
	}
	in.buf, in.n = b, 0
	err := in.raw.Control(in.begin)
	in.buf = nil
	if err != nil {
		return 0
	}
	return in.n
}
