package keeper

import (
	"net"
	"syscall"
)

// feed sends a process's output over a data connection.
type feed struct {
	h    *hosted
	conn *net.UnixConn
	raw  syscall.RawConn

	// Guarded by the process's lock.
	position filePosition // position in the spool of the next byte
	sent     int64        // offset of the next byte in the process's output
	waiting  bool         // it has sent everything and waits, so appendOutput may write directly
	closed   bool
}

// startFeed starts to send the output from a line; 0 means the first that is not journaled. The
// welcome contains what precedes it.
func (h *hosted) startFeed(conn *net.UnixConn, from int64) (f *feed, w welcome, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, w, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if from == 0 {
		from = h.acked.lines + 1
	}
	at, before, err := h.out.seekLine(from - 1)
	if err != nil {
		return nil, w, err
	}
	if h.feed != nil {
		h.feed.closeConn()
	}
	f = &feed{h: h, conn: conn, raw: raw, position: at, sent: before.bytes}
	h.feed = f
	return f, welcome{LinesBefore: before.lines, Offset: before.bytes}, nil
}

// sendLoop sends until the output has ended or the connection is closed.
func (f *feed) sendLoop() {
	h := f.h
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		for f.sent == h.out.bytes && !h.outputEnded && !f.closed && !h.keeperEnded {
			f.waiting = true
			h.changed.Wait()
			f.waiting = false
		}
		if f.closed || h.keeperEnded {
			return
		}
		if f.sent == h.out.bytes {
			_ = f.conn.CloseWrite() // an error means that the client has disconnected
			return
		}
		raw, text, err := h.out.readAt(f.position.at)
		if err != nil {
			h.keeper.logf("read the output of %s: %v", h.spec.ID, err)
			f.markClosed()
			return
		}
		text = text[f.position.skip:]
		h.mu.Unlock()
		n, err := f.conn.Write(text)
		h.mu.Lock()
		f.sent += int64(n)
		if err != nil {
			f.markClosed()
			return
		}
		f.position = filePosition{at: f.position.at + int64(len(raw))}
	}
}

// writeNow writes as much as possible without waiting.
func (f *feed) writeNow(text []byte) (n int) {
	_ = f.raw.Write(func(fd uintptr) bool { // the reading side notices a broken connection
		n = writeNow(fd, text)
		return true
	})
	return n
}

// closeConn closes the feed and its connection. The caller must hold the process's lock.
func (f *feed) closeConn() {
	f.conn.Close()
	f.markClosed()
}

// markClosed closes the feed. The caller must hold the process's lock. Frames that the client has
// sent are still accepted.
func (f *feed) markClosed() {
	f.closed = true
	_ = f.conn.CloseWrite() // an error means that the client has disconnected
	if f.h.feed == f {
		f.h.feed = nil
	}
	f.h.changed.Broadcast()
}
