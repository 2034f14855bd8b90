//go:build unix

package nonblock

import (
	"io"
	"syscall"
)

// reader reads from a connection. The function for Go's poller is created only once, so that reads
// do not allocate memory.
type reader struct {
	raw   syscall.RawConn
	begin func(fd uintptr) (done bool)
	buf   []byte // buffer of the current read
	n     int
	err   error
}

// NewReader returns a reader of a connection, for one goroutine at a time. It waits while no data
// is available, and obeys the connection's deadlines.
func NewReader(c Conn) (io.Reader, error) { return NewReaderBy(c, Read) }

// NewReaderBy is like NewReader, but reads the descriptor with the given function instead of Read.
func NewReaderBy(c Conn, read func(fd int, b []byte) (int, error)) (io.Reader, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	r := &reader{raw: raw}
	r.begin = func(fd uintptr) bool {
		r.n, r.err = read(int(fd), r.buf)
		return r.err != syscall.EAGAIN
	}
	return r, nil
}

// Read returns io.EOF at the end of the connection.
func (r *reader) Read(b []byte) (int, error) {
	r.buf, r.n, r.err = b, 0, nil
	err := r.raw.Read(r.begin)
	r.buf = nil
	switch {
	case err != nil:
		return 0, err
	case r.n == 0 && r.err == nil && len(b) > 0:
		return 0, io.EOF
	}
	return r.n, r.err
}
