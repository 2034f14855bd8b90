package procgroup

import (
	"errors"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// groupAlive says whether a process of the group can still run. Zombies, which
// still accept signals, do not count: in a container perhaps nobody ever
// collects them.
func groupAlive(pgid int) bool {
	if errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) {
		return false
	}
	seen := false
	for pid := range proc.All {
		seen = true
		if s := proc.Read(pid); s != nil && s.Group == pgid && s.Runs() {
			return true
		}
	}
	return !seen // without /proc nothing is known
}
