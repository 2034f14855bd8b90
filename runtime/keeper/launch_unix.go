//go:build unix

package keeper

import (
	"syscall"
)

// Supported says that there can be a keeper here.
const Supported = true

// writeNow writes what a descriptor takes without waiting, and gives how much that is.
func writeNow(fd uintptr, b []byte) int {
	for {
		n, err := syscall.Write(int(fd), b)
		if err != syscall.EINTR {
			return max(n, 0)
		}
	}
}
