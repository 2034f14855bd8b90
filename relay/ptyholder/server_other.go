//go:build !linux

package ptyholder

import "net"

// peerOf returns 0, because this system does not report the process at the other end of a
// connection.
func peerOf(*net.UnixConn) int { return 0 }

// isFromRun returns false: the mode of the socket's directory limits it to this user.
func isFromRun(*net.UnixConn) bool { return false }
