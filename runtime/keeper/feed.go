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
	at   place // in the spool, of what comes next
	sent int64 // what comes next is at this place of all the process writes
	idle bool  // it waits, so that others may write
	shut bool  // it is over
}

// attach begins to hand on the output from a line on; 0: from the first that is not journaled. What
// comes before is told by the welcome.
func (h *hosted) attach(conn *net.UnixConn, from int64) (f *feed, w welcome, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, w, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if from == 0 {
		from = h.acked.lines + 1
	}
	at, before, err := h.out.seek(from - 1)
	if err != nil {
		return nil, w, err
	}
	if h.feed != nil {
		h.feed.close()
	}
	f = &feed{h: h, conn: conn, raw: raw, at: at, sent: before.bytes}
	h.feed = f
	return f, welcome{Behind: before.lines, Offset: before.bytes}, nil
}

// run sends until the output has ended or the connection is shut.
func (f *feed) run() {
	h := f.h
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		for f.sent == h.out.bytes && !h.over && !f.shut && !h.ended {
			f.idle = true
			h.moved.Wait()
			f.idle = false
		}
		if f.shut || h.ended {
			return
		}
		if f.sent == h.out.bytes {
			_ = f.conn.CloseWrite() // who has gone does not wait for it
			return
		}
		raw, text, err := h.out.read(f.at.at)
		if err != nil {
			h.keeper.say("read what %s said: %v", h.spec.ID, err)
			f.end()
			return
		}
		text = text[f.at.skip:]
		h.mu.Unlock()
		n, err := f.conn.Write(text)
		h.mu.Lock()
		f.sent += int64(n)
		if err != nil {
			f.end()
			return
		}
		f.at = place{at: f.at.at + int64(len(raw))}
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

// close ends it and its connection, under the process's lock.
func (f *feed) close() {
	f.conn.Close()
	f.end()
}

// end ends it, under the process's lock. Whoever it was for may have gone: what that has said before is heard yet.
func (f *feed) end() {
	f.shut = true
	_ = f.conn.CloseWrite() // there may be nobody to hear of it
	if f.h.feed == f {
		f.h.feed = nil
	}
	f.h.moved.Broadcast()
}
