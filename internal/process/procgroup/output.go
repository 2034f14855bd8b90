package procgroup

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// output is the read end of a pipe to which the process writes. When the process
// has ended, reading no longer waits: it gives what is in the pipe, then io.EOF,
// although a descendant may still have the other end open. It is read by one
// goroutine at a time, and reading allocates nothing.
type output struct {
	f    *os.File
	pipe pipeEnd

	mu      sync.Mutex
	over    bool // it is closed
	ended   bool // the process has
	stopped bool // reading is interrupted

	count sync.Mutex // held while bytes leave the pipe, so that none is in between
	taken int64      // bytes that have left it
}

func newOutput(f *os.File) *output {
	o := &output{f: f}
	o.open()
	return o
}

// Read reads what the process wrote. It fails with os.ErrDeadlineExceeded while
// reading is interrupted.
func (o *output) Read(b []byte) (int, error) {
	n, err := o.readWait(b)
	if err == io.EOF || errors.Is(err, os.ErrClosed) {
		o.close()
		return 0, io.EOF
	}
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !o.hasEnded() {
		return n, err
	}
	n, err = o.readNow(b)
	if n <= 0 {
		o.close()
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
	return n, nil
}

// written is how many bytes the process has written by now, read or not.
func (o *output) written() int64 {
	o.count.Lock()
	defer o.count.Unlock()
	return o.taken + int64(max(inPipe(o.f), 0))
}

// finish says that the process has ended: a waiting Read is woken.
func (o *output) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.wait()
}

func (o *output) hasEnded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// interrupt makes reading fail instead of waiting, until that is off again.
func (o *output) interrupt(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped != on {
		o.stopped = on
		o.wait()
	}
}

// wait sets whether a Read may wait. Where the system knows no deadlines of pipes,
// it waits in any case.
func (o *output) wait() {
	if o.over {
		return
	}
	var deadline time.Time
	if o.ended || o.stopped {
		deadline = time.Unix(1, 0)
	}
	_ = o.f.SetReadDeadline(deadline)
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over = true
		o.f.Close()
	}
}
