package procgroup

import (
	"os/exec"
	"sync"
)

// family contains the children of this process: processes that it started, and orphans that it
// adopted.
var family childSet

type childSet struct {
	mu      sync.Mutex // locked while a child is started, until the child is registered
	adopts  bool       // orphaned descendants become children of this process
	started bool       // a child has been started

	orphans int // number of orphans collected until the last sweep

	sweeps familySweeps
}

// relative describes the processes that a host's process has started.
type relative struct {
	run          string // argument of proc.Marked
	mark, number string // variables with their values
}

// familySweeps contains the calls of endFamily that wait. A sweep serves all that wait when it
// begins, because hosts often end at the same time.
type familySweeps struct {
	mu      sync.Mutex
	running bool
	waiting []relative
	done    chan struct{} // closed when those that wait have been served
}

// Adopt makes this process the parent of its orphaned descendants, so that Run.End finds them. It
// is for programs that start processes only through this package. It has no effect on systems other
// than Linux.
func Adopt() {
	family.mu.Lock()
	defer family.mu.Unlock()
	family.adopts = true
}

// onChildStarted is a hook for tests. It is called after a child was started and before the
// guardian is notified.
var onChildStarted = func() {}

// startChild starts a process of a run on the starter thread. It calls hold with the process number
// immediately after the start.
func (f *childSet) startChild(r *Run, cmd *exec.Cmd, hold func(pid int)) (pid int, end <-chan ended, err error) {
	onStarter(func() {
		guarded := r.ensureGuardian()
		if pid, end, err = f.fork(cmd); err != nil {
			return
		}
		hold(pid)
		if guarded {
			onChildStarted()
			guards.addGroup(r, pid)
		}
	})
	return pid, end, err
}

// fork starts a child. It must run on the starter thread.
func (f *childSet) fork(cmd *exec.Cmd) (pid int, end <-chan ended, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.started {
		f.started = true
		if f.adopts {
			becomeReaper()
		}
	}
	return ours.startProcess(cmd)
}
