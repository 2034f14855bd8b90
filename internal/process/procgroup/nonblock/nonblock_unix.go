//go:build unix && (race || !linux)

package nonblock

import "syscall"

// With the race detector, the functions of package syscall are used, because they inform it that a
// read happens after the writes before it.

// Read reads from a descriptor that does not block. It returns EAGAIN if no data is available.
func Read(fd int, b []byte) (int, error) { return repeat(syscall.Read, fd, b) }

// Write writes to a descriptor that does not block. It returns EAGAIN if the descriptor accepts no
// data.
func Write(fd int, b []byte) (int, error) { return repeat(syscall.Write, fd, b) }

func repeat(call func(int, []byte) (int, error), fd int, b []byte) (int, error) {
	for {
		n, err := call(fd, b)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
