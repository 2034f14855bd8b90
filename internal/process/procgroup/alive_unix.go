//go:build unix && !linux

package procgroup

import (
	"errors"
	"syscall"
)

// dieWithParent does nothing: only Linux tells a child of its parent's end.
func dieWithParent(*syscall.SysProcAttr) {}

// groupAlive says whether the group has a member.
func groupAlive(pgid int) bool { return !errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) }
