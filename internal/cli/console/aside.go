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

// NewStderr is the process's standard error. When it is a pipe that nobody reads,
// it fills up and blocks. So a pipe is written by a goroutine of its own, and no
// program is blocked by it.
func NewStderr(f *os.File) (w io.Writer, flush func()) {
	info, err := f.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return f, func() {}
	}
	a := newAside(f, asideLimit)
	return a, func() { a.flush(farewell) }
}

const (
	patience   = 200 * time.Millisecond // how long a write waits before its pipe counts as stuck
	farewell   = time.Second            // how long the end waits for one that is
	asideLimit = 4 << 20                // bytes that wait for a stuck pipe
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
	stuck   bool          // nobody waits for what is written
	through chan struct{} // closed when nothing waits any more; nil when nothing does
	err     error
}

func newAside(w io.Writer, limit int) *aside { return &aside{w: w, limit: limit} }

// Write writes b, now or later.
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

// put stores b to be written.
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

// run writes until nothing waits.
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

// flush waits until everything is written, for d at most.
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
