package procgroup

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// output is the read end of a pipe that the process writes. Once the process
// has ended, reading no longer waits: what lies in the pipe is given, then
// io.EOF, though a descendant may hold the other end for ever.
type output struct {
	f    *os.File
	mu   sync.Mutex
	over bool
}

func newOutput(f *os.File) *output { return &output{f: f} }

// Read reads what the process wrote.
func (o *output) Read(b []byte) (int, error) {
	n, err := o.f.Read(b)
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	n, err = readNow(o.f, b)
	if n <= 0 {
		o.close()
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
	return n, nil
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
