package keeper

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
)

// link is a client's control connection.
type link struct {
	c    *Client
	at   address
	conn io.ReadWriteCloser
	lost chan struct{} // it has ended
	hear sync.WaitGroup

	writing sync.Mutex
	mu      sync.Mutex
	n       int64
	waiting map[int64]chan said
	conns   map[ID]*Conn
	left    bool
}

func newLink(c *Client, at address, conn io.ReadWriteCloser) *link {
	l := &link{c: c, at: at, conn: conn, lost: make(chan struct{}), waiting: map[int64]chan said{}, conns: map[ID]*Conn{}}
	l.hear.Go(l.run)
	return l
}

// greetConn connects to a keeper and says hello. The error is ErrNone when nobody is there.
func greetConn(dir string, a address, hi hello) (*net.UnixConn, welcome, error) {
	var w welcome
	conn, err := dial(dir, a.Socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return nil, w, ErrNone
	case err != nil:
		return nil, w, fmt.Errorf("reach the keeper of the run's hosts: %w", err)
	}
	if err = writeJSON(conn, hi); err == nil {
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

// run hears the keeper until it has gone, or is left.
func (l *link) run() {
	d := json.NewDecoder(bufio.NewReaderSize(l.conn, 64<<10))
	for {
		var s said
		if d.Decode(&s) != nil {
			break
		}
		if s.Event != "" {
			l.happened(&s)
			continue
		}
		l.mu.Lock()
		wait := l.waiting[s.I]
		delete(l.waiting, s.I)
		l.mu.Unlock()
		if wait != nil {
			wait <- s
		}
	}
	l.conn.Close()
	close(l.lost)
}

// happened passes an event on.
func (l *link) happened(s *said) {
	l.mu.Lock()
	c := l.conns[s.ID]
	l.mu.Unlock()
	switch {
	case c == nil:
	case s.Event == evOver:
		c.drains()
	default:
		c.hears(*s)
	}
}

func (l *link) isLost() bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
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

func (l *link) send(a asked) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if writeJSON(l.conn, a) != nil {
		return l.gone()
	}
	return nil
}

// ask waits for the answer. The error is the keeper's, or says that it has gone.
func (l *link) ask(a asked) (said, error) {
	wait := make(chan said, 1)
	l.mu.Lock()
	l.n++
	a.I = l.n
	l.waiting[a.I] = wait
	l.mu.Unlock()
	if err := l.send(a); err != nil {
		return said{}, err
	}
	select {
	case s := <-wait:
		return s.result()
	case <-l.lost:
		select {
		case s := <-wait:
			return s.result()
		default:
			return said{}, l.gone()
		}
	}
}

func (s said) result() (said, error) {
	if s.Error != nil {
		return s, s.Error
	}
	return s, nil
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
	l.conn.Close()
	l.hear.Wait()
}
