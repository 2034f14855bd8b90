package procgroup

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// becomeReaper's failure can only mean that the kernel is older than 3.4: there
// orphans fall to init, as elsewhere.
func becomeReaper() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	ours.adopt()
}

// dieWithParent has a child killed when the thread that starts it ends.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// starter is the thread that starts all children. They are to end with this
// process, and the kernel takes the end of the thread that started them for its
// end. So there is one that never ends.
var starter struct {
	once sync.Once
	jobs chan func()
}

// onStarter calls do on that thread.
func onStarter(do func()) {
	starter.once.Do(func() {
		starter.jobs = make(chan func())
		go runStarter(starter.jobs)
	})
	done := make(chan struct{})
	starter.jobs <- func() {
		defer close(done)
		do()
	}
	<-done
}

func runStarter(jobs <-chan func()) {
	runtime.LockOSThread()
	for do := range jobs {
		do()
	}
}

// How often a sweep looks for what is left, how long it waits in between, and after how
// many looks in a row that find nothing it ends, once one has: what forks without end
// is missed by some. There are many, since on a busy machine what hunts gets few turns.
// hunted is how often each looks for what is being born.
const (
	sweepRounds = 3000
	sweepPause  = time.Millisecond
	sweepSure   = 3
	hunted      = 30
)

// sweep kills the orphans of a run, collects them and those that have ended, and
// says whether it has seen that there are no more.
func (f *kin) sweep(run string) (clean bool) {
	f.mu.Lock()
	idle := !f.adopts || !f.begun
	f.mu.Unlock()
	if idle {
		return true
	}
	marked := func(env []byte) bool { return proc.Marked(env, run) }
	found, missed := false, 0
	for range sweepRounds {
		if f.sweepOnce(marked) {
			found, missed = true, 0
		} else if missed++; !found || missed == sweepSure {
			return true
		}
		if proc.Hunt(hunted, marked) > 0 {
			missed = 0
		}
		time.Sleep(sweepPause)
	}
	return false
}

// sweepOnce says whether there was any, or any orphan at all since the last time: one
// that has ended, or is about to, may have started others, and no longer tells whose it was.
func (f *kin) sweepOnce(marked func(env []byte) bool) (found bool) {
	f.mu.Lock() // none is started meanwhile
	defer f.mu.Unlock()
	self := os.Getpid()
	for pid := range proc.All {
		s := proc.Read(pid)
		if s == nil || s.Parent != self || ours.have(pid) || !s.Runs() {
			continue
		}
		switch env := proc.Environ(pid); {
		case len(env) == 0:
			found = found || ends(pid)
		case marked(env):
			found = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	orphans := ours.collectAll()
	found = found || orphans != f.orphans
	f.orphans = orphans
	return found
}

// ends says whether a process has left its memory and is not a zombie yet: its children
// are not ours yet.
func ends(pid int) bool {
	s := proc.Read(pid)
	return s != nil && s.Runs() && s.Pages == 0
}
