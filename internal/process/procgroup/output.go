package procgroup

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// output is the read end of a pipe that the process writes to. After the process has exited,
// reading does not wait: it returns what is in the pipe and then io.EOF, even if a descendant holds
// the other end open. One goroutine reads at a time, and reading allocates nothing.
type output struct {
	f    *os.File
	pipe pipeEnd

	mu      sync.Mutex
	closed  bool
	exited  bool // the process has exited
	stopped bool // reading is interrupted

	count     sync.Mutex // held while bytes leave the pipe, so that written is exact
	bytesRead int64      // number of bytes read from the pipe
}

func newOutput(f *os.File) *output {
	o := &output{f: f}
	o.open()
	return o
}

// Read reads the process's output. It fails with os.ErrDeadlineExceeded while reading is
// interrupted.
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

// bytesWritten returns how many bytes the process has written so far, read or not.
func (o *output) bytesWritten() int64 {
	o.count.Lock()
	defer o.count.Unlock()
	return o.bytesRead + int64(max(inPipe(o.f), 0))
}

// markExited records that the process has exited, and wakes a waiting Read.
func (o *output) markExited() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.exited = true
	o.setDeadline()
}

func (o *output) hasEnded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.exited
}

// setInterrupted makes reading fail instead of waiting, until it is turned off.
func (o *output) setInterrupted(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped != on {
		o.stopped = on
		o.setDeadline()
	}
}

// setDeadline sets whether a Read may wait. Without deadlines for pipes, it always waits.
func (o *output) setDeadline() {
	if o.closed {
		return
	}
	var deadline time.Time
	if o.exited || o.stopped {
		deadline = time.Unix(1, 0)
	}
	_ = o.f.SetReadDeadline(deadline)
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.f.Close()
	}
}
