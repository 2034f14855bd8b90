//go:build unix

package keeper

import "github.com/concerto-lang/concerto/internal/process/procgroup/nonblock"

// Supported reports whether this system can run a keeper.
const Supported = true

// writeNow writes as many bytes as a descriptor accepts without waiting, and returns their number.
func writeNow(fd uintptr, b []byte) int {
	n, _ := nonblock.Write(int(fd), b)
	return n
}
