package procgroup

import "golang.org/x/sys/unix"

// Unread is how many of the bytes written to Stdin the process has not read;
// -1 when the system does not tell.
func (p *Process) Unread() int {
	rc, err := p.Stdin.SyscallConn()
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
