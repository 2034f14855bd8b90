package holder

import (
	"encoding/json"
	"io"
	"sync"
)

// Peer is a holder's connection to a client. It is safe for concurrent use.
type Peer struct {
	conn io.WriteCloser
	mu   sync.Mutex // locked during a write
}

// NewPeer returns a Peer for a client's connection.
func NewPeer(conn io.WriteCloser) *Peer { return &Peer{conn: conn} }

// Greet sends the value that welcome returns. Messages that other goroutines send during the call
// are written after the greeting.
func (p *Peer) Greet(welcome func() any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return WriteLine(p.conn, welcome())
}

// Send writes an answer or an event. It ignores write errors, because the reader of the connection
// notices when the connection ends.
func (p *Peer) Send(answer any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = WriteLine(p.conn, answer)
}

// Close closes the connection, even during a write.
func (p *Peer) Close() { p.conn.Close() }

// Requests decodes requests from in and calls do for each, until the connection ends.
func Requests[Q any](in io.Reader, do func(*Q)) {
	for d := json.NewDecoder(in); ; {
		var q Q
		if d.Decode(&q) != nil {
			return
		}
		do(&q)
	}
}
