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
// of them, while package os would need a thread for each, and on Linux a descriptor. The goroutine
// runs while there are children.
type children struct {
	mu       sync.Mutex
	expected int // number of children that live or are being started
	living   map[int]chan<- ended
	signals  chan os.Signal // receives SIGCHLD; one signal may report several exits
	adopts   bool           // children that this package did not start are orphans
	orphans  int            // number of orphans collected
}

// ended describes how a process exited; err is the reason if that is unknown.
type ended struct {
	status syscall.WaitStatus
	usage  syscall.Rusage
	err    error
}

var ours = children{living: map[int]chan<- ended{}}

// startProcess starts a command and returns its process number and a channel that receives its end
// once.
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
	_ = cmd.Process.Release() // this package waits for the child; package os must release it
	exited := make(chan ended, 1)
	c.living[pid] = exited
	// its signal may have come before the child was registered; an orphan's signal waits for the
	// next one
	c.collect(pid)
	return pid, exited, nil
}

// contains reports whether a process was started here and is not yet collected.
func (c *children) contains(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.living[pid] != nil
}

// decrement counts one expected child less.
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

// adoptOrphans makes collectAll treat unknown children as orphans.
func (c *children) adoptOrphans() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adopts = true
}

// collectAll collects the children that have exited, including orphans, and returns the number of
// orphans collected so far. While a child is being started, an unknown child may be that one, so
// orphans are skipped.
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

// collect reports the end of a process if it has exited.
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

// deliver reports the end of a process.
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
