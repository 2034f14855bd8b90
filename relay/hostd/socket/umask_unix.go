//go:build unix

package socket

import "syscall"

// umask sets the process's file mode mask and returns the previous one.
func umask(mask int) int { return syscall.Umask(mask) }
