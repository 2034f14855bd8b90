package ingest

import (
	"io"
	"sync"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// aheadReader reads from a connection before the data is needed, so that a program can exit without
// waiting for commits. It buffers at most protocol.SourceRetained bytes. When the buffer is full,
// it stops reading until a commit frees space, and the program waits.
type aheadReader struct {
	done chan struct{} // closed when fill has returned

	mu       sync.Mutex
	changed  sync.Cond
	buffered []byte
	err      error // error of the connection, which Read returns after the buffered bytes
	closed   bool
}

func newAheadReader(from io.Reader) *aheadReader {
	a := &aheadReader{done: make(chan struct{})}
	a.changed.L = &a.mu
	go a.fill(from)
	return a
}

func (a *aheadReader) fill(from io.Reader) {
	defer close(a.done)
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		a.mu.Lock()
		a.buffered, a.err = append(a.buffered, b[:n]...), err
		a.changed.Broadcast()
		for len(a.buffered) >= protocol.SourceRetained && !a.closed {
			a.changed.Wait()
		}
		stop := err != nil || a.closed
		a.mu.Unlock()
		if stop {
			return
		}
	}
}

// Read returns buffered bytes. If there are none, it waits.
func (a *aheadReader) Read(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.buffered) == 0 && a.err == nil {
		a.changed.Wait()
	}
	if len(a.buffered) == 0 {
		return 0, a.err
	}
	n := copy(b, a.buffered)
	if a.buffered = a.buffered[n:]; len(a.buffered) == 0 {
		a.buffered = nil
	}
	a.changed.Broadcast()
	return n, nil
}

// close waits until reading has ended. The connection must be closed before.
func (a *aheadReader) close() {
	a.mu.Lock()
	a.closed = true
	a.changed.Broadcast()
	a.mu.Unlock()
	<-a.done
}
