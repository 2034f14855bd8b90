package procgroup

import (
	"os"

	"golang.org/x/sys/unix"
)

// InPipe returns the number of bytes in a pipe, or -1 if it is unknown.
func InPipe(f *os.File) int {
	rc, err := f.SyscallConn()
	if err != nil {
		return -1
	}
	n := -1
	err = rc.Control(func(fd uintptr) {
		if k, e := unix.IoctlGetInt(int(fd), unix.TIOCINQ); e == nil {
			n = k
		}
	})
	if err != nil {
		return -1
	}
	return n
}
