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
// although a descendant may still have the other end open.
type output struct {
	f    *os.File
	mu   sync.Mutex
	over bool

	count sync.Mutex // held while bytes leave the pipe, so that none is in between
	taken int64      // bytes that have left it
}

func newOutput(f *os.File) *output { return &output{f: f} }

// Read reads what the process wrote.
func (o *output) Read(b []byte) (int, error) {
	n, err := o.readWait(b)
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
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
	if !o.over {
		o.f.SetReadDeadline(time.Unix(1, 0))
	}
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over = true
		o.f.Close()
	}
}
