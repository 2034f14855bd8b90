package ancestry

import (
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// Step is a process in a chain of parent processes.
type Step struct {
	PID int
	*proc.Stat
}

// The maximum length of a chain, and the maximum number of attempts to read a chain while its
// processes exit. Without the second limit, processes that exit continuously could prevent the
// result.
const (
	MaxParents  = 1000
	maxAttempts = 100
)

// Look returns the state of a process, like proc.Read. The state of another user's process may be
// hidden (mount option hidepid of /proc). Look then returns a Stat without a parent.
func Look(pid int) *proc.Stat {
	s := proc.Read(pid)
	if s == nil && syscall.Kill(pid, 0) == syscall.EPERM {
		return &proc.Stat{State: '?'}
	}
	return s
}

// Line returns a process and its chain of parents. read returns the state of a process; normally it
// is Look. ok reports whether the chain is complete. If a parent exits during the reading, its
// child gets a new parent, and Line reads the chain again.
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
