package procgroup

import (
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Limits contains limits on the resources of a process and its descendants. A value of 0 means no
// limit. If a limit is exceeded, all these processes are killed.
type Limits struct {
	MemoryMB    int64   `json:"memory_mb"`    // of all processes together, in MiB
	CPUSeconds  float64 `json:"cpu_seconds"`  // of all processes together
	WallSeconds float64 `json:"wall_seconds"` // from start to exit of the first process
	Processes   int64   `json:"processes"`    // at the same time
	OpenFiles   int64   `json:"open_files"`   // of each process; opening more fails
	FileMB      int64   `json:"-"`            // size of each written file in MiB; writing more fails
}

// Any reports whether at least one limit is set.
func (l *Limits) Any() bool { return l != nil && *l != Limits{} }

// needsWatching reports whether one of the limits requires periodic checks.
func (l *Limits) needsWatching() bool { return l.MemoryMB > 0 || l.CPUSeconds > 0 || l.Processes > 0 }

// Stricter returns the limits that are the stricter ones of a and b; both may be nil.
func Stricter(a, b *Limits) *Limits {
	if !a.Any() {
		return b
	}
	if !b.Any() {
		return a
	}
	return &Limits{
		MemoryMB: least(a.MemoryMB, b.MemoryMB), CPUSeconds: least(a.CPUSeconds, b.CPUSeconds), WallSeconds: least(a.WallSeconds, b.WallSeconds),
		Processes: least(a.Processes, b.Processes), OpenFiles: least(a.OpenFiles, b.OpenFiles), FileMB: least(a.FileMB, b.FileMB),
	}
}

// least returns the smaller of two limits, of which 0 is none.
func least[T int64 | float64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// A Limit is the name of an exceeded limit, or "".
type Limit string

// The limits for which a process may be killed.
const (
	LimitMemory    Limit = "memory"
	LimitCPU       Limit = "cpu"
	LimitWall      Limit = "wall"
	LimitProcesses Limit = "processes"
)

// Describe returns the value of a limit as text that completes the sentence "used more than …".
func (l *Limits) Describe(limit Limit) string {
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

// usage is the resource usage of a process and its descendants.
type usage struct {
	memory    int64 // in bytes
	cpu       time.Duration
	processes int64
}

// exceeded returns the limit that u exceeds.
func (l *Limits) exceeded(u usage) Limit {
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

// confinement is the state of a process's limits.
type confinement struct {
	limits *Limits // nil if the process has no limits
	wall   *time.Timer
	group  *cgroup // nil if no control group is used

	crossing sync.Mutex
	crossed  Limit // limit for which the process was killed
	ended    bool  // the process has exited, so that a later check must not set crossed
}

// startWatching starts the checks of the limits.
func (p *Process) startWatching() {
	if !p.limits.Any() {
		return
	}
	if p.limits.WallSeconds > 0 {
		p.wall = time.AfterFunc(time.Duration(p.limits.WallSeconds*float64(time.Second)), func() { p.killForLimit(LimitWall) })
	}
	if p.limits.needsWatching() {
		limited.add(p)
	}
}

// killForLimit kills the process and its descendants because they have exceeded a limit.
func (p *Process) killForLimit(limit Limit) {
	p.crossing.Lock()
	if p.crossed == "" && !p.ended {
		p.crossed = limit
	}
	p.crossing.Unlock()
	p.Kill()
}

// exceededLimit returns the limit for which an exited process was killed, or "".
func (p *Process) exceededLimit(e ended) Limit {
	p.crossing.Lock()
	defer p.crossing.Unlock()
	p.ended = true
	if p.crossed == "" && p.limits.Any() {
		p.crossed = p.kernelLimit(e)
	}
	return p.crossed
}

// releaseLimits stops the checks and removes the control group.
func (p *Process) releaseLimits() {
	if !p.limits.Any() {
		return
	}
	if p.wall != nil {
		p.wall.Stop()
	}
	limited.remove(p)
	if p.group != nil {
		p.group.remove()
	}
}

// killConfined kills descendants that have left the process group but are still in the control
// group.
func (p *Process) killConfined() {
	if p.group != nil {
		p.group.kill()
	}
}

// Means names the mechanism that enforces limits on this machine.
func Means() string { return means() }
