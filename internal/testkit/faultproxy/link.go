package faultproxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link consists of a client's connection and the proxy's connection to the server.
type link struct {
	proxy          *Proxy
	number         int
	client, server net.Conn
	halfOpen       atomic.Bool // all frames are discarded
	once           sync.Once
	closed         chan struct{} // closed when both connections are closed
}

// close closes both connections.
func (l *link) close() {
	l.once.Do(func() {
		close(l.closed)
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// run forwards frames until the connections close.
func (l *link) run() {
	defer l.close()
	from, back := bufio.NewReader(l.client), bufio.NewReader(l.server)
	request, err := readHead(from)
	if err != nil {
		return
	}
	socket := isUpgrade(request)
	if !socket {
		request = closeAfter(request)
	}
	if _, err := l.server.Write(request); err != nil {
		return
	}
	if !socket {
		go func() { _, _ = io.Copy(l.server, from) }() // returns when the connection closes
		_, _ = io.Copy(l.client, back)
		return
	}
	answer, err := readHead(back)
	if err != nil {
		return
	}
	if _, err := l.client.Write(answer); err != nil {
		return
	}
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 101")) {
		_, _ = io.Copy(l.client, back)
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.forward(from, l.server, ToServer) })
	both.Go(func() { l.forward(back, l.client, ToClient) })
	both.Wait()
}

// forward forwards the frames of one direction. When the stream ends, it closes the link. If the
// link is half open, it leaves the other connection open, so that neither side notices.
func (l *link) forward(r *bufio.Reader, w net.Conn, d Direction) {
	out := &writer{link: l, to: w}
	for n := 1; ; n++ {
		f, err := readFrame(r)
		if err != nil {
			break
		}
		f.Connection, f.Direction, f.N = l.number, d, n
		if l.halfOpen.Load() {
			continue
		}
		if !out.apply(f, l.proxy.plan(f)) {
			break
		}
	}
	out.flush()
	if l.halfOpen.Load() {
		<-l.closed
	}
	l.close()
}

// writer writes the frames of one direction. held is a swapped frame, which is written after the
// next one.
type writer struct {
	link *link
	to   net.Conn
	mu   sync.Mutex
	held []byte
}

// apply forwards a frame with a fault. It reports whether the link continues to forward frames.
func (w *writer) apply(f Frame, fault Fault) bool {
	switch fault {
	case Drop:
		return true
	case Duplicate:
		w.write(f.raw)
		return w.write(f.raw)
	case Delay:
		return w.pause() && w.write(f.raw)
	case Swap:
		w.hold(f.raw)
		return true
	case Cut:
		w.write(f.raw[:len(f.raw)/2])
		return false
	case HalfOpen:
		w.link.halfOpen.Store(true)
		return true
	}
	return w.write(f.raw)
}

// pause waits for Proxy.Lag. It reports whether the link is still open.
func (w *writer) pause() bool {
	t := time.NewTimer(w.link.proxy.Lag)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.link.closed:
		return false
	}
}

// hold holds a frame until the next frame is written or Proxy.Lag has passed.
func (w *writer) hold(raw []byte) {
	w.flush()
	w.mu.Lock()
	w.held = raw
	w.mu.Unlock()
	time.AfterFunc(w.link.proxy.Lag, w.flush)
}

// write writes a frame and then the held frame, if any.
func (w *writer) write(raw []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.to.Write(raw)
	if err == nil && w.held != nil {
		_, err = w.to.Write(w.held)
		w.held = nil
	}
	return err == nil
}

func (w *writer) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held != nil {
		_, _ = w.to.Write(w.held) // ignore the error: reading from a closed connection also fails
		w.held = nil
	}
}
