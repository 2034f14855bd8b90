package ingest

import (
	"io"
	"sync"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// ahead reads a connection before its lines are committed, so that a source that ends waits for
// no disk. It holds about as much as a source keeps; beyond that the source waits.
type ahead struct {
	done chan struct{} // nothing is read any more

	mu      sync.Mutex
	changed sync.Cond
	held    []byte
	err     error // of the connection, behind what is held
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

// Read gives what is held, else waits for more.
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

// close ends reading ahead, once the connection is closed.
func (a *ahead) close() {
	a.mu.Lock()
	a.closed = true
	a.changed.Broadcast()
	a.mu.Unlock()
	<-a.done
}
