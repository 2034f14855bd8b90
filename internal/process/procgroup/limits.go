package procgroup

import (
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Limits bound a process and all that it starts; 0 is no bound. What crosses one
// is killed, whole.
type Limits struct {
	MemoryMB    int64   `json:"memory_mb"`    // of all together, in MiB
	CPUSeconds  float64 `json:"cpu_seconds"`  // of all together
	WallSeconds float64 `json:"wall_seconds"` // from the start of the first to its end
	Processes   int64   `json:"processes"`    // at once
	OpenFiles   int64   `json:"open_files"`   // of each; opening more fails
	FileMB      int64   `json:"-"`            // the largest file that each may write, in MiB; writing more fails
}

// Any says whether there is a bound.
func (l *Limits) Any() bool { return l != nil && *l != Limits{} }

// watched says whether somebody has to look whether a bound is crossed.
func (l *Limits) watched() bool { return l.MemoryMB > 0 || l.CPUSeconds > 0 || l.Processes > 0 }

// A Limit is a bound that was crossed; "" is none.
type Limit string

// The limits that end a process.
const (
	LimitMemory    Limit = "memory"
	LimitCPU       Limit = "cpu"
	LimitWall      Limit = "wall"
	LimitProcesses Limit = "processes"
)

// Says is the bound in words, for "used more than …".
func (l *Limits) Says(limit Limit) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch limit {
	case LimitMemory:
		return fmt.Sprintf("%d MB of memory", l.MemoryMB)
	case LimitCPU:
		return number(l.CPUSeconds) + " seconds of CPU"
	case LimitWall:
		return number(l.WallSeconds) + " seconds"
	case LimitProcesses:
		return fmt.Sprintf("%d processes", l.Processes)
	}
	return ""
}

// usage is what a process and all that it started use.
type usage struct {
	memory    int64 // bytes
	cpu       time.Duration
	processes int64
}

// crossed is the bound that u is beyond.
func (l *Limits) crossed(u usage) Limit {
	switch {
	case l.MemoryMB > 0 && u.memory > l.MemoryMB<<20:
		return LimitMemory
	case l.CPUSeconds > 0 && u.cpu.Seconds() > l.CPUSeconds:
		return LimitCPU
	case l.Processes > 0 && u.processes > l.Processes:
		return LimitProcesses
	}
	return ""
}

// confinement is how a process is held to its limits.
type confinement struct {
	limits *Limits // nil: it is not
	wall   *time.Timer
	group  *cgroup // nil: it has none

	crossing sync.Mutex
	crossed  Limit // for which it was killed
	ended    bool  // it has ended: whatever is crossed was not the reason
}

// look begins to look whether a limit is crossed.
func (p *Process) look() {
	if !p.limits.Any() {
		return
	}
	if p.limits.WallSeconds > 0 {
		p.wall = time.AfterFunc(time.Duration(p.limits.WallSeconds*float64(time.Second)), func() { p.cross(LimitWall) })
	}
	if p.limits.watched() {
		limited.add(p)
	}
}

// cross kills the process and all that it started, because of a limit.
func (p *Process) cross(limit Limit) {
	p.crossing.Lock()
	if p.crossed == "" && !p.ended {
		p.crossed = limit
	}
	p.crossing.Unlock()
	p.Kill()
}

// verdict is the limit for which a process that has ended was killed.
func (p *Process) verdict(e ended) Limit {
	p.crossing.Lock()
	defer p.crossing.Unlock()
	p.ended = true
	if p.crossed == "" && p.limits.Any() {
		p.crossed = p.outcome(e)
	}
	return p.crossed
}

// release ends the looking, and what is left in the process's cgroup.
func (p *Process) release() {
	if !p.limits.Any() {
		return
	}
	if p.wall != nil {
		p.wall.Stop()
	}
	limited.remove(p)
	if p.group != nil {
		p.group.end()
	}
}

// killConfined kills what left the process group and not the control group.
func (p *Process) killConfined() {
	if p.group != nil {
		p.group.kill()
	}
}

// Means says how limits are held here.
func Means() string { return means() }
