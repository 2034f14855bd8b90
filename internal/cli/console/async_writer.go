package console

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// NewStderr returns a writer for the process's standard error. A pipe fills up and blocks its
// writers when nothing reads from it. Therefore a separate goroutine writes to a pipe, and the
// program does not block. flush waits for the remaining output.
func NewStderr(f *os.File) (w io.Writer, flush func()) {
	info, err := f.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return f, func() {}
	}
	a := newAsyncWriter(f, maxQueued)
	return a, func() { a.flush(flushTimeout) }
}

const (
	writeTimeout = 200 * time.Millisecond // time that a write waits before the pipe counts as stuck
	flushTimeout = time.Second            // time that flush waits for a stuck pipe
	maxQueued    = 4 << 20                // maximum bytes queued for a stuck pipe
)

// asyncWriter writes to w on its own goroutine. Write waits until its bytes are written, but at
// most for writeTimeout; after that the pipe counts as stuck, and Write only queues bytes until the
// queue is empty. Writes beyond limit are dropped and counted. It is safe for concurrent use.
type asyncWriter struct {
	w     io.Writer
	limit int

	mu      sync.Mutex
	queue   bytes.Buffer
	dropped int           // number of dropped writes
	stuck   bool          // the pipe is stuck, so Write does not wait
	drained chan struct{} // closed when the queue is empty; nil if it is empty
	err     error
}

func newAsyncWriter(w io.Writer, limit int) *asyncWriter { return &asyncWriter{w: w, limit: limit} }

// Write queues b and waits for it to be written, unless the pipe is stuck.
func (a *asyncWriter) Write(b []byte) (int, error) {
	drained, stuck, err := a.enqueue(b)
	if err != nil || stuck {
		return len(b), err
	}
	late := time.NewTimer(writeTimeout)
	defer late.Stop()
	select {
	case <-drained:
	case <-late.C:
		a.mu.Lock()
		a.stuck = a.drained == drained
		a.mu.Unlock()
	}
	return len(b), nil
}

// enqueue appends b to the queue. It drops b if the queue is full.
func (a *asyncWriter) enqueue(b []byte) (drained chan struct{}, stuck bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return nil, false, a.err
	}
	if a.queue.Len() > 0 && a.queue.Len()+len(b) > a.limit {
		a.dropped++
		return nil, true, nil
	}
	a.queue.Write(b)
	if a.drained == nil {
		a.drained = make(chan struct{})
		go a.writeQueue()
	}
	return a.drained, a.stuck, nil
}

// writeQueue writes until the queue is empty.
func (a *asyncWriter) writeQueue() {
	for {
		a.mu.Lock()
		if a.queue.Len() == 0 && a.dropped > 0 {
			fmt.Fprintf(&a.queue, "concerto: dropped %d writes because the reader of this output is too slow\n", a.dropped)
			a.dropped = 0
		}
		if a.queue.Len() == 0 || a.err != nil {
			close(a.drained)
			a.drained, a.stuck = nil, false
			a.mu.Unlock()
			return
		}
		b := bytes.Clone(a.queue.Bytes())
		a.queue.Reset()
		a.mu.Unlock()
		_, err := a.w.Write(b)
		a.mu.Lock()
		a.err = err
		a.mu.Unlock()
	}
}

// flush waits until the queue is empty, but at most d.
func (a *asyncWriter) flush(d time.Duration) {
	a.mu.Lock()
	drained := a.drained
	a.mu.Unlock()
	if drained == nil {
		return
	}
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-drained:
	case <-late.C:
	}
}
