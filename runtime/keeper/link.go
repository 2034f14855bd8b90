package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/holder"
)

// link is a client's control connection.
type link struct {
	*holder.Link[said]
	c  *Client
	at address

	mu    sync.Mutex
	conns map[ID]*Conn
	left  bool
}

func newLink(c *Client, at address, conn io.ReadWriteCloser) *link {
	l := &link{c: c, at: at, conns: map[ID]*Conn{}}
	l.Link = holder.NewLink(conn, l.happened, l.gone)
	return l
}

// greetConn connects to a keeper and says hello. The error is ErrNone when nobody is there.
func greetConn(dir string, a address, hi hello) (*net.UnixConn, welcome, error) {
	var w welcome
	conn, err := holder.Dial(dir, a.Socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return nil, w, ErrNone
	case err != nil:
		return nil, w, fmt.Errorf("reach the keeper of the run's hosts: %w", err)
	}
	if err = holder.WriteLine(conn, hi); err == nil {
		err = readWelcome(conn, &w)
	}
	switch {
	case err != nil:
		err = errors.Join(ErrNone, err)
	case w.Fenced:
		err = ErrFenced
	case w.Refused != "":
		err = fmt.Errorf("reach the keeper of the run's hosts: %s", w.Refused)
	}
	if err != nil {
		conn.Close()
		return nil, w, err
	}
	return conn, w, nil
}

// readWelcome reads one line and not a byte more: what follows is not JSON.
func readWelcome(conn net.Conn, w *welcome) error {
	var line []byte
	var b [1]byte
	for {
		if _, err := io.ReadFull(conn, b[:]); err != nil {
			return err
		}
		if b[0] == '\n' {
			return json.Unmarshal(line, w)
		}
		line = append(line, b[0])
	}
}

// happened passes an event on.
func (l *link) happened(s said) {
	l.mu.Lock()
	c := l.conns[s.ID]
	l.mu.Unlock()
	switch {
	case c == nil:
	case s.Event == evOver:
		c.drains()
	default:
		c.hears(s)
	}
}

// gone is why nothing is heard any more.
func (l *link) gone() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left {
		return ErrLeft
	}
	return ErrLost
}

// ask waits for the answer. The error is the keeper's, or says that it has gone.
func (l *link) ask(a asked) (said, error) {
	return l.Ask(context.Background(), func(n int64) any { a.I = n; return a })
}

// expect makes the connection to a process, whose events may come before anything else of it.
func (l *link) expect(id ID, stderr func(string)) *Conn {
	conn := &Conn{id: id, link: l, stderr: stderr, done: make(chan struct{}), over: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[id] = conn
	return conn
}

// forget gives up a connection that came to nothing.
func (l *link) forget(conn *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[conn.id] == conn {
		delete(l.conns, conn.id)
	}
}

// connect opens the data connection of a process.
func (l *link) connect(conn *Conn, from int64, longLine int) (*Conn, error) {
	data, w, err := greetConn(l.c.o.Dir, l.at, hello{Token: l.at.Token, Owner: l.c.o.Owner, ID: &conn.id, From: from})
	if errors.Is(err, ErrNone) {
		err = l.gone()
	}
	if err != nil {
		l.forget(conn)
		return nil, err
	}
	if err := conn.open(data, &w, longLine); err != nil {
		data.Close()
		return nil, err
	}
	return conn, nil
}

// leave ends all connections.
func (l *link) leave() {
	l.mu.Lock()
	l.left = true
	for _, c := range l.conns {
		c.hangUp()
	}
	l.mu.Unlock()
	l.Close()
}
