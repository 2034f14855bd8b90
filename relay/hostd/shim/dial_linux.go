package shim

import (
	"net"
	"os"
	"strconv"
	"syscall"
)

// dial connects to a shim. Its directory's path may be longer than a socket's may be, so it
// is gone by the directory's descriptor.
func dial(dir string) (net.Conn, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return net.Dial("unix", "/proc/self/fd/"+strconv.Itoa(int(d.Fd()))+"/"+socketFile)
}

// Keeper is the shim's process; 0 when it is gone.
func (c *Client) Keeper() (pid int) {
	u, ok := c.conn.(*net.UnixConn)
	if !ok || c.isOver() {
		return 0
	}
	raw, err := u.SyscallConn()
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
