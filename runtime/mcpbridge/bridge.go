// Package mcpbridge opens a socket through which an agent reaches the program's tools, if the agent
// starts MCP servers as programs. The socket is in a directory that only this user can access. The
// program `concerto host bridge` passes lines between the socket and the agent.
//
// Invariants. The lines of a client are passed on in order. Sending never waits: a client that
// leaves too much unread is disconnected. When End has returned, no client is connected and the
// directory is removed.
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
	// socketPath is a length, in bytes, that every system supports for the path of a socket.
	socketPath = 100
	// most is the maximum number of clients that may be connected at the same time.
	most = 32
	// prefix of the directory's name, and name of the socket
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

// Remove removes the socket and the directory of a bridge whose process was killed.
func Remove(path string) {
	if dir := filepath.Dir(path); filepath.Base(path) == socketName && strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		_ = os.Remove(path) // a directory that contains other files does not belong to the bridge and remains
		_ = os.Remove(dir)
	}
}

// Options configures Open. Many goroutines call its functions, but one goroutine makes all calls
// for a client.
type Options struct {
	Path     string
	Prepared bool // Prepare was called
	MaxLine  int  // maximum length of an accepted line in bytes; 0 means ndjson.DefaultLimit
	// OnLine receives a line of a client. OnDisconnect is called when a client has
	// disconnected.
	OnLine       func(client int, line []byte)
	OnDisconnect func(client int)
	// OnUnread is called when a client was disconnected because it left too much unread.
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
	came    int // number of clients that have connected so far
}

// Prepare creates the directory of a bridge, which no other user can access.
func Prepare(path string) error { return os.Mkdir(filepath.Dir(path), 0o700) }

// Open opens a bridge.
func Open(o Options) (*Bridge, error) {
	if !o.Prepared {
		if err := Prepare(o.Path); err != nil {
			return nil, err
		}
	}
	at, err := listen(o.Path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(filepath.Dir(o.Path)))
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

// readClient reads the lines of a client until the client disconnects.
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

// writeClient sends lines to a client until the client disconnects or leaves too much unread.
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
		c.conn.Close() // the reading and the writing goroutine detect the closed connection
		b.o.OnUnread()
	}
}

// End closes the bridge and waits until no client is connected. It does not call OnDisconnect for
// these clients.
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
