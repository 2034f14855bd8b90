//go:build unix && !linux

package procgroup

import (
	"errors"
	"syscall"
)

// dieWithParent does nothing. Only Linux can kill a child process when its parent exits.
func dieWithParent(*syscall.SysProcAttr) {}

// groupAlive reports whether the group has a member, which may be a zombie.
func groupAlive(pgid int) bool { return !errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) }
