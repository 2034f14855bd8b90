//go:build unix

package journal

import (
	"errors"
	"syscall"
)

// runs reports whether a process with a number exists.
func runs(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
