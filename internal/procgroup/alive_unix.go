//go:build unix && !linux

package procgroup

import (
	"errors"
	"syscall"
)

// groupAlive says whether the group has a member.
func groupAlive(pgid int) bool { return !errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) }
