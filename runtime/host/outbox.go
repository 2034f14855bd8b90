package host

import "sync"

// outboxLimit is how many bytes may wait to be written before senders wait. One
// line may go beyond it, or a line larger than it could never be sent.
const outboxLimit = 4 << 20

// outbox holds lines until the writer goroutine has written them. A line that
// can be written at once, because none waits and the connection has room, is:
// waking the writer would cost more than the write.
type outbox struct {
	conn    Conn
	mu      sync.Mutex
	busy    bool // the writer is writing
	lines   []byte
	long    []stretch     // of lines
	total   int64         // bytes ever put in
	written int64         // bytes the connection has taken
	unread  int64         // of these, what the host had not read when the box was done with
	closed  bool          // nothing more is put in
	wake    chan struct{} // for the writer: there is something to do
	room    chan struct{} // for a waiting sender: something was taken
	more    chan struct{} // the same for who does errands

	tap   func(lines []byte) // is told what is put in, before it is written; may be nil
	frame func(l line) line  // gives a line as it is written; nil: as it is
}

func newOutbox(c Conn) *outbox {
	return &outbox{conn: c, wake: make(chan struct{}, 1), room: make(chan struct{}, 1), more: make(chan struct{}, 1)}
}

// put adds a line, or some without anything long in them, beyond the limit when force is
// set. It gives the offset of its first byte in all that was put in, and whether it
// fitted; a line for a closed box is dropped.
func (o *outbox) put(l line, force bool) (offset int64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !force && o.isFull() {
		return 0, false
	}
	offset = o.total
	if o.closed {
		return offset, true
	}
	if o.tap != nil && l.size() > 0 {
		o.tap(l.bytes())
	}
	if o.frame != nil {
		l = o.frame(l)
	}
	o.total += int64(l.size())
	for _, s := range l.long {
		s.at += len(o.lines)
		o.long = append(o.long, s)
	}
	lines := l.short
	if !o.busy && len(o.lines) == 0 && len(o.long) == 0 {
		n := o.conn.TryWrite(lines)
		o.written += int64(n)
		lines = lines[n:]
	}
	if len(lines) > 0 {
		o.lines = append(o.lines, lines...)
		signal(o.wake)
	}
	return offset, true
}

// full says that a line would have to wait.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.isFull()
}

func (o *outbox) isFull() bool { return !o.closed && len(o.lines)+sizeOf(o.long) >= outboxLimit }

// close makes the writer finish: it writes what is there, then ends the host's
// input.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	signal(o.wake)
	signal(o.room)
	signal(o.more)
}

// consumed is how many bytes the host may have read; exact when the writer has
// ended and the connection can tell.
func (o *outbox) consumed() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written - o.unread
}

// run writes until the box is closed or the connection fails; then it ends the
// host's input. What a host does not read it has no use for: its output, or
// its end, tells the rest.
func (o *outbox) run() {
	defer o.conn.CloseWrite()
	defer func() {
		o.close()
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
		o.busy = len(lines) > 0
		o.mu.Unlock()
		if len(lines) == 0 {
			if closed {
				return
			}
			<-o.wake
			continue
		}
		signal(o.room)
		signal(o.more)
		var n int64
		err := all.each(func(piece []byte) error {
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

// signal wakes the one who waits on c, now or at its next look.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
