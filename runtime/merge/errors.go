package merge

import (
	"errors"
	"fmt"
	"strings"
)

// ErrFile means that the database of a queue is damaged, or belongs to a newer version or another
// program. It was not changed.
var ErrFile = errors.New("the database of the merge queue cannot be used")

// ErrUnknown means that a queue has no change with an id.
var ErrUnknown = errors.New("unknown change")

// Conflict is the error of a change that conflicts with the target. Paths are sorted.
type Conflict struct {
	Workspace, Into string
	Paths           []string
}

func (e *Conflict) Error() string {
	return fmt.Sprintf("%s conflicts with %s in %s", e.Workspace, e.Into, strings.Join(e.Paths, ", "))
}

// GateFailed is the error of a change whose merged result does not pass the gate.
type GateFailed struct {
	Workspace, Into string
	Command         []string // empty if the gate is a function
	ExitCode        *int     // nil if the command did not exit
	Output          string   // the last 16 KiB
	OnTarget        bool     // the target itself fails

	reason     string // such as "make test exited with status 2"
	unprepared bool   // git, or a setup command, could not prepare the worktree
}

func (e *GateFailed) Error() string {
	if e.OnTarget {
		return fmt.Sprintf("the gate fails on %s itself: %s", e.Into, e.reason)
	}
	if e.unprepared {
		return fmt.Sprintf("%s cannot be merged into %s: %s", e.Workspace, e.Into, e.reason)
	}
	return fmt.Sprintf("the gate fails for %s merged into %s: %s", e.Workspace, e.Into, e.reason)
}
