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

// cgroup is a control group (cgroup v2) for one process and all that it starts,
// whatever group or session they make for themselves.
type cgroup struct {
	path string
	dir  *os.File
}

// controllers are what a group needs to hold limits.
var controllers = []string{"memory", "pids"}

// delegated is the directory of the control group below which this process may
// make others. The error says why it may not.
var delegated = sync.OnceValues(func() (string, error) { return delegatedOf(ownGroup, controllers) })

// ownGroup is the directory of the control group in which this process is.
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

// groupDir finds the directory by what /proc/self/cgroup and /proc/self/mountinfo
// say.
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
		// "36 35 98:0 ROOT DIR OPTIONS … - TYPE SOURCE OPTIONS"
		front, behind, _ := strings.Cut(line, " - ")
		f, kind := strings.Fields(front), strings.Fields(behind)
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

// delegatedOf makes a group's directory one in which groups with limits can be
// made.
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
	err = enable(dir, need)
	if errors.Is(err, syscall.EBUSY) {
		// A group with processes in it cannot have groups with limits below it. When
		// they are all ours, they move, and the group that was made stays.
		if err = move(dir, try); err == nil {
			return dir, enable(dir, need)
		}
	}
	_ = os.Remove(try)
	if err != nil {
		return "", err
	}
	return dir, nil
}

// move moves this process and its children from one group to another. It fails when
// there are others in it.
func move(from, to string) error {
	in, err := os.ReadFile(filepath.Join(from, "cgroup.procs"))
	if err != nil {
		return err
	}
	family.mu.Lock() // none is started meanwhile
	defer family.mu.Unlock()
	all := strings.Fields(string(in))
	for _, text := range all {
		if pid, _ := strconv.Atoi(text); pid != os.Getpid() && !ours.have(pid) {
			return fmt.Errorf("%s has processes that are not ours", from)
		}
	}
	for _, text := range all {
		if err := put(filepath.Join(to, "cgroup.procs"), text); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// enable has the groups below dir hold limits.
func enable(dir string, need []string) error {
	file := filepath.Join(dir, "cgroup.subtree_control")
	have, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, c := range need {
		if !slices.Contains(strings.Fields(string(have)), c) {
			if err := put(file, "+"+c); err != nil {
				return err
			}
		}
	}
	return nil
}

// put writes to a file that the kernel shows.
func put(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

var cgroups atomic.Int64 // that were made, for their names

// spareThreads is how many threads a group may have for each process that it may
// have: the kernel bounds threads, of which a process has many. Processes are
// counted; this holds what is faster than that.
const spareThreads = 64

// newCgroup makes a group with limits below base.
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
		if err := put(filepath.Join(g.path, "memory.max"), strconv.FormatInt(l.MemoryMB<<20, 10)); err != nil {
			return err
		}
		// A kernel without swap has not the one, an older one not the other.
		for file, text := range map[string]string{"memory.swap.max": "0", "memory.oom.group": "1"} {
			if err := put(filepath.Join(g.path, file), text); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	if l.Processes > 0 {
		return put(filepath.Join(g.path, "pids.max"), strconv.FormatInt(l.Processes*spareThreads, 10))
	}
	return nil
}

// crossed is the limit that the group is or was beyond.
func (g *cgroup) crossed(l *Limits) Limit {
	switch {
	case l.MemoryMB > 0 && g.count("memory.events", "oom_kill") > 0:
		return LimitMemory
	case l.Processes > 0 && g.count("pids.events", "max") > 0:
		return LimitProcesses
	}
	in, _ := os.ReadFile(filepath.Join(g.path, "cgroup.procs"))
	return l.crossed(usage{
		cpu:       time.Duration(g.count("cpu.stat", "usage_usec")) * time.Microsecond,
		processes: int64(bytes.Count(in, []byte("\n"))),
	})
}

// count reads a number from a file of "NAME NUMBER" lines; 0 when there is none.
func (g *cgroup) count(file, name string) int64 {
	f, err := os.Open(filepath.Join(g.path, file))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, number, ok := strings.Cut(lines.Text(), " "); ok && key == name {
			n, _ := strconv.ParseInt(number, 10, 64) // the kernel wrote it
			return n
		}
	}
	return 0
}

// kill sends SIGKILL to all in the group.
func (g *cgroup) kill() {
	// A kernel before 5.14 cannot: then the process group is what is killed.
	_ = put(filepath.Join(g.path, "cgroup.kill"), "1")
}

// removal bounds the wait for a killed group to be empty.
const removal = time.Second

// end kills what is left in the group and removes it.
func (g *cgroup) end() {
	g.kill()
	g.dir.Close()
	for end := time.Now().Add(removal); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if err := os.Remove(g.path); !errors.Is(err, syscall.EBUSY) {
			return
		}
	}
}
