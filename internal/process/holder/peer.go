package holder

import (
	"encoding/json"
	"io"
	"sync"
)

// Peer is a client as a holder sees it. Safe for concurrent use.
type Peer struct {
	conn io.WriteCloser
	mu   sync.Mutex // held during a write
}

// NewPeer returns the client at the other end of a connection.
func NewPeer(conn io.WriteCloser) *Peer { return &Peer{conn: conn} }

// Greet writes what welcome returns. Messages that others send during the call are written after
// it.
func (p *Peer) Greet(welcome func() any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return WriteLine(p.conn, welcome())
}

// Send writes an answer or an event. It ignores write errors: the reader of the connection notices
// its end.
func (p *Peer) Send(answer any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = WriteLine(p.conn, answer)
}

// Close closes the connection, even during a write.
func (p *Peer) Close() { p.conn.Close() }

// Requests calls do for each request until the connection ends.
func Requests[Q any](in io.Reader, do func(*Q)) {
	for d := json.NewDecoder(in); ; {
		var q Q
		if d.Decode(&q) != nil {
			return
		}
		do(&q)
	}
}
