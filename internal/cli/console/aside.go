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

// NewStderr returns a writer for the process's standard error. A pipe without a reader fills up and
// blocks, so a separate goroutine writes to pipes, and a full pipe does not block the program.
// flush waits for the remaining output.
func NewStderr(f *os.File) (w io.Writer, flush func()) {
	info, err := f.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return f, func() {}
	}
	a := newAside(f, asideLimit)
	return a, func() { a.flush(farewell) }
}

const (
	patience   = 200 * time.Millisecond // how long a write waits before the pipe counts as stuck
	farewell   = time.Second            // how long flush waits for a stuck pipe
	asideLimit = 4 << 20                // maximum bytes queued for a stuck pipe
)

// aside writes to w on a goroutine of its own. Write waits until its bytes are
// written, but not longer than patience: then the writer counts as stuck, and
// Write only stores bytes until all of them are written. Bytes beyond limit are
// dropped, and the writes counted. Safe for concurrent use.
type aside struct {
	w     io.Writer
	limit int

	mu      sync.Mutex
	waiting bytes.Buffer
	dropped int           // writes
	stuck   bool          // writes return without waiting
	through chan struct{} // closed when the queue is empty; nil if it is empty
	err     error
}

func newAside(w io.Writer, limit int) *aside { return &aside{w: w, limit: limit} }

// Write queues b and waits for it to be written, unless the pipe is stuck.
func (a *aside) Write(b []byte) (int, error) {
	through, stuck, err := a.put(b)
	if err != nil || stuck {
		return len(b), err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-through:
	case <-late.C:
		a.mu.Lock()
		a.stuck = a.through == through
		a.mu.Unlock()
	}
	return len(b), nil
}

// put queues b.
func (a *aside) put(b []byte) (through chan struct{}, stuck bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return nil, false, a.err
	}
	if a.waiting.Len() > 0 && a.waiting.Len()+len(b) > a.limit {
		a.dropped++
		return nil, true, nil
	}
	a.waiting.Write(b)
	if a.through == nil {
		a.through = make(chan struct{})
		go a.run()
	}
	return a.through, a.stuck, nil
}

// run writes until the queue is empty.
func (a *aside) run() {
	for {
		a.mu.Lock()
		if a.waiting.Len() == 0 && a.dropped > 0 {
			fmt.Fprintf(&a.waiting, "concerto: %d pieces of this were not written: nobody read them in time\n", a.dropped)
			a.dropped = 0
		}
		if a.waiting.Len() == 0 || a.err != nil {
			close(a.through)
			a.through, a.stuck = nil, false
			a.mu.Unlock()
			return
		}
		b := bytes.Clone(a.waiting.Bytes())
		a.waiting.Reset()
		a.mu.Unlock()
		_, err := a.w.Write(b)
		a.mu.Lock()
		a.err = err
		a.mu.Unlock()
	}
}

// flush waits until the queue is empty, at most d.
func (a *aside) flush(d time.Duration) {
	a.mu.Lock()
	through := a.through
	a.mu.Unlock()
	if through == nil {
		return
	}
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-through:
	case <-late.C:
	}
}
