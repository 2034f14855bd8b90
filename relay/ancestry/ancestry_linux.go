package ancestry

import (
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// Step is a process in a chain of parents.
type Step struct {
	PID int
	*proc.Stat
}

// Limits that stop processes from hiding: the length of a chain, and the number of attempts to read
// a chain whose processes keep exiting.
const (
	MaxParents  = 1000
	maxAttempts = 100
)

// Look returns the state of a process like proc.Read. For a process of another user that /proc
// hides (hidepid), it returns a Stat without a parent.
func Look(pid int) *proc.Stat {
	s := proc.Read(pid)
	if s == nil && syscall.Kill(pid, 0) == syscall.EPERM {
		return &proc.Stat{State: '?'}
	}
	return s
}

// Line returns a process followed by its parents, as read (normally Look) returns them. ok reports
// whether the chain is complete. If a parent has exited, its child was reparented, and Line starts
// again.
func Line(pid int, read func(pid int) *proc.Stat) (line []Step, ok bool) {
	for attempt := 0; attempt < maxAttempts; attempt++ {
		line = line[:0]
		for at := pid; at > 0 && len(line) < MaxParents; {
			s := read(at)
			if s == nil {
				break
			}
			line = append(line, Step{at, s})
			at = s.Parent
		}
		n := len(line)
		switch {
		case n == 0 || n == MaxParents:
			return line, false
		case line[n-1].Parent <= 0:
			return line, true
		}
	}
	return line, false
}
