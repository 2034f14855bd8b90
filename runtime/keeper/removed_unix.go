//go:build unix

package keeper

import (
	"os"
	"syscall"
)

// isRemoved reports whether a file that is open has no name any more. A renamed directory keeps
// its files' names.
func isRemoved(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && status.Nlink == 0
}
