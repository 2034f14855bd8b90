package mcpbridge

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

const (
	// unreadLimit is how many bytes may wait for one who has come over a bridge. One
	// line may go beyond it, or a line larger than it could never be sent.
	unreadLimit = 4 << 20
	// patience is how long one may leave an answer unread.
	patience = 10 * time.Second
)

// client is one who has come over a bridge. Its answers wait in their order until
// its own goroutine has written them: who answers waits for nobody.
type client struct {
	conn net.Conn
	wake chan struct{} // for the writer: there is something to do

	mu    sync.Mutex
	lines []byte
	over  bool // nothing more is put in
}

func newClient(conn net.Conn) *client {
	return &client{conn: conn, wake: make(chan struct{}, 1)}
}

// put adds a line. It gives false when too much waits already.
func (c *client) put(line []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return true
	case len(c.lines) >= unreadLimit:
		return false
	}
	c.lines = ndjson.Append(c.lines, line)
	c.rouse()
	return true
}

// finish makes the writer end when it has written what waits.
func (c *client) finish() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.rouse()
}

// write writes until all is finished or the connection fails, and closes it. It gives
// false when what it wrote was not read in time.
func (c *client) write() (read bool) {
	defer c.conn.Close()
	var lines []byte
	for {
		c.mu.Lock()
		lines, c.lines = c.lines, lines[:0]
		over := c.over
		c.mu.Unlock()
		switch {
		case len(lines) > 0:
			c.conn.SetWriteDeadline(time.Now().Add(patience))
			if _, err := c.conn.Write(lines); err != nil {
				return !errors.Is(err, os.ErrDeadlineExceeded)
			}
			if cap(lines) > unreadLimit {
				lines = nil
			}
		case over:
			return true
		default:
			<-c.wake
		}
	}
}

// rouse wakes the writer, now or at its next look.
func (c *client) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
