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

// Conn is a connection to a kept process. Its input is a sequence of frames: each line that is
// written follows the header returned by Frame.
type Conn struct {
	id              ID
	link            *link // nil if the process and its keeper have exited
	data            net.Conn
	raw             syscall.RawConn
	lines           *ndjson.Reader
	opened          Process
	stderr          func(line string)
	onUnreadAnswers func() // may be nil; see OnUnread

	done       chan struct{} // the process has exited or is lost
	outputDone chan struct{} // its output has ended

	mu          sync.Mutex
	exit        *Exit
	exited      bool       // done is closed
	outputEnded bool       // outputDone is closed
	bytesRead   int64      // bytes of the output that were read
	lastAck     checkpoint // last acknowledgement of AckSoon; bytes is what was read by then
	closing     bool
	frameCounters
	events     []reply // lines of standard error, then the exit, that are not delivered
	delivering bool
}

// frameCounters counts the frames and bytes of the process's input.
type frameCounters struct {
	lastNumber uint64 // number of the last frame
	framed     int64  // bytes in frames
	written    int64  // bytes written to the connection
	// offset of the last exchange's beginning; negative if an earlier process sent it
	beginOffset int64
	beginNumber uint64 // number of its frame; 0 if an earlier process sent it
}

// openData attaches the data connection.
func (c *Conn) openData(data *net.UnixConn, w *welcome, longLine int) (err error) {
	if c.raw, err = data.SyscallConn(); err != nil {
		return err
	}
	c.mu.Lock()
	c.opened, c.lastNumber, c.beginOffset, c.data = *w.Process, w.Process.Accepted, -2, data
	c.mu.Unlock()
	c.lines = ndjson.NewReader(&outputReader{c}, longLine).StartAfter(w.LinesBefore, w.Offset)
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

// queueEvent queues an event of the process. Events are delivered in order, in the background,
// because the receiver of the lines may be slow.
func (c *Conn) queueEvent(s reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, s)
	if !c.delivering {
		c.delivering = true
		go c.deliverEvents()
	}
}

// deliverEvents delivers the queued events in order.
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

// OnUnread sets the function that is called when the process's bridge has closed a client that did
// not read its answers.
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

// markOutputEnded records that the output has ended.
func (c *Conn) markOutputEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.outputEnded {
		c.outputEnded = true
		close(c.outputDone)
	}
}

// Drop discards the unread output of a process that has exited.
func (c *Conn) Drop() {
	if c.link != nil {
		c.closeData()
	}
}

// closeData closes the data connection.
func (c *Conn) closeData() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	if c.data != nil {
		c.data.Close()
	}
}

// markExited records that the process has exited.
func (c *Conn) markExited(exit *Exit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.exited {
		c.exited, c.exit = true, exit
		close(c.done)
	}
}

// outputReader reads the output of the process.
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

// endError returns why the output has ended: io.EOF, or the loss of the keeper.
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

// Opened returns the state of the process when the connection was opened.
func (c *Conn) Opened() Process { return c.opened }

// ReadLine returns the next line. The error is io.EOF at the end of the output, ErrLost, ErrLeft,
// or an error of ndjson.Reader.Next.
func (c *Conn) ReadLine() (ndjson.Line, error) { return c.lines.NextLine() }

// Interrupt makes a current or later Read that waits fail.
func (c *Conn) Interrupt() { _ = c.data.SetReadDeadline(time.Unix(1, 0)) }

// Resume ends the effect of Interrupt.
func (c *Conn) Resume() { _ = c.data.SetReadDeadline(time.Time{}) }

// Ready reports whether Read can return without waiting.
func (c *Conn) Ready() bool { return c.lines.Ready() }

// BytesSent returns how many bytes the process has written so far. The keeper stores the number as
// the process's mark.
func (c *Conn) BytesSent() int64 {
	if c.link != nil {
		if s, err := c.link.request(request{Op: opWritten, ID: c.id}); err == nil {
			return s.Bytes
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytesRead
}

// Frame returns the header of a text of size bytes that must be written next. sides contains lines
// for the bridge. Frames must be written in the order of the calls.
func (c *Conn) Frame(kind Kind, lastLine int64, note []byte, sides []Side, size int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastNumber++
	if kind == KindBegin {
		c.beginOffset, c.beginNumber = c.framed, c.lastNumber
	}
	head := appendHead(nil, Entry{N: c.lastNumber, Kind: kind, LastLine: lastLine, Note: note}, sides, size)
	c.framed += int64(len(head) + size)
	return head
}

// Write writes frames.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.data.Write(b)
	c.countWritten(n)
	return n, err
}

// TryWrite writes as much as possible without waiting.
func (c *Conn) TryWrite(b []byte) (n int) {
	if c.raw == nil {
		return 0
	}
	_ = c.raw.Write(func(fd uintptr) bool { // an error occurs again at the next Write
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

// CloseWrite closes the process's input after the last frame, or immediately if a frame is not
// completely written. A waiting Write fails.
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
	_ = c.link.Send(request{Op: opCloseInput, ID: c.id, After: after}) // a lost process reads nothing
}

// Unread returns how many of the written bytes the process has not read: all bytes since the last
// exchange began, or none.
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

// Done returns a channel that is closed when the process has exited.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Exit returns how the process exited. It waits for Done.
func (c *Conn) Exit() Exit {
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.exit
}

// Stderr returns the last lines of standard error so far.
func (c *Conn) Stderr() string {
	select {
	case <-c.done:
		return c.Exit().Stderr
	default:
	}
	s, _ := c.link.request(request{Op: opStderr, ID: c.id}) // a lost process has none
	return s.Text
}

// Ack notifies the keeper that the lines up to the given one are in the run's journal.
func (c *Conn) Ack(line int64) {
	if c.link != nil {
		// a lost process needs no acknowledgement
		_ = c.link.Send(request{Op: opAck, ID: c.id, Line: line})
	}
}

// Lines or bytes after which AckSoon sends an acknowledgement.
const (
	ackLines = 256
	ackBytes = 1 << 20
)

// AckSoon is like Ack, but may skip an acknowledgement: the keeper stores a limited amount of
// unjournaled output.
func (c *Conn) AckSoon(line int64) {
	c.mu.Lock()
	needed := line >= c.lastAck.lines+ackLines || c.bytesRead >= c.lastAck.bytes+ackBytes
	if needed {
		c.lastAck.lines, c.lastAck.bytes = line, c.bytesRead
	}
	c.mu.Unlock()
	if needed {
		c.Ack(line)
	}
}

// End asks the process to exit, forces it after grace or when stop is closed, and returns when the
// process and its children have exited, or it is lost.
func (c *Conn) End(grace time.Duration, stop <-chan struct{}) {
	if c.link == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// an error means that the process is lost
		_, _ = c.link.request(request{Op: opEnd, ID: c.id, GraceMS: grace.Milliseconds()})
	}()
	select {
	case <-done:
		return
	case <-stop:
	}
	_ = c.link.Send(request{Op: opKill, ID: c.id})
	<-done
}
