package ingest

import (
	"io"
	"sync"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// aheadReader reads a connection before its lines are committed, so that a program that exits need
// not wait for the disk. It buffers about as much as a program does; above that the program waits.
type ahead struct {
	done chan struct{} // closed when reading has stopped

	mu      sync.Mutex
	changed sync.Cond
	held    []byte
	err     error // the connection's error, after the buffered bytes
	closed  bool
}

func readAhead(from io.Reader) *ahead {
	a := &ahead{done: make(chan struct{})}
	a.changed.L = &a.mu
	go a.fill(from)
	return a
}

func (a *ahead) fill(from io.Reader) {
	defer close(a.done)
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		a.mu.Lock()
		a.held, a.err = append(a.held, b[:n]...), err
		a.changed.Broadcast()
		for len(a.held) >= protocol.SourceKept && !a.closed {
			a.changed.Wait()
		}
		stop := err != nil || a.closed
		a.mu.Unlock()
		if stop {
			return
		}
	}
}

// Read returns buffered bytes or waits for more.
func (a *ahead) Read(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.held) == 0 && a.err == nil {
		a.changed.Wait()
	}
	if len(a.held) == 0 {
		return 0, a.err
	}
	n := copy(b, a.held)
	if a.held = a.held[n:]; len(a.held) == 0 {
		a.held = nil
	}
	a.changed.Broadcast()
	return n, nil
}

// close stops reading ahead, after the connection is closed.
func (a *ahead) close() {
	a.mu.Lock()
	a.closed = true
	a.changed.Broadcast()
	a.mu.Unlock()
	<-a.done
}
