//go:build !race

package nonblock

import (
	"syscall"
	"unsafe"
)

// Read reads from a descriptor that does not block. It returns EAGAIN if no data is available. The
// system call does not involve Go's scheduler, because it cannot wait; the scheduler would wake
// another thread of an otherwise idle process.
func Read(fd int, b []byte) (int, error) { return call(syscall.SYS_READ, fd, b) }

// Write writes to a descriptor that does not block, like Read. It returns EAGAIN if the descriptor
// accepts no data.
func Write(fd int, b []byte) (int, error) { return call(syscall.SYS_WRITE, fd, b) }

func call(number uintptr, fd int, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(number, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
