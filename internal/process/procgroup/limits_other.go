//go:build !linux

package procgroup

import (
	"errors"
	"os/exec"
	"runtime"
)

// cgroup is not used on this system.
type cgroup struct{}

func (*cgroup) kill() {}

func (*cgroup) remove() {}

// limited is never filled: limits are checked only on Linux.
var limited limitedProcesses

type limitedProcesses struct{}

func (limitedProcesses) add(*Process) {}

func (limitedProcesses) remove(*Process) {}

func means() string { return "a timer" }

// confine returns an error for limits that this system cannot enforce.
func (p *Process) confine(*exec.Cmd) error {
	if l := p.limits; l.Any() && (l.needsWatching() || l.OpenFiles > 0 || l.FileMB > 0) {
		return errors.New("only the limit wall_seconds is supported on " + runtime.GOOS + ": remove the other limits, or run on Linux")
	}
	return nil
}

func (p *Process) setRlimits(int) {}

func (p *Process) kernelLimit(ended) Limit { return "" }
