package ptyholder

import (
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// adoptOrphans makes orphaned processes of the run children of the holder instead of init. The
// holder can then recognise them as processes of the run.
func adoptOrphans() {
	const childSubreaper = 36 // constant PR_SET_CHILD_SUBREAPER of prctl(2)
	// If this fails, orphans become children of init.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, childSubreaper, 1, 0)
}

// reapOrphans reaps orphaned processes until stop is called. It does not reap the process leader,
// for which term.wait waits.
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
		text, _ := os.ReadFile(file) // ignore the error: a thread may have exited
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid != leader {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // does nothing if the process is still running
			}
		}
	}
}
