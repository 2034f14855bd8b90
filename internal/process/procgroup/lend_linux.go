package procgroup

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// LendOutput returns a descriptor of the standard output for another process, which reads the
// output from now on. Until ReclaimOutput is called, nothing may call Read, Written or LendOutput.
// This process is not woken by the output, because its own descriptor is not in Go's poller. The
// pipe remains open.
func (p *Process) LendOutput() (fd int, err error) {
	o := p.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return -1, os.ErrClosed
	}
	raw, err := o.f.SyscallConn()
	if err != nil {
		return -1, err
	}
	closed := raw.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(closed, err); err != nil {
		return -1, err
	}
	o.f.Close()
	o.lent, o.closed = fd, true
	return fd, nil
}

// ReclaimOutput reverts LendOutput. n is the number of bytes that the other process has read.
func (p *Process) ReclaimOutput(n int64) {
	o := p.out
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count.Lock()
	defer o.count.Unlock()
	o.f, o.closed = os.NewFile(uintptr(o.lent), "|0"), false
	o.bytesRead += n
	o.open()
	o.setDeadline()
}
