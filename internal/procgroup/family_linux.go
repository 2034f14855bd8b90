package procgroup

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/proc"
)

// becomeReaper's failure can only mean that the kernel is older than 3.4: there
// orphans fall to init, as elsewhere.
func becomeReaper() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

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

// How long a sweep waits for what it has killed, and how often it looks again for
// what that had started.
const (
	sweepRounds = 200
	sweepPause  = time.Millisecond
	sweepSure   = 3 // so many looks in a row that find nothing, once one has: what forks without end is missed by some
)

// sweep kills the orphans of a run, collects them and those that have ended, and
// returns when there are none, or none that can be ended.
func (f *kin) sweep(run string) {
	f.mu.Lock()
	idle := !f.adopts || !f.begun
	f.mu.Unlock()
	if idle {
		return
	}
	found, missed := false, 0
	for range sweepRounds {
		if f.sweepOnce(run) {
			found, missed = true, 0
		} else if missed++; !found || missed == sweepSure {
			return
		}
		time.Sleep(sweepPause)
	}
}

// sweepOnce says whether it has killed any.
func (f *kin) sweepOnce(run string) (killed bool) {
	f.mu.Lock() // none is started meanwhile
	defer f.mu.Unlock()
	self := os.Getpid()
	for pid := range proc.All {
		s := proc.Read(pid)
		if s == nil || s.Parent != self || ours.have(pid) {
			continue
		}
		if s.Runs() {
			if !proc.Marked(proc.Environ(pid), run) {
				continue
			}
			killed = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // the next round collects who is not yet dead
	}
	return killed
}
