package ptyholder

import (
	"net"
	"os"
	"strconv"
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
	if c.isOver() {
		return 0
	}
	return peerOf(c.conn)
}
