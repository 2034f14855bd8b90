package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is how long a write to a client may wait.
const patience = 30 * time.Second

// errDeaf is the error of a client that does not read.
var errDeaf = fmt.Errorf("the client has read nothing for %v", patience)

// ServeLines serves one client over a pair of streams, a message a line. When the input ends, ctx
// is cancelled, or the client requests it, the server stops. It returns the error of reading or
// writing. A pending read then continues.
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
		c.making.Wait() // received requests have started
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

// lineConn is the connection over streams.
type lineConn struct {
	srv    *Server
	out    io.Writer
	failed chan error    // receives the first error of writing
	done   chan struct{} // closed when everything is written

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

// room waits until the client has read enough of its messages.
func (l *lineConn) room(c *client) {
	for c.out.Full() {
		select {
		case <-c.out.room:
		case <-l.done:
			return
		}
	}
}

// refuse responds to a message that is not a request.
func (l *lineConn) refuse(c *client, id []byte, err *Error) {
	text := response(id, nil, err)
	if c != nil {
		c.out.Add(outgoing{text: text})
		return
	}
	l.write(text)
}

// first handles the message that must be initialize.
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
		_ = c.deliver(context.Background(), l.batch) // l.write has reported the error
	}()
}

// mostWritten is the maximum size of a write, in bytes.
const mostWritten = 256 << 10

// batch writes messages.
func (l *lineConn) batch(_ int64, all []outgoing) error {
	var b []byte
	for i, m := range all {
		if b == nil {
			b = m.text // a single message is not copied
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

func (l *lineConn) write(text []byte) { _ = l.put(append(text, '\n')) } // failed receives the error

// put writes bytes, for one caller at a time, and sends an error to failed.
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
