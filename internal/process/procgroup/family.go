package procgroup

import (
	"os/exec"
	"sync"
)

// family is the set of this process's children: those that it started, and orphans that it adopted.
var family childSet

type childSet struct {
	mu      sync.Mutex // held while a child is started, until it is registered
	adopts  bool       // orphaned descendants become children
	started bool       // a child was started

	orphans int // number of orphans collected at the last sweep
}

// Adopt makes this process the parent of its orphaned descendants, so that Run.End finds them. It
// is for programs that start processes only through this package. It has an effect only on Linux.
func Adopt() {
	family.mu.Lock()
	defer family.mu.Unlock()
	family.adopts = true
}

// onChildStarted is called when a child was started and the guardian does not know it yet, for
// tests.
var onChildStarted = func() {}

// startChild starts a process of a run on the starter thread, and calls hold with its number
// immediately.
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

// fork starts a child. It must be called on the starter thread.
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
