package keeper

import (
	"net"
	"syscall"
)

// feed hands on a process's output over a data connection.
type feed struct {
	h    *hosted
	conn *net.UnixConn
	raw  syscall.RawConn

	// Under the process's lock.
	position   filePosition // in the spool, of what comes next
	sent int64 // what comes next is at this place of all the process writes
	waiting bool  // it waits, so that others may write
	closed bool  // it is over
}

// startFeed begins to hand on the output from a line on; 0: from the first that is not journaled. What
// comes before is told by the welcome.
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
	return f, welcome{Behind: before.lines, Offset: before.bytes}, nil
}

// sendLoop sends until the output has ended or the connection is shut.
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
			_ = f.conn.CloseWrite() // who has gone does not wait for it
			return
		}
		raw, text, err := h.out.readAt(f.position.at)
		if err != nil {
			h.keeper.logf("read what %s said: %v", h.spec.ID, err)
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

// writeNow writes what goes without waiting.
func (f *feed) writeNow(text []byte) (n int) {
	_ = f.raw.Write(func(fd uintptr) bool { // a connection that is broken is found by who reads it
		n = writeNow(fd, text)
		return true
	})
	return n
}

// closeConn ends it and its connection, under the process's lock.
func (f *feed) closeConn() {
	f.conn.Close()
	f.markClosed()
}

// markClosed ends it, under the process's lock. Whoever it was for may have gone: what that has said before is heard yet.
func (f *feed) markClosed() {
	f.closed = true
	_ = f.conn.CloseWrite() // there may be nobody to hear of it
	if f.h.feed == f {
		f.h.feed = nil
	}
	f.h.changed.Broadcast()
}
