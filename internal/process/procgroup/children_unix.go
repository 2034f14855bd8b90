//go:build unix

package procgroup

import (
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// children contains the started child processes that have not exited. One goroutine waits for all
// of them. Package os would need a thread for each child, and on Linux also a descriptor. The
// goroutine runs only while there are children.
type children struct {
	mu       sync.Mutex
	expected int // number of children that are running or being started
	living   map[int]chan<- ended
	signals  chan os.Signal // receives SIGCHLD; one signal may report several exits
	adopts   bool           // unknown children are orphans, which must be waited for
	orphans  int            // number of orphans that were waited for
}

// ended describes how a process exited. If err is not nil, it is the reason why the status is
// unknown.
type ended struct {
	status syscall.WaitStatus
	usage  syscall.Rusage
	err    error
}

var ours = children{living: map[int]chan<- ended{}}

// startProcess starts a command. It returns the process number and a channel that receives one
// value when the process exits.
func (c *children) startProcess(cmd *exec.Cmd) (pid int, end <-chan ended, err error) {
	c.mu.Lock()
	if c.expected++; c.expected == 1 {
		c.signals = make(chan os.Signal, 1)
		signal.Notify(c.signals, syscall.SIGCHLD)
		go c.watch(c.signals)
	}
	c.mu.Unlock()
	err = cmd.Start()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.decrement()
		return 0, nil, err
	}
	pid = cmd.Process.Pid
	_ = cmd.Process.Release() // package os must forget the process, because this package waits for it
	exited := make(chan ended, 1)
	c.living[pid] = exited
	// If the child exited before it was registered, its signal was ignored, so check now. An orphan
	// that exited at that time is collected at the next signal.
	c.collect(pid)
	return pid, exited, nil
}

// contains reports whether the process pid was started by this package and has not been waited for.
func (c *children) contains(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.living[pid] != nil
}

// decrement decreases the number of expected children.
func (c *children) decrement() {
	if c.expected--; c.expected == 0 {
		signal.Stop(c.signals)
		close(c.signals)
	}
}

func (c *children) watch(signals <-chan os.Signal) {
	for range signals {
		c.collectAll()
	}
}

// adoptOrphans makes collectAll wait for unknown children, too.
func (c *children) adoptOrphans() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adopts = true
}

// collectAll waits for all children that have exited, and returns the total number of orphans
// collected. It does not collect orphans while a child is being started, because an unknown child
// may be the new one.
func (c *children) collectAll() (orphans int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.adopts || c.expected != len(c.living) {
		for pid := range c.living {
			c.collect(pid)
		}
		return c.orphans
	}
	for {
		var e ended
		pid, err := syscall.Wait4(-1, &e.status, syscall.WNOHANG, &e.usage)
		switch {
		case err == syscall.EINTR:
		case err != nil || pid == 0:
			return c.orphans
		case c.living[pid] != nil:
			c.deliver(pid, e)
		default:
			c.orphans++
		}
	}
}

// collect waits for the child pid if it has exited, and reports the exit.
func (c *children) collect(pid int) {
	var e ended
	for {
		n, err := syscall.Wait4(pid, &e.status, syscall.WNOHANG, &e.usage)
		if err == syscall.EINTR {
			continue
		}
		if n == 0 && err == nil {
			return
		}
		e.err = err
		break
	}
	c.deliver(pid, e)
}

// deliver reports the exit of the child pid.
func (c *children) deliver(pid int, e ended) {
	c.living[pid] <- e
	delete(c.living, pid)
	c.decrement()
}

// exit converts ended to an Exit.
func (e ended) exit() Exit {
	switch {
	case e.err != nil:
		return Exit{Code: -1, Signal: e.err.Error()}
	case e.status.Signaled():
		return Exit{Code: 128 + int(e.status.Signal()), Signal: e.status.Signal().String()}
	}
	return Exit{Code: e.status.ExitStatus()}
}
