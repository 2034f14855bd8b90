package ptyholder

import (
	"net"
	"os"
	"syscall"

	"github.com/concerto-lang/concerto/relay/ancestry"
)

// peerOf is the process at the other end of a connection; 0 when nobody can know it.
func peerOf(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // a connection that is closed has none
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}

// ofRun says whether a connection is of the run that this shim keeps, whose processes are all below it,
// or of somebody who cannot be seen.
func ofRun(c *net.UnixConn) bool {
	line, whole := ancestry.Line(peerOf(c), ancestry.Look)
	for _, one := range line[min(1, len(line)):] {
		if one.PID == os.Getpid() {
			return true
		}
	}
	return !whole
}
