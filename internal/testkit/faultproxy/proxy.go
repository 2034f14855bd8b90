// Package faultproxy provides a proxy between the relay's server and its clients for tests. It
// drops, duplicates, delays and reorders frames, cuts connections in the middle of a frame, and
// leaves connections half open. The test provides a plan that selects the fault of each frame.
package faultproxy

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Fault is what the proxy does with a frame.
type Fault int

const (
	Pass      Fault = iota
	Drop            // discard the frame
	Duplicate       // forward the frame twice
	Delay           // forward the frame and the following frames after Proxy.Lag
	Swap            // forward the frame after the next one, or after Proxy.Lag
	Cut             // forward half of the frame, then close both connections
	HalfOpen        // discard this and all later frames in both directions without closing
)

// Proxy forwards connections to a server. It applies faults to the frames of WebSocket connections.
type Proxy struct {
	// Lag is the time by which Delay delays a frame, and the maximum delay of a swapped frame.
	Lag time.Duration

	target string
	plan   func(Frame) Fault
	listen net.Listener
	ended  sync.WaitGroup

	mu     sync.Mutex
	made   int
	closed bool
	open   map[*link]bool
}

// New listens on a loopback port and forwards connections to target ("host:port"). It calls plan
// for each frame, from several goroutines. If plan is nil, it forwards all frames unchanged.
func New(target string, plan func(Frame) Fault) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if plan == nil {
		plan = func(Frame) Fault { return Pass }
	}
	p := &Proxy{Lag: 20 * time.Millisecond, target: target, plan: plan, listen: l, open: map[*link]bool{}}
	p.ended.Go(p.accept)
	return p, nil
}

// URL returns the URL of the proxy. Its scheme is http.
func (p *Proxy) URL() string { return "http://" + p.listen.Addr().String() }

// SetTarget forwards later connections to another server.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// CutAll closes all connections.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.open {
		l.close()
	}
}

// Close closes the proxy and all connections, and waits for its goroutines.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listen.Close() // makes accept return
	p.CutAll()
	p.ended.Wait()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.ended.Go(func() { p.serve(c) })
	}
}

// serve forwards a connection until it closes. If the server is not reachable, serve closes the
// connection.
func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	l := &link{proxy: p, client: client, server: server, closed: make(chan struct{})}
	p.mu.Lock()
	p.made++
	l.number = p.made
	p.open[l] = true
	if p.closed {
		l.close()
	}
	p.mu.Unlock()
	l.run()
	p.mu.Lock()
	delete(p.open, l)
	p.mu.Unlock()
}

// readHead reads the head of an HTTP message, including the empty line after it.
func readHead(r *bufio.Reader) ([]byte, error) {
	var b bytes.Buffer
	for {
		line, err := r.ReadBytes('\n')
		b.Write(line)
		switch {
		case err != nil:
			return nil, err
		case len(bytes.TrimSpace(line)) == 0:
			return b.Bytes(), nil
		case b.Len() > http.DefaultMaxHeaderBytes:
			return nil, fmt.Errorf("an HTTP header of more than %d bytes", http.DefaultMaxHeaderBytes)
		}
	}
}

// isUpgrade reports whether the head of a request contains a WebSocket upgrade.
func isUpgrade(head []byte) bool {
	for line := range strings.Lines(string(head)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Upgrade") && strings.EqualFold(strings.TrimSpace(value), "websocket") {
			return true
		}
	}
	return false
}

// closeAfter adds "Connection: close" to the head of a request. The next request then uses a new
// connection, so that the proxy reads its head.
func closeAfter(head []byte) []byte {
	var b bytes.Buffer
	for i, line := range bytes.SplitAfter(head, []byte("\n")) {
		if name, _, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Connection")) {
			continue
		}
		b.Write(line)
		if i == 0 {
			b.WriteString("Connection: close\r\n")
		}
	}
	return b.Bytes()
}
