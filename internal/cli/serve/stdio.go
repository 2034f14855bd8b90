package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is the maximum duration of a write to a client.
const patience = 30 * time.Second

// errDeaf is the error of a client that does not read its messages.
var errDeaf error = deafError{}

type deafError struct{}

func (deafError) Error() string { return fmt.Sprintf("the client has read nothing for %v", patience) }

// ServeLines serves one client over a pair of streams with one message per line. The server stops
// when the input ends, ctx is cancelled, or the client requests the stop. ServeLines returns the
// error of reading or writing. It does not wait for a pending read.
func (s *Server) ServeLines(ctx context.Context, in io.Reader, out io.Writer) error {
	l := &lineConn{srv: s, out: out, failed: make(chan error, 1), done: make(chan struct{})}
	l.late = func() { l.fail(errDeaf) }
	read := make(chan error, 1)
	go func() { read <- l.read(newLines(in, s.config.Message)) }()
	reason := ""
	var why error
	select {
	case why = <-read:
		reason = "the input has ended"
	case why = <-l.failed:
		reason = "could not write the output"
	case reason = <-s.stopRequests:
	case <-ctx.Done():
		reason = context.Cause(ctx).Error()
	}
	c := l.client()
	if c != nil && reason != "" && ctx.Err() == nil {
		c.making.Wait() // wait until the sessions of received requests have started
	}
	if c != nil && why != nil {
		c.dropUnresponsive()
	}
	s.Stop(reason)
	if c != nil && !errors.Is(why, errDeaf) {
		select {
		case <-l.done:
		case err := <-l.failed:
			why = err
		case <-s.config.Kill:
		}
	}
	if errors.Is(why, io.EOF) {
		return nil
	}
	return why
}

// lineConn is a connection over two streams.
type lineConn struct {
	srv    *Server
	out    io.Writer
	failed chan error    // receives the first error of a write
	done   chan struct{} // closed when everything has been written

	deadline
	mu sync.Mutex
	c  *client
}

func (l *lineConn) client() *client {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.c
}

// read handles messages until the input ends.
func (l *lineConn) read(in *lines) error {
	for {
		text, err := in.next()
		c := l.client()
		switch {
		case errors.Is(err, errLong):
			l.refuse(c, nil, failure(codeLimit, "the message is longer than %d bytes", l.srv.config.Message).with("limit", "max_message"))
			continue
		case err != nil:
			return err
		}
		m, bad := parse(text)
		switch {
		case bad != nil:
			l.refuse(c, m.ID, bad)
		case c == nil:
			l.first(m)
		default:
			l.room(c)
			c.receive(l.srv.ctx, m, false, func(text []byte) { c.out.Add(outgoing{text: text}) })
		}
	}
}

// room waits until the client's outbox is not full.
func (l *lineConn) room(c *client) {
	for c.out.Full() {
		select {
		case <-c.out.room:
		case <-l.done:
			return
		}
	}
}

// refuse sends an error response to an invalid message.
func (l *lineConn) refuse(c *client, id []byte, err *Error) {
	text := response(id, nil, err)
	if c != nil {
		c.out.Add(outgoing{text: text})
		return
	}
	l.write(text)
}

// first handles the client's first message, which must be initialize.
func (l *lineConn) first(m *message) {
	if m.kind() != isRequest {
		return
	}
	c, w, err := l.srv.initialize(m, false)
	if err != nil {
		l.write(response(m.ID, nil, err))
		return
	}
	l.write(response(m.ID, w, nil))
	c.arrive()
	c.out.attach(0)
	l.mu.Lock()
	l.c = c
	l.mu.Unlock()
	go func() {
		defer close(l.done)
		_ = c.deliver(context.Background(), l.batch) // l.write has already reported the error
	}()
}

// mostWritten is the maximum number of bytes in one write.
const mostWritten = 256 << 10

// batch writes messages, joining short ones into one write.
func (l *lineConn) batch(_ int64, all []outgoing) error {
	var b []byte
	for i, m := range all {
		if b == nil {
			b = m.text // write a single message without copying it
		} else {
			b = append(b, m.text...)
		}
		b = append(b, '\n')
		if len(b) >= mostWritten || i == len(all)-1 {
			if err := l.put(b); err != nil {
				return err
			}
			b = nil
		}
	}
	return nil
}

func (l *lineConn) write(text []byte) { _ = l.put(append(text, '\n')) } // an error is sent to failed

// put writes b and sends an error to failed. It may be called concurrently.
func (l *lineConn) put(b []byte) error {
	l.begin()
	_, err := l.out.Write(b)
	l.end()
	if err != nil {
		err = fmt.Errorf("write the output: %w", err)
		l.fail(err)
	}
	return err
}

func (l *lineConn) fail(err error) {
	select {
	case l.failed <- err:
	default:
	}
}
