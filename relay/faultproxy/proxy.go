// Package faultproxy stands between the relay's server and its clients and does to their
// frames what networks do, and worse (its API promises nothing): it drops, doubles, delays
// and reorders them, cuts connections within a frame, and leaves them half open. It is for
// tests: which frame has which fault is the test's plan.
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

// Fault is what becomes of a frame.
type Fault int

const (
	Pass      Fault = iota
	Drop            // it does not come
	Duplicate       // it comes twice
	Delay           // it comes after Proxy.Lag, and with it what follows
	Swap            // it comes behind the frame that follows, at the latest after Proxy.Lag
	Cut             // half of it comes, then the connection ends, both ways
	HalfOpen        // nothing passes any more, either way, and nobody is told
)

// Proxy forwards connections to a server, those of WebSockets frame by frame.
type Proxy struct {
	// Lag is how long a frame is delayed.
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

// New listens on a port of loopback's for connections to target ("host:port"). plan is
// asked for each frame, from several goroutines; nil lets all pass.
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

// URL is the proxy's, with the scheme http.
func (p *Proxy) URL() string { return "http://" + p.listen.Addr().String() }

// SetTarget has connections from now on go to another server, as one that was started
// again has another port.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// CutAll ends all connections that there are.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.open {
		l.end()
	}
}

// Close ends the proxy and all connections, and returns when nothing of it is left.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listen.Close() // accepting ends by it
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

// serve forwards a connection until it ends. A server that is not there is a connection
// that ends at once.
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
	l := &link{proxy: p, client: client, server: server, over: make(chan struct{})}
	p.mu.Lock()
	p.made++
	l.number = p.made
	p.open[l] = true
	if p.closed {
		l.end()
	}
	p.mu.Unlock()
	l.run()
	p.mu.Lock()
	delete(p.open, l)
	p.mu.Unlock()
}

// head reads the head of an HTTP message, with the empty line behind it.
func head(r *bufio.Reader) ([]byte, error) {
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
			return nil, fmt.Errorf("a head of over %d bytes", http.DefaultMaxHeaderBytes)
		}
	}
}

// upgrades says whether a request asks for a WebSocket.
func upgrades(head []byte) bool {
	for line := range strings.Lines(string(head)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Upgrade") && strings.EqualFold(strings.TrimSpace(value), "websocket") {
			return true
		}
	}
	return false
}

// alone has the server end the connection behind a request, so that the next one, which
// may be a WebSocket's, is seen from its beginning.
func alone(head []byte) []byte {
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
