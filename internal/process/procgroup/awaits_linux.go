package procgroup

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// AwaitsInput says whether a member of the group waits for what comes on Stdin, and no
// member of it that could read there does anything else. known is false when that cannot be seen.
func (p *Process) AwaitsInput() (waits, known bool) {
	pipe, err := pipeName(p.Stdin)
	if err != nil {
		return false, false
	}
	for pid := range proc.All {
		s := proc.Read(pid)
		if s == nil || !s.Runs() || s.Group != p.pgid {
			continue
		}
		if name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid)); err != nil || name != pipe {
			continue
		}
		does, err := allDoing(pid)
		switch {
		case err != nil:
			return false, false
		case does == works:
			return false, true
		}
		waits = waits || does == awaits
	}
	return waits, true
}

// allDoing tells of a process: it works when one of its threads does, or has while they
// were looked at one by one, as one may wake another and rest before its turn comes.
func allDoing(pid int) (activity, error) {
	all := rests
	before, tasks := switches(pid)
	for _, task := range tasks {
		does, err := doing(pid, task)
		if err != nil {
			return rests, err
		}
		all = max(all, does)
	}
	if after, _ := switches(pid); after != before {
		return works, nil
	}
	return all, nil
}

// switches is what tells that a thread of a process has run: how often each was given a
// processor and gave it up.
func switches(pid int) (all string, tasks []string) {
	dir := fmt.Sprintf("/proc/%d/task/", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil
	}
	var b strings.Builder
	for _, e := range entries {
		status, _ := os.ReadFile(dir + e.Name() + "/status") // of one that has ended there is none
		_, counts, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		fmt.Fprintln(&b, e.Name(), counts)
		tasks = append(tasks, e.Name())
	}
	return b.String(), tasks
}

// pipeName is what a pipe's ends are called in /proc.
func pipeName(f *os.File) (string, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	var st unix.Stat_t
	if cerr := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) }); cerr != nil {
		return "", cerr
	}
	return fmt.Sprintf("pipe:[%d]", st.Ino), err
}

// activity is what a thread does.
type activity int

const (
	rests  activity = iota // it waits for something else
	awaits                 // it waits for standard input
	works                  // it computes, or is about to
)

// epollWait is Linux's oldest call of that kind, which newer machines do not have.
var epollWait = map[string]int{"amd64": 232, "386": 256, "arm": 252}

// doing tells of a thread. What has ended meanwhile rests.
func doing(pid int, task string) (activity, error) {
	tid, err := strconv.Atoi(task)
	if err != nil {
		return rests, err
	}
	s := proc.Read(tid)
	if s == nil || !s.Runs() {
		return rests, nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	switch {
	case os.IsNotExist(err) || err != nil && strings.Contains(err.Error(), syscall.ESRCH.Error()):
		return rests, nil
	case err != nil:
		return rests, err
	}
	// "NUMBER 0xARGUMENT …", or "running"
	f := strings.Fields(string(text))
	if s.State == 'R' || s.State == 'D' || len(f) < 2 {
		return works, nil
	}
	call, _ := strconv.Atoi(f[0])
	fd, err := strconv.ParseUint(f[1], 0, 64)
	if err != nil {
		return rests, nil
	}
	old, has := epollWait[runtime.GOARCH]
	switch {
	case call == unix.SYS_READ || call == unix.SYS_READV:
		if fd == 0 {
			return awaits, nil
		}
	case call == unix.SYS_EPOLL_PWAIT || call == unix.SYS_EPOLL_PWAIT2 || has && call == old:
		if polled(pid, fd) {
			return awaits, nil
		}
	}
	return rests, nil
}

// polled says whether standard input is among what an epoll waits for.
func polled(pid int, epoll uint64) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, epoll))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "tfd:" && f[1] == "0" {
			return true
		}
	}
	return false
}
