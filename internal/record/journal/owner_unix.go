//go:build unix

package journal

import (
	"errors"
	"syscall"
)

// runs says whether there is a process of a number.
func runs(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
