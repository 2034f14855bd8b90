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

// link is a connection of a client and the one to the server that it goes on to.
type link struct {
	proxy          *Proxy
	number         int
	client, server net.Conn
	half           atomic.Bool // nothing passes any more
	once           sync.Once
	over           chan struct{} // closed with the connections
}

// end ends both connections.
func (l *link) end() {
	l.once.Do(func() {
		close(l.over)
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// run forwards until the connections end.
func (l *link) run() {
	defer l.end()
	from, back := bufio.NewReader(l.client), bufio.NewReader(l.server)
	request, err := head(from)
	if err != nil {
		return
	}
	socket := upgrades(request)
	if !socket {
		request = alone(request)
	}
	if _, err := l.server.Write(request); err != nil {
		return
	}
	if !socket {
		go func() { _, _ = io.Copy(l.server, from) }() // ends with the connection
		_, _ = io.Copy(l.client, back)
		return
	}
	answer, err := head(back)
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

// forward passes the frames of one direction on. When their stream ends, the link does,
// but for one that is half open: nobody hears of its end.
func (l *link) forward(r *bufio.Reader, w net.Conn, d Direction) {
	out := &writer{link: l, to: w}
	for n := 1; ; n++ {
		f, err := readFrame(r)
		if err != nil {
			break
		}
		f.Connection, f.Direction, f.N = l.number, d, n
		if l.half.Load() {
			continue
		}
		if !out.take(f, l.proxy.plan(f)) {
			break
		}
	}
	out.flush()
	if l.half.Load() {
		<-l.over
	}
	l.end()
}

// writer writes one direction. held is a frame that goes behind the next.
type writer struct {
	link *link
	to   net.Conn
	mu   sync.Mutex
	held []byte
}

// take does a fault to a frame, and says whether the link goes on.
func (w *writer) take(f Frame, fault Fault) bool {
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
		w.link.half.Store(true)
		return true
	}
	return w.write(f.raw)
}

// pause waits for the lag, and says whether the link is still there.
func (w *writer) pause() bool {
	t := time.NewTimer(w.link.proxy.Lag)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.link.over:
		return false
	}
}

// hold keeps a frame until the next has gone, or the lag is over.
func (w *writer) hold(raw []byte) {
	w.flush()
	w.mu.Lock()
	w.held = raw
	w.mu.Unlock()
	time.AfterFunc(w.link.proxy.Lag, w.flush)
}

// write sends a frame, and behind it the one that is held.
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
		_, _ = w.to.Write(w.held) // an end is seen by who reads
		w.held = nil
	}
}
