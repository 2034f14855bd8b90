//go:build linux || darwin

package release

import "syscall"

// freeSpace returns the number of bytes that this user may write to the file system of dir.
func freeSpace(dir string) (free uint64, ok bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil || s.Bsize == 0 {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
