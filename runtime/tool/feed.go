package tool

import (
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// mostWaiting is how many bytes may wait until a process reads them.
const mostWaiting = 16 << 20

// feed writes messages to a process, in order. Who sends does not wait for the process.
type feed struct {
	p    *procgroup.Process
	over func() // called when the process does not read what it is sent

	mu      sync.Mutex
	more    sync.Cond // there is something to write, or the end
	queue   [][]byte
	waiting int   // bytes that are not written yet
	sent    int64 // bytes, those that wait included
	ending  bool  // nothing is sent any more
	failed  bool  // what was sent is not read

	done    chan struct{}
	written int64 // bytes; valid after done
}

func newFeed(p *procgroup.Process, over func()) *feed {
	f := &feed{p: p, over: over, done: make(chan struct{})}
	f.more.L = &f.mu
	go f.write()
	return f
}

// send sends a line, and gives the place at which it begins in all that was sent.
func (f *feed) send(line []byte) (at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at = f.sent
	f.sent += int64(len(line))
	if f.ending {
		return at
	}
	if f.waiting > 0 && f.waiting+len(line) > mostWaiting {
		f.fail()
		return at
	}
	f.waiting += len(line)
	f.queue = append(f.queue, line)
	f.more.Signal()
	return at
}

// fail says once that the process does not read.
func (f *feed) fail() {
	if !f.failed {
		f.failed, f.ending, f.queue = true, true, nil
		f.more.Signal()
		go f.over()
	}
}

// close ends the process's input once it has been sent what waits.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending = true
	f.more.Signal()
}

// read is how many bytes a process has read that has ended; what is still in its pipe,
// it has not.
func (f *feed) read() int64 {
	_ = f.p.Stdin.SetWriteDeadline(time.Unix(1, 0)) // a child may hold the other end
	f.close()
	<-f.done
	return f.written
}

// write writes what is sent until there is no more.
func (f *feed) write() {
	defer close(f.done)
	defer f.p.Stdin.Close()
	for {
		line := f.next()
		if line == nil {
			break
		}
		n, err := f.p.Stdin.Write(line)
		f.written += int64(n)
		f.mu.Lock()
		if f.waiting -= len(line); err != nil {
			f.fail()
		}
		f.mu.Unlock()
	}
	f.mu.Lock()
	failed := f.failed
	f.mu.Unlock()
	if failed {
		<-f.p.Done() // over sees to it
	}
	select {
	case <-f.p.Done():
		f.written -= int64(max(f.p.Unread(), 0))
	default: // it may still read that
	}
}

func (f *feed) next() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) == 0 && !f.ending {
		f.more.Wait()
	}
	if len(f.queue) == 0 {
		return nil
	}
	line := f.queue[0]
	f.queue = f.queue[1:]
	return line
}
