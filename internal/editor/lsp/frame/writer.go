package frame

import (
	"io"
	"sync"
	"time"
)

// maxQueued is how many bytes may be queued before WaitRoom blocks.
const maxQueued = 1 << 20

// FlushTimeout is how long Close waits for the client to read the queue.
const FlushTimeout = 2 * time.Second

// Writer writes messages in a goroutine of its own, so that a client that does not read blocks no
// caller. It is safe for concurrent use.
type Writer struct {
	out    io.Writer
	failed func(error)

	mu     sync.Mutex
	queue  [][]byte
	queued int // bytes that are not written yet
	closed bool
	wake   chan struct{} // holds a value while there is something to do
	room   chan struct{} // closed, and replaced, when there is room again, or nothing is queued
	done   chan struct{}
}

// NewWriter returns a Writer to out. failed, which may be nil, is called once if a write fails
// before Close.
func NewWriter(out io.Writer, failed func(error)) *Writer {
	w := &Writer{out: out, failed: failed, wake: make(chan struct{}, 1), room: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

// Write queues a message. It never blocks, and drops the message after the client disconnected.
func (w *Writer) Write(body []byte) {
	select {
	case <-w.done:
		return
	default:
	}
	message := Encode(body)
	w.mu.Lock()
	w.queue = append(w.queue, message)
	w.queued += len(message)
	w.mu.Unlock()
	w.signal()
}

// WaitRoom blocks while the queue is long, until the client has read some of it, stop is closed or
// the client disconnects. Callers that produce unlimited messages call it before Write.
func (w *Writer) WaitRoom(stop <-chan struct{}) { w.wait(maxQueued, stop) }

// Flush blocks until everything that is queued is written, or for FlushTimeout if the client does
// not read.
func (w *Writer) Flush() {
	stop := make(chan struct{})
	t := time.AfterFunc(FlushTimeout, func() { close(stop) })
	defer t.Stop()
	w.wait(0, stop)
}

// wait blocks while more than most bytes are queued, until stop is closed or the client
// disconnects.
func (w *Writer) wait(most int, stop <-chan struct{}) {
	for {
		w.mu.Lock()
		full, room := w.queued > most, w.room
		w.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-room:
		case <-stop:
			return
		case <-w.done:
			return
		}
	}
}

func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close writes the queue and stops, after FlushTimeout at the latest.
func (w *Writer) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	t := time.NewTimer(FlushTimeout)
	defer t.Stop()
	select {
	case <-w.done:
	case <-t.C:
	}
}

func (w *Writer) run() {
	defer close(w.done)
	for range w.wake {
		w.mu.Lock()
		queue, closed := w.queue, w.closed
		w.queue = nil
		w.mu.Unlock()
		for _, message := range queue {
			if _, err := w.out.Write(message); err != nil {
				if !closed && w.failed != nil {
					w.failed(err)
				}
				return
			}
			w.noteWritten(len(message))
		}
		if closed {
			return
		}
	}
}

// noteWritten wakes the callers of WaitRoom and Flush after n bytes were written.
func (w *Writer) noteWritten(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wasFull := w.queued > maxQueued
	if w.queued -= n; w.queued == 0 || wasFull && w.queued <= maxQueued {
		close(w.room)
		w.room = make(chan struct{})
	}
}
