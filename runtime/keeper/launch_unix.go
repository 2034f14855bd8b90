//go:build unix

package keeper

import (
	"syscall"
)

// Supported reports whether this system can run a keeper.
const Supported = true

// writeNow writes as many bytes as a descriptor accepts without waiting, and returns their number.
func writeNow(fd uintptr, b []byte) int {
	for {
		n, err := syscall.Write(int(fd), b)
		if err != syscall.EINTR {
			return max(n, 0)
		}
	}
}
