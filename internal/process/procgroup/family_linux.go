package procgroup

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// becomeReaper makes orphaned descendants children of this process. It ignores errors: with a
// kernel before 3.4, init adopts orphans, as on other systems.
func becomeReaper() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	ours.adoptOrphans()
}

// dieWithParent makes the kernel kill a child when the thread that started the child exits.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// starter is the thread that starts all children. The kernel kills a child when the thread that
// started the child exits. Therefore the starter thread must live as long as this process.
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

// Limits on the scans of a sweep for orphans: their maximum number, the delay between them, and the
// number of consecutive scans that must find nothing after one has found an orphan. Some scans miss
// processes that fork endlessly. The numbers are large because the sweep gets little processor time
// on a busy machine. hunted is the number of checks for new processes in each scan.
const (
	sweepRounds = 3000
	sweepPause  = time.Millisecond
	sweepSure   = 3
	hunted      = 30
)

// endFamily kills the orphans of a host's process and waits for them.
func (f *childSet) endFamily(r relative) {
	if f.adoptsNothing() {
		return
	}
	s := &f.sweeps
	s.mu.Lock()
	s.waiting = append(s.waiting, r)
	if s.done == nil {
		s.done = make(chan struct{})
	}
	done := s.done
	if !s.running {
		s.running = true
		go f.sweepFamilies()
	}
	s.mu.Unlock()
	<-done
}

// sweepFamilies serves the calls of endFamily until none waits.
func (f *childSet) sweepFamilies() {
	s := &f.sweeps
	for {
		s.mu.Lock()
		all, done := s.waiting, s.done
		s.waiting, s.done = nil, nil
		s.running = len(all) > 0
		s.mu.Unlock()
		if len(all) == 0 {
			return
		}
		f.sweep(func(env []byte) bool {
			return slices.ContainsFunc(all, func(r relative) bool {
				return proc.Contains(env, r.number) && proc.Contains(env, r.mark) && proc.Marked(env, r.run)
			})
		}, 1) // the end of the run finds what this sweep misses
		close(done)
	}
}

func (f *childSet) adoptsNothing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.adopts || !f.started
}

// sweepOrphans kills the orphans of a run and waits for them. It reports whether none remains.
func (f *childSet) sweepOrphans(run string) (clean bool) {
	if f.adoptsNothing() {
		return true
	}
	return f.sweep(func(env []byte) bool { return proc.Marked(env, run) }, sweepSure)
}

// sweep kills the orphans with a mark and waits for them. It reports whether none remains. sure is
// the number of scans that must find nothing after one has found an orphan.
func (f *childSet) sweep(marked func(env []byte) bool, sure int) (clean bool) {
	found, missed := false, 0
	for range sweepRounds {
		if f.sweepOnce(marked) {
			found, missed = true, 0
		} else if missed++; !found || missed == sure {
			return true
		}
		if proc.KillNewProcesses(hunted, marked) > 0 {
			missed = 0
		}
		time.Sleep(sweepPause)
	}
	return false
}

// sweepOnce kills the marked orphans. It reports whether it found one, or whether any orphan has
// exited since the last call. It is unknown which run an exited orphan belonged to, and it may have
// started others.
func (f *childSet) sweepOnce(marked func(env []byte) bool) (found bool) {
	f.mu.Lock() // no child can be started while mu is locked
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

// isExiting reports whether a process has released its memory but is not yet a zombie. The children
// of such a process have not been adopted yet.
func isExiting(pid int) bool {
	s := proc.Read(pid)
	return s != nil && s.CanRun() && s.Pages == 0
}
