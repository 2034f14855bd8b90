package procgroup

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// checkInterval is the interval at which the usage of limited processes is checked.
const checkInterval = 200 * time.Millisecond

// limited contains the processes whose limits must be checked. A goroutine checks them while there
// are any.
var limited limitedProcesses

type limitedProcesses struct {
	mu      sync.Mutex
	all     map[*Process]struct{}
	running bool // the goroutine is running
}

func means() string {
	if _, err := delegated(); err != nil {
		return fmt.Sprintf("rlimits and a check of its processes every %d ms (no cgroup: %v)", checkInterval.Milliseconds(), err)
	}
	return "a cgroup"
}

// confine prepares a command so that it starts with its limits.
func (p *Process) confine(cmd *exec.Cmd) error {
	if !p.limits.Any() || !p.limits.needsWatching() {
		return nil
	}
	base, err := delegated()
	if err != nil {
		return nil // no control group is available: use only resource limits (rlimits)
	}
	if p.group, err = newCgroup(base, p.limits); err != nil {
		return fmt.Errorf("make a cgroup: %w", err)
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(p.group.dir.Fd())
	return nil
}

// setRlimits sets the limits that the kernel enforces for the process pid. It is called immediately
// after the start.
func (p *Process) setRlimits(pid int) {
	l := p.limits
	if !l.Any() {
		return
	}
	set := func(which int, soft, hard uint64) {
		// The call fails only if the process has exited, because lowering a limit is always
		// permitted.
		_ = unix.Prlimit(pid, which, &unix.Rlimit{Cur: soft, Max: hard}, nil)
	}
	if l.OpenFiles > 0 {
		set(unix.RLIMIT_NOFILE, uint64(l.OpenFiles), uint64(l.OpenFiles))
	}
	if l.FileMB > 0 {
		set(unix.RLIMIT_FSIZE, uint64(l.FileMB)<<20, uint64(l.FileMB)<<20)
	}
	if l.CPUSeconds > 0 {
		// The kernel limits each single process, in whole seconds. Usually the periodic check of
		// all processes detects the excess earlier, except on a very busy machine.
		whole := uint64(math.Ceil(l.CPUSeconds))
		set(unix.RLIMIT_CPU, whole, whole+1)
	}
}

func (w *limitedProcesses) add(p *Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[*Process]struct{}{}
	}
	w.all[p] = struct{}{}
	if !w.running {
		w.running = true
		go w.watchLoop()
	}
}

func (w *limitedProcesses) remove(p *Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, p)
}

// watchLoop checks the processes periodically until there are none.
func (w *limitedProcesses) watchLoop() {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for range tick.C {
		if !w.checkAll() {
			return
		}
	}
}

// checkAll checks all processes once. It reports whether there are processes to check.
func (w *limitedProcesses) checkAll() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) == 0 {
		w.running = false
		return false
	}
	var groups map[int]usage
	for p := range w.all {
		var limit Limit
		if p.group != nil {
			limit = p.group.exceeded(p.limits)
		} else {
			if groups == nil {
				groups = usages()
			}
			limit = p.limits.exceeded(groups[p.pgid])
		}
		if limit != "" {
			p.killForLimit(limit)
		}
	}
	return true
}

// usages returns the resource usage of each process group by group number.
func usages() map[int]usage {
	out := map[int]usage{}
	page := int64(os.Getpagesize())
	for pid := range proc.All {
		s := proc.Read(pid)
		if s == nil || !s.CanRun() {
			continue
		}
		u := out[s.Group]
		u.memory += s.Pages * page
		u.cpu += time.Duration(s.CPU) * time.Second / proc.TicksASecond
		u.processes++
		out[s.Group] = u
	}
	return out
}

// kernelLimit returns the limit that the kernel has enforced on an exited process, or "".
func (p *Process) kernelLimit(e ended) Limit {
	if p.group != nil {
		if limit := p.group.exceeded(p.limits); limit != "" {
			return limit
		}
	}
	if e.err != nil || !e.status.Signaled() || p.limits.CPUSeconds == 0 {
		return ""
	}
	used := time.Duration(e.usage.Utime.Nano() + e.usage.Stime.Nano()).Seconds()
	if e.status.Signal() == syscall.SIGXCPU || e.status.Signal() == syscall.SIGKILL && used > p.limits.CPUSeconds {
		return LimitCPU
	}
	return ""
}
