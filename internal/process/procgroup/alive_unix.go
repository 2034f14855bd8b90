//go:build unix && !linux

package procgroup

import (
	"errors"
	"syscall"
)

// dieWithParent does nothing: only Linux can kill a child when its parent exits.
func dieWithParent(*syscall.SysProcAttr) {}

// groupAlive reports whether the group has a member.
func groupAlive(pgid int) bool { return !errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) }
