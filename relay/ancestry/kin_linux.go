package ancestry

import (
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// Step is a process of a line.
type Step struct {
	PID int
	*proc.Stat
}

// Bounds of looking for the parents of a process: who has more of them, or whose parents end as fast
// as they are looked at, hides.
const (
	MostParents = 1000
	mostLooks   = 100
)

// Look is proc.Read, but for a process that is there and that another user's may not look at, as where /proc
// is mounted with hidepid: of that nothing is known, not its parent either.
func Look(pid int) *proc.Stat {
	s := proc.Read(pid)
	if s == nil && syscall.Kill(pid, 0) == syscall.EPERM {
		return &proc.Stat{State: '?'}
	}
	return s
}

// Line is a process and its parents behind it, as read, which is Look, tells of them; ok says that it is
// whole. A parent that has ended meanwhile has left its child to another, so that all are looked at again.
func Line(pid int, read func(pid int) *proc.Stat) (line []Step, ok bool) {
	for looks := 0; looks < mostLooks; looks++ {
		line = line[:0]
		for at := pid; at > 0 && len(line) < MostParents; {
			s := read(at)
			if s == nil {
				break
			}
			line = append(line, Step{at, s})
			at = s.Parent
		}
		n := len(line)
		switch {
		case n == 0 || n == MostParents:
			return line, false
		case line[n-1].Parent <= 0:
			return line, true
		}
	}
	return line, false
}
