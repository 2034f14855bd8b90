package ptyholder

import (
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// adoptOrphans makes orphaned processes of the run children of the holder instead of init, so that
// they can be attributed to the run.
func adoptOrphans() {
	const childSubreaper = 36 // PR_SET_CHILD_SUBREAPER, prctl(2)
	// if this fails, init adopts them
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, childSubreaper, 1, 0)
}

// reapOrphans reaps adopted processes until stop is called; the run's own process is waited for
// elsewhere.
func reapOrphans(leader int) (stop func()) {
	ended, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for {
			select {
			case <-ended:
				reap(leader)
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(ended); close(done) }
}

func reap(leader int) {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range files {
		text, _ := os.ReadFile(file) // a thread may have exited
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid != leader {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it may still be running
			}
		}
	}
}
