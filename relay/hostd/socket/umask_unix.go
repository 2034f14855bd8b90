//go:build unix

package socket

import "syscall"

// umask makes files that are made meanwhile for this user alone.
func umask(mask int) int { return syscall.Umask(mask) }
