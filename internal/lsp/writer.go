package lsp

import (
	"github.com/concerto-lang/concerto/internal/lsp/frame"
	"io"
	"sync"
	"time"
)

// writer writes frames in a goroutine of its own, so that a client which does not read holds up nobody.
type writer struct {
	out    io.Writer
	failed func(error)

	mu     sync.Mutex
	queue  [][]byte
	closed bool
	wake   chan struct{} // holds one when there is something to do
	done   chan struct{}
}

func newWriter(out io.Writer, failed func(error)) *writer {
	w := &writer{out: out, failed: failed, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// write sends a message when those before are sent.
func (w *writer) write(body []byte) {
	w.mu.Lock()
	w.queue = append(w.queue, frame.Of(body))
	w.mu.Unlock()
	w.stir()
}

func (w *writer) stir() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// lastWords is how long the server waits at its end for a client to read what it was sent.
const lastWords = 2 * time.Second

// close ends the writer when all is written, or when the client does not read.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stir()
	t := time.NewTimer(lastWords)
	defer t.Stop()
	select {
	case <-w.done:
	case <-t.C:
	}
}

func (w *writer) run() {
	defer close(w.done)
	for range w.wake {
		w.mu.Lock()
		queue, closed := w.queue, w.closed
		w.queue = nil
		w.mu.Unlock()
		for _, b := range queue {
			if _, err := w.out.Write(b); err != nil {
				if !closed {
					w.failed(err)
				}
				return
			}
		}
		if closed {
			return
		}
	}
}
