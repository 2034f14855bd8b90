package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/holder"
)

// link is the control connection of a client.
type link struct {
	*holder.Link[reply]
	client  *Client
	address address

	mu    sync.Mutex
	conns map[ID]*Conn
	left  bool
}

func newLink(c *Client, at address, conn io.ReadWriteCloser) *link {
	l := &link{client: c, address: at, conns: map[ID]*Conn{}}
	l.Link = holder.NewLink(conn, l.dispatchEvent, l.lostError)
	go l.releaseAfterLoss()
	return l
}

// greetConn connects to a keeper and sends hello. If no keeper accepts the connection, the error is
// ErrNone.
func (c *Client) greetConn(a address, hi hello) (Socket, welcome, error) {
	var w welcome
	if runtime.GOOS == "js" { // a page has no sockets, and need not contain the code for them
		return nil, w, ErrNone
	}
	conn, err := c.opts.System.Dial(c.opts.Dir, a.Socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return nil, w, ErrNone
	case err != nil:
		return nil, w, fmt.Errorf("could not connect to the keeper of the run's hosts: %w", err)
	}
	hi.Direct = hi.ID != nil && conn.PassesFiles()
	if err = holder.WriteLine(conn, hi); err == nil {
		err = readWelcome(conn, &w)
	}
	switch {
	case err != nil:
		err = errors.Join(ErrNone, err)
	case w.Fenced:
		err = ErrFenced
	case w.Refused != "":
		err = fmt.Errorf("could not connect to the keeper of the run's hosts: %s", w.Refused)
	}
	if err != nil {
		conn.Close()
		return nil, w, err
	}
	return conn, w, nil
}

// readWelcome reads exactly one line, because the bytes that follow are not JSON.
func readWelcome(conn Socket, w *welcome) error {
	var line []byte
	for {
		b, files, err := conn.ReceiveByte()
		w.files = append(w.files, files...)
		if err == nil && b == '\n' {
			err = json.Unmarshal(line, w)
			if err == nil {
				return nil
			}
		}
		if err != nil {
			w.closeFiles()
			return err
		}
		line = append(line, b)
	}
}

// closeFiles closes the files that were received.
func (w *welcome) closeFiles() {
	for _, f := range w.files {
		f.Close()
	}
	w.files = nil
}

// errEnded returns the error of a read that has returned no data.
func errEnded(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// dispatchEvent passes an event to the Conn of its process.
func (l *link) dispatchEvent(s reply) {
	l.mu.Lock()
	c := l.conns[s.ID]
	l.mu.Unlock()
	switch {
	case c == nil:
	case s.Event == evOver:
		c.markOutputEnded()
	default:
		c.queueEvent(s)
	}
}

// lostError returns the reason for the end of the connection.
func (l *link) lostError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left {
		return ErrLeft
	}
	return ErrLost
}

// request sends a request and waits for the answer. It returns the error in the answer, or the
// reason for the end of the connection.
func (l *link) request(a request) (reply, error) {
	return l.Ask(context.Background(), func(n int64) any { a.I = n; return a })
}

// registerConn creates the Conn of a process before the request is sent, so that no event is lost.
// It closes an earlier Conn of the process.
func (l *link) registerConn(id ID, stderr func([]byte)) *Conn {
	conn := &Conn{id: id, link: l, stderr: stderr, done: make(chan struct{}), outputDone: make(chan struct{})}
	l.mu.Lock()
	old := l.conns[id]
	l.conns[id] = conn
	l.mu.Unlock()
	if old != nil {
		old.closeData()
	}
	return conn
}

// unregisterConn removes the Conn of a process that could not be opened.
func (l *link) unregisterConn(conn *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[conn.id] == conn {
		delete(l.conns, conn.id)
	}
}

// openData opens the data connection of a process.
func (l *link) openData(conn *Conn, from int64, longLine int) (*Conn, error) {
	data, w, err := l.client.greetConn(l.address, hello{Token: l.address.Token, Owner: l.client.opts.Owner, ID: &conn.id, From: from})
	if errors.Is(err, ErrNone) {
		err = l.lostError()
	}
	if err != nil {
		l.unregisterConn(conn)
		return nil, err
	}
	if err := conn.openData(data, &w, longLine); err != nil {
		conn.closeData()
		return nil, err
	}
	return conn, nil
}

// releaseAfterLoss stops reading the outputs of processes when the connection ends, because the
// next owner of the run will read them.
func (l *link) releaseAfterLoss() {
	<-l.Lost()
	l.releaseOutputs()
}

func (l *link) releaseOutputs() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.releaseOutput()
	}
}

// closeAll closes all connections.
func (l *link) closeAll() {
	l.mu.Lock()
	l.left = true
	for _, c := range l.conns {
		c.closeData()
	}
	l.mu.Unlock()
	l.Close()
}
