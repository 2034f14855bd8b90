//go:build !linux

package procgroup

import (
	"errors"
	"os/exec"
	"runtime"
)

// cgroup is for Linux.
type cgroup struct{}

func (*cgroup) kill() {}

func (*cgroup) end() {}

// limited are on Linux the processes that are looked at.
var limited limitedProcesses

type limitedProcesses struct{}

func (limitedProcesses) add(*Process) {}

func (limitedProcesses) remove(*Process) {}

func means() string { return "a timer" }

// confine refuses what cannot be held here.
func (p *Process) confine(*exec.Cmd) error {
	if l := p.limits; l.Any() && (l.watched() || l.OpenFiles > 0 || l.FileMB > 0) {
		return errors.New("of limits, " + runtime.GOOS + " holds wall_seconds alone: leave the others out, or run on Linux")
	}
	return nil
}

func (p *Process) hold(int) {}

func (p *Process) outcome(ended) Limit { return "" }
