package proc

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// Hunt kills processes as they are born. One that forks and ends at once is gone before
// a look through all of /proc comes to it, but Linux gives numbers in order, so the next
// one's is known: /proc is asked for it, again and again, until it is there. It looks so many times
// at the newest processes and the next ones, kills those whose environment is one of
// ours, and says how many that were.
func Hunt(looks int, ours func(env []byte) bool) (killed int) {
	load, err := os.Open("/proc/loadavg") // its last field is the newest process's number
	if err != nil {
		return 0
	}
	defer load.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h := hunter{env: make([]byte, 64<<10)}
	for range looks {
		newest := h.newest(int(load.Fd()))
		for pid := max(newest-behind, 2); pid <= newest+ahead; pid++ {
			if env := h.environ(pid); len(env) > 0 && ours(env) && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	return killed
}

// How many numbers are looked at beside the newest: what was born while others were
// looked at, and what is being born.
const behind, ahead = 4, 4

type hunter struct{ env []byte }

// newest is the number that was given last; 0 when /proc does not say.
func (h *hunter) newest(load int) int {
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

// environ is Environ in few calls of the system.
func (h *hunter) environ(pid int) []byte {
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
