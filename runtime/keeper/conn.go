package keeper

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// Conn is a process that is kept, as package host has it. What is said to it is made of frames: each
// line that is to be written stands behind its Frame.
type Conn struct {
	id     ID
	link   *link // nil: the process has ended, and its keeper too
	data   net.Conn
	raw    syscall.RawConn
	lines  *ndjson.Reader
	known  Process
	stderr func(line string)
	onUnreadAnswers func() // may be nil; see OnUnread

	done chan struct{} // the process has ended, or is lost
	outputDone chan struct{} // its output has

	mu       sync.Mutex
	exit     *Exit
	exited    bool  // done is closed
	outputEnded  bool  // over is
	bytesRead     int64 // bytes of the output
	lastAck    check // what AckSoon has said; its bytes are those that were read by then
	closing bool
	frameCounters
	events  []reply // lines of the standard error, and the exit behind them, that wait to be told
	delivering bool
}

// frameCounters are those that were made of what is said to a process.
type frameCounters struct {
	lastNumber       uint64 // the number of the last
	framed  int64  // bytes that were framed,
	written int64  // and of them those that were written
	beginOffset   int64  // the beginning of an exchange in them; before 0: it was said earlier
	beginNumber  uint64 // the number of its frame; 0: it was said earlier
}

// openData makes it the end of a connection.
func (c *Conn) openData(data *net.UnixConn, w *welcome, longLine int) (err error) {
	if c.raw, err = data.SyscallConn(); err != nil {
		return err
	}
	c.mu.Lock()
	c.known, c.lastNumber, c.beginOffset, c.data = *w.Process, w.Process.Taken, -2, data
	c.mu.Unlock()
	c.lines = ndjson.NewReader(&outputReader{c}, longLine).Behind(w.Behind, w.Offset)
	if w.Process.Over {
		c.markOutputEnded()
	}
	if w.Process.Exit != nil {
		c.queueEvent(reply{Event: evExit, Exit: w.Process.Exit})
	}
	go func() {
		select {
		case <-c.link.Lost():
			c.markExited(&Exit{Code: -1})
		case <-c.done:
		}
	}()
	return nil
}

// queueEvent takes an event of the process. Who takes its lines may take its time: they wait for it.
func (c *Conn) queueEvent(s reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, s)
	if !c.delivering {
		c.delivering = true
		go c.deliverEvents()
	}
}

// deliverEvents tells what waits, in its order.
func (c *Conn) deliverEvents() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.events) > 0 {
		all := c.events
		c.events = nil
		c.mu.Unlock()
		for _, s := range all {
			switch unread := c.unreadCallback(); {
			case s.Event == evExit:
				c.markExited(s.Exit)
			case s.Event == evUnread && unread != nil:
				unread()
			case s.Event == evStderr && c.stderr != nil:
				c.stderr(s.Text)
			}
		}
		c.mu.Lock()
	}
	c.delivering = false
}

// OnUnread has f called when one was sent away from the process's bridge who left its answers unread.
func (c *Conn) OnUnread(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onUnreadAnswers = f
}

func (c *Conn) unreadCallback() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.onUnreadAnswers
}

// markOutputEnded notes that the output has ended.
func (c *Conn) markOutputEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.outputEnded {
		c.outputEnded = true
		close(c.outputDone)
	}
}

// Drop gives up what is left to be read of a process that has ended.
func (c *Conn) Drop() {
	if c.link != nil {
		c.closeData()
	}
}

// closeData ends the connection.
func (c *Conn) closeData() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	if c.data != nil {
		c.data.Close()
	}
}

// markExited notes that the process has ended.
func (c *Conn) markExited(exit *Exit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.exited {
		c.exited, c.exit = true, exit
		close(c.done)
	}
}

// outputReader is the output of the process, as bytes.
type outputReader struct{ *Conn }

func (s *outputReader) Read(b []byte) (int, error) {
	n, err := s.data.Read(b)
	s.mu.Lock()
	s.bytesRead += int64(n)
	s.mu.Unlock()
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	return n, s.endError()
}

// endError is why there is no more output: its end, io.EOF, unless it is the keeper that has gone.
func (c *Conn) endError() error {
	if c.link == nil {
		return io.EOF
	}
	select {
	case <-c.outputDone:
		return io.EOF
	case <-c.link.Lost():
		return c.link.lostError()
	}
}

// Known is what was known of the process when it was connected to.
func (c *Conn) Known() Process { return c.known }

// Read gives the next line. The error is io.EOF at the end of the output, ErrLost or ErrLeft, or as
// ndjson.Reader.Next gives it.
func (c *Conn) Read() (ndjson.Line, error) { return c.lines.Next() }

// Interrupt makes a Read that waits, now or later, fail.
func (c *Conn) Interrupt() { _ = c.data.SetReadDeadline(time.Unix(1, 0)) }

// Resume ends what Interrupt began.
func (c *Conn) Resume() { _ = c.data.SetReadDeadline(time.Time{}) }

// Ready says that Read may return without waiting.
func (c *Conn) Ready() bool { return c.lines.Ready() }

// BytesSent is how many bytes the process has written by now. The keeper remembers it as the process's mark.
func (c *Conn) BytesSent() int64 {
	if c.link != nil {
		if s, err := c.link.request(request{Op: opSaid, ID: c.id}); err == nil {
			return s.Bytes
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytesRead
}

// Frame gives what stands before a text of so many bytes, to be written next. sides goes over the bridge. All frames are
// written in the order in which they are made.
func (c *Conn) Frame(kind Kind, heard int64, note []byte, sides []Side, size int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastNumber++
	if kind == KindBegin {
		c.beginOffset, c.beginNumber = c.framed, c.lastNumber
	}
	head := appendHead(nil, Entry{N: c.lastNumber, Kind: kind, Heard: heard, Note: note}, sides, size)
	c.framed += int64(len(head) + size)
	return head
}

// Write writes frames.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.data.Write(b)
	c.countWritten(n)
	return n, err
}

// TryWrite writes what goes without waiting.
func (c *Conn) TryWrite(b []byte) (n int) {
	if c.raw == nil {
		return 0
	}
	_ = c.raw.Write(func(fd uintptr) bool { // what fails now fails again when it is written
		n = writeNow(fd, b)
		return true
	})
	c.countWritten(n)
	return n
}

func (c *Conn) countWritten(n int) {
	c.mu.Lock()
	c.written += int64(n)
	c.mu.Unlock()
}

// CloseWrite ends the process's input, behind what was framed, or at once when not all of it is
// written. A Write that waits fails.
func (c *Conn) CloseWrite() {
	c.mu.Lock()
	was, after := c.closing, uint64(0)
	c.closing = true
	if c.written == c.framed {
		after = c.lastNumber
	}
	c.mu.Unlock()
	if was || c.link == nil {
		return
	}
	_ = c.data.SetWriteDeadline(time.Unix(1, 0))
	_ = c.link.Send(request{Op: opCloseInput, ID: c.id, After: after}) // a process that is lost reads nothing
}

// Unread is how many of the bytes written the process has not read, as far as that matters: all
// from the beginning of the last exchange on, or none.
func (c *Conn) Unread() int {
	untouched := false
	if c.link != nil {
		c.mu.Lock()
		begin := c.beginNumber
		c.mu.Unlock()
		s, err := c.link.request(request{Op: opUntouched, ID: c.id, After: begin})
		untouched = err == nil && s.Untouched
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !untouched {
		return 0
	}
	return int(c.framed - c.beginOffset)
}

// Done is closed when the process has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Exit is how the process ended; valid after Done.
func (c *Conn) Exit() Exit {
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.exit
}

// Stderr is the last lines of its standard error so far.
func (c *Conn) Stderr() string {
	select {
	case <-c.done:
		return c.Exit().Stderr
	default:
	}
	s, _ := c.link.request(request{Op: opStderr, ID: c.id}) // of a process that is lost nothing is known
	return s.Text
}

// Ack says that the lines up to one are in the run's journal.
func (c *Conn) Ack(line int64) {
	if c.link != nil {
		_ = c.link.Send(request{Op: opAck, ID: c.id, Line: line}) // nobody keeps the lines of one that is lost
	}
}

// How much is read, in lines or bytes, before AckSoon says it again.
const (
	ackLines = 256
	ackBytes = 1 << 20
)

// AckSoon is Ack, but for what may as well be said later: the keeper has what is not journaled, up to a bound.
func (c *Conn) AckSoon(line int64) {
	c.mu.Lock()
	due := line >= c.lastAck.lines+ackLines || c.bytesRead >= c.lastAck.bytes+ackBytes
	if due {
		c.lastAck.lines, c.lastAck.bytes = line, c.bytesRead
	}
	c.mu.Unlock()
	if due {
		c.Ack(line)
	}
}

// End asks the process to end, has it ended after the grace, or when stop is closed, and returns
// when nothing is left of it, or it is lost.
func (c *Conn) End(grace time.Duration, stop <-chan struct{}) {
	if c.link == nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = c.link.request(request{Op: opEnd, ID: c.id, GraceMS: grace.Milliseconds()}) // either way it is gone
	}()
	select {
	case <-gone:
		return
	case <-stop:
	}
	_ = c.link.Send(request{Op: opKill, ID: c.id})
	<-gone
}
