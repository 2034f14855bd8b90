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
	// unreadLimit is the maximum number of bytes that may wait for a client. A single line may
	// exceed it; otherwise a longer line could never be sent.
	unreadLimit = 4 << 20
	// patience is the maximum time for which a client may leave an answer unread.
	patience = 10 * time.Second
)

// client is a connected client. A separate goroutine writes its queued answers, so that sending
// never waits.
type client struct {
	conn net.Conn
	wake chan struct{} // signals the writer that queue or over has changed

	mu    sync.Mutex
	lines []byte
	over  bool // no further lines are accepted
}

func newClient(conn net.Conn) *client {
	return &client{conn: conn, wake: make(chan struct{}, 1)}
}

// enqueue queues a line. It returns false if the queue is full.
func (c *client) enqueue(line []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return true
	case len(c.lines) >= unreadLimit:
		return false
	}
	c.lines = ndjson.Append(c.lines, line)
	c.wakeWriter()
	return true
}

// closeQueue makes the writer end after it has written the queued lines.
func (c *client) closeQueue() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.wakeWriter()
}

// writeQueue writes queued lines until closeQueue or a write error, and then closes the connection.
// read is false if the client did not read the lines in time.
func (c *client) writeQueue() (read bool) {
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

// wakeWriter wakes the writer. If the writer is not waiting, its next wait ends immediately.
func (c *client) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
