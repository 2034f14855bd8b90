package tool

import (
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// mostWaiting is the maximum number of bytes that may wait for a process to read them.
const mostWaiting = 16 << 20

// feed writes messages to the input of a process in order, without blocking the sender.
type feed struct {
	p    *procgroup.Process
	over func() // called when the process does not read its input

	mu      sync.Mutex
	more    sync.Cond // signals that a line was queued or ending was set
	queue   [][]byte
	waiting int   // number of bytes not yet written
	sent    int64 // number of bytes queued so far, written or not
	ending  bool  // no further lines are accepted
	failed  bool  // the process does not read its input

	done    chan struct{}
	written int64 // number of bytes written; valid after done is closed
}

func newFeed(p *procgroup.Process, over func()) *feed {
	f := &feed{p: p, over: over, done: make(chan struct{})}
	f.more.L = &f.mu
	go f.writeLines()
	return f
}

// enqueueLine queues a line and returns the line's offset in the process's input.
func (f *feed) enqueueLine(line []byte) (at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at = f.sent
	f.sent += int64(len(line))
	if f.ending {
		return at
	}
	if f.waiting > 0 && f.waiting+len(line) > mostWaiting {
		f.reportStall()
		return at
	}
	f.waiting += len(line)
	f.queue = append(f.queue, line)
	f.more.Signal()
	return at
}

// reportStall reports, once, that the process does not read.
func (f *feed) reportStall() {
	if !f.failed {
		f.failed, f.ending, f.queue = true, true, nil
		f.more.Signal()
		go f.over()
	}
}

// closeInput closes the process's input after the queued lines are written.
func (f *feed) closeInput() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending = true
	f.more.Signal()
}

// bytesRead returns the number of bytes that a process has read before it exited. Bytes that
// remained in its pipe do not count.
func (f *feed) bytesRead() int64 {
	_ = f.p.Stdin.SetWriteDeadline(time.Unix(1, 0)) // a child may hold the other end of the pipe
	f.closeInput()
	<-f.done
	return f.written
}

// writeLines writes the queued lines until the feed is closed.
func (f *feed) writeLines() {
	defer close(f.done)
	defer f.p.Stdin.Close()
	for {
		line := f.nextLine()
		if line == nil {
			break
		}
		n, err := f.p.Stdin.Write(line)
		f.written += int64(n)
		f.mu.Lock()
		if f.waiting -= len(line); err != nil {
			f.reportStall()
		}
		f.mu.Unlock()
	}
	f.mu.Lock()
	failed := f.failed
	f.mu.Unlock()
	if failed {
		<-f.p.Done() // the function over ends the process
	}
	select {
	case <-f.p.Done():
		f.written -= int64(max(f.p.Unread(), 0))
	default: // the process may still read them
	}
}

func (f *feed) nextLine() []byte {
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
