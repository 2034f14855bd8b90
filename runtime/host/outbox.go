package host

// outboxLimit is the number of queued bytes at which senders must wait. A single line may exceed
// the limit; otherwise a longer line could never be sent.
const outboxLimit = 4 << 20

// outbox queues lines until the writer goroutine has written them. If the queue is empty and the
// connection has room, enqueueLine writes immediately, because waking the writer costs more than
// the write.
type outbox struct {
	conn         Conn
	mu           lock[outboxLock]
	writing      bool // the writer goroutine is writing
	lines        []byte
	long         []longPart    // long parts of lines
	total        int64         // bytes queued since the process started
	written      int64         // bytes written to the connection
	unread       int64         // bytes of written that the host had not read when writing ended
	closed       bool          // the outbox accepts no more lines
	wake         chan struct{} // signals the writer that lines are queued or that closed changed
	senderSpace  chan struct{} // signals a waiting sender that the queue has room
	requestSpace chan struct{} // signals the service of the agent's requests that the queue has room

	onEnqueue func(lines []byte) // receives the lines before they are written; may be nil
	addFrame  func(l line) line  // returns the line as the connection expects it; may be nil
}

func newOutbox(c Conn) *outbox {
	return &outbox{conn: c, wake: make(chan struct{}, 1), senderSpace: make(chan struct{}, 1), requestSpace: make(chan struct{}, 1)}
}

// enqueueLine adds a line, or several lines without long parts. force ignores the limit. offset is
// the number of bytes queued before the line. ok reports whether the line was accepted. After
// closeQueue the line is dropped, but ok is true.
func (o *outbox) enqueueLine(l line, force bool) (offset int64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !force && o.isFullLocked() {
		return 0, false
	}
	offset = o.total
	if o.closed {
		return offset, true
	}
	if o.onEnqueue != nil && l.size() > 0 {
		o.onEnqueue(l.hide(l.concat()))
	}
	if o.addFrame != nil {
		l = o.addFrame(l)
	}
	o.total += int64(l.size())
	for _, s := range l.long {
		s.offset += len(o.lines)
		o.long = append(o.long, s)
	}
	lines := l.short
	if !o.writing && len(o.lines) == 0 && len(o.long) == 0 {
		n := o.conn.TryWrite(lines)
		o.written += int64(n)
		lines = lines[n:]
	}
	if len(lines) > 0 {
		o.lines = append(o.lines, lines...)
		wakeOne(o.wake)
	}
	return offset, true
}

// isFull reports whether senders must wait.
func (o *outbox) isFull() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.isFullLocked()
}

func (o *outbox) isFullLocked() bool { return !o.closed && len(o.lines)+sizeOf(o.long) >= outboxLimit }

// closeQueue makes the writer write the queued lines and then close the host's input.
func (o *outbox) closeQueue() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	wakeOne(o.wake)
	wakeOne(o.senderSpace)
	wakeOne(o.requestSpace)
}

// bytesConsumed returns the number of bytes that the host may have read. The number is exact once
// the writer has finished, if the connection reports unread bytes.
func (o *outbox) bytesConsumed() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written - o.unread
}

// writeLoop writes lines until the queue is closed or the connection fails, and then closes the
// host's input. It returns no error, because the host's output or its exit shows what happened.
func (o *outbox) writeLoop() {
	defer o.conn.CloseWrite()
	defer func() {
		o.closeQueue()
		n := o.conn.Unread()
		o.mu.Lock()
		o.unread = int64(max(n, 0))
		o.mu.Unlock()
	}()
	var lines []byte
	for {
		o.mu.Lock()
		lines, o.lines = o.lines, lines[:0]
		all := line{short: lines, long: o.long}
		o.long = nil
		closed := o.closed
		o.writing = len(lines) > 0
		o.mu.Unlock()
		if len(lines) == 0 {
			if closed {
				return
			}
			<-o.wake
			continue
		}
		wakeOne(o.senderSpace)
		wakeOne(o.requestSpace)
		var n int64
		err := all.eachPiece(func(piece []byte) error {
			k, err := o.conn.Write(piece)
			n += int64(k)
			return err
		})
		o.mu.Lock()
		o.written += n
		o.mu.Unlock()
		if err != nil {
			return
		}
		if cap(lines) > outboxLimit {
			lines = nil
		}
	}
}

// wakeOne wakes the goroutine that waits on c. If no goroutine waits, the next one that does
// continues immediately.
func wakeOne(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
