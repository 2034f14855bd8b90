package procgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// cgroup is a control group (cgroup v2) for one process and its descendants. It includes
// descendants that change their process group or session.
type cgroup struct {
	path string
	dir  *os.File
}

// controllers are the cgroup controllers that enforce limits.
var controllers = []string{"memory", "pids"}

// delegated returns the directory of a control group in which this process may create other groups.
// The error explains why there is none.
var delegated = sync.OnceValues(func() (string, error) { return delegatedOf(ownGroup, controllers) })

// ownGroup returns the directory of this process's control group.
func ownGroup() (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return groupDir(string(own), string(mounts))
}

// groupDir computes the directory of a control group from the contents of /proc/self/cgroup and
// /proc/self/mountinfo.
func groupDir(own, mounts string) (string, error) {
	path := ""
	for line := range strings.Lines(own) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSuffix(rest, "\n")
		}
	}
	if path == "" {
		return "", errors.New("this machine has no cgroup v2")
	}
	for line := range strings.Lines(mounts) {
		// The line has the form "36 35 98:0 ROOT DIR OPTIONS … - TYPE SOURCE OPTIONS".
		front, back, _ := strings.Cut(line, " - ")
		f, kind := strings.Fields(front), strings.Fields(back)
		if len(f) < 5 || len(kind) == 0 || kind[0] != "cgroup2" {
			continue
		}
		below, err := filepath.Rel(f[3], path)
		if err == nil && filepath.IsLocal(below) {
			return filepath.Join(f[4], below), nil
		}
	}
	return "", errors.New("no cgroup v2 is mounted")
}

// delegatedOf prepares the directory of a control group so that groups with limits can be created
// in it. need lists the required controllers.
func delegatedOf(own func() (string, error), need []string) (string, error) {
	dir, err := own()
	if err != nil {
		return "", err
	}
	offered, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return "", err
	}
	for _, c := range need {
		if !slices.Contains(strings.Fields(string(offered)), c) {
			return "", fmt.Errorf("%s has no controller %s", dir, c)
		}
	}
	try := filepath.Join(dir, fmt.Sprintf("concerto-%d", os.Getpid()))
	if err := os.Mkdir(try, 0o755); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(try, "cgroup.kill")); err != nil {
		_ = os.Remove(try)
		return "", errors.New("the kernel is older than 5.14")
	}
	err = enableControllers(dir, need)
	if errors.Is(err, syscall.EBUSY) {
		// A group that contains processes cannot have child groups with limits. If the processes
		// are only this one and its children, they move to a new child group.
		if err = moveProcesses(dir, try); err == nil {
			return dir, enableControllers(dir, need)
		}
	}
	_ = os.Remove(try)
	if err != nil {
		return "", err
	}
	return dir, nil
}

// moveProcesses moves this process and its children from one group to another. It returns an error
// if the group contains other processes.
func moveProcesses(from, to string) error {
	in, err := os.ReadFile(filepath.Join(from, "cgroup.procs"))
	if err != nil {
		return err
	}
	family.mu.Lock() // no child can be started while mu is locked
	defer family.mu.Unlock()
	all := strings.Fields(string(in))
	for _, text := range all {
		if pid, _ := strconv.Atoi(text); pid != os.Getpid() && !ours.contains(pid) {
			return fmt.Errorf("%s has processes that are not ours", from)
		}
	}
	for _, text := range all {
		if err := writeControl(filepath.Join(to, "cgroup.procs"), text); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// enableControllers enables controllers for the groups below dir.
func enableControllers(dir string, need []string) error {
	file := filepath.Join(dir, "cgroup.subtree_control")
	have, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, c := range need {
		if !slices.Contains(strings.Fields(string(have)), c) {
			if err := writeControl(file, "+"+c); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeControl writes text to a control file.
func writeControl(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

var cgroups atomic.Int64 // number of groups created so far, used in their names

// spareThreads is the number of threads that a group may have for each allowed process. The kernel
// limits the number of threads, while Limits counts processes. The kernel's limit stops programs
// that start processes faster than the periodic check counts them.
const spareThreads = 64

// newCgroup creates a group with the limits l below base.
func newCgroup(base string, l *Limits) (*cgroup, error) {
	g := &cgroup{path: filepath.Join(base, fmt.Sprintf("concerto-%d-%d", os.Getpid(), cgroups.Add(1)))}
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return nil, err
	}
	err := g.limit(l)
	if err == nil {
		g.dir, err = os.Open(g.path)
	}
	if err != nil {
		_ = os.Remove(g.path)
		return nil, err
	}
	return g, nil
}

func (g *cgroup) limit(l *Limits) error {
	if l.MemoryMB > 0 {
		if err := writeControl(filepath.Join(g.path, "memory.max"), strconv.FormatInt(l.MemoryMB<<20, 10)); err != nil {
			return err
		}
		// A kernel without swap has no memory.swap.max, and an older kernel has no
		// memory.oom.group.
		for file, text := range map[string]string{"memory.swap.max": "0", "memory.oom.group": "1"} {
			if err := writeControl(filepath.Join(g.path, file), text); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	if l.Processes > 0 {
		return writeControl(filepath.Join(g.path, "pids.max"), strconv.FormatInt(l.Processes*spareThreads, 10))
	}
	return nil
}

// exceeded returns the limit that the group has exceeded, or "".
func (g *cgroup) exceeded(l *Limits) Limit {
	switch {
	case l.MemoryMB > 0 && g.readCounter("memory.events", "oom_kill") > 0:
		return LimitMemory
	case l.Processes > 0 && g.readCounter("pids.events", "max") > 0:
		return LimitProcesses
	}
	in, _ := os.ReadFile(filepath.Join(g.path, "cgroup.procs"))
	return l.exceeded(usage{
		cpu:       time.Duration(g.readCounter("cpu.stat", "usage_usec")) * time.Microsecond,
		processes: int64(bytes.Count(in, []byte("\n"))),
	})
}

// readCounter returns a counter from a file that consists of "NAME NUMBER" lines. It returns 0 if
// there is no such counter.
func (g *cgroup) readCounter(file, name string) int64 {
	f, err := os.Open(filepath.Join(g.path, file))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, number, ok := strings.Cut(lines.Text(), " "); ok && key == name {
			n, _ := strconv.ParseInt(number, 10, 64) // the kernel writes only valid numbers
			return n
		}
	}
	return 0
}

// kill sends SIGKILL to all processes in the group.
func (g *cgroup) kill() {
	// Kernels before 5.14 have no cgroup.kill. Then only the process group is killed.
	_ = writeControl(filepath.Join(g.path, "cgroup.kill"), "1")
}

// removal is the maximum time to wait until a killed group is empty.
const removal = time.Second

// remove kills the remaining processes and removes the group.
func (g *cgroup) remove() {
	g.kill()
	g.dir.Close()
	for end := time.Now().Add(removal); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if err := os.Remove(g.path); !errors.Is(err, syscall.EBUSY) {
			return
		}
	}
}
