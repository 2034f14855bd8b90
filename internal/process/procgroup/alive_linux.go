package procgroup

import (
	"errors"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// groupAlive reports whether a process of the group has not exited. It ignores zombies. Zombies
// accept signals, and in a container they may never be waited for.
func groupAlive(pgid int) bool {
	if errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) {
		return false
	}
	seen := false
	for pid := range proc.All {
		seen = true
		if s := proc.Read(pid); s != nil && s.Group == pgid && s.CanRun() {
			return true
		}
	}
	return !seen // without /proc, assume that the group is alive
}
