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

// becomeReaper ignores the error: a kernel before 3.4 passes orphans to init, as other systems do.
func becomeReaper() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	ours.adoptOrphans()
}

// dieWithParent makes the kernel kill a child when the thread that starts it exits.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// starter is the thread that starts all children. The kernel kills a child when the thread that
// started it exits, so that thread must live as long as this process.
var starter struct {
	once sync.Once
	jobs chan func()
}

// onStarter calls do on the starter thread.
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

// How often a sweep scans for orphans, the delay between scans, and the number of consecutive scans
// that must find nothing after one has found something: processes that fork endlessly are missed by
// some scans. The numbers are large because the sweep gets little time on a busy machine. hunted is
// the number of checks for new processes in each scan.
const (
	sweepRounds = 3000
	sweepPause  = time.Millisecond
	sweepSure   = 3
	hunted      = 30
)

// sweepOrphans kills and collects the orphans of a run, and reports whether none is left.
func (f *childSet) sweepOrphans(run string) (clean bool) {
	f.mu.Lock()
	idle := !f.adopts || !f.started
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
		if proc.KillNewProcesses(hunted, marked) > 0 {
			missed = 0
		}
		time.Sleep(sweepPause)
	}
	return false
}

// sweepOnce reports whether there was an orphan of the run, or any orphan since the last call: one
// that has exited may have started others, and no longer shows which run it belonged to.
func (f *childSet) sweepOnce(marked func(env []byte) bool) (found bool) {
	f.mu.Lock() // prevents the start of a child
	defer f.mu.Unlock()
	self := os.Getpid()
	for pid := range proc.All {
		s := proc.Read(pid)
		if s == nil || s.Parent != self || ours.contains(pid) || !s.CanRun() {
			continue
		}
		switch env := proc.Environ(pid); {
		case len(env) == 0:
			found = found || isExiting(pid)
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

// isExiting reports whether a process has released its memory but is not a zombie yet, so that its
// children are not yet ours.
func isExiting(pid int) bool {
	s := proc.Read(pid)
	return s != nil && s.CanRun() && s.Pages == 0
}
