package keeper

// feed sends a process's output over a data connection.
type feed struct {
	h    *hosted
	conn Socket

	// The lock of the process guards these fields.
	position filePosition // position of the next byte in the spool
	sent     int64        // offset of the next byte in the output
	waiting  bool         // all output is sent, so appendOutput may write directly to the connection
	closed   bool
}

// startFeed begins to send the output from a line on; 0 means the first line that is not journaled.
// The welcome contains the numbers of lines and bytes before it.
func (h *hosted) startFeed(conn Socket, from int64) (f *feed, w welcome, err error) {
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
	f = &feed{h: h, conn: conn, position: at, sent: before.bytes}
	h.feed, h.out.direct = f, false
	return f, welcome{LinesBefore: before.lines, Offset: before.bytes}, nil
}

// sendLoop sends output until the output has ended or the connection is closed.
func (f *feed) sendLoop() {
	h := f.h
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		for f.sent >= h.out.bytes && !h.outputEnded && !f.closed && !h.keeperEnded {
			f.waiting = true
			h.changed.Wait()
			f.waiting = false
		}
		if f.closed || h.keeperEnded {
			return
		}
		if f.sent >= h.out.bytes {
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

// closeConn closes the feed and its connection. The caller must hold the lock of the process.
func (f *feed) closeConn() {
	f.conn.Close()
	f.markClosed()
}

// markClosed closes the feed. Frames that the client has already sent are still accepted. The
// caller must hold the lock of the process.
func (f *feed) markClosed() {
	f.closed = true
	_ = f.conn.CloseWrite() // an error means that the client has disconnected
	if h := f.h; h.feed == f {
		h.feed = nil
		h.storeOutput()
	}
	f.h.changed.Broadcast()
}
