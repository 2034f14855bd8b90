package keeper

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// Conn is a connection to a process that the keeper runs. Its input is a sequence of frames: each
// text that is written must follow the header that Frame returns.
type Conn struct {
	id              ID
	link            *link // connection to the keeper; nil if the process and its keeper have exited
	data            Socket
	borrowed        *borrowed // output that this process reads itself, set by openData; nil if the keeper reads it
	backlog         int64     // number of bytes to read from data before borrowed
	returned        bool      // borrowed has been returned to the keeper
	lines           *ndjson.Reader
	opened          Process
	stderr          func(line []byte)
	onUnreadAnswers func() // see OnUnread; may be nil

	done       chan struct{} // closed when the process has exited or is lost
	outputDone chan struct{} // closed when the output has ended

	mu          sync.Mutex
	exit        *Exit
	exited      bool       // done is closed
	outputEnded bool       // outputDone is closed
	bytesRead   int64      // number of bytes of the output that were read
	lastAck     checkpoint // last acknowledgement of AckSoon; its bytes field is bytesRead at that time
	closing     bool
	frameCounters
	events     []reply // undelivered events: lines of standard error, and the exit as the last one
	delivering bool
}

// frameCounters counts the frames and bytes of the input of the process.
type frameCounters struct {
	lastNumber uint64 // number of the last frame
	framed     int64  // number of bytes in frames
	written    int64  // number of bytes written to the connection
	// offset at which the last exchange begins; negative if an earlier Concerto process has begun
	// it
	beginOffset int64
	beginNumber uint64 // number of the frame that begins the exchange; 0 if an earlier Concerto process has begun it
}

// openData attaches the data connection.
func (c *Conn) openData(data Socket, w *welcome, longLine int) (err error) {
	c.mu.Lock()
	c.opened, c.lastNumber, c.beginOffset, c.data = *w.Process, w.Process.Accepted, -2, data
	if w.Lent {
		c.backlog = w.Process.Bytes - w.Offset
		c.borrowed, err = borrowOutput(w)
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if c.link.IsLost() {
		c.releaseOutput()
	}
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

// queueEvent queues an event of the process. Events are delivered in order and in the background,
// because the receiver of standard error may be slow.
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
				c.stderr([]byte(s.Text))
			}
		}
		c.mu.Lock()
	}
	c.delivering = false
}

// OnUnread sets the function that is called when the bridge of the process has disconnected a
// client that did not read its answers.
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

// markOutputEnded records that the output of the process has ended.
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
	if c.borrowed != nil {
		c.borrowed.release()
	}
}

// releaseOutput stops reading the output directly, if this process does so.
func (c *Conn) releaseOutput() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.borrowed != nil {
		c.borrowed.release()
	}
}

// markExited records that the process has exited.
func (c *Conn) markExited(exit *Exit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.exited {
		c.exited, c.exit = true, exit
		close(c.done)
		if c.borrowed != nil {
			c.borrowed.markExited()
		}
	}
}

// outputReader is an io.Reader for the output of the process.
type outputReader struct{ *Conn }

func (s *outputReader) Read(b []byte) (int, error) {
	n, err := s.read(b)
	s.mu.Lock()
	s.bytesRead += int64(n)
	s.mu.Unlock()
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	return n, s.endError()
}

// read reads output from its current source: the connection, or the pipe of the process.
func (s *outputReader) read(b []byte) (int, error) {
	switch {
	case s.backlog > 0:
		n, err := s.data.Read(b[:min(int64(len(b)), s.backlog)])
		s.backlog -= int64(n)
		return n, err
	case s.borrowed == nil || s.returned:
		return s.data.Read(b)
	}
	n, err := s.borrowed.Read(b)
	if err != io.EOF {
		return n, err
	}
	s.borrowed.release()
	s.returned = true
	_, _ = s.link.request(request{Op: opReclaim, ID: s.id}) // after an error, the connection has ended
	return s.data.Read(b)
}

// endError returns the reason for the end of the output: io.EOF, or the loss of the keeper.
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

// ReadLine returns the next line of the output. The error is io.EOF at the end of the output,
// ErrLost, ErrLeft, or an error of ndjson.Reader.Next.
func (c *Conn) ReadLine() (ndjson.Line, error) { return c.lines.NextLine() }

// Interrupt makes the current or next ReadLine fail instead of waiting.
func (c *Conn) Interrupt() { c.setInterrupted(true, time.Unix(1, 0)) }

// Resume cancels the effect of Interrupt.
func (c *Conn) Resume() { c.setInterrupted(false, time.Time{}) }

func (c *Conn) setInterrupted(on bool, deadline time.Time) {
	_ = c.data.SetReadDeadline(deadline) // a closed connection does not wait
	if c.borrowed != nil {
		c.borrowed.setInterrupted(on)
	}
}

// Ready reports whether ReadLine can return without waiting.
func (c *Conn) Ready() bool { return c.lines.Ready() }

// BytesSent returns the number of bytes that the process has written so far. The keeper stores this
// number in its field mark.
func (c *Conn) BytesSent() int64 {
	if c.borrowed != nil {
		if n := c.borrowed.bytesWritten(); n >= 0 {
			return n
		}
	}
	if c.link != nil {
		if s, err := c.link.request(request{Op: opWritten, ID: c.id}); err == nil {
			return s.Bytes
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytesRead
}

// Frame returns the header for a text of size bytes, which the caller must write directly after it.
// sides contains lines for clients of the bridge. Frames must be written in the order of the calls.
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

// TryWrite writes as many bytes as possible without waiting, and returns their number.
func (c *Conn) TryWrite(b []byte) int {
	n := c.data.WriteNow(b)
	c.countWritten(n)
	return n
}

func (c *Conn) countWritten(n int) {
	c.mu.Lock()
	c.written += int64(n)
	c.mu.Unlock()
}

// CloseWrite closes the input of the process after the last complete frame. If the last frame is
// incomplete, it closes the input immediately. A Write that waits fails.
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
	_ = c.link.Send(request{Op: opCloseInput, ID: c.id, After: after}) // a lost process needs no request
}

// Unread returns the number of written bytes that the process has not read: either all bytes since
// the beginning of the last exchange, or 0.
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

// Done returns a channel that is closed when the process has exited or is lost.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Exit waits for Done and returns how the process exited.
func (c *Conn) Exit() Exit {
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.exit
}

// Stderr returns the last lines of the standard error of the process so far.
func (c *Conn) Stderr() string {
	select {
	case <-c.done:
		return c.Exit().Stderr
	default:
	}
	s, _ := c.link.request(request{Op: opStderr, ID: c.id}) // a lost process has no standard error
	return s.Text
}

// Ack notifies the keeper that the journal of the run contains the lines up to the given number.
func (c *Conn) Ack(line int64) {
	if c.link != nil && (c.borrowed == nil || !c.borrowed.acknowledge(line)) {
		// a lost process needs no acknowledgement
		_ = c.link.Send(request{Op: opAck, ID: c.id, Line: line})
	}
}

// Numbers of lines and bytes after which AckSoon sends an acknowledgement. The bytes are a part of
// ring.Size, so that the ring is not full before.
const (
	ackLines = 256
	ackBytes = 256 << 10
)

// AckSoon is like Ack, but skips most acknowledgements. They are sent often enough for the keeper's
// limit on unjournaled output.
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

// End asks the process to exit. After grace, or when stop is closed, the process is killed. End
// returns when the process and its children have exited or are lost.
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
