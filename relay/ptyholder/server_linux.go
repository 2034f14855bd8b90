package ptyholder

import (
	"net"
	"os"
	"syscall"

	"github.com/concerto-lang/concerto/relay/ancestry"
)

// peerOf returns the process id at the other end of a connection, or 0 if it is unknown.
func peerOf(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // ignore the error: the connection is closed, and pid stays 0
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}

// isFromRun reports whether a connection was opened by a process of the holder's run. All processes
// of the run are descendants of the holder. It also returns true if the process cannot be
// identified.
func isFromRun(c *net.UnixConn) bool {
	line, whole := ancestry.Line(peerOf(c), ancestry.Look)
	for _, one := range line[min(1, len(line)):] {
		if one.PID == os.Getpid() {
			return true
		}
	}
	return !whole
}
