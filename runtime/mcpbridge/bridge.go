// Package mcpbridge opens the socket through which an agent that starts MCP servers as programs
// reaches the program's tools; its API promises nothing. The socket is in a directory that only
// this user can access, and `concerto host bridge` passes lines between it and the agent.
//
// Invariants. A client's lines are passed on in order. Sending never waits: a client that leaves
// too much unread is disconnected. When End has returned, no client is connected and the directory
// is removed.
package mcpbridge

import (
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

const (
	// socketPath is a length of a socket's path that every system supports.
	socketPath = 100
	// most is the number of clients that may be connected at once.
	most = 32
	// The directory's prefix and the name of the socket.
	dirPrefix, socketName = "concerto-", "tools"
)

// Path returns a path for a new bridge.
func Path() string {
	name := filepath.Join(dirPrefix+strings.ToLower(rand.Text()[:16]), socketName)
	if path := filepath.Join(os.TempDir(), name); len(path) <= socketPath {
		return path
	}
	return filepath.Join("/tmp", name)
}

// Remove removes the rest of a bridge whose process was killed.
func Remove(path string) {
	if dir := filepath.Dir(path); filepath.Base(path) == socketName && strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		_ = os.Remove(path) // a directory with other files is not ours and remains
		_ = os.Remove(dir)
	}
}

// Options configures Open. Its functions are called from many goroutines; those of one client from
// one goroutine.
type Options struct {
	Path    string
	MaxLine int // longest accepted line in bytes; 0 means ndjson.DefaultLimit
	// OnLine receives a client's line. Left is called when a client has disconnected.
	OnLine       func(client int, line []byte)
	OnDisconnect func(client int)
	// OnUnread is called when a client was disconnected because it leaves too much unread.
	OnUnread func()
}

// Bridge is an open bridge. It is safe for concurrent use.
type Bridge struct {
	o  Options
	at net.Listener

	mu      sync.Mutex
	running sync.WaitGroup
	ended   bool
	clients map[int]*client
	came    int // number of clients so far
}

// Open opens a bridge.
func Open(o Options) (*Bridge, error) {
	dir := filepath.Dir(o.Path)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	at, err := net.Listen("unix", o.Path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	b := &Bridge{o: o, at: at, clients: map[int]*client{}}
	b.running.Go(b.accept)
	return b, nil
}

func (b *Bridge) accept() {
	for {
		conn, err := b.at.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		if b.ended || len(b.clients) >= most {
			b.mu.Unlock()
			conn.Close()
			continue
		}
		b.came++
		id, c := b.came, newClient(conn)
		b.clients[id] = c
		b.running.Go(func() { b.readClient(id, c) })
		b.running.Go(func() { b.writeClient(id, c) })
		b.mu.Unlock()
	}
}

// readClient reads a client's lines until it disconnects.
func (b *Bridge) readClient(id int, c *client) {
	in := ndjson.NewReader(c.conn, b.o.MaxLine)
	for {
		l, err := in.NextLine()
		if err != nil {
			break
		}
		b.o.OnLine(id, l.Text)
	}
	c.closeQueue()
	b.mu.Lock()
	ended := b.ended
	b.mu.Unlock()
	if !ended {
		b.o.OnDisconnect(id)
	}
}

// writeClient sends lines to a client until it disconnects or leaves too much unread.
func (b *Bridge) writeClient(id int, c *client) {
	if !c.writeQueue() {
		b.o.OnUnread()
	}
	b.mu.Lock()
	delete(b.clients, id)
	b.mu.Unlock()
}

// Send queues a line for a client. It does nothing if the client has disconnected.
func (b *Bridge) Send(client int, line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.clients[client]; c != nil && !b.ended && !c.enqueue(line) {
		delete(b.clients, client)
		c.conn.Close() // read and write notice it
		b.o.OnUnread()
	}
}

// End closes the bridge and waits until no client is connected. Left is not called for them.
func (b *Bridge) End() {
	b.mu.Lock()
	b.ended = true
	for _, c := range b.clients {
		c.conn.Close()
	}
	b.mu.Unlock()
	b.at.Close()
	b.running.Wait()
	os.RemoveAll(filepath.Dir(b.o.Path))
}
