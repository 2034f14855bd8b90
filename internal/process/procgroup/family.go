package procgroup

import (
	"os/exec"
	"sync"
)

// family are the children of this process. Those that it has started itself are
// collected as children of ours; others fall to it as orphans.
var family kin

type kin struct {
	mu     sync.Mutex // held from before a child is there until it is known as ours
	adopts bool       // orphans among the descendants become children
	begun  bool       // one was started

	orphans int // that had been collected when it was last looked for some
}

// Adopt makes this process the parent of orphans among its descendants, so that
// Run.End finds them. It is for a program that starts processes by this package
// alone. Elsewhere than on Linux it does nothing.
func Adopt() {
	family.mu.Lock()
	defer family.mu.Unlock()
	family.adopts = true
}

// born is called when a child is there and the guardian has not heard of it, for
// tests.
var born = func() {}

// bear starts a process of a run, on the thread that starts all, and calls hold with
// its number at once.
func (f *kin) bear(r *Run, cmd *exec.Cmd, hold func(pid int)) (pid int, end <-chan ended, err error) {
	onStarter(func() {
		guarded := r.guard()
		if pid, end, err = f.start(cmd); err != nil {
			return
		}
		hold(pid)
		if guarded {
			born()
			guards.add(r, pid)
		}
	})
	return pid, end, err
}

// start starts a child. It is called on that thread.
func (f *kin) start(cmd *exec.Cmd) (pid int, end <-chan ended, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		f.begun = true
		if f.adopts {
			becomeReaper()
		}
	}
	return ours.start(cmd)
}
