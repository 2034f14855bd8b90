//go:build unix

package localowner

import (
	"errors"
	"syscall"
)

// processExists reports whether a process with this id exists.
func processExists(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
