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

// AwaitsInput reports whether a member of the group is waiting for input on Stdin and all other
// members with the same input are idle. known is false if the system does not provide this
// information.
func (p *Process) AwaitsInput() (waits, known bool) {
	pipe, err := pipeName(p.Stdin)
	if err != nil {
		return false, false
	}
	for pid := range proc.All {
		s := proc.Read(pid)
		if s == nil || !s.CanRun() || s.Group != p.pgid {
			continue
		}
		if name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid)); err != nil || name != pipe {
			continue
		}
		does, err := processActivity(pid)
		switch {
		case err != nil:
			return false, false
		case does == running:
			return false, true
		}
		waits = waits || does == awaitsInput
	}
	return waits, true
}

// processActivity returns what a process is doing. The process counts as running if one of its
// threads is running, or ran during the check, because a thread may wake another one and then
// block.
func processActivity(pid int) (activity, error) {
	all := blocked
	before, tasks := switches(pid)
	for _, task := range tasks {
		does, err := threadActivity(pid, task)
		if err != nil {
			return blocked, err
		}
		all = max(all, does)
	}
	if after, _ := switches(pid); after != before {
		return running, nil
	}
	return all, nil
}

// switches returns the numbers of context switches of each thread. The numbers change when a thread
// runs.
func switches(pid int) (all string, tasks []string) {
	dir := fmt.Sprintf("/proc/%d/task/", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil
	}
	var b strings.Builder
	for _, e := range entries {
		status, _ := os.ReadFile(dir + e.Name() + "/status") // empty if the thread has exited
		_, counts, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		fmt.Fprintln(&b, e.Name(), counts)
		tasks = append(tasks, e.Name())
	}
	return b.String(), tasks
}

// pipeName returns the name that /proc shows for both ends of a pipe.
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

// activity is what a process or a thread is doing.
type activity int

const (
	blocked     activity = iota // waiting for something other than standard input
	awaitsInput                 // waiting for standard input
	running                     // running or ready to run
)

// epollWait is the number of the system call epoll_wait by architecture. Newer architectures have
// only later variants of the call.
var epollWait = map[string]int{"amd64": 232, "386": 256, "arm": 252}

// threadActivity returns what a thread is doing. A thread that has exited counts as blocked.
func threadActivity(pid int, task string) (activity, error) {
	tid, err := strconv.Atoi(task)
	if err != nil {
		return blocked, err
	}
	s := proc.Read(tid)
	if s == nil || !s.CanRun() {
		return blocked, nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	switch {
	case os.IsNotExist(err) || err != nil && strings.Contains(err.Error(), syscall.ESRCH.Error()):
		return blocked, nil
	case err != nil:
		return blocked, err
	}
	// The file contains "NUMBER 0xARGUMENT …" for a system call, or "running".
	f := strings.Fields(string(text))
	if s.State == 'R' || s.State == 'D' || len(f) < 2 {
		return running, nil
	}
	call, _ := strconv.Atoi(f[0])
	fd, err := strconv.ParseUint(f[1], 0, 64)
	if err != nil {
		return blocked, nil
	}
	old, has := epollWait[runtime.GOARCH]
	switch {
	case call == unix.SYS_READ || call == unix.SYS_READV:
		if fd == 0 {
			return awaitsInput, nil
		}
	case call == unix.SYS_EPOLL_PWAIT || call == unix.SYS_EPOLL_PWAIT2 || has && call == old:
		if epollHasStdin(pid, fd) {
			return awaitsInput, nil
		}
	}
	return blocked, nil
}

// epollHasStdin reports whether the epoll descriptor epoll includes standard input.
func epollHasStdin(pid int, epoll uint64) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, epoll))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "tfd:" && f[1] == "0" {
			return true
		}
	}
	return false
}
