package proc

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// KillNewProcesses kills short-lived processes. A process that forks and exits immediately may have
// exited before a scan of /proc reaches it. Linux assigns process numbers in order, so
// KillNewProcesses also tries the next numbers, whose processes may not exist yet. In each of the
// rounds it reads the environments of the newest and the next processes in /proc. It kills a
// process if ours returns true for its environment, and returns how many processes it killed.
func KillNewProcesses(rounds int, ours func(env []byte) bool) (killed int) {
	load, err := os.Open("/proc/loadavg") // the last field is the number of the newest process
	if err != nil {
		return 0
	}
	defer load.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h := newProcessScanner{env: make([]byte, 64<<10)}
	for range rounds {
		newest := h.newest(int(load.Fd()))
		for pid := max(newest-numbersBefore, 2); pid <= newest+numbersAfter; pid++ {
			if env := h.environ(pid); len(env) > 0 && ours(env) && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	return killed
}

// Counts of process numbers to check before and after the newest number. The numbers before belong
// to processes that started during a check; the numbers after belong to processes that are being
// started.
const numbersBefore, numbersAfter = 4, 4

type newProcessScanner struct{ env []byte }

// newest returns the last assigned process number, or 0 if /proc does not show it.
func (h *newProcessScanner) newest(load int) int {
	n, _ := syscall.Pread(load, h.env, 0)
	line := h.env[:max(n, 0)]
	from := len(line)
	for from > 0 && line[from-1] != ' ' {
		from--
	}
	pid := 0
	for _, c := range line[from:] {
		if c >= '0' && c <= '9' {
			pid = pid*10 + int(c-'0')
		}
	}
	return pid
}

// environ is Environ with fewer system calls.
func (h *newProcessScanner) environ(pid int) []byte {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/environ", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	for n := 0; ; {
		k, err := syscall.Read(fd, h.env[n:])
		if n += max(k, 0); k <= 0 || err != nil {
			return h.env[:n]
		}
		if n == len(h.env) {
			h.env = append(h.env, make([]byte, len(h.env))...)
		}
	}
}
