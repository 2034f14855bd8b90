//go:build unix

package procgroup

import (
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// children are the processes that were started here and have not ended. One
// goroutine waits for all of them: package os would hold a thread for each, and on
// Linux a descriptor. It runs while there are any.
type children struct {
	mu       sync.Mutex
	expected int // those that live or are being started
	living   map[int]chan<- ended
	tell     chan os.Signal // that a child has ended; several at once may be told as one
	adopts   bool           // every child is of this package: started here, or an orphan
	orphans  int            // that have been collected
}

// ended is how a process ended; err says why that is not known.
type ended struct {
	status syscall.WaitStatus
	usage  syscall.Rusage
	err    error
}

var ours = children{living: map[int]chan<- ended{}}

// start starts a command and gives its number and what tells of its end, once.
func (c *children) start(cmd *exec.Cmd) (pid int, end <-chan ended, err error) {
	c.mu.Lock()
	if c.expected++; c.expected == 1 {
		c.tell = make(chan os.Signal, 1)
		signal.Notify(c.tell, syscall.SIGCHLD)
		go c.watch(c.tell)
	}
	c.mu.Unlock()
	err = cmd.Start()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.fewer()
		return 0, nil, err
	}
	pid = cmd.Process.Pid
	_ = cmd.Process.Release() // it is waited for here; package os needs nothing of it any more
	told := make(chan ended, 1)
	c.living[pid] = told
	c.collect(pid) // its signal may have come before it was known; an orphan's waits for the next
	return pid, told, nil
}

// have says whether a process was started here and is not yet collected.
func (c *children) have(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.living[pid] != nil
}

// fewer notes that one of those expected lives no more.
func (c *children) fewer() {
	if c.expected--; c.expected == 0 {
		signal.Stop(c.tell)
		close(c.tell)
	}
}

func (c *children) watch(tell <-chan os.Signal) {
	for range tell {
		c.collectAll()
	}
}

// adopt says that children that were not started here are orphans.
func (c *children) adopt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adopts = true
}

// collectAll collects those that have ended, orphans too, and says how many orphans it
// were so far. While one is being started it may be a child that is not known yet:
// then orphans wait.
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

// collect tells of the end of a process, if it has ended.
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

// deliver tells of the end of a process.
func (c *children) deliver(pid int, e ended) {
	c.living[pid] <- e
	delete(c.living, pid)
	c.fewer()
}

// exit is how a process ended, as its group's users hear of it.
func (e ended) exit() Exit {
	switch {
	case e.err != nil:
		return Exit{Code: -1, Signal: e.err.Error()}
	case e.status.Signaled():
		return Exit{Code: 128 + int(e.status.Signal()), Signal: e.status.Signal().String()}
	}
	return Exit{Code: e.status.ExitStatus()}
}
