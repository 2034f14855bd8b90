//go:build unix

package keeper

import (
	"os"
	"syscall"
)

// isRemoved reports whether an open file was deleted. Renaming its directory does not count.
func isRemoved(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && status.Nlink == 0
}
