package host

import (
	"io"
	"os"
	"sync"
)

// memPipe is an in-memory pipe with a limited capacity like that of a system's pipe. Unlike with
// io.Pipe, a write can return before the bytes are read.
type memPipe struct {
	mu       sync.Mutex
	moved    sync.Cond // signals that bytes were written or read, or that the pipe was closed
	bytes    []byte
	all      []byte // everything ever written
	consumed int64
	room     int // capacity in bytes
	closed   bool

	interrupted bool // Read fails instead of waiting
}

// memPipeRoom is the default capacity of a memPipe.
const memPipeRoom = 64 << 10

func newMemPipe() *memPipe {
	p := &memPipe{room: memPipeRoom}
	p.moved.L = &p.mu
	return p
}

// write waits until s fits. Writes to a closed pipe are dropped.
func (p *memPipe) write(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(s) > 0 {
		for len(p.bytes) == p.room && !p.closed {
			p.moved.Wait()
		}
		if p.closed {
			return
		}
		n := min(len(s), p.room-len(p.bytes))
		p.bytes = append(p.bytes, s[:n]...)
		p.all = append(p.all, s[:n]...)
		s = s[n:]
		p.moved.Broadcast()
	}
}

// Read waits for bytes, and returns io.EOF when the pipe is closed and empty.
func (p *memPipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.bytes) == 0 && !p.closed && !p.interrupted {
		p.moved.Wait()
	}
	if len(p.bytes) == 0 && !p.closed {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(b, p.bytes)
	if n == 0 {
		return 0, io.EOF
	}
	p.bytes = p.bytes[n:]
	p.consumed += int64(n)
	p.moved.Broadcast()
	return n, nil
}

// interrupt makes Read fail instead of waiting if on is true, and lets Read wait again otherwise.
func (p *memPipe) interrupt(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interrupted = on
	p.moved.Broadcast()
}

// written returns the number of bytes written, whether or not they were read.
func (p *memPipe) written() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.consumed + int64(len(p.bytes))
}

// history returns all bytes ever written.
func (p *memPipe) history() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.all)
}

func (p *memPipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.moved.Broadcast()
}
