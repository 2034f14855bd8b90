//go:build unix

package doctor

import "golang.org/x/sys/unix"

// isWritable reports whether this user can create files in a directory.
func isWritable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
