package procgroup

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// output is the read end of a pipe that the process writes to. After the process has exited, Read
// does not wait: it returns the rest of the pipe's content and then io.EOF, even if a descendant
// has the write end open. Only one goroutine may read at a time. Reading does not allocate memory.
type output struct {
	f    *os.File
	pipe pipeEnd

	mu      sync.Mutex
	closed  bool
	exited  bool // the process has exited
	stopped bool // Read must fail instead of waiting
	lent    int  // descriptor of the pipe for LendOutput; valid while another process reads it

	count     sync.Mutex // locked while bytes are read from the pipe, so that bytesWritten is exact
	bytesRead int64      // number of bytes read from the pipe
}

func newOutput(f *os.File) *output {
	o := &output{f: f}
	o.open()
	return o
}

// Read reads the output of the process. It returns os.ErrDeadlineExceeded instead of waiting while
// reading is interrupted.
func (o *output) Read(b []byte) (int, error) {
	n, err := o.readWait(b)
	if err == io.EOF || err != nil && o.isClosed() {
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

// bytesWritten returns the number of bytes that the process has written, including bytes that were
// not read yet.
func (o *output) bytesWritten() int64 {
	o.count.Lock()
	defer o.count.Unlock()
	return o.bytesRead + int64(max(InPipe(o.f), 0))
}

// markExited records that the process has exited, and wakes up a waiting Read.
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

// setInterrupted sets whether Read fails instead of waiting.
func (o *output) setInterrupted(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped != on {
		o.stopped = on
		o.setDeadline()
	}
}

// setDeadline makes Read wait or fail according to the state. If the pipe does not support
// deadlines, Read always waits.
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

func (o *output) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.f.Close()
	}
}
