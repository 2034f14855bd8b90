//go:build unix

package disk

import "syscall"

// IsRemoved reports whether the file was deleted.
func (f osFile) IsRemoved() bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && status.Nlink == 0
}
