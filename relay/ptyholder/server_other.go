//go:build !linux

package ptyholder

import "net"

// peerOf returns 0, because the peer is unknown on this system.
func peerOf(*net.UnixConn) int { return 0 }

// isFromRun returns false: the mode of the socket's directory limits it to this user.
func ofRun(*net.UnixConn) bool { return false }
