//go:build unix

package keeper

import (
	"os"
	"syscall"
)

// isRemoved reports whether an open file was deleted. It returns false if only the file's directory
// was renamed.
func isRemoved(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && status.Nlink == 0
}
