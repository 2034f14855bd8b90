package frame

import (
	"io"
	"sync"
	"time"
)

// maxQueued is the number of queued bytes above which WaitRoom blocks.
const maxQueued = 1 << 20

// FlushTimeout is the maximum time that Flush and Close wait for the client to read the queue.
const FlushTimeout = 2 * time.Second

// Writer writes messages in a separate goroutine. A client that does not read therefore blocks no
// caller of Write. A Writer is safe for concurrent use.
type Writer struct {
	out    io.Writer
	failed func(error)

	mu     sync.Mutex
	queue  [][]byte
	queued int // number of bytes that are not written yet
	closed bool
	wake   chan struct{} // contains a value if the goroutine has work to do
	room   chan struct{} // closed and replaced whenever written bytes may let WaitRoom or Flush return
	done   chan struct{}
}

// NewWriter returns a Writer that writes to out. failed may be nil. It is called once if a write
// fails before Close.
func NewWriter(out io.Writer, failed func(error)) *Writer {
	w := &Writer{out: out, failed: failed, wake: make(chan struct{}, 1), room: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

// Write queues a message. It never blocks. After the client has disconnected, it drops the message.
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

// WaitRoom blocks while too many bytes are queued. It returns when the client has read some of
// them, when stop is closed or when the client disconnects. Callers that produce an unlimited
// number of messages call it before Write.
func (w *Writer) WaitRoom(stop <-chan struct{}) { w.wait(maxQueued, stop) }

// Flush blocks until all queued messages are written, or for FlushTimeout if the client does not
// read.
func (w *Writer) Flush() {
	stop := make(chan struct{})
	t := time.AfterFunc(FlushTimeout, func() { close(stop) })
	defer t.Stop()
	w.wait(0, stop)
}

// wait blocks while more than most bytes are queued. It returns early when stop is closed or the
// client disconnects.
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

// Close writes the queued messages and stops the goroutine. It returns after FlushTimeout at the
// latest.
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

// noteWritten subtracts n written bytes and wakes the callers of WaitRoom and Flush.
func (w *Writer) noteWritten(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wasFull := w.queued > maxQueued
	if w.queued -= n; w.queued == 0 || wasFull && w.queued <= maxQueued {
		close(w.room)
		w.room = make(chan struct{})
	}
}
