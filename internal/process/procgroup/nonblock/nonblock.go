// Package nonblock reads and writes pipes and sockets whose descriptors never block.
package nonblock

import (
	"io"
	"syscall"
)

// Conn is a connection whose descriptor never blocks, such as a net.UnixConn.
type Conn interface {
	io.Reader
	syscall.Conn
}
