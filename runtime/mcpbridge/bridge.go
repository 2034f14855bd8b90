// Package mcpbridge is where an agent that takes MCP servers as programs reaches the program's tools; its API promises nothing.
// It is a socket in a directory that only this user can enter: `concerto host bridge` passes lines on between it and the agent.
//
// Invariants. What one says is handed on in its order. Who answers waits for nobody: who leaves too much unread is
// sent away. When End has returned, nobody is there and the directory is gone.
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
	// socketPath is how long the path of a socket may be, everywhere.
	socketPath = 100
	// most is how many may be there at once.
	most = 32
	// What a path ends in.
	dirPrefix, socketName = "concerto-", "tools"
)

// Path gives the path of a bridge that is to be opened.
func Path() string {
	name := filepath.Join(dirPrefix+strings.ToLower(rand.Text()[:16]), socketName)
	if path := filepath.Join(os.TempDir(), name); len(path) <= socketPath {
		return path
	}
	return filepath.Join("/tmp", name)
}

// Remove removes what is left of a bridge whose process was killed.
func Remove(path string) {
	if dir := filepath.Dir(path); filepath.Base(path) == socketName && strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		_ = os.Remove(path) // what else is there is none of ours, and stays
		_ = os.Remove(dir)
	}
}

// Options is what Open needs. Its functions are called from many goroutines, of each who has come from one.
type Options struct {
	Path    string
	MaxLine int // the longest line that is taken, in bytes; 0: ndjson.DefaultLimit
	// Heard takes a line of one who has come, Left hears that one has gone.
	Heard func(client int, line []byte)
	Left  func(client int)
	// Unread hears that one was sent away who leaves too much unread.
	Unread func()
}

// Bridge is one that is open. Safe for concurrent use.
type Bridge struct {
	o  Options
	at net.Listener

	mu      sync.Mutex
	running sync.WaitGroup
	ended   bool
	clients map[int]*client
	came    int // how many there were
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
		b.running.Go(func() { b.read(id, c) })
		b.running.Go(func() { b.write(id, c) })
		b.mu.Unlock()
	}
}

// read hears what one says until it goes.
func (b *Bridge) read(id int, c *client) {
	in := ndjson.NewReader(c.conn, b.o.MaxLine)
	for {
		l, err := in.Next()
		if err != nil {
			break
		}
		b.o.Heard(id, l.Text)
	}
	c.finish()
	b.mu.Lock()
	ended := b.ended
	b.mu.Unlock()
	if !ended {
		b.o.Left(id)
	}
}

// write answers one until it has gone, or leaves too much unread.
func (b *Bridge) write(id int, c *client) {
	if !c.write() {
		b.o.Unread()
	}
	b.mu.Lock()
	delete(b.clients, id)
	b.mu.Unlock()
}

// Send sends a line to one who has come, unless it has gone. It does not wait for it to be read.
func (b *Bridge) Send(client int, line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.clients[client]; c != nil && !b.ended && !c.put(line) {
		delete(b.clients, client)
		c.conn.Close() // read and write hear of it
		b.o.Unread()
	}
}

// End closes the bridge, and waits until nobody is on it. Of those who were there it is not told that they have left.
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
