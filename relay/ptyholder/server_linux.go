package ptyholder

import (
	"net"
	"os"
	"syscall"

	"github.com/concerto-lang/concerto/relay/ancestry"
)

// peerOf returns the process at the other end of a connection, or 0 if unknown.
func peerOf(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // fails on a closed connection
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}

// isFromRun reports whether the connection comes from a process of this holder's run, all of which
// are its descendants, or from a process that cannot be identified.
func isFromRun(c *net.UnixConn) bool {
	line, whole := ancestry.Line(peerOf(c), ancestry.Look)
	for _, one := range line[min(1, len(line)):] {
		if one.PID == os.Getpid() {
			return true
		}
	}
	return !whole
}
